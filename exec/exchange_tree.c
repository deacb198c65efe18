/* Exchanges up the binomial tree of collectives/, by messages, and down by a broadcast. */
#include "exec/exchange.h"

/* ---- the tree ------------------------------------------------------------------------------ */

/* Combines the data of a rank further down. */
typedef enum gw_status tree_combine(void *context, struct gw_error *error);

/*
 * Sends data up the tree. In round i the ranks that remain after i rounds form pairs; one without a
 * partner goes on to the next round. The lower rank receives the other's `own` in `came`, both of
 * `bytes`, and combines them; rank 0 remains.
 */
static enum gw_status send_up_tree(struct gw_communicator *communicator, const void *own,
                                   void *came, size_t bytes, tree_combine *combine, void *context,
                                   struct gw_error *error) {
    int rank = communicator->rank;
    for (int apart = 1; apart < communicator->size; apart *= 2) {
        if ((rank & apart) != 0) {
            return gw_send(communicator, rank - apart, own, bytes, error);
        }
        if (rank + apart < communicator->size) {
            GW_TRY(gw_receive(communicator, rank + apart, came, bytes, error));
            GW_TRY(combine(context, error));
        }
    }
    return GW_OK;
}

struct tree_sum {
    const struct gw_memory *memory;
    float *values;
    const float *came;
    size_t count;
};

static enum gw_status add_sums(void *context, struct gw_error *error) {
    const struct tree_sum *sum = context;
    return sum->memory->does->add(sum->memory, sum->values, sum->came, 1, sum->count, error);
}

/* Sums all ranks' `values`, in place, on all of them: up the tree, then by a broadcast. `came` has
 * the same size. */
static enum gw_status sum_in_tree(struct gw_communicator *communicator,
                                  const struct gw_memory *memory, float *values, float *came,
                                  size_t count, struct gw_error *error) {
    struct tree_sum sum = {.memory = memory, .values = values, .came = came, .count = count};
    GW_TRY(send_up_tree(communicator, values, came, count * sizeof *values, add_sums, &sum, error));
    return gw_broadcast(communicator, 0, values, count * sizeof *values, error);
}

/* ---- entries ------------------------------------------------------------------------------- */

/*
 * Workers merge entries in pairs up a tree and keep the largest sums; then a broadcast distributes
 * them.
 *
 * Entries that are dropped are not lost. If the result lacks an entry's index, the entry returns to
 * the residual of the worker that selected it. If the result has the index, from others' entries,
 * the part pruned on the way stays in the residual of the worker that pruned it: the sum over
 * workers is kept.
 */

static enum gw_status prepare_merges(struct gw_worker *worker, struct gw_group_state *group,
                                     struct gw_error *error) {
    size_t bytes = group->slice->kept * sizeof(struct gw_entry);
    GW_TRY(gw_group_reserve(worker, group, bytes, bytes, error));
    GW_TRY(gw_buffer_reserve(&group->merged, &worker->exchange, bytes, error));
    size_t merges = 0; /* at most, one for each worker that sends to this one */
    while ((size_t)1 << merges < worker->workers) {
        merges++;
    }
    GW_TRY(gw_buffer_reserve(&group->pruned, &worker->exchange, merges * bytes, error));
    return worker->exchange.does->prepare_merge(&worker->exchange, group->slice->kept, error);
}

struct merging {
    struct gw_worker *worker;
    struct gw_group_state *group;
    size_t merges; /* so far; each has k pruned entries */
};

static enum gw_status merge_received(void *context, struct gw_error *error) {
    struct merging *merging = context;
    struct gw_group_state *group = merging->group;
    struct gw_memory *memory = &merging->worker->exchange;
    struct gw_entry *pruned = group->pruned.memory;
    size_t k = group->slice->kept;
    return memory->does->merge(memory, group->merged.memory, group->received.memory, k,
                               pruned + k * merging->merges++, error);
}

