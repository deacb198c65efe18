/* Exchanges with a server: all workers push, the server adds, all pull. */
#include <string.h>

#include "exec/exchange.h"

/* ---- a server's round ---------------------------------------------------------------------- */

/* Reserves `bytes` for each rank at the server, which takes part in its own gather and scatter: its
 * block follows the workers', and the data that it gives or gets itself is one more. */
static enum gw_status prepare_server(const struct gw_worker *worker, struct gw_group_state *group,
                                     size_t bytes, struct gw_error *error) {
    return worker->serves ? gw_buffer_reserve(&group->received, &worker->exchange,
                                              (worker->workers + 2) * bytes, error)
                          : GW_OK;
}

/*
 * Gathers all workers' `data`, of `bytes` each, to the server's `received`, in the order of ranks.
 */
static enum gw_status push_to_server(struct gw_worker *worker, struct gw_group_state *group,
                                     const void *data, size_t bytes, struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    int server = (int)worker->workers;
    if (!worker->serves) {
        return gw_gather(communicator, server, data, bytes, NULL, error);
    }
    GW_TRY(prepare_server(worker, group, bytes, error));
    char *blocks = group->received.memory;
    return gw_gather(communicator, server, blocks + (worker->workers + 1) * bytes, bytes, blocks,
                     error);
}

/* At the server: adds the workers' `count` floats in the order of ranks, to *sums. */
static enum gw_status sum_at_server(const struct gw_worker *worker, struct gw_group_state *group,
                                    size_t count, float **sums, struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    *sums = group->received.memory;
    return memory->does->sum_blocks(memory, *sums, worker->workers, count, error);
}

/* Copies the server's `data`, which may be the sums, to all workers' `out`. */
static enum gw_status pull_from_server(struct gw_worker *worker, struct gw_group_state *group,
                                       const void *data, size_t bytes, void *out,
                                       struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    int server = (int)worker->workers;
    if (!worker->serves) {
        return gw_scatter(communicator, server, NULL, bytes, out, error);
    }
    const struct gw_memory *memory = &worker->exchange;
    char *blocks = group->received.memory;
    for (size_t i = 0; i < worker->workers; i++) {
        GW_TRY(memory->does->copy(memory, blocks + i * bytes, data, bytes, error));
    }
    return gw_scatter(communicator, server, blocks, bytes, blocks + (worker->workers + 1) * bytes,
                      error);
}

/* ---- gradients ----------------------------------------------------------------------------- */

/* Workers push whole gradients to a server, which sums them, and pull the sums. */

static size_t gradient_bytes(const struct gw_group_state *group) {
    return group->slice->size.elements * sizeof(float);
}

static enum gw_status prepare_gradients(struct gw_worker *worker, struct gw_group_state *group,
                                        struct gw_error *error) {
    return prepare_server(worker, group, gradient_bytes(group), error);
}

static enum gw_status push_gradients(struct gw_worker *worker, struct gw_group_state *group,
                                     uint64_t *bytes, struct gw_error *error) {
    *bytes = gradient_bytes(group);
    return push_to_server(worker, group, worker->serves ? NULL : gw_worker_gradient(worker, group),
                          *bytes, error);
}

static enum gw_status pull_gradients(struct gw_worker *worker, struct gw_group_state *group,
                                     uint64_t *bytes, struct gw_error *error) {
    float *sums = NULL;
    if (worker->serves) {
        GW_TRY(sum_at_server(worker, group, group->slice->size.elements, &sums, error));
    }
    *bytes = gradient_bytes(group);
    group->written = GW_WRITTEN_ALL;
    return pull_from_server(worker, group, sums, *bytes,
                            worker->serves ? NULL : gw_worker_aggregate(worker, group), error);
}

/* ---- sketches ------------------------------------------------------------------------------ */

/* Workers push sketches to a server, which finds the common indices from their sum; then they push
 * the values of these, and pull the sums (Ivkin et al., 2019). */

