/* Costs of a model's groups on a cluster: their compression, and the legs of their exchange. */
#ifndef GW_METHODS_COSTS_H
#define GW_METHODS_COSTS_H

#include "core/core.h"
#include "methods/kernel_cost.h"
#include "methods/methods.h"
#include "traces/traces.h"

/* ---- groups ---------------------------------------------------------------------------------- */

/* Rule for interference in predictions: operations of a worker, and workers of a machine, that run
 * at once slow each other. */
enum gw_interference_rule {
    GW_INTERFERENCE_KNOWN,   /* as far as the cluster's file says how much */
    GW_INTERFERENCE_NONE,    /* they do not */
    GW_INTERFERENCE_REQUIRED /* as the file says; a file without any is refused */
};

/* A prediction that is asked for. May be copied and changed: it borrows its pointers. */
struct gw_scenario {
    const struct gw_model *model;
    const struct gw_cluster *cluster;
    const struct gw_algorithm *method; /* NULL: of several in turn */
    const struct gw_plan *plan;        /* read for it; NULL: policies make theirs */
    size_t workers;
    double density;      /* (0, 1]: share that a compressor is asked to keep */
    double sent_density; /* that it is expected to keep, by which costs count; 0: as asked */
    double bandwidth;    /* of collectives' bytes, a factor of the measured one; startups stay */
    double straggler;    /* factor on the compute times of worker 0, in sweeps; 1: none */
    double noise;        /* standard deviation of the logarithm of each compute time, in sweeps */
    enum gw_interference_rule interference;
    bool messages; /* exchanges are simulated as messages: costs need no curves, and plan nothing */
    struct gw_scenario_inputs *inputs;   /* that gw_scenario_close frees; NULL: none */
    struct gw_compressor_curves *curves; /* that costs borrow; NULL: they have their own */
};

/* An aggregator of a leg, and its runs. */
struct gw_aggregator_cost {
    const struct gw_kernel_cost *kernel; /* the cluster's */
    enum gw_aggregator by;
    bool everywhere;      /* all workers run it at the same time */
    double calls;         /* one after another */
    double contributions; /* of workers, in each call */
};

struct gw_leg_cost {
    const struct gw_leg *leg;
    struct gw_curve curve;               /* of bytes, at the scenario's bandwidth */
    char derivation[GW_DERIVATION_SIZE]; /* "": measured, or that of a leg before */
    double law; /* relative error that deriving adds (gw_cluster_uncertainty); NAN: not known */
    size_t part_count;
    struct gw_collective_part parts[GW_COLLECTIVE_MAX_PARTS];
    size_t aggregator_count;
    struct gw_aggregator_cost aggregators[GW_MAX_AGGREGATIONS]; /* those that were measured */
};

/*
 * Costs of groups of a scenario's tensors that go one way; read-only once open. Costs of several
 * ways are an array. Those that are not `by_legs` may be
 * put together of curves alone.
 */
struct gw_costs {
    const struct gw_model *model;
    const struct gw_cluster *cluster; /* NULL: put together of curves */
    size_t workers;
    double bandwidth; /* the scenario's */
    struct gw_way way;
    struct gw_curve compress; /* of a group's elements; not used of dense exchange */
    /*
     * A curve of gw_costs_bytes. Unless `by_legs`, the exchange takes this; otherwise no exchange
     * of any of the model's groups takes less, and it does not fall.
     */
    struct gw_curve exchange;
    bool by_legs; /* the exchange takes the sum of its legs' costs */
    size_t leg_count;
    struct gw_leg_cost legs[GW_MAX_LEGS];
    double update_s_per_element; /* of a server's update between legs; 0: workers update */
    double session_s;            /* that an iteration of a trainer's session takes longer */
    bool borrow_compress;        /* `compress` is of the scenario's curves */
};

/* Fails where the cluster has no curve of a leg, and none can be derived, or none of the
 * compressor. */
enum gw_status gw_costs_open(const struct gw_scenario *scenario, struct gw_costs *out,
                             struct gw_error *error);
void gw_costs_close(struct gw_costs *costs);

static inline bool gw_costs_compress(const struct gw_costs *costs) {
    return gw_way_compresses(&costs->way);
}

