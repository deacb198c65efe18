/* Collectives that others make up, where they were not measured themselves; private to this room.
 */
#ifndef GW_TRACES_COMPOSED_H
#define GW_TRACES_COMPOSED_H

#include "traces/cluster.h"

enum { GW_COMPOSED_MOST_PARTS = 2 };

/* Of a composed collective among P workers. */
struct gw_composed_part {
    const char *collective;
    bool each_round; /* once in each of the ceil(log2 P) rounds of a binary tree; otherwise once */
    bool server;     /* among P + 1 ranks */
};

struct gw_composed {
    const char *name;
    size_t part_count;
    struct gw_composed_part parts[GW_COMPOSED_MOST_PARTS];
};

/* The composition of that name; NULL: there is none. */
const struct gw_composed *gw_composed_find(const char *name);

/* As gw_cluster_collective and gw_cluster_uncertainty. */
enum gw_status gw_composed_curve(const struct gw_cluster *cluster,
                                 const struct gw_composed *composed, size_t workers,
                                 struct gw_curve *curve, char derivation[GW_DERIVATION_SIZE],
                                 struct gw_error *error);
enum gw_status gw_composed_uncertainty(const struct gw_cluster *cluster,
                                       const struct gw_composed *composed, size_t workers,
                                       double *out, struct gw_error *error);

#endif
