#include "transport/farm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "transport/crew.h"

enum {
    WINDOW = 4096,   /* so many tasks at most are handed out beyond the first undelivered one */
    MOST_AHEAD = 64, /* so many tasks at most wait beside each that a thread works on */
};

/* What stands for tasks in messages: a rank's first (its threads as seconds) and its last one. */
static const uint64_t HELLO = UINT64_MAX - 1, STOP = UINT64_MAX;

/* How long ranks sleep between two looks at their messages; a fortieth of what is given ahead. */
static const double nap_s = 5e-4, ahead_s = 0.02;

/* For how long the last word of a rank is waited for: its main thread does nothing but answer. */
static const double farewell_s = 5;

/* A task is overdue after this, or four times what the longest one took. */
static const double patience_s = 1;

struct place {
    bool done;
    bool redone; /* rank 0 has taken it over */
    int rank;    /* that it was handed to */
    double since_s;
};

struct member {
    size_t threads; /* 0: it has not said hello */
    size_t out;     /* tasks in its hands */
    bool gone;      /* it has said its last word */
};

struct coordinator {
    const struct gw_farm *farm;
    struct gw_communicator *communicator; /* NULL: alone */
    int size;
    struct member *members; /* per rank */
    struct gw_crew *crew;
    uint64_t next, delivered;
    struct place *places; /* a ring: of task t at t % WINDOW ... */
    char *results;        /* ... like its result */
    size_t result_bytes;  /* rounded up */
    struct gw_report *report;
    double worked_s, longest_s;
    uint64_t worked;
};

/* ---- handing out --------------------------------------------------------------------------- */

/* As many tasks as a thread does until its rank's next message is seen. */
static size_t tasks_per_thread(const struct coordinator *coordinator) {
    if (coordinator->worked == 0) {
        return 2;
    }
    double mean_s = coordinator->worked_s / (double)coordinator->worked;
    return 1 + (mean_s * MOST_AHEAD < ahead_s ? MOST_AHEAD : (size_t)(ahead_s / mean_s));
}

static enum gw_status give(struct coordinator *coordinator, int rank, uint64_t task,
                           struct gw_error *error) {
    coordinator->members[rank].out++;
    if (rank == 0) {
        gw_crew_give(coordinator->crew, task);
        return GW_OK;
    }
    return coordinator->communicator->transport->post(coordinator->communicator, rank, &task,
                                                      sizeof task, error);
}

static bool has_next(const struct coordinator *coordinator) {
    return coordinator->next < coordinator->farm->count &&
           coordinator->next < coordinator->delivered + WINDOW;
}

static enum gw_status hand_out(struct coordinator *coordinator, struct gw_error *error) {
    size_t each = tasks_per_thread(coordinator);
    for (int rank = 0; rank < coordinator->size; rank++) {
        const struct member *member = &coordinator->members[rank];
        while (has_next(coordinator) && member->out < member->threads * each) {
            uint64_t task = coordinator->next++;
            coordinator->places[task % WINDOW] =
                (struct place){.rank = rank, .since_s = gw_clock_now_s()};
            GW_TRY(give(coordinator, rank, task, error));
        }
    }
    return GW_OK;
}

/* While rank 0 has nothing else to do, it does what others keep for too long. */
static enum gw_status take_over(struct coordinator *coordinator, struct gw_error *error) {
    double before_s = gw_clock_now_s() - fmax(patience_s, 4 * coordinator->longest_s);
    const struct member *self = &coordinator->members[0];
    bool idle = !has_next(coordinator) && self->out < self->threads;
    for (uint64_t task = coordinator->delivered; idle && task < coordinator->next; task++) {
        struct place *place = &coordinator->places[task % WINDOW];
        if (place->rank != 0 && !place->done && !place->redone && place->since_s < before_s) {
            place->redone = true;
            GW_TRY(give(coordinator, 0, task, error));
            idle = self->out < self->threads;
        }
    }
    return GW_OK;
}

/* ---- collecting ---------------------------------------------------------------------------- */

