/* A cluster as its costs: how long collectives and compressors take (contract, "Cluster"). */
#ifndef GW_TRACES_CLUSTER_H
#define GW_TRACES_CLUSTER_H

#include "core/core.h"
#include "traces/margins.h"

/* ---- the network ----------------------------------------------------------------------------- */

/*
 * A cluster's network as messages see it: LogGP parameters within and between nodes, and what the
 * nodes hang on. In a cluster file it is "network".
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
 * Overlap factors: how much longer compression takes while a collective runs beside it, and the
 * collective while compression does. In a cluster file they are "overlap".
 */

/* Time while the other one runs throughout, over the time alone; with its 95% interval. */
struct gw_overlap_factor {
    double factor, low, high; /* all > 0 */
};

/* Both at once, with a collective to which each worker contributes `bytes`. */
struct gw_overlap_point {
    double bytes;
    struct gw_overlap_factor compute, communication;
};

/* Slowing of a collective and of the compressor beside it. */
struct gw_overlap_pair {
    char *collective;
    char *compute; /* a compressor, or one of those below */
    size_t point_count, point_capacity;
    struct gw_overlap_point *points; /* by ascending bytes */
};

/*
 * In place of a compressor: what computes forward, backward and update, a trainer's own backward
 * pass, or else what an accelerator does. Where neither is named, it slows nothing.
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

/* Adds to the pair of that collective, which is made if there is none, in order of bytes. */
enum gw_status gw_overlap_add(struct gw_overlap *overlap, const char *collective,
                              const char *compute, struct gw_overlap_point point,
                              struct gw_error *error);
void gw_overlap_free(struct gw_overlap *overlap);

/* The pair, or NULL. */
const struct gw_overlap_pair *gw_overlap_find(const struct gw_overlap *overlap,
                                              const char *collective, const char *compute);

/* A factor on each of the two, and nothing else. */
struct gw_slowing {
    double compute, communication;
};

/*
 * At `bytes`: between measured sizes the logarithm of a factor is linear in that of the bytes;
 * beyond them it stays as at the last one.
 */
struct gw_slowing gw_overlap_at(const struct gw_overlap_pair *pair, double bytes);

/* ---- the cluster ----------------------------------------------------------------------------- */

struct gw_collective_cost {
    char *name;
    size_t workers;
    struct gw_curve curve; /* of the bytes that one worker contributes */
    struct gw_margins margins;
    double held_out_error; /* relative, of the curve at sizes left out, 0 to 1; 0: not known */
    /* Share of the curve's time for which the first of the workers is done before the last, by
     * size: on straight lines, and beyond them as at the last size. */
    size_t skew_count;
    struct gw_curve_point *skew; /* each a share in place of a time; owned */
    char *assumed_from;          /* a collective, from whose curve it was assumed; NULL: measured */
    cJSON *kept;                 /* the entry as it is written again, with what gradweave ignores */
};

/*
 * Work of ranks on their vectors: a compressor, or an aggregation of an exchange.
 */
struct gw_kernel_cost {
    char *name;
    struct gw_curve curve; /* of elements, of one rank that has its machine alone */
    /*
     * When all ranks of a machine begin at once: what the last one to end takes. Costs nothing if
     * it was not measured (gw_kernel_shares).
     */
    struct gw_curve together;
    /*
     * The same at the second density, where those are of the first one (methods/kernel_cost.h);
     * costs nothing, and both are 0, if that was not measured.
     */
    struct gw_curve denser, denser_together;
    double densities[2];
    struct gw_margins margins[2][2]; /* [denser][together] */
    cJSON *kept;                     /* the entry as it is written again */
};

struct gw_kernel_costs {
    size_t count, capacity;
    struct gw_kernel_cost *list;
};

/* Whether it is known what it takes where ranks share a machine. */
static inline bool gw_kernel_shares(const struct gw_kernel_cost *cost) {
    return gw_curve_costs(&cost->together);
}

/*
 * The ranks of each machine and the processors that they compress on, and how many of them began at
 * once where it was measured what that takes; 0: not known.
 */
struct gw_sharing {
    size_t ranks, processors, together;
};

/* How many turns so many of a machine's ranks take; at least 1. */
double gw_sharing_turns(const struct gw_sharing *sharing, size_t ranks);

/*
 * The part of the time together that a kernel takes when the machine's ranks among so many workers
 * begin at once: they take turns on its processors, and the time together is that of all its turns.
 * 0: no two share a machine.
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
    struct gw_kernel_costs aggregation; /* of what is done with what exchanges bring */
    struct gw_network *network;         /* NULL: not measured */
    struct gw_overlap *overlap;         /* NULL: not measured */
    /* Time that forward and backward passes may take longer among workers than alone, relative: the
     * upper end of a 95% interval, where overlap factors do not say it. 0: not said. */
    double passes_uncertainty;
    /* Growth laws (traces/growth.h) of collectives with two or more measured numbers of workers,
     * found once all are read; of a cluster that is being built they are found when needed. */
    size_t growth_count;
    struct gw_growth *growths;
    cJSON *kept;
};

