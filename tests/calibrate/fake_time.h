/*
 * Ranks as threads whose time is made up: each has a clock of its own that moves by what messages,
 * collectives and work are said to cost, and by nothing else. So the same times come out on every
 * machine, however busy it is, and hours take no time.
 */
#ifndef GW_TESTS_FAKE_TIME_H
#define GW_TESTS_FAKE_TIME_H

#include <pthread.h>

#include "core/clock.h"
#include "tests/support.h"

enum { FAKE_MESSAGES = 256 };
static const double fake_reading_s = 2e-8; /* that reading a clock takes */

/* The time that the sender of a message is busy, and the time of a collective of so many bytes. */
static double (*fake_message_s)(int from, int to, size_t bytes);
static double (*fake_collective_s)(size_t bytes, int ranks);

struct fake_rank {
    double now_s;           /* the time that passes everywhere ... */
    double ahead_s, faster; /* ... and how far this rank's clock is ahead of it, and faster */
    struct gw_clock clock;
    int received_from[FAKE_MESSAGES]; /* of receives that are not waited for yet */
    size_t receive_count;
};

static _Thread_local struct fake_rank *fake_self;
static const struct gw_transport *fake_under; /* which really carries the data */

/* When messages arrive, in the order in which each rank sent them to each other one. */
static struct {
    double arrival_s[FAKE_MESSAGES];
    size_t sent, taken;
} fake_messages[MOST_RANKS][MOST_RANKS];
static pthread_mutex_t fake_mutex = PTHREAD_MUTEX_INITIALIZER;

/* ---- clocks -------------------------------------------------------------------------------- */

static double fake_shown_s(const struct fake_rank *rank) {
    return rank->now_s * (1 + rank->faster) + rank->ahead_s;
}

static double fake_read(void *context) {
    struct fake_rank *rank = context;
    rank->now_s += fake_reading_s;
    return fake_shown_s(rank);
}

static void fake_wait(void *context, double moment_s) {
    struct fake_rank *rank = context;
    rank->now_s = fmax(rank->now_s, (moment_s - rank->ahead_s) / (1 + rank->faster));
}

/* This rank works, or is away, for so long. */
static inline void fake_work(double seconds) {
    fake_self->now_s += seconds;
}

/* ---- the transport ------------------------------------------------------------------------- */

/* All ranks go on together, when the last one has come and so much time has passed. */
static enum gw_status fake_meet(struct gw_communicator *communicator, size_t bytes,
                                struct gw_error *error) {
    double all_s[MOST_RANKS];
    const struct gw_collective_call times = {
        .kind = GW_ALLGATHER, .send = &fake_self->now_s, .receive = all_s, .bytes = sizeof(double)};
    GW_TRY(fake_under->collect(communicator, &times, error));
    for (int r = 0; r < communicator->size; r++) {
        fake_self->now_s = fmax(fake_self->now_s, all_s[r]);
    }
    fake_self->now_s +=
        fake_collective_s == NULL ? 0 : fake_collective_s(bytes, communicator->size);
    return GW_OK;
}

static enum gw_status fake_barrier(struct gw_communicator *communicator, struct gw_error *error) {
    return fake_meet(communicator, 0, error);
}

static enum gw_status fake_collect(struct gw_communicator *communicator,
                                   const struct gw_collective_call *call, struct gw_error *error) {
    GW_TRY(fake_meet(communicator, call->bytes, error));
    return fake_under->collect(communicator, call, error);
}

static enum gw_status fake_start(struct gw_communicator *communicator,
                                 const struct gw_message *message, struct gw_request *out,
                                 struct gw_error *error) {
    int from = communicator->rank;
    int to = message->other;
    if (message->receives) {
        fake_self->received_from[fake_self->receive_count++] = message->other;
        return fake_under->start(communicator, message, out, error);
    }
    fake_work(fake_message_s == NULL ? 0 : fake_message_s(from, to, message->bytes));
    pthread_mutex_lock(&fake_mutex);
    size_t place = fake_messages[from][to].sent++ % FAKE_MESSAGES;
    fake_messages[from][to].arrival_s[place] = fake_self->now_s;
    pthread_mutex_unlock(&fake_mutex);
    return fake_under->start(communicator, message, out, error);
}

/* Requests are waited for in the order in which they were started. */
static enum gw_status fake_wait_for(struct gw_communicator *communicator,
                                    struct gw_request *requests, size_t count,
                                    struct gw_error *error) {
    GW_TRY(fake_under->wait(communicator, requests, count, error));
    pthread_mutex_lock(&fake_mutex);
    for (size_t i = 0; i < fake_self->receive_count; i++) {
        int from = fake_self->received_from[i];
        size_t place = fake_messages[from][communicator->rank].taken++ % FAKE_MESSAGES;
        double arrival_s = fake_messages[from][communicator->rank].arrival_s[place];
        fake_self->now_s = fmax(fake_self->now_s, arrival_s);
    }
    pthread_mutex_unlock(&fake_mutex);
    fake_self->receive_count = 0;
    return GW_OK;
}

static struct gw_transport fake_transport;

static enum gw_status fake_open_first(struct gw_communicator *parent, int size,
                                      struct gw_communicator *out, struct gw_error *error) {
    GW_TRY(fake_under->open_first(parent, size, out, error));
    out->transport = out->transport == NULL ? NULL : &fake_transport;
    return GW_OK;
}

/* A function that run_ranks calls on each rank, with a fake clock and the fake transport. */
typedef enum gw_status fake_run(struct gw_communicator *communicator, void *context,
                                struct gw_error *error);

struct fake_start {
    fake_run *run;
    void *context;
    struct fake_rank rank;
};

static enum gw_status fake_run_rank(struct gw_communicator *communicator, void *context,
                                    struct gw_error *error) {
    struct fake_start *start = context;
    struct gw_communicator own = *communicator;
    own.transport = &fake_transport;
    fake_self = &start->rank;
    fake_self->clock =
        (struct gw_clock){.now_s = fake_read, .wait_until_s = fake_wait, .context = fake_self};
    return start->run(&own, start->context, error);
}

/* For tests that change it: run_fake_ranks does this first. */
static inline void prepare_fake_transport(void) {
    struct gw_communicator alone;
    assert_ok(gw_communicators_open_local(1, &alone, NULL));
    fake_under = alone.transport;
    fake_transport = *fake_under;
    fake_transport.barrier = fake_barrier;
    fake_transport.collect = fake_collect;
    fake_transport.start = fake_start;
    fake_transport.wait = fake_wait_for;
    fake_transport.open_first = fake_open_first;
    fake_under->close(&alone);
}

/* Runs ranks like run_ranks; `skews` is NULL, or gives each rank's ahead_s and faster. */
static inline void run_fake_ranks(int size, fake_run *run, void *contexts, size_t each,
                                  const struct fake_rank *skews) {
    struct fake_start starts[MOST_RANKS] = {0};
    prepare_fake_transport();
    memset(fake_messages, 0, sizeof fake_messages);
    for (int r = 0; r < size; r++) {
        starts[r] = (struct fake_start){.run = run, .context = (char *)contexts + (size_t)r * each};
        if (skews != NULL) {
            starts[r].rank = skews[r];
        }
    }
    run_ranks(size, fake_run_rank, starts, sizeof *starts);
}

#endif
