/* Exchanges by collectives among the workers: allreduce, allgather and broadcast. */
#include "exec/exchange.h"

/* ---- gradients ----------------------------------------------------------------------------- */

/* One allreduce sums all gradients, as floats or as halves. */

static enum gw_status prepare_sums(struct gw_worker *worker, struct gw_group_state *group,
                                   struct gw_error *error) {
    size_t bytes = group->slice->size.elements * gw_number_bytes(group->number);
    return group->number == GW_NUMBER_FLOAT ? GW_OK
                                            : gw_group_reserve(worker, group, bytes, bytes, error);
}

static enum gw_status sum_gradients(struct gw_worker *worker, struct gw_group_state *group,
                                    uint64_t *bytes, struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    size_t n = group->slice->size.elements;
    const struct gw_memory *memory = &worker->exchange;
    enum gw_number_type number = group->number;
    const float *gradient = gw_worker_gradient(worker, group);
    float *aggregate = gw_worker_aggregate(worker, group);
    *bytes = n * gw_number_bytes(number);
    group->written = GW_WRITTEN_ALL;
    if (number == GW_NUMBER_FLOAT) {
        return gw_allreduce(communicator, number, gradient, aggregate, n, error);
    }
    const struct gw_codes sums = {.compressor = number == GW_NUMBER_BF16 ? &gw_compressor_bf16
                                                                         : &gw_compressor_fp16,
                                  .payloads = 1,
                                  .elements = n,
                                  .bytes = group->received.memory};
    GW_TRY(memory->does->round_to_halves(memory, number, gradient, n, group->sent.memory, error));
    GW_TRY(gw_allreduce(communicator, number, group->sent.memory, sums.bytes, n, error));
    return memory->does->decode(memory, &sums, n, 1, false, aggregate, error);
}

/* ---- equal numbers of entries -------------------------------------------------------------- */

/* One allgather exchanges equally many entries of each worker. */

static enum gw_status prepare_entries(struct gw_worker *worker, struct gw_group_state *group,
                                      struct gw_error *error) {
    size_t bytes = group->slice->kept * sizeof(struct gw_entry);
    for (size_t i = 0; i < worker->workers; i++) {
        group->counts[i] = group->slice->kept;
    }
    return gw_group_reserve(worker, group, bytes, worker->workers * bytes, error);
}

static enum gw_status gather_entries(struct gw_worker *worker, struct gw_group_state *group,
                                     uint64_t *bytes, struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    const struct gw_memory *memory = &worker->exchange;
    struct gw_entry *received = group->received.memory;
    size_t count = worker->workers * group->slice->kept;
    *bytes = group->slice->kept * sizeof *received;
    GW_TRY(gw_allgather(communicator, group->sent.memory, *bytes, received, error));
    gw_group_list_entries(group, received, count);
    return memory->does->scatter_add(memory, received, group->counts, worker->workers,
                                     gw_worker_aggregate(worker, group), error);
}

/* ---- different numbers of entries ---------------------------------------------------------- */

/* An allgather exchanges the numbers of entries; then the entries, padded to the maximum. */

static enum gw_status prepare_counts(struct gw_worker *worker, struct gw_group_state *group,
                                     struct gw_error *error) {
    return gw_buffer_reserve(&group->announced, &worker->exchange,
                             (worker->workers + 1) * sizeof(uint32_t), error);
}

static enum gw_status gather_counts(struct gw_worker *worker, struct gw_group_state *group,
                                    uint64_t *bytes, struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    const struct gw_memory *memory = &worker->exchange;
    uint32_t own = (uint32_t)group->selected;
    uint32_t *announced = group->announced.memory;
    void *counts = NULL;
    *bytes = sizeof own;
    GW_TRY(memory->does->write(memory, announced + worker->workers, &own, sizeof own, error));
    GW_TRY(gw_allgather(communicator, announced + worker->workers, sizeof own, announced, error));
    GW_TRY(memory->does->read(memory, announced, worker->workers * sizeof own, &worker->list_copy,
                              &counts, error));
    group->maximum_count = 0;
    for (size_t i = 0; i < worker->workers; i++) {
        group->counts[i] = ((const uint32_t *)counts)[i];
        group->maximum_count =
            group->counts[i] > group->maximum_count ? group->counts[i] : group->maximum_count;
    }
    return GW_OK;
}

static enum gw_status prepare_padded(struct gw_worker *worker, struct gw_group_state *group,
                                     struct gw_error *error) {
    size_t bytes = group->expected.most * sizeof(struct gw_entry);
    return gw_group_reserve(worker, group, bytes, worker->workers * bytes, error);
}

/* Sends nothing if no worker has entries; all workers know the counts. */
static enum gw_status gather_padded(struct gw_worker *worker, struct gw_group_state *group,
                                    uint64_t *bytes, struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    const struct gw_memory *memory = &worker->exchange;
    size_t maximum = group->maximum_count;
    *bytes = maximum * sizeof(struct gw_entry);
    GW_TRY(gw_group_reserve(worker, group, *bytes, worker->workers * *bytes, error));
    gw_group_list_entries(group, group->received.memory, worker->workers * maximum);
    if (maximum == 0) {
        return GW_OK;
    }
    struct gw_entry *own = group->sent.memory;
    GW_TRY(memory->does->clear(memory, own + group->selected,
                               (maximum - group->selected) * sizeof *own, error));
    struct gw_entry *received = group->received.memory;
    GW_TRY(gw_allgather(communicator, own, *bytes, received, error));
    for (size_t i = 0; i < worker->workers; i++) {
        GW_TRY(memory->does->scatter_add(memory, received + i * maximum, &group->counts[i], 1,
                                         gw_worker_aggregate(worker, group), error));
    }
    return GW_OK;
}

