/* A survey: the ranks that measure each point, and the rounds in which all points are measured. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/hosts/hosts.h"
#include "calibrate/measure/clocks.h"
#include "calibrate/measure/journal.h"
#include "calibrate/measure/points.h"
#include "calibrate/measure/pool.h"
#include "calibrate/measure/survey.h"
#include "calibrate/measure/timing.h"
#include "calibrate/measure/worker_counts.h"
#include "calibrate/report.h"

/* ---- numbers of workers -------------------------------------------------------------------- */

/* Opens a communicator of the first ranks, unless those are all, or there is no world. */
static enum gw_status open_first(struct gw_communicator *world, int workers,
                                 struct gw_communicator *out, struct gw_error *error) {
    return world == NULL || workers == world->size
               ? GW_OK
               : world->transport->open_first(world, workers, out, error);
}

/* Opens communicators: for collectives, all numbers of workers; for compressors, one rank, those
 * that share a machine, and all. */
static enum gw_status open_worker_counts(struct gw_worker_counts *counts, bool collectives,
                                         int sharers, struct gw_error *error) {
    struct gw_communicator *world = counts->world;
    for (int workers = 1; workers <= world->size; workers++) {
        if (workers == world->size || (workers == 1 && sharers > 0) || workers == sharers ||
            (workers > 1 && collectives && gw_is_measured(workers))) {
            size_t at = counts->count++;
            counts->workers[at] = workers;
            GW_TRY(open_first(counts->world, workers, &counts->communicators[at], error));
            GW_TRY(open_first(counts->gpu_world, workers, &counts->gpu_communicators[at], error));
        }
    }
    return GW_OK;
}

static void close_one(struct gw_communicator *communicator) {
    if (communicator->transport != NULL) {
        communicator->transport->close(communicator);
    }
}

/* True if this rank is among the first workers[which]. */
static bool is_measuring(const struct gw_worker_counts *counts, size_t which) {
    return counts->world->rank < counts->workers[which];
}

/* ---- opening and closing ------------------------------------------------------------------- */

enum gw_status gw_point_survey_open(struct gw_communicator *communicator,
                                    const struct gw_calibration *calibration,
                                    struct gw_point_survey *out, struct gw_error *error) {
    *out = (struct gw_point_survey){
        .communicator = communicator,
        .worker_counts = {.world = communicator, .gpu_world = calibration->gpu_communicator},
        .rule = {.precision = calibration->precision,
                 .max_s_per_point = calibration->max_s_per_point,
                 .fewest_visits = GW_MIN_VISITS,
                 .seed = calibration->seed}};
    bool uses_vectors = calibration->compressors[0] != NULL ||
                        (calibration->aggregation && calibration->device == NULL);
    if (uses_vectors) {
        out->sharers = communicator->size; /* on GPUs, where ranks share nothing */
        GW_TRY(calibration->device == NULL
                   ? gw_sharing_find(communicator, &out->sharing, &out->sharers, error)
                   : GW_OK);
    }
    GW_TRY(open_worker_counts(&out->worker_counts, calibration->collectives[0] != NULL,
                              out->sharers, error));
    GW_TRY(gw_clocks_open(communicator, calibration->clock, &out->clocks, error));
    GW_TRY(gw_point_survey_add_collectives(out, calibration, error));
    if (uses_vectors) {
        struct gw_vector_pools *vectors = &out->vectors;
        size_t bytes = gw_greater(2 * calibration->max_elements * sizeof(float),
                                  calibration->pool_bytes / 4); /* usually more than caches hold */
        GW_TRY(gw_pool_open(bytes, calibration->device, &vectors->gradient, error));
        GW_TRY(gw_pool_open(bytes, calibration->device, &vectors->residual, error));
        GW_TRY(gw_pool_fill(&vectors->gradient, bytes, communicator->rank, error));
    }
    GW_TRY(gw_point_survey_add_compressors(out, calibration, error));
    return gw_point_survey_add_aggregators(out, calibration, error);
}

