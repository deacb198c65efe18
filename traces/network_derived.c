#include <stdio.h>
#include <string.h>

#include "traces/cluster.h"

/* Of the collective, the entry for the most workers; two at least. NULL: none. */
static const struct gw_collective_cost *find_largest(const struct gw_cluster *cluster,
                                                     const char *name) {
    const struct gw_collective_cost *largest = NULL;
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const struct gw_collective_cost *cost = &cluster->collectives[i];
        if (strcmp(cost->name, name) == 0 && cost->workers >= 2 &&
            (largest == NULL || cost->workers > largest->workers)) {
            largest = cost;
        }
    }
    return largest;
}

/* What a byte takes above the startup: of points, up to the largest size. */
static double slope_of(const struct gw_curve *curve) {
    if (curve->point_count == 0) {
        return curve->per_unit_s;
    }
    const struct gw_curve_point *last = &curve->points[curve->point_count - 1];
    double above_s = last->time_s - gw_curve_startup(curve);
    return above_s > 0 ? above_s / last->size : 0;
}

/* Steps of a collective's ring, and whether each moves a share of the bytes. */
static const struct ring {
    const char *collective;
    double rounds; /* of P - 1 steps; 0: a single message */
    bool shares;
} rings[] = {{"sendrecv", 0, false}, {"allreduce", 2, true}, {"allgather", 1, false}};
enum { RINGS = sizeof rings / sizeof *rings };

static void derive(const struct ring *ring, const struct gw_collective_cost *cost,
                   struct gw_network *out, char derivation[GW_DERIVATION_SIZE]) {
    double workers = (double)cost->workers;
    double steps = ring->rounds == 0 ? 1 : ring->rounds * (workers - 1);
    double share = ring->shares ? 1 / workers : 1;
    struct gw_loggp loggp = {.latency_s = gw_curve_startup(&cost->curve) / steps,
                             .gap_s_per_byte = slope_of(&cost->curve) / (steps * share)};
    *out = (struct gw_network){.within = loggp, .between = loggp, .oversubscription = 1};
    (void)snprintf(derivation, GW_DERIVATION_SIZE,
                   "network not measured: derived from %s among %zu workers%s", ring->collective,
                   cost->workers, ring->rounds == 0 ? "" : " as a ring of messages");
}

enum gw_status gw_cluster_derive_network(const struct gw_cluster *cluster, const char *preferred,
                                         struct gw_network *out,
                                         char derivation[GW_DERIVATION_SIZE],
                                         struct gw_error *error) {
    for (size_t i = 0; i < 2 * RINGS; i++) {
        const struct ring *ring = &rings[i % RINGS];
        bool wanted = i >= RINGS || (preferred != NULL && strcmp(ring->collective, preferred) == 0);
        const struct gw_collective_cost *cost =
            wanted ? find_largest(cluster, ring->collective) : NULL;
        if (cost != NULL) {
            derive(ring, cost, out, derivation);
            return GW_OK;
        }
    }
    return gw_fail(error, GW_BAD_INPUT,
                   "%s: network: expected measured LogGP parameters, or a sendrecv, allreduce or "
                   "allgather to derive them from, found none",
                   cluster->path == NULL ? cluster->name : cluster->path);
}