/* ---- indices of all ------------------------------------------------------------------------ */

/* An allgather exchanges the indices that each worker selected, padded to the maximum count; common
 * indices are those of all workers, one worker after the other. */

static enum gw_status reserve_indices(const struct gw_worker *worker, struct gw_group_state *group,
                                      size_t maximum, struct gw_error *error) {
    GW_TRY(gw_group_reserve_common(&worker->exchange, group, worker->workers * maximum, error));
    return gw_buffer_reserve(&group->received, &worker->exchange,
                             worker->workers * maximum * sizeof(uint32_t), error);
}

static enum gw_status prepare_indices(struct gw_worker *worker, struct gw_group_state *group,
                                      struct gw_error *error) {
    return reserve_indices(worker, group, group->expected.most, error);
}

static enum gw_status drop_padding(const struct gw_worker *worker, struct gw_group_state *group,
                                   struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    const uint32_t *received = group->received.memory;
    uint32_t *common = gw_group_common(group);
    group->common_count = 0;
    for (size_t i = 0; i < worker->workers; i++) {
        GW_TRY(memory->does->copy(memory, common + group->common_count,
                                  received + i * group->maximum_count,
                                  group->counts[i] * sizeof *common, error));
        group->common_count += group->counts[i];
    }
    group->all = group->common_count;
    return GW_OK;
}

static enum gw_status gather_indices(struct gw_worker *worker, struct gw_group_state *group,
                                     uint64_t *bytes, struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    const struct gw_memory *memory = &worker->exchange;
    *bytes = group->maximum_count * sizeof(uint32_t);
    group->all = 0;
    if (group->maximum_count == 0) {
        return GW_OK;
    }
    GW_TRY(reserve_indices(worker, group, group->maximum_count, error));
    uint32_t *own = gw_group_common(group);
    GW_TRY(memory->does->clear(memory, own + group->selected,
                               (group->maximum_count - group->selected) * sizeof *own, error));
    GW_TRY(gw_allgather(communicator, own, *bytes, group->received.memory, error));
    return drop_padding(worker, group, error);
}

/* ---- indices of one worker ----------------------------------------------------------------- */

/* One worker, a different one in each iteration, selects and broadcasts the indices. */

static enum gw_status prepare_broadcast(struct gw_worker *worker, struct gw_group_state *group,
                                        struct gw_error *error) {
    return gw_group_reserve_common(&worker->exchange, group, group->slice->kept, error);
}

static enum gw_status broadcast_indices(struct gw_worker *worker, struct gw_group_state *group,
                                        uint64_t *bytes, struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    group->common_count = group->slice->kept;
    *bytes = group->common_count * sizeof(uint32_t);
    return gw_broadcast(communicator, (int)gw_compress_leader(worker), group->common.memory, *bytes,
                        error);
}

/* ---- values -------------------------------------------------------------------------------- */

/* One allreduce sums the values of the common elements. */

static enum gw_status prepare_values(struct gw_worker *worker, struct gw_group_state *group,
                                     struct gw_error *error) {
    size_t bytes = group->expected.all * sizeof(float);
    return gw_group_reserve(worker, group, bytes, bytes, error);
}

static enum gw_status sum_values(struct gw_worker *worker, struct gw_group_state *group,
                                 uint64_t *bytes, struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    size_t count = group->common_count;
    *bytes = count * sizeof(float);
    gw_group_list_common(group);
    if (count == 0) {
        return GW_OK;
    }
    GW_TRY(gw_group_reserve(worker, group, *bytes, *bytes, error));
    GW_TRY(gw_values_take(worker, group, error));
    GW_TRY(gw_allreduce(communicator, GW_NUMBER_FLOAT, group->sent.memory, group->received.memory,
                        count, error));
    return gw_values_put(worker, group, group->received.memory, error);
}

/* ---- legs ---------------------------------------------------------------------------------- */

const struct gw_leg_runner gw_gathered_legs[] = {
    {.payload = GW_DENSE, .collective = "allreduce", .prepare = prepare_sums, .run = sum_gradients},
    {.payload = GW_SPARSE,
     .collective = "allgather",
     .compression = &gw_compress_entries,
     .prepare = prepare_entries,
     .run = gather_entries},
    {.payload = GW_COUNTS,
     .collective = "allgather",
     .prepare = prepare_counts,
     .run = gather_counts},
    {.payload = GW_PADDED,
     .collective = "allgather",
     .compression = &gw_compress_entries,
     .prepare = prepare_padded,
     .run = gather_padded},
    {.payload = GW_INDICES,
     .collective = "allgather",
     .compression = &gw_compress_indices,
     .prepare = prepare_indices,
     .run = gather_indices},
    {.payload = GW_INDICES,
     .collective = "broadcast",
     .compression = &gw_compress_leader_indices,
     .prepare = prepare_broadcast,
     .run = broadcast_indices},
    {.payload = GW_VALUES,
     .collective = "allreduce",
     .compression = &gw_compress_indices,
     .prepare = prepare_values,
     .run = sum_values},
    {0},
};
