#include "core/clock.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <time.h>

double gw_clock_now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void gw_clock_sleep_until_s(double deadline_s) {
    if (gw_clock_now_s() >= deadline_s) {
        return; /* arming a timer that has expired takes 20 us on some virtual machines */
    }
    double seconds = floor(deadline_s);
    struct timespec deadline = {.tv_sec = (time_t)seconds,
                                .tv_nsec = (long)(1e9 * (deadline_s - seconds))};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) == EINTR) {
    }
}

void gw_clock_sleep_precisely(void) {
    /* The default slack of 50 us is as long as the backward pass of a small tensor. */
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

/* ---- as a clock that is given -------------------------------------------------------------- */

static double read_machine(void *context) {
    (void)context;
    return gw_clock_now_s();
}

static void wait_on_machine(void *context, double moment_s) {
    const double awake_s = 60e-6; /* virtual machines wake threads this late at times */
    (void)context;
    gw_clock_sleep_until_s(moment_s - awake_s);
    while (gw_clock_now_s() < moment_s) {
        (void)sched_yield();
    }
}

const struct gw_clock gw_machine_clock = {.now_s = read_machine, .wait_until_s = wait_on_machine};
