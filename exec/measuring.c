/* Measured iterations and their results. */
#include <stdlib.h>

#include "exec/exec.h"

/* Appends the counts of the last iteration. */
static enum gw_status record_counts(const struct gw_session *session, struct gw_measured *out,
                                    struct gw_error *error) {
    size_t groups = 0;
    if (out->counts == NULL) {
        return GW_OK;
    }
    const uint64_t *selected = gw_session_selected(session, &groups);
    for (size_t g = 0; g < groups; g++) {
        out->extents[g] = gw_session_extents(session)[g].all;
    }
    return gw_counts_append(out->counts, selected, out->extents, error);
}

/* Adds one iteration, which is all that `timeline` holds. */
static enum gw_status record_measured(const struct gw_session *session,
                                      const struct gw_timeline *timeline, size_t iterations,
                                      double *iteration_s, struct gw_measured *out,
                                      struct gw_error *error) {
    struct gw_measure measure;
    GW_TRY(gw_timeline_measure(timeline, &measure, error));
    *iteration_s = measure.iteration_s;
    GW_TRY(record_counts(session, out, error));
    gw_result_add(out->result, &measure);
    out->result->bytes_per_worker += gw_timeline_bytes_per_lane(timeline) / (double)iterations;
    return out->timeline == NULL ? GW_OK : gw_timeline_append(out->timeline, timeline, error);
}

static enum gw_status run_iterations(struct gw_session *session,
                                     const struct gw_measuring *measuring,
                                     struct gw_timeline *timeline, double *iteration_s,
                                     struct gw_measured *out, struct gw_error *error) {
    double start_s = 0;
    for (size_t i = 0; i < measuring->warm_up + measuring->iterations; i++) {
        measuring->begin(measuring->context);
        gw_timeline_clear(timeline);
        GW_TRY(gw_session_iterate(session, start_s, timeline, error));
        if (i >= measuring->warm_up) {
            GW_TRY(record_measured(session, timeline, measuring->iterations,
                                   &iteration_s[i - measuring->warm_up], out, error));
            start_s = timeline->iterations[0].end_s;
        }
    }
    gw_spread_of(iteration_s, measuring->iterations, &out->result->spread);
    return GW_OK;
}

enum gw_status gw_session_measure(struct gw_session *session, const struct gw_measuring *measuring,
                                  struct gw_measured *out, struct gw_error *error) {
    struct gw_timeline timeline = {0};
    double *iteration_s = calloc(measuring->iterations + 1, sizeof *iteration_s);
    out->result->bytes_per_worker = 0;
    enum gw_status status = iteration_s == NULL ? gw_fail_memory(error, "measuring")
                                                : gw_session_timeline(session, &timeline, error);
    if (status == GW_OK) {
        status = gw_session_warm_up(session, &measuring->settling, &out->warmed_up, error);
    }
    if (status == GW_OK) {
        status = run_iterations(session, measuring, &timeline, iteration_s, out, error);
    }
    gw_timeline_free(&timeline);
    free(iteration_s);
    return status;
}
