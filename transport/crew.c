#include "transport/crew.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* One of the threads, and where it writes what it works on. */
struct hand {
    struct gw_crew *crew;
    struct gw_report *report;
    pthread_t thread;
};

struct gw_crew {
    const struct gw_farm *farm;
    pthread_mutex_t mutex;
    pthread_cond_t given, done;
    bool closing;
    /* Two rings of `room` entries each. */
    size_t room;
    size_t task_first, task_count;
    uint64_t *tasks;
    size_t report_first, report_count;
    size_t report_bytes; /* of a report and its result */
    char *reports;
    char *desks; /* a report with its result for each thread */
    size_t hand_count;
    struct hand *hands;
};

/*
 * Whether it is time to look at the reports: threads are about to run out of tasks, or so much has
 * gathered. Waking for each report costs more than tasks of some microseconds.
 */
static bool is_due(const struct gw_crew *crew) {
    return crew->report_count > 0 && (crew->task_count == 0 || 4 * crew->report_count > crew->room);
}

/* ---- on the crew's threads ----------------------------------------------------------------- */

/* Waits for the next task; false: there is none any more. */
static bool begin(struct gw_crew *crew, uint64_t *task) {
    pthread_mutex_lock(&crew->mutex);
    while (crew->task_count == 0 && !crew->closing) {
        pthread_cond_wait(&crew->given, &crew->mutex);
    }
    bool found = !crew->closing;
    if (found) {
        *task = crew->tasks[crew->task_first];
        crew->task_first = (crew->task_first + 1) % crew->room;
        crew->task_count--;
    }
    pthread_mutex_unlock(&crew->mutex);
    return found;
}

static void end(struct gw_crew *crew, const struct gw_report *report) {
    pthread_mutex_lock(&crew->mutex);
    size_t place = (crew->report_first + crew->report_count++) % crew->room;
    memcpy(crew->reports + place * crew->report_bytes, report, sizeof *report + report->bytes);
    if (is_due(crew)) {
        pthread_cond_signal(&crew->done);
    }
    pthread_mutex_unlock(&crew->mutex);
}

static void *run_thread(void *argument) {
    const struct hand *hand = argument;
    const struct gw_farm *farm = hand->crew->farm;
    while (begin(hand->crew, &hand->report->task)) {
        double start_s = gw_clock_now_s();
        hand->report->bytes = farm->work(hand->report->task, hand->report + 1, farm->context);
        hand->report->seconds = gw_clock_now_s() - start_s;
        end(hand->crew, hand->report);
    }
    return NULL;
}

/* ---- on the thread that has the crew ------------------------------------------------------- */

void gw_crew_give(struct gw_crew *crew, uint64_t task) {
    pthread_mutex_lock(&crew->mutex);
    crew->tasks[(crew->task_first + crew->task_count++) % crew->room] = task;
    pthread_cond_signal(&crew->given);
    pthread_mutex_unlock(&crew->mutex);
}

bool gw_crew_take(struct gw_crew *crew, struct gw_report *report) {
    pthread_mutex_lock(&crew->mutex);
    bool found = crew->report_count > 0;
    if (found) {
        const char *first = crew->reports + crew->report_first * crew->report_bytes;
        memcpy(report, first, sizeof *report);
        memcpy(report + 1, first + sizeof *report, report->bytes);
        crew->report_first = (crew->report_first + 1) % crew->room;
        crew->report_count--;
    }
    pthread_mutex_unlock(&crew->mutex);
    return found;
}

void gw_crew_wait(struct gw_crew *crew, double seconds) {
    double deadline_s = gw_clock_now_s() + seconds;
    struct timespec deadline = {.tv_sec = (time_t)deadline_s,
                                .tv_nsec = (long)(1e9 * (deadline_s - floor(deadline_s)))};
    pthread_mutex_lock(&crew->mutex);
    int late = 0;
    while (!is_due(crew) && late == 0) {
        late = pthread_cond_timedwait(&crew->done, &crew->mutex, &deadline);
    }
    pthread_mutex_unlock(&crew->mutex);
}

/* ---- opening and closing ------------------------------------------------------------------- */

static enum gw_status start_threads(struct gw_crew *crew, struct gw_error *error) {
    for (size_t i = 0; i < crew->farm->threads; i++) {
        struct hand *hand = &crew->hands[i];
        hand->crew = crew;
        hand->report = (struct gw_report *)(void *)(crew->desks + i * crew->report_bytes);
        int failure = pthread_create(&hand->thread, NULL, run_thread, hand);
        if (failure != 0) {
            return gw_fail(error, GW_FAILED, "thread %zu of %zu: cannot be started: %s", i + 1,
                           crew->farm->threads, strerror(failure));
        }
        crew->hand_count++;
    }
    return GW_OK;
}

enum gw_status gw_crew_open(struct gw_crew **out, const struct gw_farm *farm, size_t room,
                            struct gw_error *error) {
    struct gw_crew *crew = calloc(1, sizeof *crew);
    if (crew == NULL) {
        return gw_fail_memory(error, "starting threads");
    }
    pthread_condattr_t monotonic; /* the clock of gw_clock_now_s */
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&crew->mutex, NULL);
    pthread_cond_init(&crew->given, NULL);
    pthread_cond_init(&crew->done, &monotonic);
    pthread_condattr_destroy(&monotonic);
    crew->farm = farm;
    crew->room = room;
    crew->report_bytes = sizeof(struct gw_report) + gw_crew_round_up(farm->result_bytes);
    crew->tasks = calloc(room, sizeof *crew->tasks);
    crew->reports = calloc(room, crew->report_bytes);
    crew->desks = calloc(farm->threads, crew->report_bytes);
    crew->hands = calloc(farm->threads, sizeof *crew->hands);
    bool complete =
        crew->tasks != NULL && crew->reports != NULL && crew->desks != NULL && crew->hands != NULL;
    enum gw_status status =
        complete ? start_threads(crew, error) : gw_fail_memory(error, "starting threads");
    if (status != GW_OK) {
        gw_crew_close(crew);
        return status;
    }
    *out = crew;
    return GW_OK;
}

void gw_crew_close(struct gw_crew *crew) {
    pthread_mutex_lock(&crew->mutex);
    crew->closing = true;
    pthread_cond_broadcast(&crew->given);
    pthread_mutex_unlock(&crew->mutex);
    for (size_t i = 0; i < crew->hand_count; i++) {
        pthread_join(crew->hands[i].thread, NULL);
    }
    pthread_cond_destroy(&crew->done);
    pthread_cond_destroy(&crew->given);
    pthread_mutex_destroy(&crew->mutex);
    free(crew->hands);
    free(crew->desks);
    free(crew->reports);
    free(crew->tasks);
    free(crew);
}