/* The result in the coordinator's report, unless the task was done before. */
static void accept(struct coordinator *coordinator, int rank) {
    const struct gw_report *report = coordinator->report;
    struct place *place = &coordinator->places[report->task % WINDOW];
    coordinator->members[rank].out--;
    coordinator->worked++;
    coordinator->worked_s += report->seconds;
    coordinator->longest_s = fmax(coordinator->longest_s, report->seconds);
    if (report->task >= coordinator->delivered && !place->done) {
        memcpy(coordinator->results + report->task % WINDOW * coordinator->result_bytes, report + 1,
               report->bytes);
        place->done = true;
    }
}

static enum gw_status read_message(struct coordinator *coordinator, int rank, size_t bytes,
                                   struct gw_error *error) {
    const struct gw_report *report = coordinator->report;
    struct member *member = &coordinator->members[rank];
    if (bytes == sizeof *report && report->task == HELLO) {
        member->threads = (size_t)report->seconds;
    } else if (bytes == sizeof *report && report->task == STOP) {
        member->gone = true;
    } else if (bytes == sizeof *report + report->bytes && report->task < coordinator->next) {
        accept(coordinator, rank);
    } else {
        return gw_fail(error, GW_FAILED, "expected a report of rank %d, got %zu bytes", rank,
                       bytes);
    }
    return GW_OK;
}

static enum gw_status read_messages(struct coordinator *coordinator, struct gw_error *error) {
    struct gw_communicator *communicator = coordinator->communicator;
    int from = communicator == NULL ? -1 : 0;
    while (from >= 0) {
        size_t bytes = 0;
        GW_TRY(communicator->transport->poll(
            communicator, coordinator->report,
            sizeof *coordinator->report + coordinator->result_bytes, &bytes, &from, error));
        if (from >= 0) {
            GW_TRY(read_message(coordinator, from, bytes, error));
        }
    }
    return GW_OK;
}

static enum gw_status deliver(struct coordinator *coordinator, struct gw_error *error) {
    const struct gw_farm *farm = coordinator->farm;
    while (coordinator->delivered < coordinator->next &&
           coordinator->places[coordinator->delivered % WINDOW].done) {
        uint64_t task = coordinator->delivered++;
        const char *result = coordinator->results + task % WINDOW * coordinator->result_bytes;
        GW_TRY(farm->deliver(task, result, farm->context, error));
    }
    return GW_OK;
}

/* ---- rank 0 -------------------------------------------------------------------------------- */

static enum gw_status coordinate(struct coordinator *coordinator, struct gw_error *error) {
    while (coordinator->delivered < coordinator->farm->count) {
        GW_TRY(hand_out(coordinator, error));
        GW_TRY(take_over(coordinator, error));
        gw_crew_wait(coordinator->crew, coordinator->size > 1 ? nap_s : patience_s);
        while (gw_crew_take(coordinator->crew, coordinator->report)) {
            accept(coordinator, 0);
        }
        GW_TRY(read_messages(coordinator, error));
        GW_TRY(deliver(coordinator, error));
    }
    return GW_OK;
}

static size_t count_present(const struct coordinator *coordinator) {
    size_t count = 0;
    for (int rank = 1; rank < coordinator->size; rank++) {
        count += !coordinator->members[rank].gone;
    }
    return count;
}

static enum gw_status tell_to_stop(const struct coordinator *coordinator, struct gw_error *error) {
    for (int rank = 1; rank < coordinator->size; rank++) {
        GW_TRY(coordinator->communicator->transport->post(coordinator->communicator, rank, &STOP,
                                                          sizeof STOP, error));
    }
    return GW_OK;
}

/* Waits until nothing more comes from the other ranks. */
static enum gw_status part(struct coordinator *coordinator, size_t *lost, struct gw_error *error) {
    double deadline_s = gw_clock_now_s() + farewell_s;
    while (count_present(coordinator) > 0 && gw_clock_now_s() < deadline_s) {
        GW_TRY(read_messages(coordinator, error));
        gw_clock_sleep_until_s(gw_clock_now_s() + nap_s);
    }
    *lost = count_present(coordinator);
    return GW_OK;
}