/* One merge prunes no index twice; entries that several merges pruned are added in their order. */
static enum gw_status return_entries(const struct merging *merging, struct gw_error *error) {
    const struct gw_group_state *group = merging->group;
    const struct gw_memory *memory = &merging->worker->exchange;
    const struct gw_entry *result = group->merged.memory;
    const struct gw_entry *pruned = group->pruned.memory;
    size_t k = group->slice->kept;
    float *u = gw_worker_residual(merging->worker, group);
    GW_TRY(
        memory->does->scatter_add_where(memory, group->sent.memory, k, result, k, false, u, error));
    for (size_t i = 0; i < merging->merges; i++) {
        GW_TRY(
            memory->does->scatter_add_where(memory, pruned + k * i, k, result, k, true, u, error));
    }
    return GW_OK;
}

static enum gw_status merge_entries(struct gw_worker *worker, struct gw_group_state *group,
                                    uint64_t *bytes, struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    const struct gw_memory *memory = &worker->exchange;
    struct merging merging = {.worker = worker, .group = group};
    struct gw_entry *merged = group->merged.memory;
    size_t k = group->slice->kept;
    *bytes = k * sizeof *merged;
    GW_TRY(memory->does->copy(memory, merged, group->sent.memory, *bytes, error));
    GW_TRY(send_up_tree(communicator, merged, group->received.memory, *bytes, merge_received,
                        &merging, error));
    GW_TRY(gw_broadcast(communicator, 0, merged, *bytes, error));
    gw_group_list_entries(group, merged, k);
    GW_TRY(memory->does->scatter_add(memory, merged, &k, 1, gw_worker_aggregate(worker, group),
                                     error));
    return return_entries(&merging, error);
}

/* ---- sketches ------------------------------------------------------------------------------ */

/* Workers sum sketches along a tree, and all find the same elements from the sum; then they sum the
 * values of these likewise (gs-SGD, Algorithms 1 and 2). */

static enum gw_status prepare_sketch(struct gw_worker *worker, struct gw_group_state *group,
                                     struct gw_error *error) {
    GW_TRY(gw_sketches_open(worker, group, error));
    return gw_buffer_reserve(&group->received, &worker->exchange,
                             gw_sketches_cells(group) * sizeof(float), error);
}

static enum gw_status sum_sketches(struct gw_worker *worker, struct gw_group_state *group,
                                   uint64_t *bytes, struct gw_error *error) {
    size_t cells = gw_sketches_cells(group);
    *bytes = cells * sizeof(float);
    GW_TRY(sum_in_tree(worker->communicator, &worker->exchange, group->cells,
                       group->received.memory, cells, error));
    return gw_sketches_find(worker, group, error);
}

static enum gw_status prepare_values(struct gw_worker *worker, struct gw_group_state *group,
                                     struct gw_error *error) {
    size_t bytes = group->slice->kept * sizeof(float);
    return gw_group_reserve(worker, group, bytes, bytes, error);
}

static enum gw_status sum_values(struct gw_worker *worker, struct gw_group_state *group,
                                 uint64_t *bytes, struct gw_error *error) {
    size_t count = group->common_count;
    float *values = group->sent.memory;
    *bytes = count * sizeof *values;
    GW_TRY(gw_values_take(worker, group, error));
    GW_TRY(sum_in_tree(worker->communicator, &worker->exchange, values, group->received.memory,
                       count, error));
    return gw_values_put(worker, group, values, error);
}

/* ---- legs ---------------------------------------------------------------------------------- */

const struct gw_leg_runner gw_tree_legs[] = {
    {.payload = GW_SPARSE,
     .collective = "gtopk",
     .compression = &gw_compress_entries,
     .prepare = prepare_merges,
     .run = merge_entries},
    {.payload = GW_SKETCH,
     .collective = "sketch",
     .compression = &gw_compress_sketch,
     .prepare = prepare_sketch,
     .run = sum_sketches},
    {.payload = GW_VALUES, .collective = "sketch", .prepare = prepare_values, .run = sum_values},
    {0},
};