void gw_point_survey_close(struct gw_point_survey *survey) {
    gw_points_free(&survey->points);
    free(survey->list.items);
    gw_arena_free(&survey->arena);
    gw_pool_close(&survey->vectors.gradient);
    gw_pool_close(&survey->vectors.residual);
    for (size_t i = 0; i < survey->worker_counts.count; i++) {
        close_one(&survey->worker_counts.gpu_communicators[i]);
        close_one(&survey->worker_counts.communicators[i]);
    }
}

/* ---- messages of rank 0 to the others ------------------------------------------------------- */

enum { OVER = -1 }; /* in place of a phase */

enum what { LEAVE_PHASE, ASK_CLOCK, MEASURE };

struct command {
    enum what what;
    size_t point, repeats;
    double window_s;
};

/* One rank's part. */
struct part {
    struct gw_point_survey *survey;
    struct gw_timer timer;
    int phase; /* index of the number of workers that measures now */
};

static enum gw_status share_command(const struct part *part, struct command *command,
                                    struct gw_error *error) {
    struct gw_communicator *communicator = part->timer.communicator;
    return gw_broadcast(communicator, 0, command, sizeof *command, error);
}

static enum gw_status share_phase(struct part *part, struct gw_error *error) {
    struct gw_worker_counts *counts = &part->survey->worker_counts;
    struct gw_communicator *world = counts->world;
    GW_TRY(gw_broadcast(world, 0, &part->phase, sizeof part->phase, error));
    if (part->phase != OVER && is_measuring(counts, (size_t)part->phase)) {
        part->timer.communicator = gw_worker_counts_hosts(counts, (size_t)part->phase);
    }
    return GW_OK;
}

static enum gw_status measure_block(struct part *part, const struct command *command,
                                    struct gw_block *block, struct gw_error *error) {
    const struct gw_points *points = &part->survey->points;
    const struct gw_measured_point *point = &points->items[command->point];
    const struct gw_subject *subject = &points->series[point->series].subject;
    if (subject->prepare != NULL) {
        GW_TRY(subject->prepare(subject->context, point->size, error));
    }
    block->count = command->repeats;
    block->row = point->row;
    block->window_s = command->window_s;
    return gw_time_block(&part->timer, subject, block, error);
}

/* ---- the other ranks ----------------------------------------------------------------------- */

static enum gw_status follow_leader(struct part *part, struct gw_error *error) {
    struct gw_worker_counts *counts = &part->survey->worker_counts;
    while (true) {
        GW_TRY(share_phase(part, error));
        if (part->phase == OVER) {
            return GW_OK;
        }
        if (!is_measuring(counts, (size_t)part->phase)) {
            GW_TRY(gw_rest_until_woken(counts->world, error));
            continue;
        }
        struct command command = {.what = ASK_CLOCK};
        struct gw_block block;
        while (command.what != LEAVE_PHASE) {
            GW_TRY(share_command(part, &command, error));
            if (command.what == ASK_CLOCK) {
                GW_TRY(gw_clocks_ask(part->timer.clocks, part->timer.communicator, error));
            } else if (command.what == MEASURE) {
                GW_TRY(measure_block(part, &command, &block, error));
            }
        }
    }
}

/* ---- rank 0 -------------------------------------------------------------------------------- */

struct leader {
    struct part part;
    struct gw_journal *journal;
    const struct gw_report *report;
    struct gw_random *random;
    struct gw_visit *visits; /* [points] */
    size_t *order;           /* [points], of one phase */
    size_t *series;          /* [series], shuffled */
    size_t *first;           /* [series]: index of its first point */
    double started_s, end_s;
    double asked_s; /* time of the last clock query */
};

static double now_s(const struct leader *leader) {
    return gw_clock_read_s(leader->part.survey->clocks.own);
}

static bool is_of_phase(const struct leader *leader, size_t series, size_t phase) {
    const struct gw_point_survey *survey = leader->part.survey;
    return survey->points.series[series].workers == survey->worker_counts.workers[phase];
}

