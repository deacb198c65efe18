/* Memory for what travels, which grows where more is selected than before; private to this room. */
#ifndef GW_EXEC_ROOM_H
#define GW_EXEC_ROOM_H

#include "core/core.h"

struct gw_memory;

/* Zero-initialise, then free. Its pages are there before time is taken (gw_resident_zeros). */
struct gw_room {
    const struct gw_memory *place; /* that it was reserved in; NULL: the host, for the host alone */
    size_t capacity;               /* bytes */
    void *memory;
};

/*
 * Makes it hold `bytes` of the place, always the same one, and keeps what is in it. It may move.
 */
enum gw_status gw_room_reserve(struct gw_room *room, const struct gw_memory *place, size_t bytes,
                               struct gw_error *error);
void gw_room_free(struct gw_room *room);

#endif
