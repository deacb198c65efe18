/*
 * The hold model (Jones, "An empirical comparison of priority-queue and event-set implementations",
 * 1986): again and again the earliest event is taken and one is added, some time after it.
 */
#include <math.h>
#include <stdio.h>

#include "engine.h"
#include "engine/engine.h"

/* ---- delays -------------------------------------------------------------------------------- */

/* Drawn before, of mean 10^6; as many as stay in the processor's cache. */
enum { DELAYS = 4096 };
static const double mean_delay = 1e6;
static uint64_t delays[DELAYS];

static double exponential(double uniform) {
    return -log(1 - uniform);
}

static double uniform_to_two(double uniform) {
    return 2 * uniform;
}

static double constant(double uniform) {
    (void)uniform;
    return 1;
}

static const struct law {
    const char *name;
    double (*of)(double uniform); /* in [0, 1) */
} laws[] = {{"exponential", exponential}, {"uniform", uniform_to_two}, {"constant", constant}};

/* ---- holding ------------------------------------------------------------------------------- */

struct queue_question {
    const struct law *law;
    size_t pending;
};

static enum gw_status hold_queue(struct gw_queue *queue, size_t holds, uint32_t *order,
                                 struct gw_error *error) {
    for (size_t i = 0; i < holds; i++) {
        struct gw_event event;
        bool any = false;
        GW_TRY(gw_queue_pop(queue, &event, &any, error));
        event.time += delays[*order % DELAYS];
        event.order = (*order)++;
        GW_TRY(gw_queue_push(queue, event, error));
    }
    return GW_OK;
}

/* At first, times are spread over one mean delay. */
static struct gw_event first_event(uint32_t order) {
    return (struct gw_event){.time = gw_random_mix(order) % (uint64_t)mean_delay, .order = order};
}

static enum gw_status run_hold(const void *context, void *result, struct gw_error *error) {
    const struct queue_question *question = context;
    struct gw_queue *queue = NULL;
    const size_t least = 1000000;
    size_t holds = question->pending > least ? question->pending : least;
    double *ns = result;
    uint32_t order = 0;
    struct gw_random *random = NULL;
    GW_TRY(gw_random_open(&random, 1, 0, error));
    for (size_t i = 0; i < DELAYS; i++) {
        delays[i] = (uint64_t)(mean_delay * question->law->of(gw_random_uniform(random)));
    }
    gw_random_close(random);
    GW_TRY(gw_queue_open(&queue, error));
    while (order < question->pending) {
        GW_TRY(gw_queue_push(queue, first_event(order), error));
        order++;
    }
    GW_TRY(hold_queue(queue, holds, &order, error));
    double start_s = gw_clock_now_s();
    GW_TRY(hold_queue(queue, holds, &order, error));
    *ns = 1e9 * (gw_clock_now_s() - start_s) / (double)holds;
    gw_queue_close(queue);
    return GW_OK;
}

/* ---- the table ----------------------------------------------------------------------------- */

/* Large queues are repeated less often: they take seconds each. */
static size_t repeats_of(const struct bench_engine_choice *choice, size_t pending) {
    size_t most = pending > 1000000 ? 3 : 1000;
    return choice->repeats < most ? choice->repeats : most;
}

static void measure_row(const struct bench_engine_choice *choice, const struct law *law,
                        size_t pending) {
    enum { MAX_REPEATS = 1000 };
    double ns[MAX_REPEATS];
    double peak_bytes = 0;
    size_t repeats = repeats_of(choice, pending);
    for (size_t i = 0; i < repeats; i++) {
        struct queue_question question = {.law = law, .pending = pending};
        struct bench_process process;
        bench_work_apart(run_hold, &question, &ns[i], sizeof ns[i], 0, &process);
        peak_bytes = fmax(peak_bytes, process.peak_bytes);
    }
    printf("| %s | %s | %.1f |", law->name, GW_NUMBER(pending), bench_median(ns, repeats));
    if (pending >= 1000000) {
        printf(" %.0f |\n", peak_bytes / (double)pending);
    } else {
        printf(" |\n");
    }
    (void)fflush(stdout);
}

void bench_engine_queue(const void *chosen) {
    const struct bench_engine_choice *choice = chosen;
    size_t most = choice->most > 0 ? choice->most : 10000000;
    printf(
        "### The event queue\n\nNanoseconds to take an event and add one; medians of at most %zu, "
        "each over at least as many events as are pending. Memory is the largest resident size "
        "for each pending event.\n\n"
        "| delay | pending | ns | bytes |\n"
        "| --- | ---: | ---: | ---: |\n",
        choice->repeats);
    for (size_t l = 0; l < sizeof laws / sizeof *laws; l++) {
        for (size_t pending = 100; pending <= most; pending *= 10) {
            measure_row(choice, &laws[l], pending);
        }
    }
}
