#include "exec/room.h"

#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "exec/memory.h"

static enum gw_status allocate(const struct gw_memory *place, size_t bytes, void **out,
                               struct gw_error *error) {
    if (place != NULL) {
        return place->does->allocate(place, bytes, out, error);
    }
    *out = gw_resident_zeros(bytes);
    return *out != NULL ? GW_OK : gw_fail_memory(error, "making room on the host");
}

static enum gw_status keep(const struct gw_room *room, void *memory, struct gw_error *error) {
    if (room->place != NULL) {
        return room->place->does->copy(room->place, memory, room->memory, room->capacity, error);
    }
    memcpy(memory, room->memory, room->capacity);
    return GW_OK;
}

static void release(const struct gw_memory *place, void *memory) {
    if (place != NULL) {
        place->does->free(place, memory);
    } else {
        free(memory);
    }
}

enum gw_status gw_room_reserve(struct gw_room *room, const struct gw_memory *place, size_t bytes,
                               struct gw_error *error) {
    if (bytes <= room->capacity) {
        return GW_OK;
    }
    /* Half as much again: counts that creep up do not ask for pages in each iteration. */
    size_t capacity = room->capacity == 0 ? bytes : bytes + bytes / 2;
    void *memory = NULL;
    room->place = place;
    GW_TRY(allocate(place, capacity, &memory, error));
    if (room->capacity > 0) {
        enum gw_status status = keep(room, memory, error);
        if (status != GW_OK) {
            release(place, memory);
            return status;
        }
    }
    release(place, room->memory);
    room->capacity = capacity;
    room->memory = memory;
    return GW_OK;
}

void gw_room_free(struct gw_room *room) {
    release(room->place, room->memory);
    *room = (struct gw_room){0};
}
