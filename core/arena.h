/* Memory: of things that live and die together, and arrays that grow as items are added. */
#ifndef GW_CORE_ARENA_H
#define GW_CORE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"

/* ---- arenas: taken piece by piece, given back all at once ------------------------------------ */

struct gw_arena_block;

/* All zero at first: `struct gw_arena arena = {0};`. For one thread at a time. */
struct gw_arena {
    struct gw_arena_block *blocks; /* the newest first */
    struct gw_arena_owned *owned;  /* the newest first */
    bool failed;                   /* something was asked for that there was no memory for */
};

/* `count` items of `size` bytes, all zero, aligned for any type; NULL when out of memory. */
void *gw_arena_zeros(struct gw_arena *arena, size_t count, size_t size);

/* Copies of text, and text made as printf does; NULL when out of memory. */
char *gw_arena_text(struct gw_arena *arena, const char *text);
char *gw_arena_format(struct gw_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Has `object` released with the arena, before its memory goes and before what was owned earlier.
 * Returns `object`, or NULL when out of memory or if it is NULL: it is then released already.
 */
void *gw_arena_own(struct gw_arena *arena, void *object, void (*release)(void *object));

/* Fails with "out of memory while <what>" if any of these was NULL for that reason. */
enum gw_status gw_arena_check(const struct gw_arena *arena, const char *what,
                              struct gw_error *error);

/* Releases what the arena owns and gives all memory back; it is then as new. */
void gw_arena_free(struct gw_arena *arena);

/* ---- arrays ---------------------------------------------------------------------------------- */

/*
 * Makes room for `needed` items of `size` bytes in `items`, which has room for *capacity (NULL and
 * 0 at first): at least doubled, so that adding one at a time stays cheap. Returns the array, which
 * may have moved, or NULL when out of memory; `items` is then as it was.
 */
void *gw_grow(void *items, size_t needed, size_t *capacity, size_t size);

/*
 * Asks for large pages, which make it faster to read here and there in many megabytes. Before the
 * memory is first touched; where there are none, nothing changes.
 */
void gw_prefer_large_pages(void *items, size_t bytes);

/*
 * Zeros, aligned as frameworks align tensors (64 bytes), or NULL when out of memory; for free().
 * Every page is there, so that none is faulted in where time is taken: the first touch of a page
 * can take a hundred times as long as what is measured. calloc does not see to that, and memset
 * after it does not either: compilers know that it changes nothing, and leave it out. Of much they
 * are large ones, where the kernel has them: what is added at random places of a vector of 100 MB
 * otherwise takes longer, as nearly each place is in a page of its own.
 */
void *gw_resident_zeros(size_t bytes);

#endif
