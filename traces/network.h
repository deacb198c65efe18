/*
 * A cluster's network as messages see it: LogGP parameters within and between nodes, and what the
 * nodes hang on. In a cluster file it is "network".
 */
#ifndef GW_TRACES_NETWORK_H
#define GW_TRACES_NETWORK_H

#include <stdbool.h>

#include "core/core.h"

/*
 * LogGP (Alexandrov, Ionescu, Schauser and Scheiman, 1995), with LogGOPS's overhead per byte. A
 * message of n bytes keeps its sender busy for overhead_s + n * overhead_s_per_byte, then the link
 * for the larger of gap_s and n * gap_s_per_byte; its last byte arrives latency_s after it has
 * left, and keeps its receiver busy for overhead_s.
 */
struct gw_loggp {
    double latency_s, overhead_s, gap_s;
    double gap_s_per_byte, overhead_s_per_byte;
};

struct gw_network {
    struct gw_loggp within, between; /* two workers of one node; of different nodes */
    size_t nodes_per_switch;         /* 0: all nodes on one switch */
    double oversubscription;         /* of a switch's uplink: what its nodes could send at once over
                                        what the uplink carries; 1: as much */
    cJSON *kept;                     /* as it was read or measured, with what gradweave ignores */
    bool between_assumed;            /* to be as within: no two nodes were measured */
};

#endif
