#include "study/difference.h"
#include "study/scenario.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t NONE = SIZE_MAX;

/* ---- timelines, laid out by operation -------------------------------------------------------- */

/* Periods of one side's timeline. Times count from an iteration's start. */
struct layout {
    const struct gw_timeline *timeline;
    size_t operations, lanes, iterations;
    struct gw_period *periods; /* [iteration][lane][operation] */
    double *bytes;             /* [operation]: mean of its iterations, of the first lane */
};

struct timeline_comparison {
    const struct gw_schedule *schedule;
    struct layout sides[GW_SIDES];
    size_t *of_stream[GW_STREAM_COUNT]; /* numbers of operations, in order */
    size_t stream_count[GW_STREAM_COUNT];
    size_t *before;              /* [operation]: the one before it on its stream, or NONE */
    struct timeline_step *steps; /* of the path that was walked last */
    struct gw_arena *arena;
    struct gw_difference *out;
};

static enum gw_status list_streams(struct timeline_comparison *comparison, struct gw_error *error) {
    const struct gw_schedule *schedule = comparison->schedule;
    size_t last[GW_STREAM_COUNT];
    size_t count = schedule->operation_count;
    comparison->before = gw_arena_zeros(comparison->arena, count, sizeof(size_t));
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        last[stream] = NONE;
        comparison->of_stream[stream] = gw_arena_zeros(comparison->arena, count, sizeof(size_t));
    }
    GW_TRY(gw_arena_check(comparison->arena, "comparing timelines", error));
    for (size_t i = 0; i < count; i++) {
        enum gw_stream stream = schedule->operations[i].stream;
        comparison->before[i] = last[stream];
        comparison->of_stream[stream][comparison->stream_count[stream]++] = i;
        last[stream] = i;
    }
    return GW_OK;
}

/* State of a lane's stream while its spans are read. */
struct row {
    size_t seen;
    bool waits; /* for others in a collective, since arrived_s */
    double arrived_s;
};

static enum gw_status refuse_span(const char *what, const struct gw_span *span,
                                  struct gw_error *error) {
    return gw_fail(error, GW_FAILED,
                   "comparing timelines: expected %s, got %s %s on the %s stream of lane %zu", what,
                   gw_activity_name(span->activity), span->label, gw_stream_name(span->stream),
                   span->lane);
}

/* Places a span by its operation; a collective begins for a worker when it comes to it, before it
 * waits. */
static enum gw_status place_span(const struct timeline_comparison *comparison, struct layout *side,
                                 const struct gw_span *span, struct row *row,
                                 struct gw_error *error) {
    size_t in_stream = comparison->stream_count[span->stream];
    if (span->activity == GW_WAIT) {
        *row = (struct row){.seen = row->seen, .waits = true, .arrived_s = span->start_s};
        return GW_OK;
    }
    if (in_stream == 0 || row->seen / in_stream >= side->iterations) {
        return refuse_span("no more operations than the schedule has", span, error);
    }
    size_t iteration = row->seen / in_stream;
    size_t number = comparison->of_stream[span->stream][row->seen % in_stream];
    const struct gw_operation *operation = &comparison->schedule->operations[number];
    if (operation->kind != span->activity || operation->group != span->group) {
        return refuse_span("the schedule's operations in its order", span, error);
    }
    double start_s = side->timeline->iterations[iteration].start_s;
    side->periods[(iteration * side->lanes + span->lane) * side->operations + number] =
        (struct gw_period){.start_s = (row->waits ? row->arrived_s : span->start_s) - start_s,
                           .end_s = span->end_s - start_s};
    if (span->lane == 0) {
        side->bytes[number] += (double)span->bytes / (double)side->iterations;
    }
    *row = (struct row){.seen = row->seen + 1};
    return GW_OK;
}