extern const struct gw_fields gw_cluster_fields;
enum gw_status gw_cluster_read(const char *path, struct gw_cluster *out, struct gw_error *error);
enum gw_status gw_cluster_parse(const char *text, size_t length, const char *path,
                                struct gw_cluster *out, struct gw_error *error);
void gw_cluster_free(struct gw_cluster *cluster);

/* How its file begins, for gw_file_check_target. */
#define GW_CLUSTER_START "{\"schema\": \"gradweave/cluster@1\""

/* The cluster as a document (the caller's), and into a file. */
enum gw_status gw_cluster_document(const struct gw_cluster *cluster, cJSON **out,
                                   struct gw_error *error);
enum gw_status gw_cluster_write(const struct gw_cluster *cluster, const char *path,
                                struct gw_error *error);

/*
 * A curve that falls makes more work cheaper. The number of the first point that lies below a
 * smaller one's time by more than measuring explains; 0: there is none. It explains 5%, and, where
 * `details` (the entry of a cluster file, or NULL) has in "raw" the 5th and 95th percentiles at its
 * size and the one before, all falls within these ranges where they overlap.
 */
size_t gw_cluster_find_fall(const struct gw_curve *curve, const cJSON *details);

/*
 * For those who measure. The curve and `details` (an object of further keys, or NULL), or what the
 * network has kept, become the cluster's, also on failure. Where a curve falls, its points get
 * times between those that rise.
 */
enum gw_status gw_cluster_create(struct gw_cluster *out, const char *name, size_t workers,
                                 size_t workers_per_node, struct gw_error *error);
enum gw_status gw_cluster_add_collective(struct gw_cluster *cluster, const char *name,
                                         size_t workers, struct gw_curve curve, cJSON *details,
                                         struct gw_error *error);
enum gw_status gw_kernel_costs_add(struct gw_kernel_costs *costs, const char *name,
                                   struct gw_curve curve, cJSON *details, struct gw_error *error);

/*
 * Add a curve to a kernel that the list has. The curve and its details, an object, become the
 * list's in any case. The curve together at the second density comes after the one alone.
 */
enum gw_status gw_kernel_costs_add_together(struct gw_kernel_costs *costs, const char *name,
                                            bool denser, struct gw_curve curve, cJSON *details,
                                            struct gw_error *error);
enum gw_status gw_kernel_costs_add_denser(struct gw_kernel_costs *costs, const char *name,
                                          const double densities[2], struct gw_curve curve,
                                          cJSON *details, struct gw_error *error);
enum gw_status gw_cluster_set_network(struct gw_cluster *cluster, struct gw_network network,
                                      struct gw_error *error);
/* In place of what it had; becomes the cluster's. */
void gw_cluster_set_overlap(struct gw_cluster *cluster, struct gw_overlap *overlap);

/* The entry of a collective among `workers` (0: any number); NULL: not measured. */
const struct gw_collective_cost *gw_cluster_find_collective(const struct gw_cluster *cluster,
                                                            const char *name, size_t workers);
/* NULL: not measured. */
const struct gw_kernel_cost *gw_kernel_cost_find(const struct gw_kernel_costs *costs,
                                                 const char *name);

/* Room for how a curve was derived. */
enum { GW_DERIVATION_SIZE = 384 };

/*
 * The cost of a collective among `workers`, the caller's to free. If that number was not measured,
 * it is predicted from those that were by the growth laws that predict these from each other best;
 * from a single one by the law of the usual algorithm. `derivation` says which and how uncertain
 * that is, behind "NAME: "; otherwise it is "". A sendrecv among 2 is measured for any number
 * above. One worker alone exchanges nothing, as `derivation` says then: all zero.
 *
 * Four collectives need no measurement of their own, as others of `workers` P make them up, which
 * `derivation` then says:
 *
 *     gtopk(b) = sketch(b) = ceil(log2 P) sendrecv(b) + broadcast(b)
 *     push(b) = gather(b), pull(b) = scatter(b), each among P + 1: the server is a rank of its own
 */
enum gw_status gw_cluster_collective(const struct gw_cluster *cluster, const char *name,
                                     size_t workers, struct gw_curve *curve,
                                     char derivation[GW_DERIVATION_SIZE], struct gw_error *error);

