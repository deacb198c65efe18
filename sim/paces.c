/*
 * Simulates operations that slow each other: each has work left and a pace, and when another one
 * begins or ends beside it, its pace changes and with it its end. All ends at one time
 * are handled before paces change, so that their order makes no difference, to the bit.
 */
#include <math.h>
#include <string.h>

#include "sim/order.h"
#include "sim/simulator.h"

/* ---- state ----------------------------------------------------------------------------------- */

/* An operation with left_s of work left at time since_s, which takes `factor` times as long. */
struct work {
    bool running;
    bool waits; /* for a processor: its factor is infinite */
    bool holds; /* a processor, until it does something that needs none */
    size_t operation;
    double started_s, since_s, left_s, factor, end_s;
};

/* Rounds of the exchange; paces.exchange is the current one. */
struct rounds {
    size_t left;     /* behind this one */
    double seconds;  /* of each */
    double asked_s;  /* when this one's workers began to wait for processors */
    bool *served;    /* per machine: they have got one, ... */
    bool all_served; /* ... or all machines have */
};

struct paces {
    const struct gw_simulator *simulator;
    size_t lane_count;

    struct gw_order order;
    struct work *lanes;   /* per lane: what its compute stream does */
    size_t *next_compute; /* per lane: its next operation, or what it is at */
    struct work exchange;
    struct rounds rounds;
    size_t exchanges_done;
    size_t *arrived; /* per exchange: lanes that have computed what it waits for */
    size_t *active;  /* per class: lanes that run such an operation */
    /* Units are lanes, or machines whose lanes share processors. */
    size_t unit_lanes;
    bool all_changed;     /* an exchange has begun or ended at this time */
    size_t changed_count; /* units with lanes that have begun something at this time */
    size_t *changed;
    bool *is_changed; /* per unit: it is in that list */
    size_t *busy;     /* per machine: processors that compressions have */
    double *late_s;   /* per lane: waited for processors, and not made good yet */
    /* A tree: ends[leaves + lane] is the end of the lane's work, and above ends[n] is the lesser of
     * ends[2 n] and ends[2 n + 1]; INFINITY: none. */
    size_t leaves;
    double *ends;

    struct gw_tally tally;
    uint64_t *noise; /* per lane */
    uint64_t network_noise;
    struct gw_recorder recorder;
    double *arrivals; /* exchange * lane_count + lane, when it arrived; 0: it waits for nothing */
};

/* ---- opening ------------------------------------------------------------------------------- */