static enum gw_status place_spans(const struct timeline_comparison *comparison, struct layout *side,
                                  struct row *rows, struct gw_error *error) {
    const struct gw_timeline *timeline = side->timeline;
    for (size_t i = 0; i < timeline->span_count; i++) {
        const struct gw_span *span = &timeline->spans[i];
        GW_TRY(place_span(comparison, side, span,
                          &rows[span->lane * GW_STREAM_COUNT + span->stream], error));
    }
    for (size_t row = 0; row < side->lanes * GW_STREAM_COUNT; row++) {
        size_t expected = comparison->stream_count[row % GW_STREAM_COUNT] * side->iterations;
        if (rows[row].seen != expected) {
            return gw_fail(error, GW_FAILED,
                           "comparing timelines: expected %zu operations on the %s stream of lane "
                           "%zu, got %zu",
                           expected, gw_stream_name((enum gw_stream)(row % GW_STREAM_COUNT)),
                           row / GW_STREAM_COUNT, rows[row].seen);
        }
    }
    return GW_OK;
}

static enum gw_status lay_out(const struct timeline_comparison *comparison,
                              const struct gw_timeline *timeline, struct layout *out,
                              struct gw_error *error) {
    size_t operations = comparison->schedule->operation_count;
    size_t lanes = timeline->lane_count;
    *out = (struct layout){.timeline = timeline,
                           .operations = operations,
                           .lanes = lanes,
                           .iterations = timeline->iteration_count};
    if (out->iterations == 0 || (lanes != 1 && lanes != comparison->schedule->workers)) {
        return gw_fail(error, GW_FAILED,
                       "comparing timelines: expected iterations of %zu workers, got %zu of %zu",
                       comparison->schedule->workers, out->iterations, lanes);
    }
    struct row *rows = gw_arena_zeros(comparison->arena, lanes * GW_STREAM_COUNT, sizeof *rows);
    out->bytes = gw_arena_zeros(comparison->arena, operations, sizeof *out->bytes);
    out->periods = gw_arena_zeros(comparison->arena, out->iterations * lanes,
                                  operations * sizeof *out->periods);
    GW_TRY(gw_arena_check(comparison->arena, "comparing timelines", error));
    return place_spans(comparison, out, rows, error);
}

/* ---- periods and waits ----------------------------------------------------------------------- */

/* Period of an operation; `iteration` and `worker` are those of the measured timeline. */
static struct gw_period period_of(const struct layout *side, size_t iteration, size_t worker,
                                  size_t number) {
    size_t lane = side->lanes == 1 ? 0 : worker;
    size_t i = (iteration % side->iterations) * side->lanes + lane;
    return side->periods[i * side->operations + number];
}

static double iteration_s(const struct layout *side, size_t iteration) {
    const struct gw_iteration *shown = &side->timeline->iterations[iteration % side->iterations];
    return shown->end_s - shown->start_s;
}

/* Last worker that came to an exchange before `worker` left it; of other operations `worker`. */
static size_t last_to_come(const struct timeline_comparison *comparison, enum gw_side of,
                           size_t iteration, size_t worker, size_t number) {
    const struct layout *side = &comparison->sides[of];
    size_t last = worker;
    if (comparison->schedule->operations[number].kind != GW_EXCHANGE) {
        return worker;
    }
    double ended_s = period_of(side, iteration, worker, number).end_s;
    double came_s = period_of(side, iteration, worker, number).start_s;
    for (size_t other = 0; other < side->lanes; other++) {
        double start_s = period_of(side, iteration, other, number).start_s;
        if (start_s > came_s && start_s <= ended_s) {
            last = other;
            came_s = start_s;
        }
    }
    return last;
}

/* The last to end of the operations that this one waits for on its worker; NONE: there are none,
 * it waits for the iteration's start. */
