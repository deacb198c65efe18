/* Costs of a model's groups on a cluster: their compression, and the legs of their exchange. */
#ifndef GW_METHODS_COSTS_H
#define GW_METHODS_COSTS_H

#include "core/core.h"
#include "methods/methods.h"
#include "traces/traces.h"

/* ---- aggregation ----------------------------------------------------------------------------- */

/* Costs of a leg's aggregators on a cluster; NULL: there is none, or it was not measured. */
struct gw_aggregation_costs {
    const struct gw_kernel_cost *by[GW_MAX_AGGREGATIONS];
};

/* Borrows from the cluster. */
struct gw_aggregation_costs gw_aggregation_costs_of(const struct gw_leg *leg,
                                                    const struct gw_cluster *cluster);

/*
 * Whether a leg's aggregator number `which` takes a part of the time of all ranks of a machine
 * together; `part` is that part (gw_sharing_part), 0: they do not share.
 */
bool gw_aggregation_shares(const struct gw_leg *leg, const struct gw_aggregation_costs *costs,
                           size_t which, double part);

/* Number of an aggregator's runs, elements of each, and the interpolation weight of the second
 * density (methods/kernel_cost.h). */
struct gw_aggregator_calls {
    double count, elements, share;
};
struct gw_aggregator_calls gw_aggregator_calls_of(const struct gw_leg *leg,
                                                  const struct gw_aggregation_costs *costs,
                                                  size_t which, const struct gw_extent *extent,
                                                  size_t workers);

/* Turns that workers of a machine take at work that all of them do. */
struct gw_turns {
    double part;    /* of the time together that it takes (gw_sharing_part); 0: they do not share */
    double ahead_s; /* for which the first ones work before the last one can begin */
};

/* Turns after a collective to which each of the workers contributes `bytes`; a byte takes
 * byte_factor times as long as measured. */
struct gw_turns gw_turns_behind(const struct gw_cluster *cluster, const char *collective,
                                size_t workers, double byte_factor, double bytes);

/*
 * Seconds in which workers aggregate the leg's data, after the last one has them: by aggregator
 * number `which`, which subtracts its part from turns->ahead_s, or (gw_aggregation_s) by all.
 */
double gw_aggregator_s(const struct gw_leg *leg, const struct gw_aggregation_costs *costs,
                       size_t which, const struct gw_aggregator_calls *calls,
                       struct gw_turns *turns);
double gw_aggregation_s(const struct gw_leg *leg, const struct gw_aggregation_costs *costs,
                        const struct gw_extent *extent, size_t workers, struct gw_turns turns);

/* ---- exchanges ------------------------------------------------------------------------------- */

/*
 * Finds the curve of a collective among `workers`, the caller's, with bytes that take byte_factor
 * times as long as measured; startups stay. `derivation`: as gw_cluster_collective has it.
 */
enum gw_status gw_collective_curve(const struct gw_cluster *cluster, const char *collective,
                                   size_t workers, double byte_factor, struct gw_curve *out,
                                   char derivation[GW_DERIVATION_SIZE], struct gw_error *error);

/* ---- groups ---------------------------------------------------------------------------------- */

/* A point of a question. May be copied: its pointers are borrowed. */
struct gw_scenario {
    const struct gw_model *model;
    const struct gw_cluster *cluster;
    const struct gw_algorithm *method;
    size_t workers;
    double density;   /* (0, 1]: share that a compressor keeps */
    double bandwidth; /* of collectives' bytes, a factor of the measured one; startups stay */
};

/*
 * Costs of groups of a scenario's tensors; read-only once open. Those without `legs` may be put
 * together of curves alone.
 */
struct gw_costs {
    const struct gw_model *model;
    size_t workers;
    const struct gw_compressor *compressor; /* &gw_compressor_none: dense exchange */
    double density;                         /* not used of dense exchange */
    struct gw_curve compress;               /* of a group's elements; not used of dense exchange */
    /*
     * A curve of gw_costs_bytes. Without `legs` the exchange takes this; with them no exchange of
     * any of the model's groups takes less, and it does not fall.
     */
    struct gw_curve exchange;
    const struct gw_exchange_kind *legs; /* each leg takes its own curve; NULL: see `exchange` */
    struct gw_leg_cost {
        struct gw_curve curve; /* of bytes */
        struct gw_aggregation_costs aggregation;
        char derivation[GW_DERIVATION_SIZE]; /* "": measured, or that of a leg before */
    } leg_costs[GW_MAX_LEGS];
    double update_s_per_element; /* of a server's update between legs; 0: workers update */
    double session_s;            /* that an iteration of a trainer's session takes longer */
};

/* Fails where the cluster has no curve of a leg, and none can be derived, or none of the
 * compressor. */
enum gw_status gw_costs_open(const struct gw_scenario *scenario, struct gw_costs *out,
                             struct gw_error *error);
void gw_costs_close(struct gw_costs *costs);

static inline bool gw_costs_compress(const struct gw_costs *costs) {
    return costs->compressor != &gw_compressor_none;
}

/* Bytes that one worker contributes to the exchange of a group of n elements. */
uint64_t gw_costs_bytes(const struct gw_costs *costs, uint64_t n);

/* Seconds to compress a group of n elements; dense: 0. */
double gw_costs_compress_s(const struct gw_costs *costs, uint64_t n);

/*
 * Seconds from the first leg's start to the last one's end, of a group of n elements in so many
 * tensors, selected as asked for: the sum over a schedule's operations for it.
 */
double gw_costs_exchange_s(const struct gw_costs *costs, uint64_t n, size_t tensors);

/* The part of every exchange that does not depend on its size. */
double gw_costs_startup_s(const struct gw_costs *costs);

/* Seconds after the last exchange: the workers' update, and that of a session. */
double gw_costs_update_s(const struct gw_costs *costs);

#endif
