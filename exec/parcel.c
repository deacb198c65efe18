#include "exec/parcel.h"

#include <stdlib.h>

void gw_parcel_list_entries(struct gw_parcel *parcel, const struct gw_entry *entries,
                            size_t count) {
    parcel->written = GW_WRITTEN_LISTED;
    parcel->listed = entries;
    parcel->listed_count = count;
}

void gw_parcel_list_known(struct gw_parcel *parcel) {
    gw_parcel_list_entries(parcel, NULL, parcel->known_count);
}

enum gw_status gw_parcel_reserve_known(const struct gw_memory *memory, struct gw_parcel *parcel,
                                       size_t count, struct gw_error *error) {
    return gw_room_reserve(&parcel->known, memory, count * sizeof(uint32_t), error);
}

void gw_parcel_close(struct gw_parcel *parcel) {
    if (parcel->state != NULL) {
        parcel->compressor->close(parcel->state);
    }
    gw_room_free(&parcel->sent);
    gw_room_free(&parcel->received);
    gw_room_free(&parcel->merged);
    gw_room_free(&parcel->pruned);
    gw_room_free(&parcel->any);
    gw_room_free(&parcel->told);
    gw_room_free(&parcel->beginnings);
    gw_room_free(&parcel->known);
    gw_sketch_free(&parcel->sketch);
    gw_gpu_sketch_free(&parcel->gpu_sketch);
    gw_gpu_selection_free(&parcel->selection);
    free(parcel->counts);
}
