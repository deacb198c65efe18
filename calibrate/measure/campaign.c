#include "calibrate/measure/campaign.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrate/measure/rounds.h"

/* ---- what rank 0 tells the others ---------------------------------------------------------- */

enum { OVER = -1 }; /* in place of a phase */

enum what { LEAVE_PHASE, ASK_CLOCK, MEASURE };

struct command {
    enum what what;
    size_t point, repeats;
    double window_s;
};

/* One rank's part in the campaign. */
struct part {
    const struct gw_campaign *campaign;
    struct gw_timer timer;
    int phase; /* which of the worker counts has its turn */
};

static enum gw_status tell(const struct part *part, struct command *command,
                           struct gw_error *error) {
    struct gw_communicator *communicator = part->timer.communicator;
    return communicator->transport->broadcast(communicator, 0, command, sizeof *command, error);
}

static enum gw_status tell_phase(struct part *part, struct gw_error *error) {
    struct gw_worker_counts *counts = part->campaign->worker_counts;
    struct gw_communicator *world = counts->world;
    GW_TRY(world->transport->broadcast(world, 0, &part->phase, sizeof part->phase, error));
    if (part->phase != OVER && gw_worker_counts_have(counts, (size_t)part->phase)) {
        part->timer.communicator = gw_worker_counts_communicator(counts, (size_t)part->phase);
    }
    return GW_OK;
}

static enum gw_status perform(struct part *part, const struct command *command,
                              struct gw_block *block, struct gw_error *error) {
    const struct gw_points *points = part->campaign->points;
    const struct gw_point *point = &points->items[command->point];
    const struct gw_subject *subject = &points->series[point->series].subject;
    if (subject->prepare != NULL) {
        GW_TRY(subject->prepare(subject->context, point->size, error));
    }
    block->count = command->repeats;
    block->window_s = command->window_s;
    return gw_time_block(&part->timer, subject, block, error);
}

/* ---- the others ---------------------------------------------------------------------------- */

static enum gw_status follow_phase(struct part *part, struct gw_error *error) {
    while (true) {
        struct gw_block block;
        struct command command;
        GW_TRY(tell(part, &command, error));
        if (command.what == LEAVE_PHASE) {
            return GW_OK;
        }
        GW_TRY(command.what == ASK_CLOCK
                   ? gw_clocks_ask(part->timer.clocks, part->timer.communicator, error)
                   : perform(part, &command, &block, error));
    }
}

static enum gw_status follow(struct part *part, struct gw_error *error) {
    struct gw_worker_counts *counts = part->campaign->worker_counts;
    while (true) {
        GW_TRY(tell_phase(part, error));
        if (part->phase == OVER) {
            return GW_OK;
        }
        GW_TRY(gw_worker_counts_have(counts, (size_t)part->phase)
                   ? follow_phase(part, error)
                   : gw_rest_until_woken(counts->world, error));
    }
}

/* ---- rank 0 -------------------------------------------------------------------------------- */

struct leader {
    struct part part;
    struct gw_random *random;
    struct gw_visit *visits; /* [points] */
    double started_s, end_s;
    double asked_s; /* for the time, last */
};

static enum gw_status ask_clocks(struct leader *leader, struct gw_error *error) {
    struct part *part = &leader->part;
    struct command command = {.what = ASK_CLOCK};
    leader->asked_s = gw_clock_now_s();
    if (part->timer.clocks->shared) {
        return GW_OK;
    }
    GW_TRY(tell(part, &command, error));
    return gw_clocks_ask(part->timer.clocks, part->timer.communicator, error);
}

static enum gw_status enter(struct leader *leader, size_t phase, struct gw_error *error) {
    leader->part.phase = (int)phase;
    GW_TRY(tell_phase(&leader->part, error));
    return ask_clocks(leader, error);
}

static enum gw_status leave(struct leader *leader, struct gw_error *error) {
    struct command command = {.what = LEAVE_PHASE};
    struct gw_worker_counts *counts = leader->part.campaign->worker_counts;
    GW_TRY(tell(&leader->part, &command, error));
    return gw_wake(counts->world, counts->workers[leader->part.phase], error);
}

