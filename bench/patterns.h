/* GOAL schedules of well-known communication, of any size. */
#ifndef GW_BENCH_PATTERNS_H
#define GW_BENCH_PATTERNS_H

#include "goal/goal.h"

struct bench_pattern {
    const char *name;
    uint32_t ranks; /* that it is measured with */
    bool power_of_two;
    enum gw_status (*write)(struct gw_goal_writer *writer, uint32_t ranks, struct gw_error *error);
};

/* Ended by one without a name. */
extern const struct bench_pattern bench_patterns[];

/* At most `ranks`, as many as the pattern can have. */
uint32_t bench_pattern_ranks(const struct bench_pattern *pattern, uint32_t ranks);

enum gw_status bench_pattern_write(const struct bench_pattern *pattern, uint32_t ranks,
                                   const char *path, struct gw_error *error);

#endif
