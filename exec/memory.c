/* Buffers in memory spaces. */
#include "exec/memory.h"

#include <stdlib.h>
#include <string.h>

#include "core/array.h"

static enum gw_status allocate(const struct gw_memory *space, size_t bytes, void **out,
                               struct gw_error *error) {
    if (space != NULL) {
        return space->does->allocate(space, bytes, out, error);
    }
    *out = gw_resident_zeros(bytes);
    return *out != NULL ? GW_OK : gw_fail_memory(error, "making room on the host");
}

static enum gw_status keep(const struct gw_buffer *buffer, void *memory, struct gw_error *error) {
    if (buffer->space != NULL) {
        return buffer->space->does->copy(buffer->space, memory, buffer->memory, buffer->capacity,
                                         error);
    }
    memcpy(memory, buffer->memory, buffer->capacity);
    return GW_OK;
}

static void release(const struct gw_memory *space, void *memory) {
    if (space != NULL) {
        space->does->free(space, memory);
    } else {
        free(memory);
    }
}

enum gw_status gw_buffer_reserve(struct gw_buffer *buffer, const struct gw_memory *space,
                                 size_t bytes, struct gw_error *error) {
    if (bytes <= buffer->capacity) {
        return GW_OK;
    }
    /* Half as much again: counts that creep up do not ask for pages in each iteration. */
    size_t capacity = buffer->capacity == 0 ? bytes : bytes + bytes / 2;
    void *memory = NULL;
    buffer->space = space;
    GW_TRY(allocate(space, capacity, &memory, error));
    if (buffer->capacity > 0) {
        enum gw_status status = keep(buffer, memory, error);
        if (status != GW_OK) {
            release(space, memory);
            return status;
        }
    }
    release(space, buffer->memory);
    buffer->capacity = capacity;
    buffer->memory = memory;
    return GW_OK;
}

void gw_buffer_free(struct gw_buffer *buffer) {
    release(buffer->space, buffer->memory);
    *buffer = (struct gw_buffer){0};
}