static void say(const struct leader *leader, const struct gw_point *point) {
    const struct gw_campaign *campaign = leader->part.campaign;
    const struct gw_report *report = campaign->report;
    const struct gw_series *series = &campaign->points->series[point->series];
    char number[GW_UNITS_SIZE];
    char what[96];
    snprintf(what, sizeof what, "%s, %d workers, %s %s", series->subject.name, series->workers,
             gw_format_count((double)point->size, number), series->subject.size_key);
    double share = (gw_clock_now_s() - leader->started_s) / (leader->end_s - leader->started_s);
    report->tell(report->context, report->offset + report->scale * fmin(share, 1), what);
}

static double least(const double *values, size_t count) {
    double result = values[0];
    for (size_t i = 1; i < count; i++) {
        result = fmin(result, values[i]);
    }
    return result;
}

/*
 * What a repeat costs, judging by a block: the shortest, so that a disturbance while all is new
 * does not make a size look too large; and what was around each.
 */
static double cost_of(const struct gw_block *block) {
    double sum_s = 0;
    for (size_t i = 0; i < block->count; i++) {
        sum_s += block->seconds[i];
    }
    double shortest_s = least(block->seconds, block->count);
    return shortest_s + fmax(0, (block->took_s - sum_s) / (double)block->count);
}

/* Measures a block and keeps none of it: to warm up, and to learn the cost. */
static enum gw_status try_out(struct leader *leader, size_t which, size_t repeats,
                              struct gw_error *error) {
    struct gw_point *point = &leader->part.campaign->points->items[which];
    struct command command = {.what = MEASURE, .point = which, .repeats = repeats};
    struct gw_block block;
    GW_TRY(tell(&leader->part, &command, error));
    GW_TRY(perform(&leader->part, &command, &block, error));
    point->cost_s = cost_of(&block);
    point->usual_s = least(block.seconds, block.count);
    point->warm = true;
    return GW_OK;
}

/* ---- trying out ---------------------------------------------------------------------------- */

/* Where each series' points begin. */
static void find_first(const struct gw_points *points, size_t *first) {
    for (size_t i = points->count; i-- > 0;) {
        first[points->items[i].series] = i;
    }
}

/* Points of one phase from small sizes to large ones, series in random order at each size. */
static enum gw_status list_by_size(struct leader *leader, size_t phase, size_t *out, size_t *count,
                                   struct gw_error *error) {
    const struct gw_campaign *campaign = leader->part.campaign;
    const struct gw_points *points = campaign->points;
    size_t *order = malloc((points->series_count + 1) * sizeof *order);
    size_t *first = calloc(points->series_count + 1, sizeof *first);
    *count = 0;
    if (order == NULL || first == NULL) {
        free(order);
        free(first);
        return gw_fail_memory(error, "choosing what to measure");
    }
    for (size_t s = 0; s < points->series_count; s++) {
        order[s] = s;
    }
    find_first(points, first);
    bool found = true;
    for (size_t level = 0; found; level++) {
        found = false;
        gw_random_shuffle(leader->random, order, points->series_count, sizeof *order);
        for (size_t s = 0; s < points->series_count; s++) {
            size_t point = first[order[s]] + level;
            if (points->series[order[s]].workers == campaign->worker_counts->workers[phase] &&
                point < points->count && points->items[point].series == order[s]) {
                out[(*count)++] = point;
                found = true;
            }
        }
    }
    free(order);
    free(first);
    return GW_OK;
}

