#include "sim/simulator.h"

#include <math.h>
#include <string.h>

enum gw_status gw_tally_open(struct gw_tally *out, size_t lane_count, struct gw_arena *arena,
                             struct gw_error *error) {
    *out = (struct gw_tally){.idle = gw_arena_zeros(arena, lane_count, sizeof(double))};
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        out->clock[stream] = gw_arena_zeros(arena, lane_count, sizeof(double));
    }
    for (int kind = 0; kind < GW_TALLIED; kind++) {
        out->busy[kind] = gw_arena_zeros(arena, lane_count, sizeof(double));
    }
    return gw_arena_check(arena, "simulating", error);
}

void gw_tally_reset(struct gw_tally *tally, size_t lane_count) {
    size_t bytes = lane_count * sizeof(double);
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        memset(tally->clock[stream], 0, bytes);
    }
    for (int kind = 0; kind < GW_TALLIED; kind++) {
        memset(tally->busy[kind], 0, bytes);
    }
    memset(tally->idle, 0, bytes);
    tally->exchanges_s = 0;
}

/* Over workers. Equal values have that mean exactly, and lanes may be of one worker or of many. */
static double mean_of(const struct gw_simulator *simulator, const double *values) {
    struct gw_sum sum = {0};
    for (size_t lane = 0; lane < simulator->lane_count; lane++) {
        gw_sum_add(&sum, values[lane] - values[0], (double)simulator->lanes[lane].workers);
    }
    return values[0] + (sum.high + sum.low) / (double)simulator->simulation.workers;
}

void gw_measure_other(struct gw_measure *measure) {
    struct gw_breakdown *parts = &measure->breakdown;
    double end_s = measure->iteration_s;
    double other_s =
        end_s - parts->forward_s - parts->backward_s - parts->compress_s - parts->exposed_comm_s;
    parts->other_s = fabs(other_s) < 1e-12 * end_s ? 0 : other_s;
}

/*
 * The compute stream idles before an operation only for one on the communication stream, and
 * the other way round: whichever stream's clock is ahead has been busy without a gap since the
 * other's. So all that the compute stream idled between operations is exposed communication, and so
 * is what the communication stream has left at the end.
 */
void gw_tally_measure(struct gw_tally *tally, const struct gw_simulator *simulator,
                      struct gw_measure *out) {
    const double *compute_s = tally->clock[GW_STREAM_COMPUTE];
    const double *communication_s = tally->clock[GW_STREAM_COMMUNICATION];
    double end_s = 0;
    for (size_t lane = 0; lane < simulator->lane_count; lane++) {
        tally->idle[lane] += gw_later(communication_s[lane] - compute_s[lane], 0);
        end_s = gw_later(end_s, gw_later(compute_s[lane], communication_s[lane]));
    }
    struct gw_breakdown parts = {.forward_s = mean_of(simulator, tally->busy[GW_FORWARD]),
                                 .backward_s = mean_of(simulator, tally->busy[GW_BACKWARD]),
                                 .compress_s = mean_of(simulator, tally->busy[GW_COMPRESS]),
                                 .exposed_comm_s = mean_of(simulator, tally->idle)};
    *out =
        (struct gw_measure){.iteration_s = end_s, .breakdown = parts, .comm_s = tally->exchanges_s};
    gw_measure_other(out);
}

void gw_record_span(struct gw_recorder *recorder, const struct gw_operation *operation, size_t lane,
                    enum gw_activity activity, double start_s, double end_s) {
    struct gw_span span = {.lane = lane,
                           .stream = operation->stream,
                           .activity = activity,
                           .group = operation->group,
                           .label = operation->label,
                           .elements = operation->elements,
                           .bytes = operation->bytes,
                           .start_s = recorder->start_s + start_s,
                           .end_s = recorder->start_s + end_s};
    if (recorder->status == GW_OK) {
        recorder->status = gw_timeline_add(recorder->timeline, span, recorder->error);
    }
}

enum gw_status gw_record_iteration(const struct gw_recorder *recorder,
                                   const struct gw_measure *measure) {
    double start_s = recorder->start_s;
    return recorder->status != GW_OK || recorder->timeline == NULL
               ? recorder->status
               : gw_timeline_add_iteration(recorder->timeline, start_s,
                                           start_s + measure->iteration_s, recorder->error);
}