static enum gw_status open_coordinator(struct coordinator *coordinator, struct gw_error *error) {
    const struct gw_farm *farm = coordinator->farm;
    coordinator->next = coordinator->delivered = farm->first;
    coordinator->result_bytes = gw_crew_round_up(farm->result_bytes);
    coordinator->members = calloc((size_t)coordinator->size, sizeof *coordinator->members);
    coordinator->places = calloc(WINDOW, sizeof *coordinator->places);
    coordinator->results = calloc(WINDOW, coordinator->result_bytes);
    coordinator->report = calloc(1, sizeof *coordinator->report + coordinator->result_bytes);
    if (coordinator->members == NULL || coordinator->places == NULL ||
        coordinator->results == NULL || coordinator->report == NULL) {
        return gw_fail_memory(error, "handing out tasks");
    }
    coordinator->members[0].threads = farm->threads;
    return gw_crew_open(&coordinator->crew, farm, farm->threads * (MOST_AHEAD + 1), error);
}

static enum gw_status run_coordinator(const struct gw_farm *farm,
                                      struct gw_communicator *communicator, size_t *lost,
                                      struct gw_error *error) {
    struct coordinator coordinator = {.farm = farm,
                                      .communicator = communicator,
                                      .size = communicator == NULL ? 1 : communicator->size};
    struct gw_error later = {0};
    enum gw_status opened = open_coordinator(&coordinator, error);
    enum gw_status status = opened == GW_OK ? coordinate(&coordinator, error) : opened;
    enum gw_status stopped = tell_to_stop(&coordinator, &later);
    if (opened == GW_OK) {
        stopped = stopped == GW_OK ? part(&coordinator, lost, &later) : stopped;
        gw_crew_close(coordinator.crew);
    }
    if (status == GW_OK && stopped != GW_OK) {
        status = gw_fail(error, stopped, "%s", later.message);
    }
    free(coordinator.report);
    free(coordinator.results);
    free(coordinator.places);
    free(coordinator.members);
    return status;
}

/* ---- the other ranks ----------------------------------------------------------------------- */

static enum gw_status say(struct gw_communicator *communicator, uint64_t word, size_t threads,
                          struct gw_error *error) {
    struct gw_report report = {.task = word, .seconds = (double)threads};
    return communicator->transport->post(communicator, 0, &report, sizeof report, error);
}

static enum gw_status work(const struct gw_farm *farm, struct gw_communicator *communicator,
                           struct gw_crew *crew, struct gw_report *report, struct gw_error *error) {
    GW_TRY(say(communicator, HELLO, farm->threads, error));
    for (;;) {
        uint64_t task = 0;
        size_t bytes = 0;
        int from = 0;
        GW_TRY(
            communicator->transport->poll(communicator, &task, sizeof task, &bytes, &from, error));
        if (from >= 0 && task == STOP) {
            return say(communicator, STOP, 0, error);
        }
        if (from >= 0) {
            gw_crew_give(crew, task);
        } else {
            gw_crew_wait(crew, nap_s);
        }
        while (gw_crew_take(crew, report)) {
            GW_TRY(communicator->transport->post(communicator, 0, report,
                                                 sizeof *report + report->bytes, error));
        }
    }
}

static enum gw_status run_worker(const struct gw_farm *farm, struct gw_communicator *communicator,
                                 struct gw_error *error) {
    struct gw_crew *crew = NULL;
    struct gw_report *report = calloc(1, sizeof *report + gw_crew_round_up(farm->result_bytes));
    enum gw_status status =
        report == NULL ? gw_fail_memory(error, "taking tasks")
                       : gw_crew_open(&crew, farm, farm->threads * (MOST_AHEAD + 1), error);
    if (status == GW_OK) {
        status = work(farm, communicator, crew, report, error);
        gw_crew_close(crew);
    }
    free(report);
    return status;
}

enum gw_status gw_farm_run(const struct gw_farm *farm, struct gw_communicator *communicator,
                           size_t *lost, struct gw_error *error) {
    *lost = 0;
    return communicator == NULL || communicator->rank == 0
               ? run_coordinator(farm, communicator, lost, error)
               : run_worker(farm, communicator, error);
}