static enum gw_status prepare_sketch(struct gw_worker *worker, struct gw_group_state *group,
                                     struct gw_error *error) {
    GW_TRY(gw_sketches_open(worker, group, error));
    return prepare_server(worker, group, gw_sketches_cells(group) * sizeof(float), error);
}

static enum gw_status push_sketch(struct gw_worker *worker, struct gw_group_state *group,
                                  uint64_t *bytes, struct gw_error *error) {
    *bytes = gw_sketches_cells(group) * sizeof(float);
    return push_to_server(worker, group, group->cells, *bytes, error);
}

static enum gw_status pull_indices(struct gw_worker *worker, struct gw_group_state *group,
                                   uint64_t *bytes, struct gw_error *error) {
    if (worker->serves) {
        const struct gw_memory *memory = &worker->exchange;
        size_t cells = gw_sketches_cells(group);
        float *sums = NULL;
        GW_TRY(sum_at_server(worker, group, cells, &sums, error));
        GW_TRY(memory->does->copy(memory, group->cells, sums, cells * sizeof *sums, error));
        GW_TRY(gw_sketches_find(worker, group, error));
    }
    group->common_count = group->slice->kept;
    *bytes = group->common_count * sizeof(uint32_t);
    return pull_from_server(worker, group, group->common.memory, *bytes, group->common.memory,
                            error);
}

static enum gw_status prepare_values(struct gw_worker *worker, struct gw_group_state *group,
                                     struct gw_error *error) {
    size_t bytes = group->slice->kept * sizeof(float);
    return worker->serves ? prepare_server(worker, group, bytes, error)
                          : gw_group_reserve(worker, group, bytes, bytes, error);
}

static enum gw_status push_values(struct gw_worker *worker, struct gw_group_state *group,
                                  uint64_t *bytes, struct gw_error *error) {
    *bytes = group->common_count * sizeof(float);
    if (!worker->serves) {
        GW_TRY(gw_values_take(worker, group, error));
    }
    return push_to_server(worker, group, group->sent.memory, *bytes, error);
}

static enum gw_status pull_values(struct gw_worker *worker, struct gw_group_state *group,
                                  uint64_t *bytes, struct gw_error *error) {
    float *sums = NULL;
    if (worker->serves) {
        GW_TRY(sum_at_server(worker, group, group->common_count, &sums, error));
    }
    *bytes = group->common_count * sizeof(float);
    GW_TRY(pull_from_server(worker, group, sums, *bytes, group->received.memory, error));
    return worker->serves ? GW_OK : gw_values_put(worker, group, group->received.memory, error);
}

/* ---- whole layers -------------------------------------------------------------------------- */

/*
 * Workers push whole layers to a server, which sums them, and pull the layers that any worker sent.
 * Each way takes two messages: a flag for each layer, then the chosen layers, which differ between
 * workers.
 */

static size_t chosen_elements(const struct gw_group_state *group, const float *flags) {
    size_t elements = 0;
    for (size_t layer = 0; layer < group->slice->size.tensors; layer++) {
        elements += flags[layer] > 0 ? group->layers[layer] : 0;
    }
    return elements;
}

/* Reads a worker's flags, or at the server those of all workers, for the host. */
static enum gw_status read_flags(struct gw_worker *worker, const float *from, size_t count,
                                 float **flags, struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    void *copy = NULL;
    GW_TRY(
        memory->does->read(memory, from, count * sizeof *from, &worker->list_copy, &copy, error));
    *flags = copy;
    return GW_OK;
}

/* Lists the first element of each of the group's layers, in the exchange's memory. */
static enum gw_status list_beginnings(const struct gw_worker *worker, struct gw_group_state *group,
                                      struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    size_t layers = group->slice->size.tensors;
    uint32_t *beginnings = gw_arena_zeros(worker->arena, layers, sizeof *beginnings);
    GW_TRY(gw_arena_check(worker->arena, "listing layers", error));
    for (size_t layer = 1; layer < layers; layer++) {
        beginnings[layer] = beginnings[layer - 1] + (uint32_t)group->layers[layer - 1];
    }
    size_t bytes = layers * sizeof *beginnings;
    GW_TRY(gw_buffer_reserve(&group->beginnings, memory, bytes, error));
    return memory->does->write(memory, group->beginnings.memory, beginnings, bytes, error);
}

