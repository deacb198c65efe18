/* A cluster, described by the times of its collectives and compressors. */
#ifndef GW_TRACES_CLUSTER_H
#define GW_TRACES_CLUSTER_H

#include "core/core.h"
#include "traces/margins.h"

/* ---- the network ----------------------------------------------------------------------------- */

/*
 * A cluster's network, as used by simulated messages: LogGP parameters within and between nodes,
 * and the topology. In a cluster file it is "network".
 */

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

/* ---- overlap --------------------------------------------------------------------------------- */

/*
 * Overlap factors: slowdowns of compression while a collective runs, and of the collective while
 * compression runs. In a cluster file they are "overlap".
 */

/* Ratio of the time beside the other operation to the time alone, with its 95% interval. */
struct gw_overlap_factor {
    double factor, low, high; /* all > 0 */
};

/* Factors with a collective to which each worker contributes `bytes`. */
struct gw_overlap_point {
    double bytes;
    struct gw_overlap_factor compute, communication;
};

/* Slowdowns of a collective and of the compressor beside it. */
struct gw_overlap_pair {
    char *collective;
    char *compute; /* a compressor, or one of those below */
    size_t point_count, point_capacity;
    struct gw_overlap_point *points; /* by ascending bytes */
};

/*
 * Names in place of a compressor, for the factors of passes and update: a trainer's own backward
 * pass, else timed operations, as of an accelerator. Without either they slow nothing.
 */
#define GW_OVERLAP_BACKWARD "backward"
#define GW_OVERLAP_TIMED "timed"

struct gw_overlap {
    size_t workers;   /* of the collectives */
    double session_s; /* that an iteration of a trainer's session takes longer than its parts */
    size_t pair_count, pair_capacity;
    struct gw_overlap_pair *pairs;
    cJSON *kept; /* as it was read or measured, with what gradweave ignores */
};

/* Adds a point to the collective's pair, which is created if missing, in order of bytes. */
enum gw_status gw_overlap_add(struct gw_overlap *overlap, const char *collective,
                              const char *compute, struct gw_overlap_point point,
                              struct gw_error *error);
void gw_overlap_free(struct gw_overlap *overlap);

/* Finds the pair of a collective and a compressor; NULL: none. */
const struct gw_overlap_pair *gw_overlap_find(const struct gw_overlap *overlap,
                                              const char *collective, const char *compute);

/* Factors of both operations, without intervals. */
struct gw_slowing {
    double compute, communication;
};

/*
 * Interpolates the factors at `bytes`, log-linearly between measured sizes; constant beyond them.
 */
struct gw_slowing gw_overlap_at(const struct gw_overlap_pair *pair, double bytes);

/* ---- the cluster ----------------------------------------------------------------------------- */

struct gw_collective_cost {
    char *name;
    size_t workers;
    struct gw_curve curve; /* of the bytes that one worker contributes */
    struct gw_raw raw;
    struct gw_margins margins;
    /* Share of the curve's time between the first worker's end and the last one's, by size: linear
     * between sizes, constant beyond them. */
    size_t skew_count;
    struct gw_curve_point *skew; /* each a share in place of a time; owned */
    char *assumed_from;          /* a collective, from whose curve it was assumed; NULL: measured */
    cJSON *kept;                 /* the entry as it is written again, with what gradweave ignores */
};

/* Costs of a kernel: a compressor, or an aggregation of an exchange. */
struct gw_kernel_cost {
    char *name;
    struct gw_curve curve; /* of elements, of one rank that has its machine alone */
    struct gw_raw raw;     /* of this curve */
    /* Time of the last to end if all ranks of a machine begin at once; zero if not measured
     * (gw_kernel_shares). */
    struct gw_curve together;
    /* Both curves at the second density; the others are at the first (methods/kernel_cost.h). Zero,
     * as are the densities, if not measured. Of powersgd, factor and expand they are two ranks. */
    struct gw_curve denser, denser_together;
    double densities[2];
    struct gw_margins margins[2][2]; /* [denser][together] */
    cJSON *kept;                     /* the entry as it is written again */
};

struct gw_kernel_costs {
    size_t count, capacity;
    struct gw_kernel_cost *list;
};

/* Whether its time with ranks that share a machine was measured. */
static inline bool gw_kernel_shares(const struct gw_kernel_cost *cost) {
    return gw_curve_costs(&cost->together);
}

/*
 * Ranks and processors of each machine, and the number of ranks that began at once in measurements;
 * 0: unknown.
 */
struct gw_sharing {
    size_t ranks, processors, together;
};

/* Returns the number of turns in which that many ranks use a machine's processors; at least 1. */
double gw_sharing_turns(const struct gw_sharing *sharing, size_t ranks);

/*
 * Returns the share of the time together that a kernel takes if the machine's ranks among `workers`
 * begin at once: they take turns on its processors, and the time together is that of all turns. 0:
 * no two ranks share a machine.
 */
double gw_sharing_part(const struct gw_sharing *sharing, size_t workers);

