#include "exec/compress.h"

#include <string.h>

enum gw_status gw_compress_entries(struct gw_worker *worker, struct gw_parcel *parcel,
                                   struct gw_error *error) {
    struct gw_task task = gw_worker_task(worker, parcel);
    struct gw_selection *selection = &worker->selection;
    GW_TRY(gw_compress(parcel->compressor, &task, selection, error));
    size_t bytes = selection->count * sizeof *selection->entries;
    parcel->selected = selection->count;
    GW_TRY(gw_room_reserve(&parcel->sent, bytes, error));
    if (bytes > 0) {
        memcpy(parcel->sent.memory, selection->entries, bytes);
    }
    return GW_OK;
}

enum gw_status gw_compress_indices(struct gw_worker *worker, struct gw_parcel *parcel,
                                   struct gw_error *error) {
    struct gw_task task = gw_worker_task(worker, parcel);
    struct gw_selection *selection = &worker->selection;
    GW_TRY(parcel->compressor->select(&task, selection, error));
    GW_TRY(gw_parcel_reserve_known(parcel, selection->count, error));
    parcel->selected = selection->count;
    parcel->known_count = selection->count;
    uint32_t *known = gw_parcel_known(parcel);
    for (size_t i = 0; i < selection->count; i++) {
        known[i] = selection->entries[i].index;
    }
    return GW_OK;
}

static void accumulate(const struct gw_worker *worker, const struct gw_parcel *parcel) {
    float *u = gw_worker_residual(worker, parcel);
    const float *gradient = gw_worker_gradient(worker, parcel);
    for (size_t i = 0; i < parcel->slice->elements; i++) {
        u[i] += gradient[i];
    }
}

size_t gw_compress_leader(const struct gw_worker *worker) {
    return worker->iteration % worker->workers;
}

enum gw_status gw_compress_led(struct gw_worker *worker, struct gw_parcel *parcel,
                               struct gw_error *error) {
    if (worker->rank == gw_compress_leader(worker)) {
        return gw_compress_indices(worker, parcel, error);
    }
    accumulate(worker, parcel);
    return GW_OK;
}

enum gw_status gw_compress_sketch(struct gw_worker *worker, struct gw_parcel *parcel,
                                  struct gw_error *error) {
    accumulate(worker, parcel);
    gw_sketch_clear(&parcel->sketch);
    return gw_sketch_encode(&parcel->sketch, gw_worker_residual(worker, parcel), 0,
                            parcel->slice->elements, error);
}

/* ---- whole layers -------------------------------------------------------------------------- */

/* A layer has at least one element, so that it was chosen if its first one was. */
static void pack_layers(const struct gw_parcel *parcel, const struct gw_selection *selection) {
    float *flags = parcel->sent.memory;
    float *values = flags + parcel->slice->layer_count;
    size_t packed = 0;
    for (size_t layer = 0, first = 0; layer < parcel->slice->layer_count; layer++) {
        bool chosen =
            packed < selection->count && selection->entries[packed].index == (uint32_t)first;
        flags[layer] = chosen ? 1 : 0;
        for (size_t e = 0; e < parcel->layers[layer] && chosen; e++, packed++) {
            values[packed] = selection->entries[packed].value;
        }
        first += parcel->layers[layer];
    }
}

enum gw_status gw_compress_layers(struct gw_worker *worker, struct gw_parcel *parcel,
                                  struct gw_error *error) {
    struct gw_task task = gw_worker_task(worker, parcel);
    struct gw_selection *selection = &worker->selection;
    GW_TRY(gw_compress(parcel->compressor, &task, selection, error));
    GW_TRY(gw_room_reserve(&parcel->sent,
                           (parcel->slice->layer_count + selection->count) * sizeof(float), error));
    parcel->selected = selection->count;
    pack_layers(parcel, selection);
    return GW_OK;
}
