/* Wall time for measurements: the monotonic clock, in seconds. */
#ifndef GW_CORE_CLOCK_H
#define GW_CORE_CLOCK_H

double gw_clock_now_s(void);

/* Sleeps until the clock shows `deadline_s`; returns at once if it has passed. */
void gw_clock_sleep_until_s(double deadline_s);

/* Asks the kernel to wake the calling thread as close to its deadlines as it can. */
void gw_clock_sleep_precisely(void);

#endif
