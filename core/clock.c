#include "core/clock.h"

#include <errno.h>
#include <math.h>
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
