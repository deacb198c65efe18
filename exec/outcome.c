#include "exec/outcome.h"

#include <stdlib.h>

#include "exec/aggregate.h"

enum gw_status gw_outcome_open(struct gw_outcome *out, const struct gw_worker *worker,
                               struct gw_error *error) {
    size_t groups = worker->schedule->group_count;
    size_t ranks = (size_t)worker->hosts->size;
    *out = (struct gw_outcome){.own = calloc(groups, sizeof *out->own),
                               .of = calloc(ranks * groups, sizeof *out->of),
                               .selected = calloc(groups * worker->workers, sizeof *out->selected),
                               .counts = calloc(worker->workers, sizeof *out->counts),
                               .extents = calloc(groups, sizeof *out->extents)};
    return out->own != NULL && out->of != NULL && out->selected != NULL && out->counts != NULL &&
                   out->extents != NULL
               ? GW_OK
               : gw_fail_memory(error, "opening an executor");
}

void gw_outcome_close(struct gw_outcome *outcome) {
    free(outcome->own);
    free(outcome->of);
    free(outcome->selected);
    free(outcome->counts);
    free(outcome->extents);
}

static enum gw_status compare(const struct gw_outcome *outcome, const struct gw_worker *worker,
                              struct gw_error *error) {
    size_t groups = worker->schedule->group_count;
    for (size_t i = 0; i < worker->workers * groups; i++) {
        if (outcome->of[i].checksum != outcome->of[i % groups].checksum) {
            return gw_fail(error, GW_FAILED,
                           "execution: group %zu: expected the same aggregate on every worker, "
                           "but rank %zu differs from rank 0",
                           i % groups, i / groups);
        }
    }
    return GW_OK;
}

/* Of one group; the server's own outcome does not count. */
static void take(struct gw_outcome *outcome, const struct gw_worker *worker, size_t group) {
    size_t groups = worker->schedule->group_count;
    struct gw_selected *extent = &outcome->extents[group];
    *extent = (struct gw_selected){.all = outcome->of[group].all};
    for (size_t i = 0; i < worker->workers; i++) {
        uint64_t selected = outcome->of[i * groups + group].selected;
        outcome->selected[group * worker->workers + i] = selected;
        outcome->counts[i] = selected;
        extent->most = selected > extent->most ? selected : extent->most;
    }
}

/* From every rank to every rank. */
static enum gw_status gather(struct gw_outcome *outcome, struct gw_worker *worker,
                             bool with_checksums, struct gw_error *error) {
    struct gw_communicator *communicator = worker->hosts;
    size_t groups = worker->schedule->group_count;
    for (size_t group = 0; group < groups; group++) {
        const struct gw_parcel *parcel = &worker->parcels[group];
        struct gw_group_outcome *own = &outcome->own[group];
        *own = (struct gw_group_outcome){.selected = parcel->selected, .all = parcel->all};
        if (with_checksums && !worker->serves) {
            GW_TRY(gw_aggregate_checksum(worker, parcel, &own->checksum, error));
        }
    }
    return communicator->transport->allgather(communicator, outcome->own,
                                              groups * sizeof *outcome->own, outcome->of, error);
}

static void tell(struct gw_outcome *outcome, struct gw_worker *worker) {
    for (size_t group = 0; group < worker->schedule->group_count; group++) {
        const struct gw_parcel *parcel = &worker->parcels[group];
        take(outcome, worker, group);
        if (parcel->state != NULL && parcel->compressor->observe != NULL) {
            parcel->compressor->observe(parcel->state, outcome->counts);
        }
    }
}

enum gw_status gw_outcome_tell(struct gw_outcome *outcome, struct gw_worker *worker,
                               struct gw_error *error) {
    GW_TRY(gather(outcome, worker, false, error));
    tell(outcome, worker);
    return GW_OK;
}

enum gw_status gw_outcome_conclude(struct gw_outcome *outcome, struct gw_worker *worker,
                                   struct gw_error *error) {
    GW_TRY(gather(outcome, worker, true, error));
    tell(outcome, worker);
    return compare(outcome, worker, error);
}
