#include "core/array.h"

#include <stdint.h>
#include <stdlib.h>

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
