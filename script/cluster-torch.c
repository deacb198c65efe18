/*
 * Lets the threads of a PyTorch rank share the processors of script/cluster as if messages had one
 * of their own. Preloaded into each rank of script/cluster run --torch.
 *
 * On a cluster messages travel while processors compute: there are more of them, or a GPU computes.
 * Here a node has a share of this machine's. In real time, where nobody is interrupted by his like,
 * a thread that has a message to pass on would wait until the backward pass beside it has used up
 * its time slice, at each of some ten steps of a collective. So it has the higher priority.
 *
 * gloo's thread that waits for messages tries to get a connection's lock, and, where another thread
 * has it, looks again at once at what has come. On a processor that the other one needs it would do
 * so for ever. After some vain looks it sleeps a moment.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

enum {
    MOST_LOOKS = 3, /* in vain, then it sleeps */
    VAIN_NS = 2000, /* from one look to the next one: who has read something takes longer */
    SLEEP_NS = 10000,
};

/* Priority of a thread by its name: exchanging threads highest, compressing ones next. */
static int priority_of(const char *name) {
    static const struct {
        const char *prefix;
        int priority;
    } threads[] = {{"gloo", 3}, {"pt_gloo", 3}, {"gw_exchange", 3}, {"gw_compute", 2}};
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        if (strncmp(name, threads[i].prefix, strlen(threads[i].prefix)) == 0) {
            return threads[i].priority;
        }
    }
    return 1;
}

/* Replaces the C library's function: gives threads in real time the priority of their name. */
int pthread_setname_np(pthread_t thread, const char *name) {
    static int (*set_name)(pthread_t, const char *);
    struct sched_param priority;
    int policy = SCHED_OTHER;
    if (set_name == NULL) {
        *(void **)&set_name = dlsym(RTLD_NEXT, "pthread_setname_np");
    }
    if (pthread_getschedparam(thread, &policy, &priority) == 0 && policy == SCHED_RR) {
        priority.sched_priority = priority_of(name);
        (void)pthread_setschedparam(thread, policy, &priority);
    }
    return set_name(thread, name);
}

static long long now_ns(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Replaces the C library's function: sleeps after several looks in vain. */
int epoll_wait(int epoll, struct epoll_event *events, int count, int timeout_ms) {
    static _Thread_local struct {
        long long looked_ns;
        int vain;
    } last;
    last.vain = now_ns() - last.looked_ns < VAIN_NS ? last.vain + 1 : 0;
    if (last.vain > MOST_LOOKS) {
        (void)nanosleep(&(struct timespec){0, SLEEP_NS}, NULL);
    }
    int ready = epoll_pwait(epoll, events, count, timeout_ms, NULL);
    last.looked_ns = now_ns();
    return ready;
}
