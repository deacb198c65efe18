/* What the exchange of a group takes on a cluster: the times of its legs, one after another. */
#ifndef GW_METHODS_EXCHANGE_COST_H
#define GW_METHODS_EXCHANGE_COST_H

#include "core/core.h"
#include "methods/methods.h"
#include "traces/traces.h"

/* ---- aggregation ----------------------------------------------------------------------------- */

/* What a cluster says of a leg's aggregators; NULL: of none, or of one that was not measured. */
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

/* Behind a collective to which each of the workers contributes `bytes`, each of which takes
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

/* For groups of which a compressor keeps a share. Pointers are borrowed. */
struct gw_exchange_question {
    const struct gw_exchange_kind *exchange;
    const struct gw_compressor *compressor; /* that the exchange carries */
    double density;
    const struct gw_model *model;
    size_t workers;
    double bandwidth; /* a factor of what was measured */
};

struct gw_exchange_cost {
    struct gw_exchange_question question;
    struct gw_curve legs[GW_MOST_LEGS]; /* of bytes */
    struct gw_aggregation_costs aggregations[GW_MOST_LEGS];
    char derivations[GW_MOST_LEGS][GW_DERIVATION_SIZE]; /* "": measured, or noted before */
    double startup_s;                                   /* of all legs */
    double update_s_per_element; /* of a server's update between legs; 0: workers update */
    /*
     * Of the bytes of the group's entries (8 each) or dense gradient. Simple: what the exchange
     * takes; otherwise no exchange of any of the model's groups takes less, and it does not fall.
     */
    bool simple;
    struct gw_curve curve;
};

/* Fails where the cluster has no curve of a leg, and none can be derived. */
enum gw_status gw_exchange_cost_open(struct gw_exchange_cost *out,
                                     const struct gw_exchange_question *question,
                                     const struct gw_cluster *cluster, struct gw_error *error);
void gw_exchange_cost_close(struct gw_exchange_cost *cost);

/*
 * Seconds from the first leg's start to the last one's end, of a group of so many elements in so
 * many tensors of which as much is selected as is asked for: the sum of what a schedule's
 * operations for it take.
 */
double gw_exchange_cost_s(const struct gw_exchange_cost *cost, uint64_t elements, size_t tensors);

#endif
