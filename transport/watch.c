#include "transport/watch.h"

#include <errno.h>
#include <ifaddrs.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "core/core.h"

enum { MAX_ADDRESSES = 8, NUDGE_MS = 250 };
static const double question_s = 1;
static const time_t first_answer_s = 2;

/* ---- alarms before ranks are connected ------------------------------------------------------- */

struct gw_alarm {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t closed;
    bool is_closed;
    double seconds;
    void (*late)(void *context, double seconds);
    void *context;
};

static void *wait_for_close(void *context) {
    struct gw_alarm *alarm = context;
    double end_s = gw_clock_now_s() + alarm->seconds;
    const struct timespec end = {.tv_sec = (time_t)end_s,
                                 .tv_nsec = (long)(1e9 * (end_s - floor(end_s)))};
    int status = 0;
    (void)pthread_mutex_lock(&alarm->lock);
    while (!alarm->is_closed && status != ETIMEDOUT) {
        status = pthread_cond_timedwait(&alarm->closed, &alarm->lock, &end);
    }
    bool is_late = !alarm->is_closed;
    (void)pthread_mutex_unlock(&alarm->lock);
    if (is_late) {
        alarm->late(alarm->context, alarm->seconds);
    }
    return NULL;
}

static void free_alarm(struct gw_alarm *alarm) {
    (void)pthread_mutex_destroy(&alarm->lock);
    (void)pthread_cond_destroy(&alarm->closed);
    free(alarm);
}

enum gw_status gw_alarm_open(double seconds, void (*late)(void *context, double seconds),
                             void *context, struct gw_alarm **out, struct gw_error *error) {
    struct gw_alarm *alarm = calloc(1, sizeof *alarm);
    pthread_condattr_t monotonic;
    if (alarm == NULL) {
        return gw_fail_memory(error, "watching ranks");
    }
    alarm->seconds = seconds;
    alarm->late = late;
    alarm->context = context;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&alarm->closed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)pthread_mutex_init(&alarm->lock, NULL);
    int failed = pthread_create(&alarm->thread, NULL, wait_for_close, alarm);
    if (failed != 0) {
        free_alarm(alarm);
        return gw_fail(error, GW_FAILED, "watching ranks: %s", strerror(failed));
    }
    *out = alarm;
    return GW_OK;
}

