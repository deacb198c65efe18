#include "core/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- arenas ---------------------------------------------------------------------------------- */

enum { ALIGNMENT = _Alignof(max_align_t), FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20 };

struct gw_arena_block {
    struct gw_arena_block *next;
    size_t size, used; /* bytes of `memory` */
    _Alignas(max_align_t) unsigned char memory[];
};

struct gw_arena_owned {
    struct gw_arena_owned *next;
    void *object;
    void (*release)(void *object);
};

/* Blocks double in size, so that an arena of n bytes has about log n of them. */
static struct gw_arena_block *add_block(struct gw_arena *arena, size_t needed) {
    size_t size = arena->blocks == NULL ? FIRST_BLOCK : arena->blocks->size * 2;
    if (size > LARGEST_BLOCK) {
        size = LARGEST_BLOCK;
    }
    if (size < needed) {
        size = needed;
    }
    struct gw_arena_block *block = calloc(1, sizeof *block + size);
    if (block != NULL) {
        *block = (struct gw_arena_block){.next = arena->blocks, .size = size};
        arena->blocks = block;
    }
    return block;
}

void *gw_arena_zeros(struct gw_arena *arena, size_t count, size_t size) {
    if (size != 0 && count > (SIZE_MAX / 2) / size) {
        arena->failed = true;
        return NULL;
    }
    size_t bytes = count * size == 0 ? 1 : count * size;
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct gw_arena_block *block = arena->blocks;
    if (block == NULL || block->size - block->used < bytes) {
        block = add_block(arena, bytes);
        if (block == NULL) {
            arena->failed = true;
            return NULL;
        }
    }
    void *items = block->memory + block->used;
    block->used += bytes;
    return items;
}

char *gw_arena_text(struct gw_arena *arena, const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = gw_arena_zeros(arena, size, 1);
    return copy == NULL ? NULL : memcpy(copy, text, size);
}

char *gw_arena_format(struct gw_arena *arena, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length < 0 ? NULL : gw_arena_zeros(arena, (size_t)length + 1, 1);
    if (text != NULL) {
        va_start(arguments, format);
        (void)vsnprintf(text, (size_t)length + 1, format, arguments);
        va_end(arguments);
    }
    return text;
}

void *gw_arena_own(struct gw_arena *arena, void *object, void (*release)(void *object)) {
    if (object == NULL) {
        return NULL;
    }
    struct gw_arena_owned *owned = gw_arena_zeros(arena, 1, sizeof *owned);
    if (owned == NULL) {
        release(object);
        return NULL;
    }
    *owned = (struct gw_arena_owned){.next = arena->owned, .object = object, .release = release};
    arena->owned = owned;
    return object;
}

enum gw_status gw_arena_check(const struct gw_arena *arena, const char *what,
                              struct gw_error *error) {
    return arena->failed ? gw_fail_memory(error, what) : GW_OK;
}

void gw_arena_free(struct gw_arena *arena) {
    for (struct gw_arena_owned *owned = arena->owned; owned != NULL; owned = owned->next) {
        owned->release(owned->object);
    }
    for (struct gw_arena_block *block = arena->blocks; block != NULL;) {
        struct gw_arena_block *next = block->next;
        free(block);
        block = next;
    }
    *arena = (struct gw_arena){0};
}

/* ---- arrays ---------------------------------------------------------------------------------- */

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

/* Only whole pages can be requested; with less than a few large ones the last is mostly unused. */
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
    gw_prefer_large_pages(memory, rounded);
    if (memory != NULL) {
        memset(memory, 0, rounded);
    }
    return memory;
}
