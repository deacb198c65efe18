/*
 * Lets ranks of script/cluster wait without taking the cores from each other. Preloaded into each.
 *
 * A rank that waits for a message asks poll() for it with no timeout and yields, again and again
 * (mpi_yield_when_idle). On a cluster that costs nobody anything, for the node is its own. Here the
 * nodes share this machine's cores, and who yields is only put behind the others that run: nodes
 * that wait would slow down the one that computes and delay the packets of those that send. So
 * after a few vain looks at its sockets a rank sleeps until one of them has something for it.
 */
#define _GNU_SOURCE
#include <linux/sched/types.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_SOCKETS = 256,
    MOST_LOOKS = 30,            /* in vain, some 50 us of them; then it sleeps */
    LONGEST_SLEEP_NS = 1000000, /* for what comes without a message: another thread, a timer */
    LOOKS_APART_NS = 20000,     /* of processor time: what lies further apart is no waiting */
    SLICE_NS = 100000 /* the kernel's shortest: whom others make wait, they make wait briefly */
};

static _Thread_local struct {
    struct pollfd sockets[MOST_SOCKETS];
    nfds_t count;
    int looked, found, looks;
    long long last_ns;
} waiting;

/* Since Linux 6.12 a process chooses its time slice; on older kernels this changes nothing. */
__attribute__((constructor)) static void take_short_slices(void) {
    struct sched_attr attributes = {.size = sizeof attributes};
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) == 0 &&
        attributes.sched_policy == 0 /* SCHED_OTHER */) {
        attributes.sched_runtime = SLICE_NS;
        (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
    }
}

static long long processor_time_ns(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Replaces the C library's function: remembers the sockets if they had nothing. */
int poll(struct pollfd *sockets, nfds_t count, int timeout_ms) {
    struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};
    int ready = ppoll(sockets, count, timeout_ms < 0 ? NULL : &timeout, NULL);
    if (timeout_ms == 0 && ready > 0) {
        waiting.found = 1;
    } else if (timeout_ms == 0 && ready == 0 && count <= MOST_SOCKETS) {
        memcpy(waiting.sockets, sockets, count * sizeof *sockets);
        waiting.count = count;
        waiting.looked = 1;
    }
    return ready;
}

/* Open MPI looks until nothing is left, so the last look before it yields is always in vain. */
static int is_waiting(void) {
    long long now_ns = processor_time_ns();
    if (waiting.found || !waiting.looked || now_ns - waiting.last_ns > LOOKS_APART_NS) {
        waiting.looks = 0;
    }
    waiting.last_ns = now_ns;
    waiting.found = 0;
    waiting.looked = 0;
    return waiting.looks++ >= MOST_LOOKS;
}

int sched_yield(void) {
    if (!is_waiting()) {
        return (int)syscall(SYS_sched_yield);
    }
    struct timespec timeout = {0, LONGEST_SLEEP_NS};
    (void)ppoll(waiting.sockets, waiting.count, &timeout, NULL);
    return 0;
}