void gw_alarm_close(struct gw_alarm *alarm) {
    (void)pthread_mutex_lock(&alarm->lock);
    alarm->is_closed = true;
    (void)pthread_cond_signal(&alarm->closed);
    (void)pthread_mutex_unlock(&alarm->lock);
    (void)pthread_join(alarm->thread, NULL);
    free_alarm(alarm);
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* The address of a rank's socket. */
struct place {
    char host[GW_WATCH_HOST_SIZE];
    uint32_t addresses[MAX_ADDRESSES]; /* IPv4, in network order; 0: no more */
    uint16_t port;                     /* in network order; 0: it has no socket */
};

/* Lists the addresses of interfaces that are up; loopback ones are for ranks of the same host. */
static void find_addresses(struct place *place) {
    struct ifaddrs *all = NULL;
    size_t count = 0;
    if (getifaddrs(&all) != 0) {
        return;
    }
    for (const struct ifaddrs *one = all; one != NULL && count < MAX_ADDRESSES;
         one = one->ifa_next) {
        if (one->ifa_addr != NULL && one->ifa_addr->sa_family == AF_INET) {
            struct sockaddr_in address;
            memcpy(&address, one->ifa_addr, sizeof address);
            if (ntohl(address.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET) {
                place->addresses[count++] = address.sin_addr.s_addr;
            }
        }
    }
    freeifaddrs(all);
}

/* Opens a socket on any free port, and describes its address; -1 without a network. */
static int open_socket(struct place *place) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    int handle = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    (void)gethostname(place->host, sizeof place->host - 1);
    if (handle >= 0 && bind(handle, (struct sockaddr *)&address, length) == 0 &&
        getsockname(handle, (struct sockaddr *)&address, &length) == 0) {
        place->port = address.sin_port;
        find_addresses(place);
    }
    return handle;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* A datagram; those of other jobs are ignored. */
struct datagram {
    uint64_t job; /* drawn by rank 0 */
    uint32_t rank;
    bool answers;
};

struct gw_watch {
    pthread_t thread;
    atomic_bool ends;
    int handle;
    uint64_t job;
    uint32_t rank, next;
    bool same_host;
    struct place place; /* of the next rank */
    double timeout_s;
    gw_lost *lost;
    void *context;
    sem_t first_answer;
};

static void send_datagram(const struct gw_watch *watch, uint32_t address, bool answers) {
    const struct datagram datagram = {.job = watch->job, .rank = watch->rank, .answers = answers};
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = watch->place.port, .sin_addr.s_addr = address};
    (void)sendto(watch->handle, &datagram, sizeof datagram, MSG_DONTWAIT,
                 (const struct sockaddr *)&to, sizeof to);
}

/* Answers queries; returns true if the next rank has answered. */
static bool receive_datagrams(const struct gw_watch *watch) {
    struct datagram datagram;
    struct sockaddr_in from;
    socklen_t length = sizeof from;
    bool answered = false;
    while (recvfrom(watch->handle, &datagram, sizeof datagram, MSG_DONTWAIT,
                    (struct sockaddr *)&from, &length) == (ssize_t)sizeof datagram) {
        if (datagram.job == watch->job && datagram.answers) {
            answered = answered || datagram.rank == watch->next;
        } else if (datagram.job == watch->job) {
            datagram.answers = true;
            datagram.rank = watch->rank;
            (void)sendto(watch->handle, &datagram, sizeof datagram, MSG_DONTWAIT,
                         (const struct sockaddr *)&from, length);
        }
        length = sizeof from;
    }
    return answered;
}

/*
 * The silence of the next rank is the time that this rank has spent waiting for an answer since its
 * first query without one: at most one poll's time for each poll, so that the time of a rank that
 * was itself stopped, or had no processor, is not counted.
 */
static void *watch_next(void *context) {
    struct gw_watch *watch = context;
    struct pollfd ready = {.fd = watch->handle, .events = POLLIN};
    bool has_answered = false;
    bool awaits_answer = false;
    double silent_s = 0;
    double polled_s = gw_clock_now_s();
    double asked_s = polled_s - question_s;
    while (!atomic_load(&watch->ends)) {
        double now_s = gw_clock_now_s();
        silent_s = awaits_answer ? silent_s + fmin(now_s - polled_s, 1e-3 * NUDGE_MS) : 0;
        polled_s = now_s;
        if (now_s - asked_s >= question_s) {
            if (watch->same_host) {
                send_datagram(watch, htonl(INADDR_LOOPBACK), false);
            }
            for (size_t i = 0; !watch->same_host && i < MAX_ADDRESSES; i++) {
                if (watch->place.addresses[i] != 0) {
                    send_datagram(watch, watch->place.addresses[i], false);
                }
            }
            asked_s = now_s;
            awaits_answer = true;
        }
        if (poll(&ready, 1, NUDGE_MS) > 0 && receive_datagrams(watch)) {
            if (!has_answered) { /* it is watched from now on */
                (void)pthread_setname_np(pthread_self(), "gw_watch");
                (void)sem_post(&watch->first_answer);
            }
            has_answered = true;
            awaits_answer = false;
        }
        if (has_answered && awaits_answer && watch->lost != NULL && silent_s > watch->timeout_s) {
            watch->lost(watch->context, (int)watch->next, watch->place.host, silent_s);
            watch->lost = NULL;
        }
    }
    return NULL;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static enum gw_status exchange_addresses(struct gw_communicator *communicator,
                                         struct gw_watch *watch, struct gw_error *error) {
    struct place mine = {0};
    void *gathered = NULL;
    watch->handle = open_socket(&mine);
    if (communicator->rank == 0 &&
        getrandom(&watch->job, sizeof watch->job, 0) != (ssize_t)sizeof watch->job) {
        watch->job = (uint64_t)getpid();
    }
    GW_TRY(gw_broadcast(communicator, 0, &watch->job, sizeof watch->job, error));
    GW_TRY(gw_gather_all(communicator, &mine, sizeof mine, "watching ranks", &gathered, error));
    watch->place = ((const struct place *)gathered)[watch->next];
    watch->same_host = strcmp(mine.host, watch->place.host) == 0;
    free(gathered);
    return GW_OK;
}

static void free_watch(struct gw_watch *watch) {
    (void)sem_destroy(&watch->first_answer);
    (void)close(watch->handle);
    free(watch);
}

enum gw_status gw_watch_open(struct gw_communicator *communicator, double timeout_s, gw_lost *lost,
                             void *context, struct gw_watch **out, struct gw_error *error) {
    *out = NULL;
    if (communicator->size == 1) {
        return GW_OK;
    }
    struct gw_watch *watch = calloc(1, sizeof *watch);
    enum gw_status status = watch == NULL ? gw_fail_memory(error, "watching ranks") : GW_OK;
    status = gw_agree(communicator, status, error);
    if (status != GW_OK) {
        free(watch);
        return status;
    }
    watch->rank = (uint32_t)communicator->rank;
    watch->next = (uint32_t)((communicator->rank + 1) % communicator->size);
    watch->timeout_s = timeout_s;
    watch->lost = lost;
    watch->context = context;
    (void)sem_init(&watch->first_answer, 0, 0);
    status = exchange_addresses(communicator, watch, error);
    int failed = status == GW_OK ? pthread_create(&watch->thread, NULL, watch_next, watch) : 0;
    bool started = status == GW_OK && failed == 0;
    if (failed != 0) {
        status = gw_fail(error, GW_FAILED, "watching ranks: %s", strerror(failed));
    }
    if (started) {
        /* Not for ever: only a rank that has answered is missed later. */
        struct timespec end;
        (void)clock_gettime(CLOCK_REALTIME, &end);
        end.tv_sec += first_answer_s;
        while (sem_timedwait(&watch->first_answer, &end) != 0 && errno == EINTR) {
        }
    }
    status = gw_agree(communicator, status, error);
    if (status == GW_OK) {
        *out = watch;
    } else if (started) {
        gw_watch_close(watch);
    } else {
        free_watch(watch);
    }
    return status;
}

void gw_watch_close(struct gw_watch *watch) {
    if (watch == NULL) {
        return;
    }
    atomic_store(&watch->ends, true);
    (void)pthread_join(watch->thread, NULL);
    free_watch(watch);
}
