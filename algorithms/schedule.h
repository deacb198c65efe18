/*
 * A schedule: one iteration of a pipeline as operations on streams. It is what algorithms write,
 * and what sim (virtual time) and exec (real time) interpret; neither knows any algorithm.
 *
 * Each stream runs its operations in the schedule's order, one at a time. An operation starts when
 * its stream is free and the operations it depends on, which stand before it, have ended. Every
 * worker runs the same schedule; an exchange is one collective of all workers.
 */
#ifndef GW_ALGORITHMS_SCHEDULE_H
#define GW_ALGORITHMS_SCHEDULE_H

#include "core/core.h"
#include "traces/traces.h"

enum gw_payload { GW_DENSE, GW_SPARSE };

struct gw_operation {
    enum gw_activity kind; /* forward, backward, compress, exchange or update */
    enum gw_stream stream;
    uint32_t group;     /* GW_NO_GROUP for forward and update */
    const char *method; /* compress: the compressor; exchange: the collective; otherwise NULL */
    const char *label;  /* for a person: the tensor or the method; "" if there is nothing to add */
    enum gw_payload payload;
    uint64_t elements;                         /* that the operation works on */
    uint64_t bytes;                            /* exchange: what one worker contributes */
    double duration_s;                         /* forward, backward, update: known from the model */
    size_t first_dependency, dependency_count; /* in the schedule's list */
};

/*
 * A group as the workers' flat gradient holds it: groups lie
 * one after another, in exchange order.
 */
struct gw_slice {
    uint64_t first, elements;
    uint64_t kept; /* elements that a compressor keeps; = elements for dense exchange */
};

struct gw_schedule {
    size_t operation_count, operation_capacity;
    struct gw_operation *operations;
    size_t dependency_count, dependency_capacity;
    size_t *dependencies; /* indices of operations */
    size_t group_count;
    struct gw_slice *groups;
};

/* A schedule without operations, with the slices of the plan's groups. */
enum gw_status gw_schedule_create(struct gw_schedule *out, const struct gw_model *model,
                                  const struct gw_plan *plan, struct gw_error *error);

/* Appends an operation that depends on the `count` earlier ones in `after`; *index is its number.
 */
enum gw_status gw_schedule_add(struct gw_schedule *schedule, struct gw_operation operation,
                               const size_t *after, size_t count, size_t *index,
                               struct gw_error *error);

void gw_schedule_free(struct gw_schedule *schedule);

/* What one worker contributes to all exchanges of an iteration. */
double gw_schedule_bytes_per_worker(const struct gw_schedule *schedule);

#endif