static enum gw_status scout_phase(struct leader *leader, size_t phase, size_t *order,
                                  double share_s, struct gw_error *error) {
    const double quick_s = 2e-3;
    const struct gw_points *points = leader->part.campaign->points;
    size_t count = 0;
    GW_TRY(list_by_size(leader, phase, order, &count, error));
    if (count == 0) {
        return GW_OK;
    }
    GW_TRY(enter(leader, phase, error));
    for (size_t i = 0; i < count; i++) {
        struct gw_point *point = &points->items[order[i]];
        double limit_s = gw_clock_now_s() < leader->end_s ? share_s : 0;
        if (point->state != GW_POINT_OPEN) {
            continue;
        }
        if (gw_is_too_large(points, order[i], limit_s)) {
            point->state = GW_POINT_LEFT_OUT;
            continue;
        }
        bool is_first = order[i] == 0 || point[-1].series != point->series;
        say(leader, point);
        GW_TRY(try_out(leader, order[i], is_first || point[-1].cost_s < quick_s ? 3 : 2, error));
    }
    return leave(leader, error);
}

static enum gw_status scout(struct leader *leader, struct gw_error *error) {
    const struct gw_campaign *campaign = leader->part.campaign;
    const struct gw_points *points = campaign->points;
    double share_s = gw_largest_share_s(points->series_count, campaign->time_s);
    size_t *order = malloc((points->count + 1) * sizeof *order);
    if (order == NULL) {
        return gw_fail_memory(error, "choosing what to measure");
    }
    enum gw_status status = GW_OK;
    for (size_t phase = 0; phase < campaign->worker_counts->count && status == GW_OK; phase++) {
        status = scout_phase(leader, phase, order, share_s, error);
    }
    free(order);
    return status == GW_OK ? gw_journal_put_chosen(campaign->journal, points, error) : status;
}

/* ---- rounds -------------------------------------------------------------------------------- */

static double median_of(const double *values, size_t count) {
    double sorted[GW_LARGEST_BLOCK];
    struct gw_summary summary;
    for (size_t i = 0; i < count; i++) {
        sorted[i] = values[i];
    }
    gw_summarise(sorted, count, &summary);
    return summary.median;
}

/*
 * Wide enough that all ranks are done with a repeat when the next one begins, or what those that
 * are ready send has come before the last one is ready, and the repeat seems to take nothing: then
 * windows would become shorter still. Ranks that share cores are late by 200 us at times.
 */
static double window_for(const struct gw_point *point, const struct gw_subject *subject) {
    return subject->idle_s + 1.5 * point->usual_s + 300e-6;
}

static enum gw_status visit(struct leader *leader, const struct gw_visit *visit,
                            struct gw_error *error) {
    const struct gw_campaign *campaign = leader->part.campaign;
    const struct gw_points *points = campaign->points;
    struct gw_point *point = &points->items[visit->point];
    struct gw_block block;
    say(leader, point);
    if (!point->warm) {
        GW_TRY(try_out(leader, visit->point, 2, error));
    }
    struct command command = {.what = MEASURE,
                              .point = visit->point,
                              .repeats = visit->repeats,
                              .window_s =
                                  window_for(point, &points->series[point->series].subject)};
    GW_TRY(tell(&leader->part, &command, error));
    GW_TRY(perform(&leader->part, &command, &block, error));
    point->usual_s = median_of(block.seconds, block.count);
    point->cost_s = block.took_s / (double)block.count;
    GW_TRY(gw_point_add(point, block.seconds, block.count, block.late, &campaign->rule, error));
    return gw_journal_put_repeats(campaign->journal, points, visit->point, block.seconds,
                                  block.count, block.late, gw_clock_now_s() - leader->started_s,
                                  error);
}

/* A round's visits in one phase. */
static enum gw_status go_round(struct leader *leader, size_t phase, size_t count,
                               struct gw_error *error) {
    const double ask_every_s = 1;
    const struct gw_campaign *campaign = leader->part.campaign;
    const struct gw_points *points = campaign->points;
    bool entered = false;
    for (size_t i = 0; i < count; i++) {
        const struct gw_visit *next = &leader->visits[i];
        const struct gw_point *point = &points->items[next->point];
        double cost_s = (double)next->repeats * point->cost_s;
        bool fits = point->count == 0 || gw_clock_now_s() + cost_s < leader->end_s;
        if (!fits ||
            points->series[point->series].workers != campaign->worker_counts->workers[phase]) {
            continue;
        }
        GW_TRY(entered ? GW_OK : enter(leader, phase, error));
        entered = true;
        if (gw_clock_now_s() > leader->asked_s + ask_every_s) {
            GW_TRY(ask_clocks(leader, error));
        }
        GW_TRY(visit(leader, next, error));
    }
    return entered ? leave(leader, error) : GW_OK;
}

