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

/*
 * Zeros, aligned as frameworks align tensors (64 bytes), or NULL when out of memory; for free().
 * Every page is there, so that none is faulted in where time is taken: the first touch of a page
 * can take a hundred times as long as what is measured. calloc does not see to that, and memset
 * after it does not either: compilers know that it changes nothing, and leave it out.
 */
void *gw_resident_zeros(size_t bytes);

#endif
