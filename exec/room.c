#include "exec/room.h"

#include <stdlib.h>
#include <string.h>

#include "core/array.h"

enum gw_status gw_room_reserve(struct gw_room *room, size_t bytes, struct gw_error *error) {
    if (bytes <= room->capacity) {
        return GW_OK;
    }
    /* Half as much again: counts that creep up do not ask for pages in each iteration. */
    size_t capacity = room->capacity == 0 ? bytes : bytes + bytes / 2;
    void *memory = gw_resident_zeros(capacity);
    if (memory == NULL) {
        return gw_fail_memory(error, "making room for what travels");
    }
    if (room->capacity > 0) {
        memcpy(memory, room->memory, room->capacity);
    }
    free(room->memory);
    *room = (struct gw_room){.capacity = capacity, .memory = memory};
    return GW_OK;
}

void gw_room_free(struct gw_room *room) {
    free(room->memory);
    *room = (struct gw_room){0};
}