static size_t find_awaited(const struct timeline_comparison *comparison, enum gw_side of,
                           size_t iteration, size_t worker, size_t number) {
    const struct gw_operation *operation = &comparison->schedule->operations[number];
    const size_t *dependencies = comparison->schedule->dependencies + operation->first_dependency;
    const struct layout *side = &comparison->sides[of];
    size_t awaited = comparison->before[number];
    for (size_t d = 0; d < operation->dependency_count; d++) {
        size_t other = dependencies[d];
        if (awaited == NONE || period_of(side, iteration, worker, other).end_s >
                                   period_of(side, iteration, worker, awaited).end_s) {
            awaited = other;
        }
    }
    return awaited;
}

static double end_of(const struct layout *side, size_t iteration, size_t worker, size_t number) {
    return number == NONE ? 0 : period_of(side, iteration, worker, number).end_s;
}

/*
 * An operation as part of a path: from the end of the operation that it waited for, on worker
 * `from`, until it ends on `worker`.
 */
struct timeline_step {
    size_t operation, worker, from, awaited;
};

static struct timeline_step step_of(const struct timeline_comparison *comparison, enum gw_side side,
                                    size_t iteration, size_t worker, size_t number) {
    size_t from = last_to_come(comparison, side, iteration, worker, number);
    return (struct timeline_step){.operation = number,
                                  .worker = worker,
                                  .from = from,
                                  .awaited =
                                      find_awaited(comparison, side, iteration, from, number)};
}

static double step_s(const struct layout *side, size_t iteration,
                     const struct timeline_step *step) {
    return end_of(side, iteration, step->worker, step->operation) -
           end_of(side, iteration, step->from, step->awaited);
}

/* Splits a step into wait and duration. The duration is cut to the step, as clocks of two workers
 * may let an operation begin before the one that it waited for ends. */
