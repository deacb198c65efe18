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

/* A worker's flags, or at the server all workers', for the host to look at. */
static enum gw_status read_flags(struct gw_worker *worker, const float *from, size_t count,
                                 float **flags, struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    void *copy = NULL;
    GW_TRY(
        memory->does->read(memory, from, count * sizeof *from, &worker->list_copy, &copy, error));
    *flags = copy;
    return GW_OK;
}

static enum gw_status prepare_push(struct gw_worker *worker, struct gw_parcel *parcel,
                                   struct gw_error *error) {
    const struct gw_slice *slice = parcel->slice;
    size_t expected = (slice->layer_count + slice->kept) * sizeof(float);
    GW_TRY(gw_room_reserve(&parcel->any, NULL, slice->layer_count * sizeof(float), error));
    if (!worker->serves) {
        GW_TRY(gw_room_reserve(&parcel->sent, &worker->exchange, expected, error));
        return gw_room_reserve(&parcel->received, &worker->exchange, expected, error);
    }
    GW_TRY(gw_room_reserve(&parcel->sent, &worker->exchange,
                           (slice->layer_count + slice->elements) * sizeof(float), error));
    GW_TRY(gw_prepare_server(worker, parcel, expected, error));
    return gw_room_reserve(&parcel->merged, &worker->exchange, slice->elements * sizeof(float),
                           error);
}

/* ---- up ------------------------------------------------------------------------------------ */

/* Adds a worker's layers to the sums; the first one that has a layer begins its sum. */
static enum gw_status add_layers(const struct gw_memory *memory, struct gw_parcel *parcel,
                                 const float *flags, const float *values, struct gw_error *error) {
    float *any = parcel->any.memory;
    float *sums = parcel->merged.memory;
    for (size_t layer = 0; layer < parcel->slice->layer_count; layer++) {
        size_t size = parcel->layers[layer];
        if (flags[layer] > 0) {
            GW_TRY(any[layer] > 0
                       ? memory->does->add(memory, sums, values, size, error)
                       : memory->does->copy(memory, sums, values, size * sizeof *sums, error));
            any[layer] = 1;
            values += size;
        }
        sums += size;
    }
    return GW_OK;
}

static enum gw_status receive_all(struct gw_worker *worker, struct gw_parcel *parcel,
                                  struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    size_t layers = parcel->slice->layer_count;
    float *flags = NULL;
    GW_TRY(read_flags(worker, parcel->received.memory, worker->workers * layers, &flags, error));
    memset(parcel->any.memory, 0, layers * sizeof *flags);
    for (size_t i = 0; i < worker->workers; i++, flags += layers) {
        size_t count = chosen_elements(parcel, flags);
        GW_TRY(gw_room_reserve(&parcel->sent, memory, count * sizeof *flags, error));
        if (count > 0) {
            GW_TRY(gw_receive(worker->communicator, (int)i, parcel->sent.memory,
                              count * sizeof *flags, error));
        }
        GW_TRY(add_layers(memory, parcel, flags, parcel->sent.memory, error));
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

/* At the server: the layers that any worker sent next to each other, in `sent`, after the flags. */
static enum gw_status close_up(struct gw_worker *worker, struct gw_parcel *parcel,
                               struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    size_t layers = parcel->slice->layer_count;
    const float *any = parcel->any.memory;
    const float *sums = parcel->merged.memory;
    size_t all = layers + chosen_elements(parcel, any);
    GW_TRY(gw_room_reserve(&parcel->sent, memory, all * sizeof *sums, error));
    float *packed = parcel->sent.memory;
    GW_TRY(memory->does->write(memory, packed, any, layers * sizeof *any, error));
    packed += layers;
    for (size_t layer = 0; layer < layers; layer++) {
        size_t size = parcel->layers[layer];
        if (any[layer] > 0) {
            GW_TRY(memory->does->copy(memory, packed, sums, size * sizeof *sums, error));
            packed += size;
        }
        sums += size;
    }
    return GW_OK;
}

/* Layers that nobody sent stay zero in the aggregate: parameters are kept as they are. */
static enum gw_status take_layers(const struct gw_worker *worker, struct gw_parcel *parcel,
                                  struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    const float *flags = parcel->any.memory;
    const float *values = (float *)parcel->received.memory + parcel->slice->layer_count;
    float *aggregate = gw_worker_aggregate(worker, parcel);
    parcel->written = GW_WRITTEN_LAYERS;
    for (size_t layer = 0; layer < parcel->slice->layer_count; layer++) {
        size_t size = parcel->layers[layer];
        if (flags[layer] > 0) {
            GW_TRY(memory->does->copy(memory, aggregate, values, size * sizeof *values, error));
            values += size;
        }
        aggregate += size;
    }
    return GW_OK;
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
        return gw_pull_from_server(worker, parcel, (float *)parcel->sent.memory + layers, bytes,
                                   NULL, error);
    }
    GW_TRY(gw_room_reserve(&parcel->received, &worker->exchange, layers * sizeof(float) + bytes,
                           error));
    return gw_pull_from_server(worker, parcel, NULL, bytes,
                               (float *)parcel->received.memory + layers, error);
}

/* To `any`, of the server and of the workers. */
static enum gw_status pull_flags(struct gw_worker *worker, struct gw_parcel *parcel,
                                 struct gw_error *error) {
    size_t layers = parcel->slice->layer_count;
    float *flags = NULL;
    if (worker->serves) {
        GW_TRY(close_up(worker, parcel, error));
        return gw_pull_from_server(worker, parcel, parcel->sent.memory, layers * sizeof *flags,
                                   NULL, error);
    }
    GW_TRY(gw_pull_from_server(worker, parcel, NULL, layers * sizeof *flags,
                               parcel->received.memory, error));
    GW_TRY(read_flags(worker, parcel->received.memory, layers, &flags, error));
    memcpy(parcel->any.memory, flags, layers * sizeof *flags);
    return GW_OK;
}

static enum gw_status pull(struct gw_worker *worker, struct gw_parcel *parcel, uint64_t *bytes,
                           struct gw_error *error) {
    GW_TRY(pull_flags(worker, parcel, error));
    parcel->all = chosen_elements(parcel, parcel->any.memory);
    *bytes = (parcel->slice->layer_count + parcel->all) * sizeof(float);
    GW_TRY(pull_values(worker, parcel, error));
    return worker->serves ? GW_OK : take_layers(worker, parcel, error);
}

const struct gw_leg_runner gw_leg_layers_push = {
    .compression = &gw_compress_layers,
    .suits = suits,
    .needed = "chooses whole layers",
    .prepare = prepare_push,
    .run = push,
};
const struct gw_leg_runner gw_leg_layers_pull = {.follows = true, .after = GW_LAYERS, .run = pull};