static enum gw_status ask_clocks(struct leader *leader, struct gw_error *error) {
    struct part *part = &leader->part;
    struct command command = {.what = ASK_CLOCK};
    leader->asked_s = now_s(leader);
    if (part->timer.clocks->shared) {
        return GW_OK;
    }
    GW_TRY(share_command(part, &command, error));
    return gw_clocks_ask(part->timer.clocks, part->timer.communicator, error);
}

static enum gw_status enter_phase(struct leader *leader, size_t phase, struct gw_error *error) {
    leader->part.phase = (int)phase;
    GW_TRY(share_phase(&leader->part, error));
    return ask_clocks(leader, error);
}

static enum gw_status leave_phase(struct leader *leader, struct gw_error *error) {
    struct command command = {.what = LEAVE_PHASE};
    struct gw_worker_counts *counts = &leader->part.survey->worker_counts;
    GW_TRY(share_command(&leader->part, &command, error));
    return gw_wake(counts->world, counts->workers[leader->part.phase], error);
}

static void tell_progress(const struct leader *leader, const struct gw_measured_point *point) {
    const struct gw_series *series = &leader->part.survey->points.series[point->series];
    char number[GW_UNITS_SIZE];
    char what[96];
    snprintf(what, sizeof what, "%s, %d workers, %s %s", series->subject.name, series->workers,
             gw_format_count((double)point->size, number), series->subject.size_key);
    double share = (now_s(leader) - leader->started_s) / (leader->end_s - leader->started_s);
    gw_report_progress(leader->report, fmin(share, 1), what);
}

/*
 * Measures a block and discards it: to warm up, and to learn the cost of a repeat. That is the
 * shortest, so that an early disturbance does not make a size look too large, plus the time around
 * each.
 */
static enum gw_status try_point(struct leader *leader, size_t which, size_t repeats,
                                struct gw_error *error) {
    struct gw_measured_point *point = &leader->part.survey->points.items[which];
    struct command command = {.what = MEASURE, .point = which, .repeats = repeats};
    struct gw_block block;
    GW_TRY(share_command(&leader->part, &command, error));
    GW_TRY(measure_block(&leader->part, &command, &block, error));
    double sum_s = 0;
    point->usual_s = block.seconds[0];
    for (size_t i = 0; i < block.count; i++) {
        sum_s += block.seconds[i];
        point->usual_s = fmin(point->usual_s, block.seconds[i]);
    }
    double row = gw_runs(point->row);
    double around_s = fmax(0, block.took_s - row * sum_s) / (double)block.count;
    point->cost_s = row * point->usual_s + around_s;
    point->warm = true;
    return GW_OK;
}

/* ---- first runs ---------------------------------------------------------------------------- */

/* Lists points of one phase, the spread ones or the others, from small sizes to large ones, series
 * in random order at each size. */
static size_t list_by_size(struct leader *leader, size_t phase, bool spread) {
    const struct gw_points *points = &leader->part.survey->points;
    size_t count = 0;
    bool found = true;
    for (size_t s = 0; s < points->series_count; s++) {
        leader->series[s] = s;
    }
    for (size_t level = 0; found; level++) {
        found = false;
        gw_random_shuffle(leader->random, leader->series, points->series_count,
                          sizeof *leader->series);
        for (size_t s = 0; s < points->series_count; s++) {
            size_t series = leader->series[s];
            size_t point = leader->first[series] + level;
            if (is_of_phase(leader, series, phase) && point < points->count &&
                points->items[point].series == series) {
                leader->order[count] = point;
                count += points->items[point].spread == spread;
                found = true;
            }
        }
    }
    return count;
}