static enum gw_status open_paces(void **out, const struct gw_simulator *simulator,
                                 struct gw_arena *arena, struct gw_error *error) {
    size_t lanes = simulator->lane_count;
    size_t classes = simulator->interference.class_count;
    struct paces *paces = gw_arena_zeros(arena, 1, sizeof *paces);
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

static void reset_paces(struct paces *paces, uint64_t repetition) {
    const struct gw_simulator *simulator = paces->simulator;
    const struct gw_noise *noise = &simulator->simulation.compute_noise;
    uint64_t seed = simulator->simulation.seed;
    gw_tally_reset(&paces->tally, paces->lane_count);
    paces->network_noise = gw_noise_stream(seed, repetition, GW_NOISE_SHARED);
    for (size_t lane = 0; lane < paces->lane_count; lane++) {
        paces->lanes[lane] = (struct work){0};
        paces->next_compute[lane] = 0;
        paces->busy[lane] = 0;
        paces->late_s[lane] = 0;
        paces->noise[lane] =
            gw_noise_worker_stream(noise, seed, repetition, simulator->lanes[lane].worker);
    }
    for (size_t node = 0; node < 2 * paces->leaves; node++) {
        paces->ends[node] = INFINITY;
    }
    paces->exchange = (struct work){0};
    paces->exchanges_done = 0;
    memset(paces->arrived, 0, paces->order.exchange_count * sizeof *paces->arrived);
    memset(paces->active, 0, simulator->interference.class_count * sizeof *paces->active);
    for (size_t i = paces->order.first_waiting[0]; i != GW_NO_EXCHANGE;
         i = paces->order.next_waiting[i]) {
        paces->arrived[i] = paces->lane_count;
    }
}

/* ---- work ---------------------------------------------------------------------------------- */

static void begin_work(struct work *work, size_t operation, double now_s, double seconds) {
    *work = (struct work){.running = true,
                          .holds = work->holds,
                          .operation = operation,
                          .started_s = now_s,
                          .since_s = now_s,
                          .left_s = seconds,
                          .factor = 1,
                          .end_s = now_s + seconds};
}

static double left_at(const struct work *work, double now_s) {
    return fmax(0, work->left_s - (now_s - work->since_s) / work->factor);
}

/* Gives the work another factor from now on; INFINITY: it stands still. The end of work that is
 * never slowed stays, to the bit, that of simulation by clocks. */
static void set_pace(struct work *work, double now_s, double factor) {
    if (work->factor == factor) {
        return;
    }
    work->left_s = left_at(work, now_s);
    work->since_s = now_s;
    work->factor = factor;
    work->end_s = work->left_s > 0 ? now_s + work->left_s * factor : now_s;
}

/* Sets the end of a lane's work. */
static void expect_end(struct paces *paces, size_t lane, double end_s) {
    size_t node = paces->leaves + lane;
    for (double least = end_s; paces->ends[node] != least;) {
        paces->ends[node] = least;
        if (node == 1) {
            return;
        }
        least = least < paces->ends[node ^ 1] ? least : paces->ends[node ^ 1];
        node /= 2;
    }
}

/* The first lane whose work ends soonest. */
static size_t find_soonest(const struct paces *paces) {
    size_t node = 1;
    while (node < paces->leaves) {
        node = 2 * node + (paces->ends[2 * node] > paces->ends[2 * node + 1]);
    }
    return node - paces->leaves;
}

/* ---- compute ------------------------------------------------------------------------------- */

static void record_activity(struct paces *paces, size_t lane, size_t index,
                            enum gw_activity activity, double start_s, double end_s) {
    gw_record(&paces->recorder, &paces->simulator->schedule->operations[index], lane, activity,
              start_s, end_s);
}

static double seconds_of(const struct paces *paces, size_t lane, size_t index) {
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

static inline void add_busy(struct paces *paces, size_t lane, enum gw_activity kind,
                            double seconds) {
    if ((int)kind < GW_TALLIED) {
        paces->tally.busy[kind][lane] += seconds;
    }
}

/* Notes at which exchanges the lane has arrived, after so many compute operations. */
static inline void note_arrivals(struct paces *paces, size_t lane, size_t done, double now_s) {
    for (size_t i = paces->order.first_waiting[done]; i != GW_NO_EXCHANGE;
         i = paces->order.next_waiting[i]) {
        paces->arrived[i]++;
        paces->arrivals[i * paces->lane_count + lane] = now_s;
    }
}

static void end_compute(struct paces *paces, size_t lane, double now_s) {
    struct work *work = &paces->lanes[lane];
    enum gw_activity kind = paces->simulator->schedule->operations[work->operation].kind;
    add_busy(paces, lane, kind, now_s - work->started_s);
    paces->tally.clock[GW_STREAM_COMPUTE][lane] = now_s;
    record_activity(paces, lane, work->operation, kind, work->started_s, now_s);
    work->running = false;
    note_arrivals(paces, lane, ++paces->next_compute[lane], now_s);
}

static void count_class(struct paces *paces, size_t lane, bool runs) {
    uint32_t class = paces->simulator->interference.class_of[paces->lanes[lane].operation];
    paces->active[class] += runs ? 1 : (size_t)-1;
}

/* Lists the lane's unit, whose paces are to be set. */
static void note_change(struct paces *paces, size_t lane) {
    size_t unit = lane / paces->unit_lanes;
    if (!paces->is_changed[unit]) {
        paces->is_changed[unit] = true;
        paces->changed[paces->changed_count++] = unit;
    }
}

/* Number of the lane's machine; the cluster's ranks share machines. */
static size_t machine_of(const struct paces *paces, size_t lane) {
    return lane / paces->simulator->cluster->sharing.ranks;
}

/* Whether the operation needs one of its machine's processors. */
static bool needs_processor(const struct paces *paces, size_t index) {
    const double *crowding = paces->simulator->interference.crowding;
    return crowding != NULL && crowding[index] > 0;
}

/*
 * Seconds of an operation that begins now. An accelerator goes on with passes while its host's
 * thread waits for a processor: passes are shorter by that time, up to one that depends on an
 * exchange.
 */
static double seconds_left(struct paces *paces, size_t lane, size_t index) {
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
static double run_undisturbed(struct paces *paces, size_t lane, double now_s) {
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
           !needs_processor(paces, order->computes[place])) {
        size_t next = order->computes[place + 1];
        double next_s = seconds_of(paces, lane, next);
        if (needs_processor(paces, next) || !(next_s > 0)) {
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
static void go_on(struct paces *paces, size_t lane, double now_s) {
    struct work *work = &paces->lanes[lane];
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
        if (needs_processor(paces, index) && !work->holds) {
            work->waits = true;
            work->factor = work->end_s = INFINITY;
        } else {
            count_class(paces, lane, true);
        }
        note_change(paces, lane);
    }
}

/* ---- exchanges ----------------------------------------------------------------------------- */

/* Records the exchange, and each lane's wait for it, if there is a timeline. */
static void record_exchange(struct paces *paces, size_t place, double free_s, double now_s) {
    const struct work *work = &paces->exchange;
    enum gw_activity kind = paces->simulator->schedule->operations[work->operation].kind;
    for (size_t lane = 0; paces->recorder.timeline != NULL && lane < paces->lane_count; lane++) {
        double arrived_s = gw_later(free_s, paces->arrivals[place * paces->lane_count + lane]);
        if (arrived_s < work->started_s) {
            record_activity(paces, lane, work->operation, GW_WAIT, arrived_s, work->started_s);
        }
        record_activity(paces, lane, work->operation, kind, work->started_s, now_s);
    }
}

static void end_exchange(struct paces *paces, double now_s) {
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
static bool are_scarce(const struct paces *paces) {
    const struct gw_sharing *sharing = &paces->simulator->cluster->sharing;
    return paces->simulator->interference.crowding != NULL && sharing->ranks > sharing->processors;
}

static void begin_round(struct paces *paces, size_t operation, double now_s, double started_s) {
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
static size_t rounds_of(const struct paces *paces, const struct gw_operation *exchange) {
    size_t steps = paces->simulator->simulation.workers - 1;
    size_t pieces = (size_t)(exchange->bytes / piece_bytes);
    size_t rounds = pieces > steps ? pieces : steps;
    return are_scarce(paces) && rounds > 1 ? rounds : 1;
}

/* Begins the next exchange if its last lane has come. */
static void begin_exchanges(struct paces *paces, double now_s) {
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

/* ---- paces --------------------------------------------------------------------------------- */

static const struct gw_slowing *slowing_now(const struct paces *paces) {
    const struct gw_interference *interference = &paces->simulator->interference;
    return interference->slowing + paces->exchange.operation * interference->class_count;
}

/* First lane of the machine; lane_count: it has none. */
static size_t first_of(const struct paces *paces, size_t machine) {
    size_t first = machine * paces->simulator->cluster->sharing.ranks;
    return first < paces->lane_count ? first : paces->lane_count;
}

/*
 * Whether every machine has had a free processor since the round began. Its workers need one to
 * begin the round, but not afterwards; until then the exchange stands still.
 */
static bool is_served(struct paces *paces) {
    const struct gw_sharing *sharing = &paces->simulator->cluster->sharing;
    bool served = true;
    for (size_t machine = 0;
         !paces->rounds.all_served && first_of(paces, machine) < paces->lane_count; machine++) {
        bool *here = &paces->rounds.served[machine];
        *here = *here || paces->busy[machine] < sharing->processors;
        served = served && *here;
    }
    return paces->rounds.all_served = served;
}

/* Sets the exchange's pace to the slowest lane's; lanes without a class have factor 1. */
static void pace_exchange(struct paces *paces, double now_s) {
    double factor = 0;
    size_t lanes = 0;
    for (size_t class = 1; class < paces->simulator->interference.class_count; class ++) {
        if (paces->active[class] > 0) {
            factor = gw_later(factor, slowing_now(paces)[class].communication);
            lanes += paces->active[class];
        }
    }
    factor = lanes < paces->lane_count ? gw_later(factor, 1) : factor;
    factor = is_served(paces) ? factor : INFINITY;
    set_pace(&paces->exchange, now_s, factor);
}

/* Factor of the current exchange on the lane's operation; 1: none runs. */
static double slowing_of_lane(const struct paces *paces, size_t lane) {
    uint32_t class = paces->simulator->interference.class_of[paces->lanes[lane].operation];
    return paces->exchange.running ? slowing_now(paces)[class].compute : 1;
}

static void pace_lane(struct paces *paces, size_t lane, double now_s) {
    struct work *work = &paces->lanes[lane];
    if (!work->running || work->waits) {
        return;
    }
    double factor = slowing_of_lane(paces, lane);
    if (needs_processor(paces, work->operation) && paces->busy[machine_of(paces, lane)] > 1) {
        factor *= paces->simulator->interference.crowding[work->operation];
    }
    set_pace(work, now_s, factor);
    expect_end(paces, lane, work->end_s);
}

/* Work that has waited longest for the machine's processors, the first of equals; NULL: none. */
static struct work *next_waiting(struct paces *paces, size_t machine) {
    struct work *next = NULL;
    for (size_t lane = first_of(paces, machine); lane < first_of(paces, machine + 1); lane++) {
        struct work *work = &paces->lanes[lane];
        if (work->running && work->waits && (next == NULL || work->started_s < next->started_s)) {
            next = work;
        }
    }
    return next;
}

/*
 * Longest pause in which a worker keeps its processor: putting a thread to sleep and waking it take
 * longer. Any value from 5 to 100 us gives the same times for ResNet-50, to 0.2%.
 */
static const double shortest_pause_s = 20e-6;

/* Takes the lane's processor from it, unless its operation needs one or ends within
 * shortest_pause_s. */
static void leave_processor(struct paces *paces, size_t lane, double now_s) {
    struct work *work = &paces->lanes[lane];
    if (work->holds && !(work->running && (needs_processor(paces, work->operation) ||
                                           left_at(work, now_s) * slowing_of_lane(paces, lane) <
                                               shortest_pause_s))) {
        work->holds = false;
        paces->busy[machine_of(paces, lane)]--;
    }
}

/* Gives free processors of the machine to waiting lanes. */
static void share_processors(struct paces *paces, size_t machine, double now_s) {
    for (size_t i = first_of(paces, machine); i < first_of(paces, machine + 1); i++) {
        leave_processor(paces, i, now_s);
    }
    for (struct work *next = next_waiting(paces, machine);
         next != NULL && paces->busy[machine] < paces->simulator->cluster->sharing.processors;
         next = next_waiting(paces, machine)) {
        bool *served = &paces->rounds.served[machine];
        *served = *served || paces->rounds.asked_s < next->started_s;
        size_t next_lane = (size_t)(next - paces->lanes);
        bool makes_good = paces->simulator->interference.accelerated;
        paces->late_s[next_lane] += makes_good ? now_s - next->started_s : 0;
        next->waits = false;
        next->holds = true;
        paces->busy[machine]++;
        count_class(paces, next_lane, true);
    }
}

static void pace_all(struct paces *paces, double now_s) {
    size_t units = (paces->lane_count - 1) / paces->unit_lanes + 1;
    size_t count = paces->all_changed ? units : paces->changed_count;
    for (size_t i = 0; i < paces->changed_count; i++) {
        paces->is_changed[paces->changed[i]] = false;
    }
    for (size_t i = 0; i < count; i++) {
        size_t unit = paces->all_changed ? i : paces->changed[i];
        size_t first = unit * paces->unit_lanes;
        if (paces->simulator->interference.crowding != NULL) {
            share_processors(paces, unit, now_s);
        }
        for (size_t lane = first; lane < first + paces->unit_lanes && lane < paces->lane_count;
             lane++) {
            pace_lane(paces, lane, now_s);
        }
    }
    if (paces->exchange.running) {
        pace_exchange(paces, now_s);
    }
    paces->all_changed = false;
    paces->changed_count = 0;
}

/* ---- an iteration -------------------------------------------------------------------------- */

/* Ends the work of all lanes that ends now, and then the exchange, or a round of it. */
static void end_works(struct paces *paces, double now_s) {
    while (paces->ends[1] == now_s) {
        size_t lane = find_soonest(paces);
        expect_end(paces, lane, INFINITY);
        count_class(paces, lane, false);
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

static void run_all(struct paces *paces) {
    double now_s = 0;
    for (size_t lane = 0; lane < paces->lane_count; lane++) {
        go_on(paces, lane, 0);
    }
    while (now_s < INFINITY && paces->recorder.status == GW_OK) {
        begin_exchanges(paces, now_s);
        pace_all(paces, now_s);
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
    struct paces *paces = state;
    paces->recorder =
        (struct gw_recorder){.timeline = timeline, .start_s = start_s, .error = error};
    reset_paces(paces, repetition);
    run_all(paces);
    gw_tally_measure(&paces->tally, paces->simulator, out);
    return gw_record_iteration(&paces->recorder, out);
}

const struct gw_runner gw_runner_interference = {.open = open_paces, .iterate = iterate_paces};
