/* Costs of a model's groups on a cluster: their compression, and the legs of their exchange. */
#ifndef GW_METHODS_COSTS_H
#define GW_METHODS_COSTS_H

#include "core/core.h"
#include "methods/methods.h"
#include "traces/traces.h"

/* ---- aggregation ----------------------------------------------------------------------------- */

/* Costs of a leg's aggregators on a cluster; NULL: there is none, or it was not measured. */
struct gw_aggregation_costs {
    const struct gw_kernel_cost *by[GW_MOST_AGGREGATIONS];
};

/* Borrows from the cluster. */
struct gw_aggregation_costs gw_aggregation_costs_of(const struct gw_leg *leg,
                                                    const struct gw_cluster *cluster);

/*
 * Whether it counts what a leg's aggregator number `which` takes together, of which `part` counts
 * (gw_sharing_part).
 */
bool gw_aggregation_shares(const struct gw_leg *leg, const struct gw_aggregation_costs *costs,
                           size_t which, double part);

/* How often an aggregator runs, each time for so many elements; how far on the way to what was
 * measured at the second density (methods/kernel_cost.h). */
struct gw_aggregator_calls {
    double count, elements, share;
};
struct gw_aggregator_calls gw_aggregator_calls_of(const struct gw_leg *leg,
                                                  const struct gw_aggregation_costs *costs,
                                                  size_t which, const struct gw_extent *extent,
                                                  size_t workers);

/* How workers that share a machine take turns at what all of them do. */
struct gw_turns {
    double part;    /* of the time together that it takes (gw_sharing_part); 0: they do not share */
    double ahead_s; /* for how long some have been at it by when the last one can begin */
};

/* Turns after a collective to which each of the workers contributes `bytes`, each of which takes
 * byte_factor times what was measured. */
struct gw_turns gw_turns_behind(const struct gw_cluster *cluster, const char *collective,
                                size_t workers, double byte_factor, double bytes);

/*
 * Seconds that workers spend on what the leg brings, from when the last one has it: in all, or by
 * its aggregator number `which`, which uses up of `ahead_s` what it has of turns.
 */
double gw_aggregator_s(const struct gw_leg *leg, const struct gw_aggregation_costs *costs,
                       size_t which, const struct gw_aggregator_calls *calls,
                       struct gw_turns *turns);
double gw_aggregation_s(const struct gw_leg *leg, const struct gw_aggregation_costs *costs,
                        const struct gw_extent *extent, size_t workers, struct gw_turns turns);

/* ---- exchanges ------------------------------------------------------------------------------- */

/*
 * The curve of a collective among `workers`, the caller's, where a byte takes byte_factor times
 * what was measured; startups stay. `derivation`: as gw_cluster_collective has it.
 */
enum gw_status gw_collective_curve(const struct gw_cluster *cluster, const char *collective,
                                   size_t workers, double byte_factor, struct gw_curve *out,
                                   char derivation[GW_DERIVATION_SIZE], struct gw_error *error);

/* ---- groups ---------------------------------------------------------------------------------- */

/* One point that is asked about. Copied freely: what it points to lives longer. */
struct gw_scenario {
    const struct gw_model *model;
    const struct gw_cluster *cluster;
    const struct gw_algorithm *method;
    size_t workers;
    double density;   /* (0, 1]: share that a compressor keeps */
    double bandwidth; /* of collectives' bytes, a factor of what was measured; startups stay */
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
    } leg_costs[GW_MOST_LEGS];
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
 * tensors of which as much is selected as is asked for: the sum of what a schedule's operations for
 * it take.
 */
double gw_costs_exchange_s(const struct gw_costs *costs, uint64_t n, size_t tensors);

/* The part of every exchange that does not depend on its size. */
double gw_costs_startup_s(const struct gw_costs *costs);

/* Seconds after the last exchange: the workers' update, and what a session adds. */
double gw_costs_update_s(const struct gw_costs *costs);

#endif
