/* The tables that bench/engine prints, by a struct bench_engine_choice. */
#ifndef GW_BENCH_ENGINE_H
#define GW_BENCH_ENGINE_H

#include "process.h"

struct bench_engine_choice {
    size_t repeats;
    size_t limit_s;        /* CPU time for one measurement of messages and curves */
    size_t most;           /* goal: ranks; messages, curves: workers; queue: events; 0: the usual */
    const char *loggopsim; /* folder of its programs, or NULL */
    const char *collective; /* messages: only that one; NULL: all */
};

/* GOAL schedules: reading and running them, beside LogGOPSim. */
void bench_engine_goal(const void *choice);

/* gradweave's own schedules as messages, as P grows. */
void bench_engine_messages(const void *choice);

/* gradweave's own schedules by cost curves, as P grows. */
void bench_engine_curves(const void *choice);

/* The event queue alone. */
void bench_engine_queue(const void *choice);

#endif
