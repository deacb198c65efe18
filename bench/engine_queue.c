/*
 * The hold model (Jones, "An empirical comparison of priority-queue and event-set implementations",
 * 1986): again and again the earliest event is taken and one is added, some time after it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"
#include "engine/engine.h"

/* ---- the yardstick: a binary heap in an array ---------------------------------------------- */

struct heap {
    size_t count;
    struct gw_event *events;
};

static bool is_before(const struct gw_event *a, const struct gw_event *b) {
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static void heap_push(struct heap *heap, struct gw_event event) {
    size_t hole = heap->count++;
    while (hole > 0 && is_before(&event, &heap->events[(hole - 1) / 2])) {
        heap->events[hole] = heap->events[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap->events[hole] = event;
}

static struct gw_event heap_pop(struct heap *heap) {
    struct gw_event first = heap->events[0];
    struct gw_event last = heap->events[--heap->count];
    size_t hole = 0;
    for (;;) {
        size_t child = 2 * hole + 1;
        if (child + 1 < heap->count && is_before(&heap->events[child + 1], &heap->events[child])) {
            child++;
        }
        if (child >= heap->count || !is_before(&heap->events[child], &last)) {
            break;
        }
        heap->events[hole] = heap->events[child];
        hole = child;
    }
    heap->events[hole] = last;
    return first;
}

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

static enum gw_status draw_delays(const struct law *law, struct gw_error *error) {
    struct gw_random *random = NULL;
    GW_TRY(gw_random_open(&random, 1, 0, error));
    for (size_t i = 0; i < DELAYS; i++) {
        delays[i] = (uint64_t)(mean_delay * law->of(gw_random_uniform(random)));
    }
    gw_random_close(random);
    return GW_OK;
}

/* ---- holding ------------------------------------------------------------------------------- */

struct question {
    bool heap;
    const struct law *law;
    size_t pending;
};

static size_t holds_of(size_t pending) {
    const size_t least = 1000000;
    return pending > least ? pending : least;
}

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

static void hold_heap(struct heap *heap, size_t holds, uint32_t *order) {
    for (size_t i = 0; i < holds; i++) {
        struct gw_event event = heap_pop(heap);
        event.time += delays[*order % DELAYS];
        event.order = (*order)++;
        heap_push(heap, event);
    }
}

/* At first, times are spread over one mean delay. */
static struct gw_event first_event(uint32_t order) {
    return (struct gw_event){.time = gw_random_mix(order) % (uint64_t)mean_delay, .order = order};
}

static enum gw_status measure_heap(const struct question *question, double *ns,
                                   struct gw_error *error) {
    struct heap heap = {.events = malloc(question->pending * sizeof *heap.events)};
    uint32_t order = 0;
    if (heap.events == NULL) {
        return gw_fail_memory(error, "measuring");
    }
    while (order < question->pending) {
        heap_push(&heap, first_event(order++));
    }
    size_t holds = holds_of(question->pending);
    hold_heap(&heap, holds, &order);
    double start_s = gw_clock_now_s();
    hold_heap(&heap, holds, &order);
    *ns = 1e9 * (gw_clock_now_s() - start_s) / (double)holds;
    free(heap.events);
    return GW_OK;
}

static enum gw_status measure_queue(const struct question *question, double *ns,
                                    struct gw_error *error) {
    struct gw_queue *queue = NULL;
    uint32_t order = 0;
    GW_TRY(gw_queue_open(&queue, error));
    enum gw_status status = GW_OK;
    while (order < question->pending && status == GW_OK) {
        status = gw_queue_push(queue, first_event(order), error);
        order++;
    }
    size_t holds = holds_of(question->pending);
    status = status == GW_OK ? hold_queue(queue, holds, &order, error) : status;
    double start_s = gw_clock_now_s();
    status = status == GW_OK ? hold_queue(queue, holds, &order, error) : status;
    *ns = 1e9 * (gw_clock_now_s() - start_s) / (double)holds;
    gw_queue_close(queue);
    return status;
}

static enum gw_status answer(const void *context, void *result, struct gw_error *error) {
    const struct question *question = context;
    GW_TRY(draw_delays(question->law, error));
    return question->heap ? measure_heap(question, result, error)
                          : measure_queue(question, result, error);
}

/* ---- the table ----------------------------------------------------------------------------- */

/* Large queues are repeated less often: they take seconds each. */
static size_t repeats_of(const struct bench_engine_choice *choice, size_t pending) {
    size_t most = pending > 1000000 ? 3 : 1000;
    return choice->repeats < most ? choice->repeats : most;
}

static void measure_row(const struct bench_engine_choice *choice, const struct law *law,
                        size_t pending) {
    enum { MOST = 1000 };
    double ns[2][MOST];
    double peak_bytes[2] = {0};
    char text[GW_UNITS_SIZE];
    size_t repeats = repeats_of(choice, pending);
    for (size_t i = 0; i < repeats; i++) {
        for (int heap = 0; heap < 2; heap++) {
            struct question question = {.heap = heap == 1, .law = law, .pending = pending};
            struct bench_process process;
            bench_work_apart(answer, &question, &ns[heap][i], sizeof ns[heap][i], 0, &process);
            peak_bytes[heap] = fmax(peak_bytes[heap], process.peak_bytes);
        }
    }
    double queue_ns = bench_median(ns[0], repeats);
    double heap_ns = bench_median(ns[1], repeats);
    printf("| %s | %s | %.1f | %.1f | %.2f |", law->name, gw_format_count((double)pending, text),
           queue_ns, heap_ns, heap_ns / queue_ns);
    if (pending >= 1000000) {
        printf(" %.0f | %.0f |\n", peak_bytes[0] / (double)pending,
               peak_bytes[1] / (double)pending);
    } else {
        printf(" | |\n");
    }
    (void)fflush(stdout);
}

void bench_engine_queue(const struct bench_engine_choice *choice) {
    size_t most = choice->most > 0 ? choice->most : 10000000;
    printf("### The event queue\n\nNanoseconds to take an event and add one, beside a binary heap; "
           "medians of at most %zu, each over at least as many events as are pending. Memory is "
           "the largest resident size for each pending event.\n\n"
           "| delay | pending | queue, ns | heap, ns | heap/queue | queue, bytes | heap, bytes |\n"
           "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
           choice->repeats);
    for (size_t l = 0; l < sizeof laws / sizeof *laws; l++) {
        for (size_t pending = 100; pending <= most; pending *= 10) {
            measure_row(choice, &laws[l], pending);
        }
    }
}
