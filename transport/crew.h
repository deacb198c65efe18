/* Threads of one rank that work on what they are given; private to transport/. */
#ifndef GW_TRANSPORT_CREW_H
#define GW_TRANSPORT_CREW_H

#include "transport/farm.h"

struct gw_crew;

/* What comes back for a task; its result stands right behind it. */
struct gw_report {
    uint64_t task, bytes; /* of the result */
    double seconds;       /* that the work took */
};

/* So many bytes, and as many more as it takes for what follows them to be aligned. */
static inline size_t gw_crew_round_up(size_t bytes) {
    return (bytes + sizeof(double) - 1) / sizeof(double) * sizeof(double);
}

/* Starts the farm's threads. At most `room` tasks are in their hands at a time. */
enum gw_status gw_crew_open(struct gw_crew **out, const struct gw_farm *farm, size_t room,
                            struct gw_error *error);

/* Waits for the tasks that are being worked on, and drops those that are not begun. */
void gw_crew_close(struct gw_crew *crew);

/* Hands over a task, to be worked on in the order in which they are given. */
void gw_crew_give(struct gw_crew *crew, uint64_t task);

/*
 * Takes a report with its result, for which there is room for the farm's result_bytes, in the order
 * in which they were done; false: none is there.
 */
bool gw_crew_take(struct gw_crew *crew, struct gw_report *report);

/* Waits until it is worth taking reports, or so many seconds have passed. */
void gw_crew_wait(struct gw_crew *crew, double seconds);

#endif
