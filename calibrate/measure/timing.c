#include <math.h>
#include <stdlib.h>

#include "calibrate/measure/clocks.h"
#include "calibrate/measure/timing.h"

/* ---- one rank ------------------------------------------------------------------------------ */

/* Runs the subject once and restores it. Returns the begin and the end of the run, by the clock. */
static enum gw_status time_once(const struct gw_clock *clock, const struct gw_subject *subject,
                                double *began_s, double *done_s, struct gw_error *error) {
    *began_s = gw_clock_read_s(clock);
    GW_TRY(subject->run(subject->context, error));
    *done_s = subject->took_s == NULL ? gw_clock_read_s(clock)
                                      : *began_s + subject->took_s(subject->context);
    if (subject->restore != NULL) {
        subject->restore(subject->context);
    }
    return GW_OK;
}

enum gw_status gw_time_alone(const struct gw_clock *clock, const struct gw_subject *subject,
                             struct gw_repeats repeats, double *seconds, size_t *count,
                             struct gw_error *error) {
    double end_s = gw_clock_read_s(clock) + repeats.longest_s;
    for (*count = 0;
         *count < repeats.most && (*count < repeats.fewest || gw_clock_read_s(clock) < end_s);
         (*count)++) {
        double began_s = 0;
        double done_s = 0;
        GW_TRY(time_once(clock, subject, &began_s, &done_s, error));
        seconds[*count] = done_s - began_s;
    }
    return GW_OK;
}

void gw_time_clock(const struct gw_clock *clock, struct gw_clock_cost *out) {
    enum { READINGS = 1001 };
    double seconds[READINGS];
    struct gw_spread spread;
    out->step_s = INFINITY;
    for (size_t i = 0; i < READINGS; i++) {
        double before_s = gw_clock_read_s(clock);
        seconds[i] = gw_clock_read_s(clock) - before_s;
        if (seconds[i] != 0) {
            out->step_s = fmin(out->step_s, seconds[i]);
        }
    }
    gw_spread_of(seconds, READINGS, &spread);
    out->mean_s = spread.mean;
    out->median_s = spread.percentiles[2];
}

/* ---- a block of all ranks ------------------------------------------------------------------ */

static const double shortest_lead_s = 100e-6;
static const double longest_lead_s = 5e-3;
static const double late_share = 0.1;

/* Times of one rank, in the common time. */
struct block_moments {
    double due_s[GW_LARGEST_BLOCK];   /* the agreed time, or later if the rank was not free yet */
    double start_s[GW_LARGEST_BLOCK]; /* when it began to run */
    double end_s[GW_LARGEST_BLOCK];
};

static enum gw_status repeat_block(const struct gw_clocks *clocks, const struct gw_subject *subject,
                                   const struct gw_block *block, double start_s,
                                   struct block_moments *out, struct gw_error *error) {
    double free_s = gw_clock_read_s(clocks->own);
    for (size_t i = 0; i < block->count; i++) {
        double began_s = 0;
        double done_s = 0;
        double planned_s = gw_clocks_from_common_s(clocks, start_s + (double)i * block->window_s);
        double due_s = fmax(planned_s, free_s + subject->idle_s);
        gw_clock_wait_until_s(clocks->own, due_s);
        GW_TRY(time_once(clocks->own, subject, &began_s, &done_s, error));
        for (size_t run = 1; run < block->row; run++) {
            double before_s = 0;
            GW_TRY(time_once(clocks->own, subject, &before_s, &done_s, error));
        }
        free_s = gw_clock_read_s(clocks->own);
        out->due_s[i] = gw_clocks_common_s(clocks, due_s);
        out->start_s[i] = gw_clocks_common_s(clocks, began_s);
        out->end_s[i] = gw_clocks_common_s(clocks, done_s);
    }
    return GW_OK;
}

static void compare_ranks(const struct block_moments *all, int ranks, struct gw_block *block) {
    double row = gw_runs(block->row);
    for (size_t i = 0; i < block->count; i++) {
        double first_s = all[0].start_s[i];
        double last_s = all[0].start_s[i];
        double due_s = all[0].due_s[i];
        double done_s = all[0].end_s[i];
        double first_done_s = ranks > 1 ? all[1].end_s[i] : done_s;
        for (int rank = 1; rank < ranks; rank++) {
            first_s = fmin(first_s, all[rank].start_s[i]);
            last_s = fmax(last_s, all[rank].start_s[i]);
            due_s = fmax(due_s, all[rank].due_s[i]);
            done_s = fmax(done_s, all[rank].end_s[i]);
            first_done_s = fmin(first_done_s, all[rank].end_s[i]);
        }
        block->seconds[i] = fmax(done_s - due_s, 1e-9) / row;
        block->late += last_s - first_s > late_share * row * block->seconds[i];
        block->skew_s += fmin(done_s - first_done_s, block->seconds[i]);
    }
}

enum gw_status gw_time_block(struct gw_timer *timer, const struct gw_subject *subject,
                             struct gw_block *block, struct gw_error *error) {
    struct gw_communicator *communicator = timer->communicator;
    struct block_moments mine = {0};
    timer->lead_s = fmax(timer->lead_s, shortest_lead_s);
    /* A start that is in the future for every rank, if the lead covers the agreement. */
    GW_TRY(communicator->transport->barrier(communicator, error));
    double agreed_s = gw_clock_read_s(timer->clocks->own);
    double start_s = gw_clocks_common_s(timer->clocks, agreed_s) + timer->lead_s + subject->idle_s;
    GW_TRY(gw_broadcast(communicator, 0, &start_s, sizeof start_s, error));
    GW_TRY(repeat_block(timer->clocks, subject, block, start_s, &mine, error));
    struct block_moments *all = malloc((size_t)communicator->size * sizeof *all);
    if (all == NULL) {
        return gw_fail_memory(error, "timing repeats");
    }
    enum gw_status status = gw_allgather(communicator, &mine, sizeof mine, all, error);
    block->late = 0;
    block->skew_s = 0;
    if (status == GW_OK && subject->separate) {
        for (size_t i = 0; i < block->count; i++) { /* the longest time of any rank */
            block->seconds[i] = 1e-9;
            for (int r = 0; r < communicator->size; r++) {
                block->seconds[i] = fmax(block->seconds[i], all[r].end_s[i] - all[r].start_s[i]);
            }
        }
    } else if (status == GW_OK) {
        compare_ranks(all, communicator->size, block);
        bool heard_late = false;
        for (int r = 0; r < communicator->size; r++) {
            heard_late = heard_late || all[r].start_s[0] - start_s > timer->lead_s / 4;
        }
        double changed_s = timer->lead_s * (heard_late ? 2 : 0.9);
        timer->lead_s = fmin(fmax(changed_s, shortest_lead_s), longest_lead_s);
    }
    block->took_s = gw_clock_read_s(timer->clocks->own) - agreed_s;
    free(all);
    return status;
}
