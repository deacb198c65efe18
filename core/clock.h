/* Wall time for measurements: the monotonic clock, in seconds. */
#ifndef GW_CORE_CLOCK_H
#define GW_CORE_CLOCK_H

double gw_clock_now_s(void);

/* Sleeps until the clock shows `deadline_s`; returns at once if it has passed. */
void gw_clock_sleep_until_s(double deadline_s);

/* Makes the kernel wake the calling thread as close to its deadlines as it can. */
void gw_clock_sleep_precisely(void);

/* ---- a clock that is given ----------------------------------------------------------------- */

/* The clock of a measurement: the machine's, or a test's with artificial costs. */
struct gw_clock {
    double (*now_s)(void *context);
    void (*wait_until_s)(void *context, double moment_s); /* at once if it has passed */
    void *context;
};

/*
 * The monotonic clock. Waiting sleeps until shortly before the moment and then polls, because a
 * sleeping thread wakes later than short messages take; it yields between polls to others on the
 * core.
 */
extern const struct gw_clock gw_machine_clock;

static inline double gw_clock_read_s(const struct gw_clock *clock) {
    return clock->now_s(clock->context);
}

static inline void gw_clock_wait_until_s(const struct gw_clock *clock, double moment_s) {
    clock->wait_until_s(clock->context, moment_s);
}

#endif