struct gw_cluster {
    char *name;
    char *path; /* where it was read, for messages; NULL for one that was just measured */
    size_t workers, workers_per_node;
    struct gw_sharing sharing;
    size_t collective_count, collective_capacity;
    struct gw_collective_cost *collectives;
    struct gw_kernel_costs compressors; /* of a group's elements */
    struct gw_kernel_costs aggregation; /* of processing received data */
    struct gw_network *network;         /* NULL: not measured */
    struct gw_overlap *overlap;         /* NULL: not measured */
    /* Relative time by which passes may take longer among workers than alone, unless overlap
     * factors give it: the upper end of a 95% interval; 0: not given. */
    double passes_uncertainty;
    /* Growth laws (traces/growth.h) of collectives measured with two or more numbers of workers:
     * found after reading, or, while a cluster is being built, when needed. */
    size_t growth_count;
    struct gw_growth *growths;
    cJSON *kept;
};

extern const struct gw_fields gw_cluster_fields;
enum gw_status gw_cluster_read(const char *path, struct gw_cluster *out, struct gw_error *error);
enum gw_status gw_cluster_parse(const char *text, size_t length, const char *path,
                                struct gw_cluster *out, struct gw_error *error);
void gw_cluster_free(struct gw_cluster *cluster);

/* First text of a cluster file, for gw_file_check_target. */
#define GW_CLUSTER_START "{\"schema\": \"gradweave/cluster@1\""

/* Makes a document of the cluster, the caller's; writes it to a file. */
enum gw_status gw_cluster_document(const struct gw_cluster *cluster, cJSON **out,
                                   struct gw_error *error);
enum gw_status gw_cluster_write(const struct gw_cluster *cluster, const char *path,
                                struct gw_error *error);

/*
 * Finds the first point whose time lies below a smaller size's by more than noise; 0: none. Noise
 * explains 5%, and, if `raw` has percentiles at both sizes, falls within these ranges where they
 * overlap.
 */
size_t gw_cluster_find_fall(const struct gw_curve *curve, const struct gw_raw *raw);

/*
 * Build a cluster of measurements. The curve and `details` (an object of further keys, or NULL), or
 * what the network has kept, become the cluster's, also on failure. Points of a curve that falls
 * get times between those that rise.
 */
enum gw_status gw_cluster_create(struct gw_cluster *out, const char *name, size_t workers,
                                 size_t workers_per_node, struct gw_error *error);
enum gw_status gw_cluster_add_collective(struct gw_cluster *cluster, const char *name,
                                         size_t workers, struct gw_curve curve, cJSON *details,
                                         struct gw_error *error);
enum gw_status gw_kernel_costs_add(struct gw_kernel_costs *costs, const char *name,
                                   struct gw_curve curve, cJSON *details, struct gw_error *error);

/* Another curve of a kernel: together, and at the second of two densities, or ranks, or (both 0)
 * the first. */
struct gw_kernel_curve {
    bool together;
    double densities[2];
};

/*
 * Adds a curve to a kernel in the list. The curve and its details, an object, become the list's,
 * also on failure. The curve together at the second density comes after the one alone.
 */
enum gw_status gw_kernel_costs_add_curve(struct gw_kernel_costs *costs, const char *name,
                                         struct gw_kernel_curve which, struct gw_curve curve,
                                         cJSON *details, struct gw_error *error);
enum gw_status gw_cluster_set_network(struct gw_cluster *cluster, struct gw_network network,
                                      struct gw_error *error);
/* Replaces the overlap factors; they become the cluster's. */
void gw_cluster_set_overlap(struct gw_cluster *cluster, struct gw_overlap *overlap);

/* Finds the entry of a collective among `workers` (0: any number); NULL: not measured. */
const struct gw_collective_cost *gw_cluster_find_collective(const struct gw_cluster *cluster,
                                                            const char *name, size_t workers);
/* Finds a kernel by its name; NULL: not measured. */
const struct gw_kernel_cost *gw_kernel_cost_find(const struct gw_kernel_costs *costs,
                                                 const char *name);

/* Size of a text on the derivation of a curve. */
enum { GW_DERIVATION_SIZE = 384 };

/*
 * Finds the cost of a collective among `workers`, the caller's to free. A number that was not
 * measured is predicted from those that were, by the growth laws that best predict these from each
 * other; from a single one by the usual algorithm's law. `derivation` then names the laws and the
 * uncertainty, after "NAME: "; otherwise it is "". A sendrecv among 2 holds for any larger number.
 * For a single worker the curve is zero, and `derivation` says why.
 *
 * Five collectives, if not measured, are composed of others among `workers` P, as `derivation` then
 * says:
 *
 *     gtopk(b) = sketch(b) = ceil(log2 P) sendrecv(b) + broadcast(b)
 *     push(b) = gather(b), pull(b) = scatter(b), each among P + 1: the server is a rank of its own
 *     alltoall(b) = allgather(b / P), with G (P - G) / (P - 1) times the time per byte if nodes
 * have G < P workers, which share the node's link
 */