/* A collective that was, or could be, measured, and of which another one's cost may be made up. */
struct gw_collective_part {
    const char *name;
    size_t ranks;
    const struct gw_collective_cost *measured; /* among them; NULL: derived from other numbers */
    const struct gw_collective_cost *nearest;  /* measured, or of the nearest number; NULL: none */
};

/* Finds the collectives that make up the curve of gw_cluster_collective, or itself. */
enum { GW_COLLECTIVE_MOST_PARTS = 2 };
size_t gw_cluster_collective_parts(const struct gw_cluster *cluster, const char *name,
                                   size_t workers,
                                   struct gw_collective_part out[GW_COLLECTIVE_MOST_PARTS]);

/*
 * The least that a long collective takes by the cluster's own messages between two nodes, in
 * seconds, with one worker a node: every byte that a worker has to send or to receive, at
 * gap_s_per_byte. 0: not known, of other clusters, and of less than GW_MESSAGES_FEWEST_BYTES, where
 * startups and bursts count.
 */
#define GW_MESSAGES_FEWEST_BYTES (1 << 20)
double gw_cluster_least_s(const struct gw_cluster *cluster, const char *collective, size_t workers,
                          double bytes);

/* Whether a curve takes less than that for 256 MiB, by more than a twentieth, which is chosen; then
 * in words. */
enum { GW_EXCESS_SIZE = 192 };
bool gw_cluster_exceeds_messages(const struct gw_cluster *cluster,
                                 const struct gw_collective_cost *cost, char out[GW_EXCESS_SIZE]);

/*
 * For how long before the last of the workers the first one is done with it, but for a root, where
 * a byte takes byte_factor times what was measured; of one that others make up, with the last of
 * those. 0: not known, as where the number of workers was not measured.
 */
double gw_cluster_skew_s(const struct gw_cluster *cluster, const char *name, size_t workers,
                         double byte_factor, double bytes);

/*
 * Finds the relative error of that curve beyond that of measuring: 0 where the number of workers
 * was measured, NAN where only one was; at least 1% between and beyond. A collective that others
 * make up has that of the worst of those.
 */
enum gw_status gw_cluster_uncertainty(const struct gw_cluster *cluster, const char *name,
                                      size_t workers, double *out, struct gw_error *error);

/*
 * For those who measure, after the last collective: keeps, as "growth", for each one that was
 * measured with two or more numbers of workers, its laws and how well they predict these from each
 * other. For people: gw_cluster_parse finds them again. Replaces one that is there.
 */
enum gw_status gw_cluster_put_growth(struct gw_cluster *cluster, struct gw_error *error);

/* A text that its source has under that key, such as "kind" or "note"; NULL: none. */
const char *gw_cluster_source(const struct gw_cluster *cluster, const char *key);

/* Sets that text, in a source that is begun if there is none. */
enum gw_status gw_cluster_put_source(struct gw_cluster *cluster, const char *key, const char *text,
                                     struct gw_error *error);

/* Keys of a made cluster's source: what collectives reach of its network, in words, and how its
 * compressors were assumed. */
#define GW_CLUSTER_NETWORK_REACH "network_reach"
#define GW_CLUSTER_ASSUMED_COMPRESSORS "compressors"

/* How a cluster's curves came to be, as its source says, and in words what the `kind` of any source
 * is: "measured", "assumed"; "of unknown origin" where it says nothing. */
const char *gw_origin(const char *kind);
const char *gw_cluster_origin(const struct gw_cluster *cluster);

/* "allgather, allgatherv assumed from allreduce": collectives that nobody measured, of a cluster
 * that was imported; "": none. */
enum { GW_ASSUMED_SIZE = 256 };
void gw_cluster_name_assumed(const struct gw_cluster *cluster, char out[GW_ASSUMED_SIZE]);

/* The device that compressors were timed on, by its source: "cpu", "cuda" or a name; NULL: not
 * said. */
const char *gw_cluster_device(const struct gw_cluster *cluster);

/* On how many nodes so many workers run, each node but the last filled. */
size_t gw_cluster_nodes(const struct gw_cluster *cluster, size_t workers);

/*
 * The network of a cluster where none was measured: messages of a latency and a gap per byte with
 * which an uncontended ring takes what the curve of its collective says: of `preferred` (or NULL)
 * where that was measured. `derivation` says which.
 */
enum gw_status gw_cluster_derive_network(const struct gw_cluster *cluster, const char *preferred,
                                         struct gw_network *out,
                                         char derivation[GW_DERIVATION_SIZE],
                                         struct gw_error *error);

/* The cost of a compressor; it stays the cluster's. */
enum gw_status gw_cluster_compressor(const struct gw_cluster *cluster, const char *name,
                                     const struct gw_kernel_cost **out, struct gw_error *error);

#endif