static enum gw_status try_out_phase(struct leader *leader, size_t phase, bool spread, double time_s,
                                    struct gw_error *error) {
    const double quick_s = 2e-3;
    const double least_share_s = 10e-3; /* of spread sizes of collectives of all ranks */
    const struct gw_points *points = &leader->part.survey->points;
    size_t count = list_by_size(leader, phase, spread);
    if (count == 0) {
        return GW_OK;
    }
    GW_TRY(enter_phase(leader, phase, error));
    for (size_t i = 0; i < count; i++) {
        size_t which = leader->order[i];
        struct gw_measured_point *point = &points->items[which];
        if (point->state != GW_POINT_OPEN) {
            continue;
        }
        const struct gw_series *series = &points->series[point->series];
        bool in_time = now_s(leader) < leader->end_s - time_s / 4;
        double share_s = gw_largest_share_s(points->series_count, time_s);
        if (series->subject.ends_straight && !series->of_fewer) {
            share_s = fmax(4 * share_s, spread ? least_share_s : 0);
        }
        share_s = spread || in_time ? share_s : 0;
        if (point->asked ? !in_time || gw_is_asked_too_large(points, which, time_s)
                         : gw_is_too_large(points, which, share_s)) {
            point->state = GW_POINT_LEFT_OUT;
            continue;
        }
        const struct gw_measured_point *smaller = gw_tried_below(points, which);
        bool is_quick = smaller == NULL || smaller->cost_s < quick_s;
        tell_progress(leader, point);
        GW_TRY(try_point(leader, which, point->asked ? 1 : is_quick ? 3 : 2, error));
    }
    return leave_phase(leader, error);
}

/* ---- rounds -------------------------------------------------------------------------------- */

static enum gw_status visit_point(struct leader *leader, const struct gw_visit *visit,
                                  struct gw_error *error) {
    const struct gw_point_survey *survey = leader->part.survey;
    const struct gw_points *points = &survey->points;
    struct gw_measured_point *point = &points->items[visit->point];
    double sorted[GW_LARGEST_BLOCK];
    struct gw_summary summary;
    struct gw_block block;
    tell_progress(leader, point);
    if (!point->warm) {
        GW_TRY(try_point(leader, visit->point, 2, error));
    }
    const struct gw_series *series = &points->series[point->series];
    /*
     * The window is so wide that all ranks are done with a repeat when the next one begins.
     * Otherwise data of ready ranks arrives before the last one is ready, and the repeat seems to
     * take nothing: windows would then become shorter still. Ranks that share cores are late by 200
     * us at times.
     */
    struct command command = {.what = MEASURE,
                              .point = visit->point,
                              .repeats = series->together ? 1 : visit->repeats,
                              .window_s = series->subject.idle_s +
                                          1.5 * gw_runs(point->row) * point->usual_s + 300e-6};
    GW_TRY(share_command(&leader->part, &command, error));
    GW_TRY(measure_block(&leader->part, &command, &block, error));
    memcpy(sorted, block.seconds, block.count * sizeof *sorted);
    gw_summarise(sorted, block.count, &summary);
    point->usual_s = summary.median;
    point->cost_s = block.took_s / (double)block.count;
    GW_TRY(gw_point_add(point, &block, &survey->rule, error));
    return gw_journal_put_block(leader->journal, points, visit->point, &block,
                                now_s(leader) - leader->started_s, error);
}

/* A round's visits in one phase. */
static enum gw_status visit_phase(struct leader *leader, size_t phase, size_t count,
                                  struct gw_error *error) {
    const double ask_every_s = 1;
    const struct gw_points *points = &leader->part.survey->points;
    bool entered = false;
    for (size_t i = 0; i < count; i++) {
        const struct gw_visit *next = &leader->visits[i];
        const struct gw_measured_point *point = &points->items[next->point];
        double cost_s = (double)next->repeats * point->cost_s;
        bool fits = point->count == 0 || now_s(leader) + cost_s < leader->end_s;
        if (!fits || !is_of_phase(leader, point->series, phase)) {
            continue;
        }
        GW_TRY(entered ? GW_OK : enter_phase(leader, phase, error));
        entered = true;
        if (now_s(leader) > leader->asked_s + ask_every_s) {
            GW_TRY(ask_clocks(leader, error));
        }
        GW_TRY(visit_point(leader, next, error));
    }
    return entered ? leave_phase(leader, error) : GW_OK;
}

