/* The event queue against a plain list that is searched for its earliest event. */
#include "engine/engine.h"
#include "tests/test.h"

/* ---- the reference ------------------------------------------------------------------------- */

struct list {
    size_t count, capacity;
    struct gw_event *events;
};

static void list_push(struct list *list, struct gw_event event) {
    list->events = gw_grow(list->events, list->count + 1, &list->capacity, sizeof event);
    assert_non_null(list->events);
    list->events[list->count++] = event;
}

/* A queue, and a list of what must be in it. */
struct both {
    struct gw_queue *queue;
    struct list list;
    uint64_t now;
    uint32_t number; /* of events so far */
};

static struct gw_event list_pop(struct list *list) {
    size_t first = 0;
    for (size_t i = 1; i < list->count; i++) {
        const struct gw_event *a = &list->events[i];
        const struct gw_event *b = &list->events[first];
        if (a->time < b->time || (a->time == b->time && a->order < b->order)) {
            first = i;
        }
    }
    struct gw_event event = list->events[first];
    list->events[first] = list->events[--list->count];
    return event;
}

/* ---- cases --------------------------------------------------------------------------------- */

/* How far ahead of the clock a pushed event lies. */
struct shape {
    const char *name;
    uint64_t (*delay)(struct gw_random *random);
    bool past; /* also before the clock */
};

static uint64_t few_times(struct gw_random *random) {
    return 1000 * gw_random_below(random, 3);
}

static uint64_t even(struct gw_random *random) {
    return gw_random_below(random, 100000);
}

/* Over twelve decades, so that buckets are spread again and again. */
static uint64_t skewed(struct gw_random *random) {
    return (uint64_t)pow(10, 12 * gw_random_uniform(random));
}

static uint64_t none(struct gw_random *random) {
    (void)random;
    return 0;
}

static const struct shape shapes[] = {
    {"few times", few_times, false}, {"even", even, false},
    {"skewed", skewed, false},       {"at once", none, false},
    {"even, also past", even, true}, {"skewed, also past", skewed, true}};

static void open_both(struct both *both) {
    *both = (struct both){0};
    assert_int_equal(gw_queue_open(&both->queue, NULL), GW_OK);
}

static void push_both(struct both *both, uint64_t time, uint32_t order) {
    struct gw_event event = {.time = time, .order = order, .id = both->number++};
    assert_int_equal(gw_queue_push(both->queue, event, NULL), GW_OK);
    list_push(&both->list, event);
}

static void check_pop(struct both *both) {
    struct gw_event event;
    bool any = false;
    assert_int_equal(gw_queue_pop(both->queue, &event, &any, NULL), GW_OK);
    assert_true(any == (both->list.count > 0));
    if (any) {
        struct gw_event expected = list_pop(&both->list);
        assert_true(event.time == expected.time && event.order == expected.order &&
                    event.id == expected.id);
        both->now = event.time;
    }
}

/* The remaining events come in order, and then none. */
static void close_both(struct both *both) {
    while (both->list.count > 0) {
        check_pop(both);
    }
    check_pop(both);
    gw_queue_close(both->queue);
    free(both->list.events);
}

static void push_drawn(struct both *both, const struct shape *shape, struct gw_random *random) {
    uint64_t delay = shape->delay(random);
    uint64_t now = both->now;
    bool before = shape->past && gw_random_below(random, 8) == 0;
    /* Orders that are not those of pushing, but all different. */
    push_both(both, before ? now - (delay < now ? delay : now) : now + delay,
              both->number * 2654435761u);
}

static void check_shape(const struct shape *shape, struct gw_random *random, size_t most) {
    struct both both;
    open_both(&both);
    for (int round = 0, rounds = gw_trials(40); round < rounds; round++) {
        size_t pushes = gw_random_below(random, most);
        for (size_t i = 0; i < pushes; i++) {
            push_drawn(&both, shape, random);
        }
        size_t pops = gw_random_below(random, 2 * most);
        for (size_t i = 0; i < pops && both.list.count > 0; i++) {
            check_pop(&both);
            if (gw_random_below(random, 3) == 0) {
                push_drawn(&both, shape, random);
            }
        }
    }
    close_both(&both);
}

TEST(comes_in_order) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        printf("%s\n", shapes[i].name);
        struct gw_random *random = random_stream(i);
        check_shape(&shapes[i], random, 12);
        check_shape(&shapes[i], random, 1500);
    }
}

/*
 * Lockstep before something far ahead, as workers in a collective before the end of a long
 * computation: all that is pushed comes before what was sorted last, and now and then some goes
 * beyond it.
 */
TEST(waves_before_a_far_event) {
    struct gw_random *random = random_stream(2);
    for (int i = 0; i < 60; i++) {
        struct both both;
        uint64_t steps[] = {1 + gw_random_below(random, 1000), 1 + gw_random_below(random, 1000)};
        size_t workers = 1 + gw_random_below(random, 300);
        size_t kinds = 1 + gw_random_below(random, 2);
        open_both(&both);
        for (size_t turn = 0; turn < 20 * workers + workers; turn++) {
            bool first = turn < workers;
            bool far = first ? turn == 0 : gw_random_below(random, 4 * workers) == 0;
            uint64_t delay = far ? gw_random_below(random, 1000000) : steps[turn % kinds];
            if (!first) {
                check_pop(&both);
            }
            push_both(&both, both.now + delay, both.number);
        }
        close_both(&both);
    }
}

TEST(the_last_of_times) {
    struct both both;
    open_both(&both);
    for (uint32_t i = 0; i < 500; i++) {
        push_both(&both, i % 2 == 0 ? UINT64_MAX - i : i, i);
    }
    close_both(&both);
}

/* Announced events come, as long as none is pushed. */
TEST(looks_ahead) {
    enum { COUNT = 50 };
    struct gw_queue *queue = NULL;
    bool any = false;
    assert_int_equal(gw_queue_open(&queue, NULL), GW_OK);
    for (uint32_t i = 0; i < COUNT; i++) {
        struct gw_event event = {.time = 7, .order = COUNT - i, .id = i};
        assert_int_equal(gw_queue_push(queue, event, NULL), GW_OK);
    }
    struct gw_event event;
    assert_int_equal(gw_queue_pop(queue, &event, &any, NULL), GW_OK);
    assert_false(gw_queue_is_warm(queue));
    for (uint32_t i = 0; i + 4 < COUNT; i++) {
        uint32_t announced = gw_queue_ahead(queue, 2)->id;
        assert_int_equal(announced, event.id - 3);
        assert_int_equal(gw_queue_pop(queue, &event, &any, NULL), GW_OK);
        assert_true(gw_queue_is_warm(queue));
    }
    assert_null(gw_queue_ahead(queue, COUNT));
    gw_queue_close(queue);
}
