/*
 * Entries merged two by two along a tree, of which the largest sums go on; then a broadcast.
 *
 * What does not come through is not lost. An entry whose index is not in the result goes back to
 * the residual of the worker that selected it. Where others' entries of that index came through,
 * what was pruned on the way stays in the residual of the worker that pruned it, who alone knows:
 * the sum over workers is kept.
 */
#include <string.h>

#include "exec/compress.h"
#include "exec/exchange.h"
#include "exec/merge.h"
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
    GW_TRY(gw_room_reserve(&parcel->sent, bytes, error));
    GW_TRY(gw_room_reserve(&parcel->received, bytes, error));
    GW_TRY(gw_room_reserve(&parcel->merged, bytes, error));
    GW_TRY(gw_room_reserve(&parcel->pruned, most_merges(worker->workers) * bytes, error));
    return gw_selection_reserve(&worker->merged, 4 * parcel->slice->kept, error);
}

struct merging {
    struct gw_worker *worker;
    struct gw_parcel *parcel;
    size_t pruned_count;
};

static enum gw_status merge(void *context, struct gw_error *error) {
    struct merging *merging = context;
    struct gw_parcel *parcel = merging->parcel;
    struct gw_entry *pruned = parcel->pruned.memory;
    size_t count = 0;
    GW_TRY(gw_merge(parcel->merged.memory, parcel->received.memory, parcel->slice->kept,
                    &merging->worker->merged, pruned + merging->pruned_count, &count, error));
    merging->pruned_count += count;
    return GW_OK;
}

static void give_back(const struct merging *merging) {
    const struct gw_parcel *parcel = merging->parcel;
    const struct gw_entry *result = parcel->merged.memory;
    const struct gw_entry *own = parcel->sent.memory;
    const struct gw_entry *pruned = parcel->pruned.memory;
    size_t k = parcel->slice->kept;
    float *u = gw_worker_residual(merging->worker, parcel);
    for (size_t i = 0; i < k; i++) {
        if (!gw_merge_has(result, k, own[i].index)) {
            u[own[i].index] += own[i].value;
        }
    }
    for (size_t i = 0; i < merging->pruned_count; i++) {
        if (gw_merge_has(result, k, pruned[i].index)) {
            u[pruned[i].index] += pruned[i].value;
        }
    }
}

static enum gw_status run(struct gw_worker *worker, struct gw_parcel *parcel, uint64_t *bytes,
                          struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    struct merging merging = {.worker = worker, .parcel = parcel};
    struct gw_entry *merged = parcel->merged.memory;
    size_t k = parcel->slice->kept;
    *bytes = k * sizeof *merged;
    memcpy(merged, parcel->sent.memory, *bytes);
    GW_TRY(gw_send_up_tree(communicator, merged, parcel->received.memory, *bytes, merge, &merging,
                           error));
    GW_TRY(communicator->transport->broadcast(communicator, 0, merged, *bytes, error));
    gw_scatter_add(merged, k, gw_worker_aggregate(worker, parcel));
    gw_parcel_list_entries(parcel, merged, k);
    give_back(&merging);
    return GW_OK;
}

const struct gw_leg_runner gw_leg_gtopk = {
    .compress = gw_compress_entries,
    .suits = suits,
    .needed = "selects as many elements as it is asked for, others on each worker",
    .prepare = prepare,
    .run = run,
};
