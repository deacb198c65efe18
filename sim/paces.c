/*
 * Simulates operations that slow each other: each has work left and a pace, and when another one
 * begins or ends beside it, its pace changes and with it its end. All ends at one time
 * are handled before paces change, so that their order makes no difference, to the bit.
 */
#include <math.h>
#include <string.h>

#include "sim/paces.h"

/* ---- opening ------------------------------------------------------------------------------- */

static enum gw_status open_paces(void **out, const struct gw_simulator *simulator,
                                 struct gw_arena *arena, struct gw_error *error) {
    size_t lanes = simulator->lane_count;
    size_t classes = simulator->interference.class_count;
    struct gw_paces *paces = gw_arena_zeros(arena, 1, sizeof *paces);
    if (paces == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    paces->simulator = simulator;
    paces->lane_count = lanes;
    GW_TRY(gw_order_open(&paces->order, simulator->schedule, arena, error));
    GW_TRY(gw_tally_open(&paces->tally, lanes, arena, error));
    paces->unit_lanes =
        simulator->interference.crowding == NULL ? 1 : simulator->cluster->sharing.ranks;
    paces->leaves = 1;
    while (paces->leaves < lanes) {
        paces->leaves *= 2;
    }
    paces->ends = gw_arena_zeros(arena, 2 * paces->leaves, sizeof *paces->ends);
    paces->arrived = gw_arena_zeros(arena, paces->order.exchange_count + 1, sizeof *paces->arrived);
    paces->lanes = gw_arena_zeros(arena, lanes, sizeof *paces->lanes);
    paces->next_compute = gw_arena_zeros(arena, lanes, sizeof *paces->next_compute);
    paces->changed = gw_arena_zeros(arena, lanes, sizeof *paces->changed);
    paces->is_changed = gw_arena_zeros(arena, lanes, sizeof *paces->is_changed);
    paces->noise = gw_arena_zeros(arena, lanes, sizeof *paces->noise);
    paces->active = gw_arena_zeros(arena, classes, sizeof *paces->active);
    paces->busy = gw_arena_zeros(arena, lanes, sizeof *paces->busy);
    paces->late_s = gw_arena_zeros(arena, lanes, sizeof *paces->late_s);
    paces->rounds.served = gw_arena_zeros(arena, lanes, sizeof *paces->rounds.served);
    paces->arrivals =
        gw_arena_zeros(arena, paces->order.exchange_count + 1, lanes * sizeof *paces->arrivals);
    *out = paces;
    return gw_arena_check(arena, "simulating", error);
}

static void reset_paces(struct gw_paces *paces, uint64_t repetition) {
    const struct gw_simulator *simulator = paces->simulator;
    const struct gw_noise *noise = &simulator->simulation.compute_noise;
    uint64_t seed = simulator->simulation.seed;
    gw_tally_reset(&paces->tally, paces->lane_count);
    paces->network_noise = gw_noise_stream(seed, repetition, GW_NOISE_SHARED);
    for (size_t lane = 0; lane < paces->lane_count; lane++) {
        paces->lanes[lane] = (struct gw_paced_work){0};
        paces->next_compute[lane] = 0;
        paces->busy[lane] = 0;
        paces->late_s[lane] = 0;
        paces->noise[lane] =
            gw_noise_worker_stream(noise, seed, repetition, simulator->lanes[lane].worker);
    }
    for (size_t node = 0; node < 2 * paces->leaves; node++) {
        paces->ends[node] = INFINITY;
    }
    paces->exchange = (struct gw_paced_work){0};
    paces->exchanges_done = 0;
    memset(paces->arrived, 0, paces->order.exchange_count * sizeof *paces->arrived);
    memset(paces->active, 0, simulator->interference.class_count * sizeof *paces->active);
    for (size_t i = paces->order.first_waiting[0]; i != GW_NO_EXCHANGE;
         i = paces->order.next_waiting[i]) {
        paces->arrived[i] = paces->lane_count;
    }
}

/* ---- work ---------------------------------------------------------------------------------- */

static void begin_work(struct gw_paced_work *work, size_t operation, double now_s, double seconds) {
    *work = (struct gw_paced_work){.running = true,
                                   .holds = work->holds,
                                   .operation = operation,
                                   .started_s = now_s,
                                   .since_s = now_s,
                                   .left_s = seconds,
                                   .factor = 1,
                                   .end_s = now_s + seconds};
}

/* The first lane whose work ends soonest. */
static size_t find_soonest(const struct gw_paces *paces) {
    size_t node = 1;
    while (node < paces->leaves) {
        node = 2 * node + (paces->ends[2 * node] > paces->ends[2 * node + 1]);
    }
    return node - paces->leaves;
}

/* ---- compute ------------------------------------------------------------------------------- */

static void record_activity(struct gw_paces *paces, size_t lane, size_t index,
                            enum gw_activity activity, double start_s, double end_s) {
    gw_record(&paces->recorder, &paces->simulator->schedule->operations[index], lane, activity,
              start_s, end_s);
}

static double seconds_of(const struct gw_paces *paces, size_t lane, size_t index) {
    const struct gw_simulation *simulation = &paces->simulator->simulation;
    const double *led_s = paces->simulator->interference.led_s;
    size_t worker = paces->simulator->lanes[lane].worker;
    bool is_led = led_s != NULL && worker > 0 && led_s[index] >= 0;
    double alone_s = is_led ? led_s[index] : paces->simulator->seconds[index];
    double seconds = alone_s;
    if (simulation->slowdown != NULL) {
        seconds *= simulation->slowdown[worker];
    }
    if (simulation->compute_noise.kind == GW_NOISE_NONE || !(alone_s > 0)) {
        return seconds;
    }
    return gw_stretched(seconds,
                        gw_noise_factor(&simulation->compute_noise, paces->noise[lane], index));
}

static inline void add_busy(struct gw_paces *paces, size_t lane, enum gw_activity kind,
                            double seconds) {
    if ((int)kind < GW_TALLIED) {
        paces->tally.busy[kind][lane] += seconds;
    }
}

/* Notes at which exchanges the lane has arrived, after so many compute operations. */
static inline void note_arrivals(struct gw_paces *paces, size_t lane, size_t done, double now_s) {
    for (size_t i = paces->order.first_waiting[done]; i != GW_NO_EXCHANGE;
         i = paces->order.next_waiting[i]) {
        paces->arrived[i]++;
        paces->arrivals[i * paces->lane_count + lane] = now_s;
    }
}

static void end_compute(struct gw_paces *paces, size_t lane, double now_s) {
    struct gw_paced_work *work = &paces->lanes[lane];
    enum gw_activity kind = paces->simulator->schedule->operations[work->operation].kind;
    add_busy(paces, lane, kind, now_s - work->started_s);
    paces->tally.clock[GW_STREAM_COMPUTE][lane] = now_s;
    record_activity(paces, lane, work->operation, kind, work->started_s, now_s);
    work->running = false;
    note_arrivals(paces, lane, ++paces->next_compute[lane], now_s);
}

/* Lists the lane's unit, whose paces are to be set. */
static void note_change(struct gw_paces *paces, size_t lane) {
    size_t unit = lane / paces->unit_lanes;
    if (!paces->is_changed[unit]) {
        paces->is_changed[unit] = true;
        paces->changed[paces->changed_count++] = unit;
    }
}

/*
 * Seconds of an operation that begins now. An accelerator goes on with passes while its host's
 * thread waits for a processor: passes are shorter by that time, up to one that depends on an
 * exchange.
 */
static double seconds_left(struct gw_paces *paces, size_t lane, size_t index) {
    const struct gw_operation *operation = &paces->simulator->schedule->operations[index];
    double seconds = seconds_of(paces, lane, index);
    if (operation->kind == GW_COMPRESS || paces->late_s[lane] == 0) {
        return seconds;
    }
    double late_s = operation->dependency_count > 0 ? 0 : paces->late_s[lane];
    paces->late_s[lane] = fmax(0, late_s - seconds);
    return fmax(0, seconds - late_s);
}

/*
 * Runs the lane's operations as long as nothing else happens to them, nor at their ends: no
 * exchange runs, or can begin before the lane has computed more, and neither an operation nor the
 * next one needs a processor or takes no time. Returns the time at which the last one ends.
 */
static double run_undisturbed(struct gw_paces *paces, size_t lane, double now_s) {
    const struct gw_order *order = &paces->order;
    const struct gw_operation *operations = paces->simulator->schedule->operations;
    size_t done = paces->exchanges_done;
    size_t end = order->compute_count;
    size_t place = paces->next_compute[lane];
    if (paces->exchange.running || paces->lanes[lane].holds || paces->late_s[lane] > 0 ||
        paces->recorder.timeline != NULL || place >= end) {
        return now_s;
    }
    if (done < order->exchange_count && order->awaited_computes[done] < end) {
        end = order->awaited_computes[done];
    }
    double seconds = seconds_of(paces, lane, order->computes[place]);
    double begin_s = now_s;
    while (place + 1 < end && order->awaited_exchanges[place] <= done && seconds > 0 &&
           !gw_paces_needs_processor(paces, order->computes[place])) {
        size_t next = order->computes[place + 1];
        double next_s = seconds_of(paces, lane, next);
        if (gw_paces_needs_processor(paces, next) || !(next_s > 0)) {
            break;
        }
        double started_s = now_s;
        now_s += seconds;
        enum gw_activity kind = operations[order->computes[place]].kind;
        add_busy(paces, lane, kind, now_s - started_s);
        note_arrivals(paces, lane, ++place, now_s);
        seconds = next_s;
    }
    if (place > paces->next_compute[lane]) {
        double *clock = &paces->tally.clock[GW_STREAM_COMPUTE][lane];
        paces->tally.idle[lane] += begin_s - *clock;
        *clock = now_s;
        paces->next_compute[lane] = place;
    }
    return now_s;
}

/* Runs the lane's operations up to one that others may disturb, or that must wait. */
static void go_on(struct gw_paces *paces, size_t lane, double now_s) {
    struct gw_paced_work *work = &paces->lanes[lane];
    while (!work->running) {
        now_s = run_undisturbed(paces, lane, now_s);
        size_t place = paces->next_compute[lane];
        if (place >= paces->order.compute_count ||
            paces->order.awaited_exchanges[place] > paces->exchanges_done) {
            return;
        }
        size_t index = paces->order.computes[place];
        paces->tally.idle[lane] += now_s - paces->tally.clock[GW_STREAM_COMPUTE][lane];
        begin_work(work, index, now_s, seconds_left(paces, lane, index));
        if (!(work->left_s > 0)) {
            end_compute(paces, lane, now_s);
            continue;
        }
        if (gw_paces_needs_processor(paces, index) && !work->holds) {
            work->waits = true;
            work->factor = work->end_s = INFINITY;
        } else {
            gw_paces_count(paces, lane, true);
        }
        note_change(paces, lane);
    }
}

/* ---- exchanges ----------------------------------------------------------------------------- */

/* Records the exchange, and each lane's wait for it, if there is a timeline. */
static void record_exchange(struct gw_paces *paces, size_t place, double free_s, double now_s) {
    const struct gw_paced_work *work = &paces->exchange;
    enum gw_activity kind = paces->simulator->schedule->operations[work->operation].kind;
    for (size_t lane = 0; paces->recorder.timeline != NULL && lane < paces->lane_count; lane++) {
        double arrived_s = gw_later(free_s, paces->arrivals[place * paces->lane_count + lane]);
        if (arrived_s < work->started_s) {
            record_activity(paces, lane, work->operation, GW_WAIT, arrived_s, work->started_s);
        }
        record_activity(paces, lane, work->operation, kind, work->started_s, now_s);
    }
}

static void end_exchange(struct gw_paces *paces, double now_s) {
    double *clocks = paces->tally.clock[GW_STREAM_COMMUNICATION];
    record_exchange(paces, paces->exchanges_done, clocks[0], now_s);
    for (size_t lane = 0; lane < paces->lane_count; lane++) {
        clocks[lane] = now_s;
    }
    if (paces->simulator->schedule->operations[paces->exchange.operation].kind == GW_EXCHANGE) {
        paces->tally.exchanges_s += now_s - paces->exchange.started_s;
    }
    paces->exchange.running = false;
    paces->exchanges_done++;
    paces->all_changed = true;
    for (size_t lane = 0; lane < paces->lane_count; lane++) {
        go_on(paces, lane, now_s);
    }
}

/* Whether more ranks may compress on a machine than it has processors. */
static bool are_scarce(const struct gw_paces *paces) {
    const struct gw_sharing *sharing = &paces->simulator->cluster->sharing;
    return paces->simulator->interference.crowding != NULL && sharing->ranks > sharing->processors;
}

static void begin_round(struct gw_paces *paces, size_t operation, double now_s, double started_s) {
    begin_work(&paces->exchange, operation, now_s, paces->rounds.seconds);
    paces->exchange.started_s = started_s;
    paces->rounds.left--;
    paces->rounds.asked_s = now_s;
    memset(paces->rounds.served, 0, paces->lane_count * sizeof *paces->rounds.served);
    paces->rounds.all_served = !are_scarce(paces);
}

/*
 * Bytes of an exchange for each round, fitted: with 32, 56 and 64 KiB the mean error of predictions
 * for 42 plans on four ranks with two processors is 1.4%, with 128 and 256 KiB 1.6 and 1.9%, in
 * N - 1 rounds alone 2.8%. GW_MPI_SEGMENT is as long.
 */
static const uint64_t piece_bytes = 56 << 10;

/* Rounds of an exchange: one for each piece, at least as many as a ring allgather has, if ranks
 * outnumber processors; otherwise one. */
static size_t rounds_of(const struct gw_paces *paces, const struct gw_operation *exchange) {
    size_t steps = paces->simulator->simulation.workers - 1;
    size_t pieces = (size_t)(exchange->bytes / piece_bytes);
    size_t rounds = pieces > steps ? pieces : steps;
    return are_scarce(paces) && rounds > 1 ? rounds : 1;
}

/* Begins the next exchange if its last lane has come. */
static void begin_exchanges(struct gw_paces *paces, double now_s) {
    while (!paces->exchange.running && paces->exchanges_done < paces->order.exchange_count &&
           paces->arrived[paces->exchanges_done] == paces->lane_count) {
        size_t index = paces->order.exchanges[paces->exchanges_done];
        double factor = gw_noise_factor(&paces->simulator->simulation.network_noise,
                                        paces->network_noise, index);
        paces->rounds.left = rounds_of(paces, &paces->simulator->schedule->operations[index]);
        paces->rounds.seconds =
            gw_stretched(paces->simulator->seconds[index], factor) / (double)paces->rounds.left;
        begin_round(paces, index, now_s, now_s);
        paces->all_changed = true;
        if (!(paces->exchange.left_s > 0)) {
            end_exchange(paces, now_s);
        }
    }
}

/* ---- an iteration -------------------------------------------------------------------------- */

/* Ends the work of all lanes that ends now, and then the exchange, or a round of it. */
static void end_works(struct gw_paces *paces, double now_s) {
    while (paces->ends[1] == now_s) {
        size_t lane = find_soonest(paces);
        gw_paces_expect(paces, lane, INFINITY);
        gw_paces_count(paces, lane, false);
        end_compute(paces, lane, now_s);
        go_on(paces, lane, now_s);
        if (paces->lanes[lane].holds) {
            note_change(paces, lane);
        }
    }
    if (paces->exchange.running && paces->exchange.end_s == now_s) {
        if (paces->rounds.left > 0) {
            begin_round(paces, paces->exchange.operation, now_s, paces->exchange.started_s);
        } else {
            end_exchange(paces, now_s);
        }
    }
}

static void run_all(struct gw_paces *paces) {
    double now_s = 0;
    for (size_t lane = 0; lane < paces->lane_count; lane++) {
        go_on(paces, lane, 0);
    }
    while (now_s < INFINITY && paces->recorder.status == GW_OK) {
        begin_exchanges(paces, now_s);
        gw_paces_set(paces, now_s);
        double exchange_s = paces->exchange.running ? paces->exchange.end_s : INFINITY;
        now_s = exchange_s < paces->ends[1] ? exchange_s : paces->ends[1];
        if (now_s < INFINITY) {
            end_works(paces, now_s);
        }
    }
}

static enum gw_status iterate_paces(void *state, uint64_t repetition, size_t threads,
                                    struct gw_timeline *timeline, double start_s,
                                    struct gw_measure *out, struct gw_error *error) {
    (void)threads;
    struct gw_paces *paces = state;
    paces->recorder =
        (struct gw_recorder){.timeline = timeline, .start_s = start_s, .error = error};
    reset_paces(paces, repetition);
    run_all(paces);
    gw_tally_measure(&paces->tally, paces->simulator, out);
    return gw_record_iteration(&paces->recorder, out);
}

const struct gw_runner gw_runner_interference = {.open = open_paces, .iterate = iterate_paces};