static size_t count_open(const struct gw_points *points) {
    size_t count = 0;
    for (size_t i = 0; i < points->count; i++) {
        count += points->items[i].state == GW_POINT_OPEN;
    }
    return count;
}

/* So that each point can be visited about ten times, and what drifts is seen by all alike. */
static double visit_length(const struct leader *leader) {
    size_t open = count_open(leader->part.campaign->points);
    double equal_s = (leader->end_s - gw_clock_now_s()) / (double)(open + 1);
    return fmin(fmax(equal_s / 10, 2e-3), 0.02);
}

static enum gw_status go_rounds(struct leader *leader, struct gw_error *error) {
    const struct gw_campaign *campaign = leader->part.campaign;
    size_t phase_count = campaign->worker_counts->count;
    double visit_s = visit_length(leader);
    size_t count = 0;
    while (true) {
        size_t order[GW_MOST_WORKER_COUNTS];
        GW_TRY(gw_choose_round(campaign->points, leader->end_s - gw_clock_now_s(), visit_s,
                               campaign->rule.precision, leader->random, leader->visits, &count,
                               error));
        if (count == 0) {
            return GW_OK;
        }
        for (size_t i = 0; i < phase_count; i++) {
            order[i] = i;
        }
        gw_random_shuffle(leader->random, order, phase_count, sizeof *order);
        for (size_t i = 0; i < phase_count; i++) {
            GW_TRY(go_round(leader, order[i], count, error));
        }
    }
}

/* ---- the whole ----------------------------------------------------------------------------- */

/* Of what a journal held nothing is known but its repeats. */
static void estimate_costs(const struct gw_points *points) {
    for (size_t i = 0; i < points->count; i++) {
        struct gw_point *point = &points->items[i];
        if (point->count > 0) {
            point->usual_s = point->spent_s / (double)point->count;
            point->cost_s = point->usual_s + points->series[point->series].subject.idle_s;
        }
    }
}

static enum gw_status lead(struct leader *leader, struct gw_error *error) {
    const struct gw_campaign *campaign = leader->part.campaign;
    struct gw_points *points = campaign->points;
    leader->started_s = gw_clock_now_s() - campaign->journal->at_s;
    leader->end_s = leader->started_s + campaign->time_s;
    estimate_costs(points);
    GW_TRY(campaign->journal->chosen ? GW_OK : scout(leader, error));
    GW_TRY(go_rounds(leader, error));
    for (size_t i = 0; i < points->count; i++) {
        struct gw_point *point = &points->items[i];
        point->state = point->state == GW_POINT_OPEN ? GW_POINT_OUT_OF_TIME : point->state;
    }
    leader->part.phase = OVER;
    return tell_phase(&leader->part, error);
}

enum gw_status gw_campaign_run(const struct gw_campaign *campaign, struct gw_error *error) {
    struct leader leader = {.part = {.campaign = campaign, .timer = {.clocks = campaign->clocks}}};
    gw_clock_sleep_precisely();
    if (campaign->worker_counts->world->rank != 0) {
        return follow(&leader.part, error);
    }
    leader.visits = calloc(campaign->points->count + 1, sizeof *leader.visits);
    enum gw_status status = leader.visits == NULL
                                ? gw_fail_memory(error, "choosing what to measure")
                                : gw_random_open(&leader.random, campaign->rule.seed, 0, error);
    if (status == GW_OK) {
        status = lead(&leader, error);
    }
    gw_random_close(leader.random);
    free(leader.visits);
    return status;
}
