#include "core/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void *gw_grow(void *items, size_t needed, size_t *capacity, size_t size) {
    const size_t first = 64;
    if (items != NULL && needed <= *capacity) {
        return items;
    }
    size_t larger = *capacity > SIZE_MAX / 2 ? needed : 2 * *capacity;
    larger = larger < needed ? needed : larger;
    larger = larger < first ? first : larger;
    void *moved = larger > SIZE_MAX / size ? NULL : realloc(items, larger * size);
    if (moved != NULL) {
        *capacity = larger;
    }
    return moved;
}

/* Only whole pages can be asked for, and in less than a few large ones the last is mostly unused.
 */
void gw_prefer_large_pages(void *items, size_t bytes) {
    const size_t page = 4096;
    const size_t least = (size_t)8 << 20;
    size_t skipped = (page - (uintptr_t)items % page) % page;
    if (items != NULL && bytes >= least) {
        (void)madvise((char *)items + skipped, (bytes - skipped) / page * page, MADV_HUGEPAGE);
    }
}

void *gw_resident_zeros(size_t bytes) {
    const size_t alignment = 64;
    size_t rounded = bytes / alignment * alignment + alignment;
    void *memory = rounded < bytes ? NULL : aligned_alloc(alignment, rounded);
    if (memory != NULL) {
        memset(memory, 0, rounded);
    }
    return memory;
}
