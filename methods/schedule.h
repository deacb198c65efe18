/*
 * A schedule: one iteration of a pipeline as operations on streams. Algorithms write it; sim
 * (virtual time) and exec (real time) interpret it, and know no algorithm.
 *
 * Each stream runs its operations in the schedule's order, one at a time. An operation starts when
 * its stream is free and the operations it depends on, which stand before it, have ended. Every
 * worker runs the same schedule; an exchange is one collective of all workers. An update on the
 * communication stream is the server's, for which all workers wait.
 */
#ifndef GW_METHODS_SCHEDULE_H
#define GW_METHODS_SCHEDULE_H

#include "core/core.h"
#include "methods/methods.h"
#include "traces/traces.h"

struct gw_operation {
    enum gw_activity kind; /* forward, backward, compress, exchange or update */
    enum gw_stream stream;
    uint32_t group;     /* GW_NO_GROUP for forward, update and all of earlier micro-batches */
    const char *method; /* compress: the compressor; exchange: the collective; otherwise NULL */
    const char *label;  /* for a person: the tensor or the method; "" if there is nothing to add */
    enum gw_payload payload;
    uint64_t elements; /* that the operation works on */
    uint64_t bytes;    /* exchange: contribution of one worker */
    double duration_s; /* forward, backward, update: known from the model; compress: 0, but where
                        * execution waits in its place, as long as the cluster's curve says */
    size_t first_dependency, dependency_count; /* in the schedule's list */
};

/* Whether all workers are in it together: an exchange, or a server's update between two. */
static inline bool gw_operation_is_shared(const struct gw_operation *operation) {
    return operation->kind == GW_EXCHANGE ||
           (operation->kind == GW_UPDATE && operation->stream == GW_STREAM_COMMUNICATION);
}

/*
 * A group as the workers' flat gradient holds it: groups lie one after another, in exchange order.
 */
struct gw_slice {
    const struct gw_way *way; /* one of the schedule's */
    uint64_t first;
    struct gw_size size; /* by its way */
    uint64_t kept; /* elements that a compressor is asked for; all of them for dense exchange */
    size_t first_layer;          /* the first of its tensors in the schedule's list */
    uint64_t sketch_cells;       /* of the sketch that travels; 0: none does */
    struct gw_selected selected; /* elements in its exchange's bytes */
};

struct gw_schedule {
    size_t way_count;
    struct gw_way *ways; /* of groups, each once; without an exchange: no leg is scheduled yet */
    size_t operation_count, operation_capacity;
    struct gw_operation *operations;
    size_t dependency_count, dependency_capacity;
    size_t *dependencies; /* indices of operations */
    size_t group_count;
    struct gw_slice *groups;
    size_t *layers; /* elements of each tensor, group by group, in the order of the gradient */
    size_t *rows;   /* first dimension of each of these tensors; 0: it has less than two */
    size_t workers;
    bool server; /* a rank beside the workers, number `workers`, takes part in exchanges */
    uint64_t bytes_per_element; /* of dense gradients */
    double uncertainty;         /* of the model's times (traces/model.h) */
};

/*
 * A schedule without operations, with the slices of the plan's groups, selected as expected. They
 * go the ways of a mixed plan, which must be known and carry what they are to; otherwise `way`.
 */
enum gw_status gw_schedule_create(struct gw_schedule *out, const struct gw_model *model,
                                  const struct gw_plan *plan, const struct gw_way *way,
                                  struct gw_error *error);

/* The way of an operation's group; NULL: it is of no group of the schedule's. */
const struct gw_way *gw_schedule_way(const struct gw_schedule *schedule,
                                     const struct gw_operation *operation);

/* Its number among the schedule's ways, by which they have their costs; 0 without a way. */
size_t gw_schedule_way_number(const struct gw_schedule *schedule,
                              const struct gw_operation *operation);

/*
 * Interpolation weight between a compressor's curves at its two densities (gw_compressor_share), of
 * an operation that compresses `elements`. Its density is the one expected, times the selected over
 * the expected elements of the worker that selects most; the first measured density of an
 * operation without a way.
 */
double gw_schedule_share(const struct gw_schedule *schedule, const struct gw_operation *operation,
                         const struct gw_kernel_cost *cost, double elements);

/* Sizes that determine the bytes of a group's exchanges. */
struct gw_extent gw_schedule_extent(const struct gw_schedule *schedule, size_t group);

/* The leg that an exchange is; NULL: of a schedule that was made without legs. */
const struct gw_leg *gw_schedule_leg(const struct gw_schedule *schedule,
                                     const struct gw_operation *operation);

/* Lengthens the workers' update after the last exchange by `seconds` of a trainer's session. */
void gw_schedule_add_session(struct gw_schedule *schedule, double seconds);

/* Sets the bytes of exchanges by the numbers of elements selected of each group [group_count]. */
void gw_schedule_select(struct gw_schedule *schedule, const struct gw_selected *selected);

/* Sets them by as many elements as compressors are asked for, which are expected from then on. */
void gw_schedule_select_as_asked(struct gw_schedule *schedule);

/* The algorithm's schedule, checked: out is empty on failure; by a mixed plan, whatever the
 * algorithm's choices. Borrows the model's names. */
enum gw_status gw_algorithm_schedule(const struct gw_algorithm *algorithm,
                                     const struct gw_model *model, const struct gw_plan *plan,
                                     struct gw_schedule *out, struct gw_error *error);

void gw_schedule_free(struct gw_schedule *schedule);

/* Whether the compressor of any of its ways is such. */
bool gw_schedule_has(const struct gw_schedule *schedule,
                     bool (*is_so)(const struct gw_compressor *compressor));

/* The name of the compressor of all its groups, GW_MIXED if they have several. */
const char *gw_schedule_compressor(const struct gw_schedule *schedule);

/* Whether any of its operations compresses. */
bool gw_schedule_compresses(const struct gw_schedule *schedule);

/* Bytes that one worker contributes to all exchanges of an iteration, and gets from a server. */
double gw_schedule_bytes_per_worker(const struct gw_schedule *schedule);

#endif