enum gw_status gw_cluster_collective(const struct gw_cluster *cluster, const char *name,
                                     size_t workers, struct gw_curve *curve,
                                     char derivation[GW_DERIVATION_SIZE], struct gw_error *error);

/* A part of a collective's cost: a collective that can be measured. */
struct gw_collective_part {
    const char *name;
    size_t ranks;
    double share;                              /* of the collective's bytes */
    double startup_error;                      /* relative, that composing adds */
    const struct gw_collective_cost *measured; /* among them; NULL: derived from other numbers */
    const struct gw_collective_cost *nearest;  /* measured, or of the nearest number; NULL: none */
};

/* Finds the collectives that gw_cluster_collective's curve is composed of, or itself. */
enum { GW_COLLECTIVE_MAX_PARTS = 2 };
size_t gw_cluster_collective_parts(const struct gw_cluster *cluster, const char *name,
                                   size_t workers,
                                   struct gw_collective_part out[GW_COLLECTIVE_MAX_PARTS]);

/*
 * Returns a lower bound of a long collective's time in seconds, with one worker a node: every byte
 * that a worker has to send or receive takes the gap_s_per_byte between nodes. 0: unknown, for
 * other clusters and below GW_MESSAGES_FEWEST_BYTES, where startups and bursts count.
 */
#define GW_MESSAGES_FEWEST_BYTES (1 << 20)
double gw_cluster_least_s(const struct gw_cluster *cluster, const char *collective, size_t workers,
                          double bytes);

/* Whether a curve is below that bound at 256 MiB by more than 5% (chosen); `out` says so. */
enum { GW_EXCESS_SIZE = 192 };
bool gw_cluster_exceeds_messages(const struct gw_cluster *cluster,
                                 const struct gw_collective_cost *cost, char out[GW_EXCESS_SIZE]);

/* Returns the time between the first and the last worker's end, the root aside, if a byte takes
 * byte_factor times the measured time; 0: unknown. */
double gw_collective_skew_s(const struct gw_collective_cost *cost, double byte_factor,
                            double bytes);

/*
 * Finds the relative error that deriving adds to the curve of gw_cluster_collective: 0 for a
 * measured number of workers, NAN if a single other one was measured, otherwise at least 1%. A
 * composed collective has its worst part's error.
 */
double gw_cluster_uncertainty(const struct gw_cluster *cluster, const char *name, size_t workers);

/* Finds the growth of all of the cluster's collectives, as readers do; again after a change. */
enum gw_status gw_cluster_find_growth(struct gw_cluster *cluster, struct gw_error *error);

/*
 * Stores in "growth", after the last collective was measured, the laws of each one with two or more
 * numbers of workers, and their errors when each number is left out. For people only:
 * gw_cluster_parse finds the laws again. Replaces an earlier "growth".
 */
enum gw_status gw_cluster_put_growth(struct gw_cluster *cluster, struct gw_error *error);

/* Returns the source's text under a key such as "kind" or "note"; NULL: none. */
const char *gw_cluster_source(const struct gw_cluster *cluster, const char *key);

/* Sets the source's text under a key; adds a source if there is none. */
enum gw_status gw_cluster_put_source(struct gw_cluster *cluster, const char *key, const char *text,
                                     struct gw_error *error);

/* Keys of a made cluster's source: collectives' bandwidth, compressors' assumptions, in words. */
#define GW_CLUSTER_NETWORK_REACH "network_reach"
#define GW_CLUSTER_ASSUMED_COMPRESSORS "compressors"

/* Name the origin of curves by a source's `kind`: "measured", "assumed"; or "of unknown origin". */
const char *gw_origin(const char *kind);
const char *gw_cluster_origin(const struct gw_cluster *cluster);

/* Lists an imported cluster's assumed curves: "allgather assumed from allreduce"; or "". */
enum { GW_ASSUMED_SIZE = 256 };
void gw_cluster_name_assumed(const struct gw_cluster *cluster, char out[GW_ASSUMED_SIZE]);

/* Returns the device of compressors' times by the source: "cpu", "cuda", a name; or NULL. */
const char *gw_cluster_device(const struct gw_cluster *cluster);

/* Returns the number of nodes that the workers fill, one after the other. */
size_t gw_cluster_nodes(const struct gw_cluster *cluster, size_t workers);

/*
 * Derives the network of a cluster without a measured one: a latency and a gap per byte with which
 * an uncontended ring takes the time of its collective's curve, that of `preferred` (or NULL) if
 * measured. `derivation` names the collective.
 */
enum gw_status gw_cluster_derive_network(const struct gw_cluster *cluster, const char *preferred,
                                         struct gw_network *out,
                                         char derivation[GW_DERIVATION_SIZE],
                                         struct gw_error *error);

/* Finds the cost of a compressor, which stays the cluster's. */
enum gw_status gw_cluster_compressor(const struct gw_cluster *cluster, const char *name,
                                     const struct gw_kernel_cost **out, struct gw_error *error);

#endif
