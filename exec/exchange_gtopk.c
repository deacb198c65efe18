/*
 * Entries merged two by two along a tree, of which the largest sums go on; then a broadcast.
 *
 * What does not come through is not lost. An entry whose index is not in the result goes back to
 * the residual of the worker that selected it. Where others' entries of that index came through,
 * what was pruned on the way stays in the residual of the worker that pruned it, who alone knows:
 * the sum over workers is kept.
 */
#include "exec/compress.h"
#include "exec/exchange.h"
#include "exec/tree.h"

static bool suits(const struct gw_compressor *compressor) {
    return compressor->exact && !compressor->common;
}

/* A worker merges once for each worker that tells it. */
static size_t most_merges(size_t workers) {
    size_t merges = 0;
    while ((size_t)1 << merges < workers) {
        merges++;
    }
    return merges;
}

static enum gw_status prepare(struct gw_worker *worker, struct gw_parcel *parcel,
                              struct gw_error *error) {
    size_t bytes = parcel->slice->kept * sizeof(struct gw_entry);
    GW_TRY(gw_room_reserve(&parcel->sent, &worker->exchange, bytes, error));
    GW_TRY(gw_room_reserve(&parcel->received, &worker->exchange, bytes, error));
    GW_TRY(gw_room_reserve(&parcel->merged, &worker->exchange, bytes, error));
    GW_TRY(gw_room_reserve(&parcel->pruned, &worker->exchange, most_merges(worker->workers) * bytes,
                           error));
    return worker->exchange.does->prepare_merge(&worker->exchange, parcel->slice->kept, error);
}

struct merging {
    struct gw_worker *worker;
    struct gw_parcel *parcel;
    size_t merges; /* so far; each has its k entries of what is pruned */
};

static enum gw_status merge(void *context, struct gw_error *error) {
    struct merging *merging = context;
    struct gw_parcel *parcel = merging->parcel;
    struct gw_memory *memory = &merging->worker->exchange;
    struct gw_entry *pruned = parcel->pruned.memory;
    size_t k = parcel->slice->kept;
    return memory->does->merge(memory, parcel->merged.memory, parcel->received.memory, k,
                               pruned + k * merging->merges++, error);
}

/* Of one merge no index is pruned twice; what several pruned is added in their order. */
static enum gw_status give_back(const struct merging *merging, struct gw_error *error) {
    const struct gw_parcel *parcel = merging->parcel;
    const struct gw_memory *memory = &merging->worker->exchange;
    const struct gw_entry *result = parcel->merged.memory;
    const struct gw_entry *pruned = parcel->pruned.memory;
    size_t k = parcel->slice->kept;
    float *u = gw_worker_residual(merging->worker, parcel);
    GW_TRY(memory->does->scatter_add_where(memory, parcel->sent.memory, k, result, k, false, u,
                                           error));
    for (size_t i = 0; i < merging->merges; i++) {
        GW_TRY(
            memory->does->scatter_add_where(memory, pruned + k * i, k, result, k, true, u, error));
    }
    return GW_OK;
}

static enum gw_status run(struct gw_worker *worker, struct gw_parcel *parcel, uint64_t *bytes,
                          struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    const struct gw_memory *memory = &worker->exchange;
    struct merging merging = {.worker = worker, .parcel = parcel};
    struct gw_entry *merged = parcel->merged.memory;
    size_t k = parcel->slice->kept;
    *bytes = k * sizeof *merged;
    GW_TRY(memory->does->copy(memory, merged, parcel->sent.memory, *bytes, error));
    GW_TRY(gw_send_up_tree(communicator, merged, parcel->received.memory, *bytes, merge, &merging,
                           error));
    GW_TRY(communicator->transport->broadcast(communicator, 0, merged, *bytes, error));
    gw_parcel_list_entries(parcel, merged, k);
    GW_TRY(memory->does->scatter_add(memory, merged, &k, 1, gw_worker_aggregate(worker, parcel),
                                     error));
    return give_back(&merging, error);
}

const struct gw_leg_runner gw_leg_gtopk = {
    .compression = &gw_compress_entries,
    .suits = suits,
    .needed = "selects as many elements as it is asked for, others on each worker",
    .prepare = prepare,
    .run = run,
};