static enum gw_status prepare_layers(struct gw_worker *worker, struct gw_group_state *group,
                                     struct gw_error *error) {
    const struct gw_slice *slice = group->slice;
    size_t layers = slice->size.tensors;
    size_t sent = (layers + group->expected.most) * sizeof(float);
    size_t received = (layers + group->expected.all) * sizeof(float);
    GW_TRY(gw_buffer_reserve(&group->presence, NULL, layers * sizeof(float), error));
    if (!worker->serves) {
        GW_TRY(list_beginnings(worker, group, error));
        return gw_group_reserve(worker, group, sent, received, error);
    }
    GW_TRY(gw_buffer_reserve(&group->sent, &worker->exchange,
                             (layers + slice->size.elements) * sizeof(float), error));
    GW_TRY(prepare_server(worker, group, received, error));
    return gw_buffer_reserve(&group->merged, &worker->exchange,
                             slice->size.elements * sizeof(float), error);
}

/* Adds a worker's layers to the sums; the first worker with a layer starts its sum. */
static enum gw_status add_layers(const struct gw_memory *memory, struct gw_group_state *group,
                                 const float *flags, const float *values, struct gw_error *error) {
    float *presence = group->presence.memory;
    float *sums = group->merged.memory;
    for (size_t layer = 0; layer < group->slice->size.tensors; layer++) {
        size_t size = group->layers[layer];
        if (flags[layer] > 0) {
            GW_TRY(presence[layer] > 0
                       ? memory->does->add(memory, sums, values, 1, size, error)
                       : memory->does->copy(memory, sums, values, size * sizeof *sums, error));
            presence[layer] = 1;
            values += size;
        }
        sums += size;
    }
    return GW_OK;
}

static enum gw_status receive_layers(struct gw_worker *worker, struct gw_group_state *group,
                                     struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    size_t layers = group->slice->size.tensors;
    float *flags = NULL;
    GW_TRY(read_flags(worker, group->received.memory, worker->workers * layers, &flags, error));
    memset(group->presence.memory, 0, layers * sizeof *flags);
    for (size_t i = 0; i < worker->workers; i++, flags += layers) {
        size_t count = chosen_elements(group, flags);
        GW_TRY(gw_buffer_reserve(&group->sent, memory, count * sizeof *flags, error));
        if (count > 0) {
            GW_TRY(gw_receive(worker->communicator, (int)i, group->sent.memory,
                              count * sizeof *flags, error));
        }
        GW_TRY(add_layers(memory, group, flags, group->sent.memory, error));
    }
    return GW_OK;
}

static enum gw_status push_layers(struct gw_worker *worker, struct gw_group_state *group,
                                  uint64_t *bytes, struct gw_error *error) {
    size_t layers = group->slice->size.tensors;
    const float *flags = group->sent.memory;
    GW_TRY(push_to_server(worker, group, flags, layers * sizeof *flags, error));
    if (worker->serves) {
        return receive_layers(worker, group, error);
    }
    *bytes = (layers + group->selected) * sizeof *flags;
    return group->selected == 0 ? GW_OK
                                : gw_send(worker->communicator, (int)worker->workers,
                                          flags + layers, group->selected * sizeof *flags, error);
}

/* At the server: packs the layers that any worker sent into `sent`, after the flags. */
static enum gw_status pack_layers(struct gw_worker *worker, struct gw_group_state *group,
                                  struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    size_t layers = group->slice->size.tensors;
    const float *presence = group->presence.memory;
    const float *sums = group->merged.memory;
    size_t all = layers + chosen_elements(group, presence);
    GW_TRY(gw_buffer_reserve(&group->sent, memory, all * sizeof *sums, error));
    float *packed = group->sent.memory;
    GW_TRY(memory->does->write(memory, packed, presence, layers * sizeof *presence, error));
    packed += layers;
    for (size_t layer = 0; layer < layers; layer++) {
        size_t size = group->layers[layer];
        if (presence[layer] > 0) {
            GW_TRY(memory->does->copy(memory, packed, sums, size * sizeof *sums, error));
            packed += size;
        }
        sums += size;
    }
    return GW_OK;
}

