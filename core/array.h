/* Arrays that grow as items are added. */
#ifndef GW_CORE_ARRAY_H
#define GW_CORE_ARRAY_H

#include <stddef.h>

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

#endif
