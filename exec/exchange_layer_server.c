/*
 * Whole layers to a server, which sums them, and those back that any worker sent. Both ways there
 * are two messages: for each layer a number that says whether it was chosen, then the chosen ones,
 * of which one worker has others than another.
 */
#include <string.h>

#include "exec/compress.h"
#include "exec/exchange.h"
#include "exec/server.h"

static bool suits(const struct gw_compressor *compressor) {
    return compressor->layered;
}

static size_t chosen_elements(const struct gw_parcel *parcel, const float *flags) {
    size_t elements = 0;
    for (size_t layer = 0; layer < parcel->slice->layer_count; layer++) {
        elements += flags[layer] > 0 ? parcel->layers[layer] : 0;
    }
    return elements;
}

/* The whole group's sums, after the flags: at the server in `merged`. */
static float *sums_of(const struct gw_parcel *parcel) {
    return (float *)parcel->merged.memory + parcel->slice->layer_count;
}

static enum gw_status prepare_push(struct gw_worker *worker, struct gw_parcel *parcel,
                                   struct gw_error *error) {
    const struct gw_slice *slice = parcel->slice;
    size_t expected = (slice->layer_count + slice->kept) * sizeof(float);
    GW_TRY(gw_room_reserve(&parcel->sent, expected, error));
    if (!worker->serves) {
        return gw_room_reserve(&parcel->received, expected, error);
    }
    GW_TRY(gw_prepare_server(worker, parcel, expected, error));
    return gw_room_reserve(&parcel->merged, (slice->layer_count + slice->elements) * sizeof(float),
                           error);
}

/* ---- up ------------------------------------------------------------------------------------ */

/* Adds a worker's layers to the sums; the first one that has a layer begins its sum. */
static void add_layers(struct gw_parcel *parcel, const float *flags, const float *values) {
    float *any = parcel->merged.memory;
    float *sums = sums_of(parcel);
    for (size_t layer = 0, first = 0; layer < parcel->slice->layer_count; layer++) {
        size_t size = parcel->layers[layer];
        if (flags[layer] > 0) {
            for (size_t e = 0; e < size; e++) {
                sums[first + e] = any[layer] > 0 ? sums[first + e] + values[e] : values[e];
            }
            any[layer] = 1;
            values += size;
        }
        first += size;
    }
}

static enum gw_status receive_all(struct gw_worker *worker, struct gw_parcel *parcel,
                                  struct gw_error *error) {
    size_t layers = parcel->slice->layer_count;
    const float *flags = parcel->received.memory;
    memset(parcel->merged.memory, 0, layers * sizeof *flags);
    for (size_t i = 0; i < worker->workers; i++, flags += layers) {
        size_t count = chosen_elements(parcel, flags);
        GW_TRY(gw_room_reserve(&parcel->sent, count * sizeof *flags, error));
        if (count > 0) {
            GW_TRY(gw_receive(worker->communicator, (int)i, parcel->sent.memory,
                              count * sizeof *flags, error));
        }
        add_layers(parcel, flags, parcel->sent.memory);
    }
    return GW_OK;
}

static enum gw_status push(struct gw_worker *worker, struct gw_parcel *parcel, uint64_t *bytes,
                           struct gw_error *error) {
    size_t layers = parcel->slice->layer_count;
    const float *flags = parcel->sent.memory;
    GW_TRY(gw_push_to_server(worker, parcel, flags, layers * sizeof *flags, error));
    if (worker->serves) {
        return receive_all(worker, parcel, error);
    }
    *bytes = (layers + parcel->selected) * sizeof *flags;
    return parcel->selected == 0 ? GW_OK
                                 : gw_send(worker->communicator, (int)worker->workers,
                                           flags + layers, parcel->selected * sizeof *flags, error);
}

/* ---- down ---------------------------------------------------------------------------------- */

/* At the server: moves the layers that any worker sent next to each other. */
static void close_up(struct gw_parcel *parcel) {
    const float *any = parcel->merged.memory;
    float *sums = sums_of(parcel);
    size_t packed = 0;
    for (size_t layer = 0, first = 0; layer < parcel->slice->layer_count; layer++) {
        size_t size = parcel->layers[layer];
        if (any[layer] > 0) {
            memmove(sums + packed, sums + first, size * sizeof *sums);
            packed += size;
        }
        first += size;
    }
}

/* Layers that nobody sent stay zero in the aggregate: parameters are kept as they are. */
static void take_layers(const struct gw_worker *worker, struct gw_parcel *parcel) {
    const float *flags = parcel->received.memory;
    const float *values = flags + parcel->slice->layer_count;
    float *aggregate = gw_worker_aggregate(worker, parcel);
    for (size_t layer = 0; layer < parcel->slice->layer_count; layer++) {
        size_t size = parcel->layers[layer];
        if (flags[layer] > 0) {
            memcpy(aggregate, values, size * sizeof *values);
            values += size;
        }
        aggregate += size;
    }
    parcel->written = GW_WRITTEN_LAYERS;
}

/* Of any worker. */
static enum gw_status pull_values(struct gw_worker *worker, struct gw_parcel *parcel,
                                  struct gw_error *error) {
    size_t layers = parcel->slice->layer_count;
    size_t bytes = parcel->all * sizeof(float);
    if (parcel->all == 0) {
        return GW_OK;
    }
    if (worker->serves) {
        GW_TRY(gw_prepare_server(worker, parcel, bytes, error));
        return gw_pull_from_server(worker, parcel, sums_of(parcel), bytes, NULL, error);
    }
    GW_TRY(gw_room_reserve(&parcel->received, layers * sizeof(float) + bytes, error));
    return gw_pull_from_server(worker, parcel, NULL, bytes,
                               (float *)parcel->received.memory + layers, error);
}

static enum gw_status pull(struct gw_worker *worker, struct gw_parcel *parcel, uint64_t *bytes,
                           struct gw_error *error) {
    size_t layers = parcel->slice->layer_count;
    float *flags = worker->serves ? parcel->merged.memory : parcel->received.memory;
    if (worker->serves) {
        close_up(parcel);
    }
    GW_TRY(gw_pull_from_server(worker, parcel, flags, layers * sizeof *flags, flags, error));
    parcel->all = chosen_elements(parcel, flags);
    *bytes = (layers + parcel->all) * sizeof *flags;
    GW_TRY(pull_values(worker, parcel, error));
    if (!worker->serves) {
        take_layers(worker, parcel);
    }
    return GW_OK;
}

const struct gw_leg_runner gw_leg_layers_push = {
    .compress = gw_compress_layers,
    .suits = suits,
    .needed = "chooses whole layers",
    .prepare = prepare_push,
    .run = push,
};
const struct gw_leg_runner gw_leg_layers_pull = {.follows = true, .after = GW_LAYERS, .run = pull};