/* Layers that no worker sent stay zero in the aggregate, so parameters do not change. */
static enum gw_status write_layers(const struct gw_worker *worker, struct gw_group_state *group,
                                   struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    const float *flags = group->presence.memory;
    const float *values = (float *)group->received.memory + group->slice->size.tensors;
    float *aggregate = gw_worker_aggregate(worker, group);
    group->written = GW_WRITTEN_LAYERS;
    for (size_t layer = 0; layer < group->slice->size.tensors; layer++) {
        size_t size = group->layers[layer];
        if (flags[layer] > 0) {
            GW_TRY(memory->does->copy(memory, aggregate, values, size * sizeof *values, error));
            values += size;
        }
        aggregate += size;
    }
    return GW_OK;
}

/* Pulls the layers that any worker sent. */
static enum gw_status pull_layer_values(struct gw_worker *worker, struct gw_group_state *group,
                                        struct gw_error *error) {
    size_t layers = group->slice->size.tensors;
    size_t bytes = group->all * sizeof(float);
    if (group->all == 0) {
        return GW_OK;
    }
    if (worker->serves) {
        GW_TRY(prepare_server(worker, group, bytes, error));
        return pull_from_server(worker, group, (float *)group->sent.memory + layers, bytes, NULL,
                                error);
    }
    GW_TRY(gw_buffer_reserve(&group->received, &worker->exchange, layers * sizeof(float) + bytes,
                             error));
    return pull_from_server(worker, group, NULL, bytes, (float *)group->received.memory + layers,
                            error);
}

/* Pulls the flags of the layers that any worker sent. */
static enum gw_status pull_flags(struct gw_worker *worker, struct gw_group_state *group,
                                 struct gw_error *error) {
    size_t layers = group->slice->size.tensors;
    float *flags = NULL;
    if (worker->serves) {
        GW_TRY(pack_layers(worker, group, error));
        return pull_from_server(worker, group, group->sent.memory, layers * sizeof *flags, NULL,
                                error);
    }
    GW_TRY(pull_from_server(worker, group, NULL, layers * sizeof *flags, group->received.memory,
                            error));
    GW_TRY(read_flags(worker, group->received.memory, layers, &flags, error));
    memcpy(group->presence.memory, flags, layers * sizeof *flags);
    return GW_OK;
}

static enum gw_status pull_layers(struct gw_worker *worker, struct gw_group_state *group,
                                  uint64_t *bytes, struct gw_error *error) {
    GW_TRY(pull_flags(worker, group, error));
    group->all = chosen_elements(group, group->presence.memory);
    *bytes = (group->slice->size.tensors + group->all) * sizeof(float);
    GW_TRY(pull_layer_values(worker, group, error));
    return worker->serves ? GW_OK : write_layers(worker, group, error);
}

/* ---- legs ---------------------------------------------------------------------------------- */

const struct gw_leg_runner gw_server_legs[] = {
    {.payload = GW_DENSE,
     .collective = "push",
     .prepare = prepare_gradients,
     .run = push_gradients},
    {.payload = GW_DENSE, .collective = "pull", .run = pull_gradients},
    {.payload = GW_SKETCH,
     .collective = "push",
     .compression = &gw_compress_sketch,
     .prepare = prepare_sketch,
     .run = push_sketch},
    {.payload = GW_INDICES, .collective = "pull", .run = pull_indices},
    {.payload = GW_VALUES, .collective = "push", .prepare = prepare_values, .run = push_values},
    {.payload = GW_VALUES, .collective = "pull", .run = pull_values},
    {.payload = GW_LAYERS,
     .collective = "push",
     .compression = &gw_compress_layers,
     .prepare = prepare_layers,
     .run = push_layers},
    {.payload = GW_ALL_LAYERS, .collective = "pull", .run = pull_layers},
    {0},
};
