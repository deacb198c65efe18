/* Memory of things that live and die together: taken piece by piece, given back all at once. */
#ifndef GW_CORE_ARENA_H
#define GW_CORE_ARENA_H

#include <stddef.h>

struct gw_arena_block;

/* All zero at first: `struct gw_arena arena = {0};`. For one thread at a time. */
struct gw_arena {
    struct gw_arena_block *blocks; /* the newest first */
    struct gw_arena_owned *owned;  /* the newest first */
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

/* Releases what the arena owns and gives all memory back; it is then as new. */
void gw_arena_free(struct gw_arena *arena);

#endif