/* Adds a tensor to the sizes of a group that goes the costs' way. */
static inline void gw_costs_add_tensor(const struct gw_costs *costs, size_t tensor,
                                       struct gw_size *size) {
    gw_size_add(size, &costs->model->tensors[tensor], costs->way.compressor);
}

/* Bytes that one worker contributes to the exchange of a group of n elements. */
uint64_t gw_costs_bytes(const struct gw_costs *costs, uint64_t n);

/* Seconds to compress a group of n elements; dense: 0. */
double gw_costs_compress_s(const struct gw_costs *costs, uint64_t n);

/*
 * Seconds from the first leg's start to the last one's end, of a group of these sizes, selected as
 * asked for: the sum over a schedule's operations for it.
 */
double gw_costs_exchange_s(const struct gw_costs *costs, const struct gw_size *size);

/* Segments of the costs' curves in which a group was looked up; all 0 at first. */
struct gw_costs_near {
    struct gw_curve_segment compress, exchange, legs[GW_MAX_LEGS];
    struct gw_curve_segment kernels[GW_MAX_LEGS][GW_MAX_AGGREGATIONS][2];
};

/* Sets both costs of `count` groups, at most GW_COSTS_ROW, of sizes that rise, from one row to the
 * next too. */
enum { GW_COSTS_ROW = 16 };
void gw_costs_row(const struct gw_costs *costs, const struct gw_size *sizes, size_t count,
                  struct gw_costs_near *near, double *compress_s, double *exchange_s);

/* The part of every exchange that does not depend on its size. */
double gw_costs_startup_s(const struct gw_costs *costs);

/* Seconds after the last exchange: the workers' update, and that of a session. */
double gw_costs_update_s(const struct gw_costs *costs);

/* ---- legs ------------------------------------------------------------------------------------ */

/* The costs of a leg of the exchange, or (NULL) of the first one by that collective; NULL: none. */
const struct gw_leg_cost *gw_costs_find_leg(const struct gw_costs *costs, const struct gw_leg *leg,
                                            const char *collective);

/* Turns that workers of a machine take at work that all of them do. */
struct gw_turns {
    double part;    /* of the time together that it takes (gw_sharing_part); 0: they do not share */
    double ahead_s; /* for which the first ones work before the last one can begin */
};

/* Turns after a leg to which each of the workers contributes `bytes`, which take `congestion` times
 * as long as its curve says. */
struct gw_turns gw_turns_behind(const struct gw_costs *costs, const struct gw_leg_cost *leg,
                                double congestion, double bytes);

/* Whether the aggregator takes a part of the time of all ranks of a machine together; `part` is
 * that part (gw_sharing_part), 0: they do not share. */
bool gw_aggregator_shares(const struct gw_aggregator_cost *aggregator, double part);

/* Elements of each call of a leg's aggregator, and the interpolation weight of the second density
 * (methods/kernel_cost.h). */
struct gw_aggregator_call {
    double elements, share;
};
static inline struct gw_aggregator_call
gw_aggregator_call_of(const struct gw_leg *leg, const struct gw_aggregator_cost *aggregator,
                      const struct gw_extent *extent) {
    const struct gw_kernel_cost *kernel = aggregator->kernel;
    double of_each = (double)gw_aggregation_elements(leg, aggregator->by, extent);
    struct gw_aggregator_call call = {.elements = aggregator->contributions * of_each};
    if (gw_aggregator_scatters(aggregator->by)) {
        call.share = gw_scatter_share(kernel->densities, of_each / (double)extent->size.elements);
    } else if (aggregator->by == GW_HEAVYMIX) {
        uint64_t columns = extent->sketch_cells / GW_SKETCH_ROWS;
        call.share = gw_search_share(kernel, call.elements, (double)columns);
    } else if (extent->compressor->rank > 0) {
        call.share = gw_share_between(kernel->densities, extent->compressor->rank);
    }
    return call;
}

/* Seconds in which workers aggregate the leg's data by it, after the last one has them; subtracts
 * its part from turns->ahead_s. */
double gw_aggregator_s(const struct gw_aggregator_cost *aggregator, struct gw_aggregator_call call,
                       struct gw_turns *turns);

#endif
