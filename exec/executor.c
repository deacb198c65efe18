/* The executor: a session whose compute is timed waiting, or products of matrices on a GPU, with
 * generated gradients. */
#include <math.h>

#include "exec/exchange.h"
#include "exec/session.h"

/* ---- an iteration -------------------------------------------------------------------------- */

enum gw_status gw_session_iterate(struct gw_session *session, double start_s,
                                  struct gw_timeline *timeline, struct gw_error *error) {
    struct gw_worker *worker = &session->worker;
    struct gw_communicator *communicator = worker->hosts;
    GW_TRY(gw_session_prepare(session, error));
    if (!worker->serves) {
        gw_vectors_next_gradient(&worker->vectors, worker->iteration);
    }
    GW_TRY(worker->timed_compression ? gw_preset_select(worker, error) : GW_OK);
    GW_TRY(communicator->transport->barrier(communicator, error));
    gw_session_start(session);
    for (size_t i = 0; i < session->schedule->operation_count; i++) {
        gw_session_push(session, i);
    }
    GW_TRY(gw_session_finish(session, error));
    GW_TRY(gw_session_record(session, start_s, timeline, error));
    return gw_outcome_conclude(&session->outcome, worker, error);
}

/* ---- warming up ---------------------------------------------------------------------------- */

static const double warm_up_tolerance = 0.1; /* gradients differ between iterations */

/* Selected and wanted elements of groups whose counts depend on their gradients. */
struct selected_tally {
    double selected, asked;
};

static bool needs_warm_up(const struct gw_worker *worker, const struct gw_group_state *group) {
    return !group->compressor->exact && !worker->timed_compression;
}

/*
 * Compresses as in an iteration, but without exchanges: of a joint selection, each clears its own.
 */
static enum gw_status compress_groups(struct gw_worker *worker, struct gw_error *error) {
    gw_vectors_next_gradient(&worker->vectors, worker->iteration);
    for (size_t g = 0; g < worker->schedule->group_count; g++) {
        struct gw_group_state *group = &worker->groups[g];
        if (needs_warm_up(worker, group)) {
            GW_TRY(gw_select_start(worker, group, true, error));
            GW_TRY(gw_select_finish(&worker->compute, group, error));
        }
    }
    return GW_OK;
}

/* The average over the workers that each select the wanted number by themselves. */
static struct selected_tally count_selected(const struct gw_worker *worker,
                                            const struct gw_outcome *outcome) {
    struct selected_tally tally = {0};
    for (size_t g = 0; g < worker->schedule->group_count; g++) {
        const struct gw_group_state *group = &worker->groups[g];
        double share = !needs_warm_up(worker, group) ? 0
                       : group->compressor->joint    ? 1
                                                     : 1 / (double)worker->workers;
        for (size_t i = 0; i < worker->workers; i++) {
            double selected = (double)outcome->selected[g * worker->workers + i];
            tally.selected += share * selected;
        }
        tally.asked += share > 0 ? (double)group->slice->kept : 0;
    }
    return tally;
}

/*
 * Raises the expected counts. All workers together select at most the maximum times their number.
 */
static void raise_expected(struct gw_worker *worker, const struct gw_outcome *outcome) {
    for (size_t g = 0; g < worker->schedule->group_count; g++) {
        struct gw_group_state *group = &worker->groups[g];
        uint64_t most = outcome->extents[g].most;
        if (most > group->expected.most) {
            uint64_t all = worker->workers * most;
            group->expected.most = most;
            group->expected.all =
                all < group->slice->size.elements ? all : group->slice->size.elements;
        }
    }
}

enum gw_status gw_session_warm_up(struct gw_session *session,
                                  const struct gw_warm_up_limits *limits, struct gw_warmed_up *out,
                                  struct gw_error *error) {
    struct gw_worker *worker = &session->worker;
    double start_s = gw_clock_now_s();
    struct gw_warm_up warm_up = {.tolerance = warm_up_tolerance};
    bool end = true;
    for (size_t g = 0; g < worker->schedule->group_count && limits->iterations > 0; g++) {
        end = end && !needs_warm_up(worker, &worker->groups[g]);
    }
    *out = (struct gw_warmed_up){0};
    worker->iteration = session->iterations;
    while (!end) {
        GW_TRY(worker->serves ? GW_OK : compress_groups(worker, error));
        GW_TRY(gw_outcome_share_counts(&session->outcome, worker, error));
        worker->iteration = ++session->iterations;
        raise_expected(worker, &session->outcome);
        struct selected_tally tally = count_selected(worker, &session->outcome);
        out->iterations++;
        gw_warm_up_add(&warm_up, tally.selected, tally.asked);
        out->ratio = warm_up.ratio;
        out->reached = gw_warm_up_reached(&warm_up);
        out->seconds = gw_clock_now_s() - start_s;
        double longest_s = gw_warm_up_nears(&warm_up) ? fmax(limits->longest_s, limits->nearing_s)
                                                      : limits->longest_s;
        end = out->iterations == limits->iterations ||
              (limits->ends_early && (out->reached || out->seconds > longest_s));
        GW_TRY(gw_broadcast(worker->hosts, 0, &end, sizeof end, error)); /* by rank 0's clock */
    }
    return out->iterations > 0 ? gw_exchanges_prepare(worker, error) : GW_OK;
}