static struct gw_stretch split_iteration(const struct layout *side, size_t iteration,
                                         const struct timeline_step *step) {
    double whole_s = step_s(side, iteration, step);
    double start_s = period_of(side, iteration, step->from, step->operation).start_s;
    double end_s = period_of(side, iteration, step->worker, step->operation).end_s;
    double duration_s = fmin(end_s - start_s, whole_s);
    return (struct gw_stretch){.wait_s = whole_s - duration_s, .duration_s = duration_s};
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* Fills comparison->steps, from the operation that ends last (of equal ones the last) to the first.
 * Returns their number. */
static size_t walk_path(struct timeline_comparison *comparison, enum gw_side side,
                        size_t iteration) {
    size_t count = 0;
    size_t worker = 0;
    size_t number = 0;
    double latest_s = -INFINITY;
    for (size_t w = 0; w < comparison->sides[side].lanes; w++) {
        for (size_t i = 0; i < comparison->schedule->operation_count; i++) {
            double end_s = period_of(&comparison->sides[side], iteration, w, i).end_s;
            if (end_s > latest_s || (end_s == latest_s && i > number)) {
                latest_s = end_s;
                worker = w;
                number = i;
            }
        }
    }
    while (number != NONE) {
        struct timeline_step *step = &comparison->steps[count++];
        *step = step_of(comparison, side, iteration, worker, number);
        worker = step->from;
        number = step->awaited;
    }
    return count;
}

/* ---- contributions --------------------------------------------------------------------------- */

/* Adds a step of the path to its operation's contribution, beside its counterpart in the other
 * timeline. */
static void add_step(struct timeline_comparison *comparison, size_t iteration,
                     const struct timeline_step *step) {
    struct gw_difference *out = comparison->out;
    struct gw_operation_difference *operation = &out->operations[step->operation];
    double share = 1 / (double)out->iterations;
    double sign = out->path == GW_MEASURED ? -1 : 1;
    enum gw_side other = out->path == GW_MEASURED ? GW_PREDICTED : GW_MEASURED;
    struct timeline_step own = step_of(comparison, other, iteration, step->worker, step->operation);
    struct gw_stretch takes[GW_SIDES];
    takes[out->path] = split_iteration(&comparison->sides[out->path], iteration, step);
    takes[other] = split_iteration(&comparison->sides[other], iteration, &own);
    double slack_s = step_s(&comparison->sides[other], iteration, step) -
                     step_s(&comparison->sides[other], iteration, &own);
    double waited_s = takes[GW_MEASURED].wait_s - takes[GW_PREDICTED].wait_s;
    double worked_s = takes[GW_MEASURED].duration_s - takes[GW_PREDICTED].duration_s;
    for (int side = 0; side < GW_SIDES; side++) {
        operation->takes[side].wait_s += takes[side].wait_s;
        operation->takes[side].duration_s += takes[side].duration_s;
    }
    operation->on_path += share;
    operation->contribution_s += share * (worked_s + waited_s);
    operation->waited_s += share * waited_s;
    out->elsewhere_s += share * sign * slack_s;
}

/* Adds an iteration: the steps of its path, and (elsewhere_s) what follows the path's last
 * operation in the other timeline. */
static void add_iteration(struct timeline_comparison *comparison, size_t iteration) {
    struct gw_difference *out = comparison->out;
    size_t count = walk_path(comparison, out->path, iteration);
    const struct timeline_step *last = &comparison->steps[0];
    double left_s[GW_SIDES];
    for (int side = 0; side < GW_SIDES; side++) {
        left_s[side] = iteration_s(&comparison->sides[side], iteration) -
                       end_of(&comparison->sides[side], iteration, last->worker, last->operation);
    }
    out->elsewhere_s += (left_s[GW_MEASURED] - left_s[GW_PREDICTED]) / (double)out->iterations;
    for (size_t i = 0; i < count; i++) {
        add_step(comparison, iteration, &comparison->steps[i]);
    }
}

/* Makes means of the sums over iterations with the operation on the path; if there are none, of all
 * iterations on its worst worker. */
static void average_operation(const struct timeline_comparison *comparison, size_t number) {
    struct gw_difference *out = comparison->out;
    struct gw_operation_difference *operation = &out->operations[number];
    double times = operation->on_path * (double)out->iterations;
    for (int side = 0; side < GW_SIDES; side++) {
        struct gw_stretch *takes = &operation->takes[side];
        for (size_t i = 0; operation->on_path == 0 && i < out->iterations; i++) {
            struct timeline_step own =
                step_of(comparison, (enum gw_side)side, i, operation->worst_worker, number);
            struct gw_stretch stretch = split_iteration(&comparison->sides[side], i, &own);
            takes->wait_s += stretch.wait_s;
            takes->duration_s += stretch.duration_s;
        }
        double count = operation->on_path > 0 ? times : (double)out->iterations;
        takes->wait_s /= count;
        takes->duration_s /= count;
    }
}

static void find_worst_worker(const struct timeline_comparison *comparison, size_t number) {
    const struct layout *side = &comparison->sides[GW_MEASURED];
    bool comes = comparison->schedule->operations[number].kind == GW_EXCHANGE;
    double worst_s = -INFINITY;
    for (size_t worker = 0; worker < side->lanes; worker++) {
        double sum_s = 0;
        for (size_t i = 0; i < side->iterations; i++) {
            struct gw_period period = period_of(side, i, worker, number);
            sum_s += comes ? period.start_s : period.end_s - period.start_s;
        }
        if (sum_s > worst_s) {
            worst_s = sum_s;
            comparison->out->operations[number].worst_worker = worker;
        }
    }
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* Method of an operation on the other stream that is predicted to run beside this one on the shown
 * worker; NULL: none. */
static const char *find_beside(const struct timeline_comparison *comparison, size_t number,
                               size_t *next) {
    const struct gw_operation *operations = comparison->schedule->operations;
    const struct gw_difference *out = comparison->out;
    bool computes = operations[number].stream == GW_STREAM_COMPUTE;
    enum gw_activity wanted = computes ? GW_EXCHANGE : GW_COMPRESS;
    enum gw_stream other = computes ? GW_STREAM_COMMUNICATION : GW_STREAM_COMPUTE;
    struct gw_period own = out->operations[number].shown[GW_PREDICTED];
    const size_t *row = comparison->of_stream[other];
    while (*next < comparison->stream_count[other] &&
           out->operations[row[*next]].shown[GW_PREDICTED].end_s <= own.start_s) {
        ++*next;
    }
    for (size_t i = *next; i < comparison->stream_count[other] &&
                           out->operations[row[i]].shown[GW_PREDICTED].start_s < own.end_s;
         i++) {
        if (operations[row[i]].kind == wanted) {
            return operations[row[i]].method;
        }
    }
    return NULL;
}

static enum gw_status count_parameter(struct timeline_comparison *comparison,
                                      struct gw_operation_difference *operation, const char *name,
                                      struct gw_error *error) {
    struct gw_difference *out = comparison->out;
    size_t i = 0;
    while (i < out->parameter_count && strcmp(out->parameters[i].parameter, name) != 0) {
        i++;
    }
    struct gw_parameter_difference *parameter = &out->parameters[i];
    if (i == out->parameter_count) {
        *parameter =
            (struct gw_parameter_difference){.parameter = gw_arena_text(comparison->arena, name)};
        GW_TRY(gw_arena_check(comparison->arena, "comparing timelines", error));
        out->parameter_count++;
    }
    operation->parameter = parameter->parameter;
    parameter->operations += operation->contribution_s != 0;
    parameter->contribution_s += operation->contribution_s - operation->waited_s;
    return GW_OK;
}

static enum gw_status find_parameters(struct timeline_comparison *comparison,
                                      const struct gw_costs *costs, bool interference,
                                      struct gw_error *error) {
    struct gw_difference *out = comparison->out;
    const struct gw_schedule *schedule = comparison->schedule;
    size_t next[GW_STREAM_COUNT] = {0};
    size_t tensor = costs->model->tensor_count;
    for (size_t i = 0; i < schedule->operation_count; i++) {
        struct gw_operation_difference *operation = &out->operations[i];
        char name[GW_PARAMETER_SIZE], detail[GW_PARAMETER_SIZE];
        tensor -= schedule->operations[i].kind == GW_BACKWARD;
        const struct gw_predicted_operation predicted = {
            .number = i,
            .tensor = tensor,
            .bytes = comparison->sides[GW_PREDICTED].bytes[i],
            .duration_s = operation->takes[GW_PREDICTED].duration_s,
            .beside = find_beside(comparison, i, &next[schedule->operations[i].stream]),
            .interference = interference};
        size_t way = gw_schedule_way_number(schedule, &schedule->operations[i]);
        gw_parameter_find(&costs[way], schedule, &predicted, name, detail);
        operation->detail = gw_arena_text(comparison->arena, detail);
        GW_TRY(count_parameter(comparison, operation, name, error));
        out->waited_s += operation->waited_s;
    }
    return gw_arena_check(comparison->arena, "comparing timelines", error);
}

/* ---- order of operations, and the shown iteration -------------------------------------------- */

/* The measured iteration nearest to the median, and the worker that its path is longest on. */
static enum gw_status choose_shown(struct timeline_comparison *comparison, struct gw_error *error) {
    struct gw_difference *out = comparison->out;
    const struct layout *measured = &comparison->sides[GW_MEASURED];
    double *times_s = gw_arena_zeros(comparison->arena, out->iterations, sizeof *times_s);
    double *on_worker_s =
        gw_arena_zeros(comparison->arena, comparison->schedule->workers, sizeof *on_worker_s);
    GW_TRY(gw_arena_check(comparison->arena, "comparing timelines", error));
    for (size_t i = 0; i < out->iterations; i++) {
        times_s[i] = iteration_s(measured, i);
    }
    struct gw_spread spread;
    gw_spread_of(times_s, out->iterations, &spread);
    double median_s = spread.percentiles[2];
    for (size_t i = 0; i < out->iterations; i++) {
        if (fabs(iteration_s(measured, i) - median_s) <
            fabs(iteration_s(measured, out->shown_iteration) - median_s)) {
            out->shown_iteration = i;
        }
    }
    size_t count = walk_path(comparison, out->path, out->shown_iteration);
    for (size_t i = 0; i < count; i++) {
        const struct timeline_step *step = &comparison->steps[i];
        on_worker_s[step->from] +=
            step_s(&comparison->sides[out->path], out->shown_iteration, step);
    }
    for (size_t w = 0; w < comparison->schedule->workers; w++) {
        out->shown_worker = on_worker_s[w] > on_worker_s[out->shown_worker] ? w : out->shown_worker;
    }
    return GW_OK;
}

static void show_side(struct timeline_comparison *comparison, enum gw_side side) {
    struct gw_difference *out = comparison->out;
    const struct layout *layout = &comparison->sides[side];
    size_t operations = comparison->schedule->operation_count;
    out->shown_s[side] = iteration_s(layout, out->shown_iteration);
    for (size_t i = 0; i < operations * comparison->schedule->workers; i++) {
        out->shown[side][i] =
            period_of(layout, out->shown_iteration, i / operations, i % operations);
    }
    for (size_t i = 0; i < operations; i++) {
        out->operations[i].shown[side] = out->shown[side][out->shown_worker * operations + i];
    }
    size_t count = walk_path(comparison, side, out->shown_iteration);
    for (size_t i = 0; i < count; i++) {
        out->operations[comparison->steps[i].operation].shown_on_path[side] = true;
    }
}

struct ranked {
    double contribution_s;
    size_t number;
};

static int compare_ranked(const void *left, const void *right) {
    const struct ranked *a = left;
    const struct ranked *b = right;
    double more = fabs(b->contribution_s) - fabs(a->contribution_s);
    return more > 0 ? 1 : more < 0 ? -1 : a->number < b->number ? -1 : 1;
}

static enum gw_status rank_steps(struct timeline_comparison *comparison, struct gw_error *error) {
    struct gw_difference *out = comparison->out;
    size_t count = comparison->schedule->operation_count;
    struct ranked *ranked = gw_arena_zeros(comparison->arena, count, sizeof *ranked);
    GW_TRY(gw_arena_check(comparison->arena, "comparing timelines", error));
    for (size_t i = 0; i < count; i++) {
        ranked[i] = (struct ranked){out->operations[i].contribution_s, i};
        out->contributing += out->operations[i].contribution_s != 0;
    }
    qsort(ranked, count, sizeof *ranked, compare_ranked);
    for (size_t i = 0; i < count; i++) {
        out->largest[i] = ranked[i].number;
    }
    return GW_OK;
}

static int compare_parameters(const void *left, const void *right) {
    const struct gw_parameter_difference *a = left;
    const struct gw_parameter_difference *b = right;
    double more = fabs(b->contribution_s) - fabs(a->contribution_s);
    return more > 0 ? 1 : more < 0 ? -1 : strcmp(a->parameter, b->parameter);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static enum gw_status open_comparison(struct timeline_comparison *comparison,
                                      const struct gw_timeline *const timelines[GW_SIDES],
                                      struct gw_error *error) {
    struct gw_difference *out = comparison->out;
    size_t count = comparison->schedule->operation_count;
    GW_TRY(list_streams(comparison, error));
    comparison->steps = gw_arena_zeros(comparison->arena, count, sizeof *comparison->steps);
    *out = (struct gw_difference){
        .schedule = comparison->schedule,
        .operations = gw_arena_zeros(comparison->arena, count, sizeof *out->operations),
        .largest = gw_arena_zeros(comparison->arena, count, sizeof *out->largest),
        .parameters = gw_arena_zeros(comparison->arena, count, sizeof *out->parameters)};
    for (int side = 0; side < GW_SIDES; side++) {
        out->shown[side] = gw_arena_zeros(comparison->arena, comparison->schedule->workers,
                                          count * sizeof *out->shown[side]);
        GW_TRY(lay_out(comparison, timelines[side], &comparison->sides[side], error));
    }
    out->iterations = comparison->sides[GW_MEASURED].iterations;
    for (int side = 0; side < GW_SIDES; side++) {
        for (size_t i = 0; i < out->iterations; i++) {
            out->iteration_s[side] +=
                iteration_s(&comparison->sides[side], i) / (double)out->iterations;
        }
    }
    out->path = gw_difference_s(out) < 0 ? GW_PREDICTED : GW_MEASURED;
    return GW_OK;
}

enum gw_status gw_difference_find(const struct gw_pipeline *pipeline,
                                  const struct gw_timeline *predicted,
                                  const struct gw_timeline *measured, struct gw_arena *arena,
                                  struct gw_difference *out, struct gw_error *error) {
    const struct gw_schedule *schedule = &pipeline->schedule;
    struct timeline_comparison comparison = {.schedule = schedule, .arena = arena, .out = out};
    const struct gw_timeline *const timelines[GW_SIDES] = {predicted, measured};
    GW_TRY(open_comparison(&comparison, timelines, error));
    for (size_t i = 0; i < out->iterations; i++) {
        add_iteration(&comparison, i);
    }
    for (size_t i = 0; i < schedule->operation_count; i++) {
        find_worst_worker(&comparison, i);
        average_operation(&comparison, i);
    }
    GW_TRY(choose_shown(&comparison, error));
    show_side(&comparison, GW_PREDICTED);
    show_side(&comparison, GW_MEASURED);
    GW_TRY(find_parameters(&comparison, pipeline->costs,
                           gw_scenario_counts_interference(&pipeline->scenario), error));
    qsort(out->parameters, out->parameter_count, sizeof *out->parameters, compare_parameters);
    return rank_steps(&comparison, error);
}

/* ---- as a trace ------------------------------------------------------------------------------ */

static enum gw_status add_shown(const struct gw_difference *difference, enum gw_side side,
                                struct gw_timeline *timeline, struct gw_error *error) {
    const struct gw_schedule *schedule = difference->schedule;
    size_t count = schedule->operation_count;
    for (size_t i = 0; i < count * schedule->workers; i++) {
        const struct gw_operation *operation = &schedule->operations[i % count];
        struct gw_span span = {.lane = i / count,
                               .stream = operation->stream,
                               .activity = operation->kind,
                               .group = operation->group,
                               .label = operation->label,
                               .elements = operation->elements,
                               .bytes = operation->bytes,
                               .start_s = difference->shown[side][i].start_s,
                               .end_s = difference->shown[side][i].end_s};
        GW_TRY(gw_timeline_add(timeline, span, error));
    }
    return GW_OK;
}

enum gw_status gw_difference_write_trace(const struct gw_difference *difference, const char *path,
                                         struct gw_error *error) {
    struct gw_timeline shown[GW_SIDES] = {{0}};
    const struct gw_named_timeline named[GW_SIDES] = {{"predicted", &shown[GW_PREDICTED]},
                                                      {"measured", &shown[GW_MEASURED]}};
    enum gw_status status = GW_OK;
    for (int side = 0; side < GW_SIDES && status == GW_OK; side++) {
        status = gw_timeline_create(&shown[side], difference->schedule->workers, error);
        if (status == GW_OK) {
            status = add_shown(difference, (enum gw_side)side, &shown[side], error);
        }
    }
    if (status == GW_OK) {
        status = gw_timelines_write(named, GW_SIDES, path, error);
    }
    for (int side = 0; side < GW_SIDES; side++) {
        gw_timeline_free(&shown[side]);
    }
    return status;
}
