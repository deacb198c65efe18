/* Memory: arenas of objects that are freed together, and arrays that grow as items are added. */
#ifndef GW_CORE_ARENA_H
#define GW_CORE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"

/* ---- arenas: taken piece by piece, given back all at once ------------------------------------ */

struct gw_arena_block;

/* Zero-initialise: `struct gw_arena arena = {0};`. For one thread at a time. */
struct gw_arena {
    struct gw_arena_block *blocks; /* the newest first */
    struct gw_arena_owned *owned;  /* the newest first */
    bool failed;                   /* an allocation failed */
};

/*
 * Allocates `count` items of `size` bytes, all zero, aligned for any type; NULL when out of memory.
 */
void *gw_arena_zeros(struct gw_arena *arena, size_t count, size_t size);

/* Copy a text, or format one as printf does; NULL when out of memory. */
char *gw_arena_text(struct gw_arena *arena, const char *text);
char *gw_arena_format(struct gw_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Releases `object` together with the arena, before its memory and before objects that were added
 * earlier. Returns `object`, or NULL if it is NULL or memory is lacking: then it is already
 * released.
 */
void *gw_arena_own(struct gw_arena *arena, void *object, void (*release)(void *object));

/* Fails with "out of memory while <what>" if any of these returned NULL for lack of memory. */
enum gw_status gw_arena_check(const struct gw_arena *arena, const char *what,
                              struct gw_error *error);

/* Releases the arena's objects and frees all memory; the arena can be used again. */
void gw_arena_free(struct gw_arena *arena);

/* ---- arrays ---------------------------------------------------------------------------------- */

/*
 * Grows `items`, with a capacity of *capacity items (NULL and 0 at first), to `needed` items of
 * `size` bytes: at least doubled, so that adding one at a time stays cheap. Returns the array,
 * which may have moved, or NULL when out of memory; `items` then stays as it is.
 */
void *gw_grow(void *items, size_t needed, size_t *capacity, size_t size);

/* The same for `list`; like GW_TRY, returns from the calling function when out of memory. */
#define GW_GROW(list, needed, capacity, what, error)                                               \
    do {                                                                                           \
        void *grown_ = gw_grow((list), (needed), &(capacity), sizeof *(list));                     \
        if (grown_ == NULL) {                                                                      \
            return gw_fail_memory(error, what);                                                    \
        }                                                                                          \
        (list) = grown_;                                                                           \
    } while (0)

/* Requests large pages, which make random access to many megabytes faster. Call it before the
 * memory is first touched; it has no effect without large pages. */
void gw_prefer_large_pages(void *items, size_t bytes);

/*
 * Allocates zeros, aligned as frameworks align tensors (64 bytes), or returns NULL when out of
 * memory; for free(). Touches every page, so that timed code has no page faults: the first touch of
 * a page can take a hundred times as long as the timed work. calloc does not touch pages, and a
 * memset after it may not either: compilers may leave it out. Uses large pages for large sizes, if
 * the kernel has them: adding at random places of a vector of 100 MB otherwise takes longer, since
 * nearly each place is in another page.
 */
void *gw_resident_zeros(size_t bytes);

#endif