static enum gw_status visit_in_rounds(struct leader *leader, struct gw_error *error) {
    const struct gw_point_survey *survey = leader->part.survey;
    size_t phases = survey->worker_counts.count;
    size_t open = 0;
    for (size_t i = 0; i < survey->points.count; i++) {
        open += survey->points.items[i].state == GW_POINT_OPEN;
    }
    /* Short enough that each point can be visited about ten times, so that drift affects all alike.
     */
    double visit_s = (leader->end_s - now_s(leader)) / (double)(open + 1) / 10;
    visit_s = fmin(fmax(visit_s, 2e-3), 0.02);
    while (true) {
        size_t order[GW_MAX_WORKER_COUNTS];
        size_t count = 0;
        GW_TRY(gw_choose_round(&survey->points, leader->end_s - now_s(leader), visit_s,
                               survey->rule.precision, leader->random, leader->visits, &count,
                               error));
        if (count == 0) {
            return GW_OK;
        }
        for (size_t i = 0; i < phases; i++) {
            order[i] = i;
        }
        gw_random_shuffle(leader->random, order, phases, sizeof *order);
        for (size_t i = 0; i < phases; i++) {
            GW_TRY(visit_phase(leader, order[i], count, error));
        }
    }
}

/* ---- the survey ---------------------------------------------------------------------------- */

static enum gw_status lead_survey(struct leader *leader, double time_s, struct gw_error *error) {
    struct gw_points *points = &leader->part.survey->points;
    leader->started_s = now_s(leader) - leader->journal->at_s;
    leader->end_s = leader->started_s + time_s;
    for (size_t i = points->count; i-- > 0;) {
        struct gw_measured_point *point = &points->items[i];
        leader->first[point->series] = i;
        if (point->count > 0) { /* from the journal, which holds only repeats */
            double repeat_s = point->spent_s / (double)point->count;
            point->usual_s = repeat_s / gw_runs(point->row);
            const struct gw_subject *subject = &points->series[point->series].subject;
            point->cost_s = repeat_s + subject->idle_s + subject->evict_s;
        }
    }
    if (!leader->journal->chosen) {
        for (int round = 0; round < 2; round++) { /* the first of sizes over the whole range */
            size_t phase = leader->part.survey->worker_counts.count;
            while (phase-- > 0) { /* those of most workers matter most */
                GW_TRY(try_out_phase(leader, phase, round == 0, time_s, error));
            }
        }
        GW_TRY(gw_journal_put_chosen(leader->journal, points, error));
    }
    GW_TRY(visit_in_rounds(leader, error));
    for (size_t i = 0; i < points->count; i++) {
        struct gw_measured_point *point = &points->items[i];
        point->state = point->state == GW_POINT_OPEN ? GW_POINT_OUT_OF_TIME : point->state;
    }
    leader->part.phase = OVER;
    return share_phase(&leader->part, error);
}

enum gw_status gw_measure_points(struct gw_point_survey *survey, double time_s,
                                 struct gw_journal *journal, const struct gw_report *report,
                                 struct gw_error *error) {
    struct leader leader = {.part = {.survey = survey, .timer = {.clocks = &survey->clocks}},
                            .journal = journal,
                            .report = report};
    gw_clock_sleep_precisely();
    if (survey->communicator->rank != 0) {
        return follow_leader(&leader.part, error);
    }
    struct gw_arena arena = {0};
    leader.visits = gw_arena_zeros(&arena, survey->points.count, sizeof *leader.visits);
    leader.order = gw_arena_zeros(&arena, survey->points.count, sizeof *leader.order);
    leader.series = gw_arena_zeros(&arena, survey->points.series_count, sizeof *leader.series);
    leader.first = gw_arena_zeros(&arena, survey->points.series_count, sizeof *leader.first);
    enum gw_status status = gw_arena_check(&arena, "choosing points to measure", error);
    if (status == GW_OK) {
        status = gw_random_open(&leader.random, survey->rule.seed, 0, error);
    }
    if (status == GW_OK) {
        status = lead_survey(&leader, time_s, error);
    }
    gw_random_close(leader.random);
    gw_arena_free(&arena);
    return status;
}
