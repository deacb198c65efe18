/*
 * Methods are data: compressors' traits, exchanges and published pipelines are three tables of
 * descriptors, with the paper each comes from. Code attaches to them: kernels/ to a compressor,
 * exec/ to an exchange's leg. Descriptors travel through the program; names are for people and
 * files, and are looked up once, where they are read.
 */
#ifndef GW_METHODS_METHODS_H
#define GW_METHODS_METHODS_H

#include "core/core.h"
#include "traces/plan.h"

/* ---- compressors --------------------------------------------------------------------------- */

/* The density where none is asked for: as a number, and as options say it. */
#define GW_USUAL_DENSITY 0.001
#define GW_USUAL_DENSITY_TEXT "0.001"

/*
 * A code of numbers: all elements travel, in fewer bits. Elements of a block share a scale, a
 * float.
 */
struct gw_code {
    unsigned bits;        /* of an element; 0: the compressor selects elements */
    unsigned block;       /* elements that share a scale; 0: all of them */
    unsigned scale_bytes; /* of a scale; 0: there is none */
    bool residual;        /* error feedback: the difference to the decoded number is kept */
};

struct gw_compressor {
    const char *name;  /* as in `--compressor` and in cluster files */
    const char *title; /* one line for a person */
    const char *paper;
    bool exact;       /* selects just k of any gradient */
    bool common;      /* selects the same indices on all workers, so that only values travel */
    bool joint;       /* all workers send the elements that any worker selects */
    bool layered;     /* selects whole layers */
    bool sketched;    /* finds them in a count sketch, and can in the sum of all workers' */
    bool stateful;    /* remembers something from one iteration to the next */
    bool thresholded; /* is given a threshold, at least to begin with */
    bool steady;      /* its time follows from how many it is asked for, not how many it selects */
    struct gw_code code; /* of compressors that send all elements */
    unsigned rank;       /* of the two factors that a matrix becomes; 0: it does not */
};

/* Dense exchange: all elements are kept. Not in the table. */
extern const struct gw_compressor gw_compressor_none;

/* The table, ended by NULL, and its rows. */
enum { GW_MAX_COMPRESSORS = 64 }; /* with that NULL */
extern const struct gw_compressor *const gw_compressors[];
extern const struct gw_compressor gw_compressor_topk, gw_compressor_randk, gw_compressor_dgc,
    gw_compressor_redsync, gw_compressor_gaussiank, gw_compressor_count_sketch,
    gw_compressor_layer_drop, gw_compressor_hard_threshold, gw_compressor_sidco,
    gw_compressor_exdyna, gw_compressor_exdyna_trend, gw_compressor_exdyna_static;

extern const struct gw_compressor gw_compressor_bf16, gw_compressor_fp16, gw_compressor_int8,
    gw_compressor_fp8, gw_compressor_onebit, gw_compressor_qsgd, gw_compressor_powersgd;

/* Whether the compressor selects elements: neither dense exchange, nor a code, nor factors. */
static inline bool gw_compressor_selects(const struct gw_compressor *compressor) {
    return compressor != &gw_compressor_none && compressor->code.bits == 0 && compressor->rank == 0;
}

/* Bytes of the codes of n elements with their scales: ceil(n bits / 8) + scale_bytes ceil(n /
 * block), one scale for all of them if block is 0; 0 of no elements. */
uint64_t gw_code_bytes(const struct gw_compressor *compressor, uint64_t n);

/* Whether PowerSGD of that rank compresses a matrix: to less than half, as PyTorch's powerSGD_hook
 * has it. */
static inline bool gw_low_rank_compresses(uint64_t rows, uint64_t columns, uint64_t rank) {
    return 2 * rank * (rows + columns) < rows * columns;
}

/* Fails for a compressor with a rank if the model says no tensor's shape: those without one travel
 * as they are. */
enum gw_status gw_model_check_shapes(const struct gw_model *model,
                                     const struct gw_compressor *compressor,
                                     struct gw_error *error);

/* The row of that name, or the descriptor of "powersgd:RANK", which has no row unless the rank is
 * the usual one; NULL if there is none. */
const struct gw_compressor *gw_compressor_find(const char *name);

/* The row of that name, or for "none" the descriptor of dense exchange. */
enum gw_status gw_compressor_choose(const char *name, const struct gw_compressor **out,
                                    struct gw_error *error);

/* Numbers of selected elements of a group. */
struct gw_selected {
    uint64_t most; /* by the worker that selected the most */
    uint64_t mean; /* of the workers, rounded up */
    uint64_t all;  /* whose values travel, if those of all workers travel together */
};

/* Mean over workers, rounded up; 0 of no workers. */
static inline uint64_t gw_mean_selected(uint64_t sum, size_t workers) {
    return workers == 0 ? 0 : (sum + workers - 1) / workers;
}

/*
 * Numbers of selected elements if a compressor keeps as many as asked for: a joint one divides them
 * evenly among the workers, and the one with the most has at least one.
 */
static inline struct gw_selected gw_selected_as_asked(const struct gw_compressor *compressor,
                                                      uint64_t kept, size_t workers) {
    bool shared = compressor->joint && workers > 0;
    uint64_t each = shared ? (kept + workers - 1) / workers : kept;
    return (struct gw_selected){.most = each, .mean = each, .all = kept};
}

/* ---- count sketches, as they travel -------------------------------------------------------- */

enum {
    GW_SKETCH_ROWS = 5,   /* see gw_sketch_columns */
    GW_SKETCH_BLOCK = 16, /* coordinates that are hashed together: a cache line of floats */
};

/*
 * Columns for HEAVYMIX to find k of n coordinates: a power of two, O(k log(n/k)), some 4 k at
 * k = n/1000. Where most of ||u|| is in many small elements, the median of 5 rows errs by a
 * standard deviation of sqrt(0.287 / columns) ||u|| (0.287: variance of the median of 5 normal
 * variables), and a coordinate counts as heavy from ||u|| / sqrt(k) on. The n that are small pass
 * by mistake less than k / 3 times if that is sqrt(2 ln(n/k)) standard deviations:
 * columns = 0.574 k ln(n/k). Where nearly all of ||u|| is in h large elements, h <= k, others
 * that meet them with one sign in 3 of 5 rows, 2.5 n (h / columns)^3, pass as well: to hold those
 * to k / 3 takes up to (7.5 n/k)^(1/3) k columns, five times as many at k = n/1000. They cost
 * places, not correctness: values are exact, and the residual keeps what was not chosen.
 * 1 <= k <= n < 2^32.
 */
size_t gw_sketch_columns(size_t n, size_t k);

/* The cells of the sketch that finds `kept` of so many elements; 0 of other compressors. */
uint64_t gw_sketch_cells(const struct gw_compressor *compressor, uint64_t elements, uint64_t kept);

/* ---- exchanges ----------------------------------------------------------------------------- */

/*
 * An exchange sends what a compressor keeps of a group, and makes the same update of it on all
 * workers. It consists of legs, collectives one after another. A leg's payload determines its bytes
 * and how execution treats them.
 */
enum gw_payload {
    GW_DENSE,   /* the group's gradient; back from a server: the aggregate */
    GW_SPARSE,  /* the entries that each worker selected, as many on all: 8 bytes each */
    GW_COUNTS,  /* how many entries each worker selected: 4 bytes */
    GW_PADDED,  /* these entries, padded to the most that any worker selected: 8 bytes each */
    GW_INDICES, /* indices alone, padded likewise, after which all workers know them: 4 bytes each
                 */
    GW_VALUES,  /* values of the indices that all workers know, each its own: 4 bytes each */
    GW_SKETCH,  /* a count sketch of the group: 4 bytes a cell */
    GW_LAYERS,  /* of each layer a number that says whether it was chosen, and the chosen ones: 4
                 * bytes an element; of workers that send other numbers, as many as in the mean,
                 * since all of them share the server's link */
    GW_ALL_LAYERS, /* the same of the layers that any worker chose */
    GW_CODES,      /* codes of all elements (gw_code_bytes) */
    GW_CODES_PART, /* codes of a worker's part of them, ceil(elements / workers) */
    GW_RAW,        /* of tensors that are not compressed: 4 bytes an element */
    GW_FACTOR_P, /* of matrices' left factors: 4 bytes for each row and each of the rank columns */
    GW_FACTOR_Q, /* of their right factors: likewise for each of the matrix's columns */
};

enum {
    GW_NUMBER_BYTES = 4, /* of a value, an index or a count that travels */
    GW_ENTRY_BYTES = 8,  /* of a value with its index */
};

/* Sizes of a group that are sums over its tensors. */
struct gw_size {
    uint64_t elements, tensors;
    /* If the compressor has a rank: of matrices that it compresses, and elements of others. */
    uint64_t rows, columns, raw;
};

/* Adds a tensor to the sizes of a group. */
static inline void gw_size_add(struct gw_size *size, const struct gw_tensor *tensor,
                               const struct gw_compressor *compressor) {
    uint64_t rows = compressor->rank > 0 && tensor->dimensions > 1 ? tensor->shape[0] : 0;
    uint64_t columns = rows > 0 ? tensor->elements / rows : 0;
    bool compressed = gw_low_rank_compresses(rows, columns, compressor->rank);
    size->elements += tensor->elements;
    size->tensors++;
    size->rows += compressed ? rows : 0;
    size->columns += compressed ? columns : 0;
    size->raw += compressed ? 0 : tensor->elements;
}

/* Sizes of a group that determine a leg's bytes, besides its payload. */
struct gw_extent {
    struct gw_size size;
    uint64_t bytes_per_element; /* of the group's gradient */
    uint64_t sketch_cells;
    struct gw_selected selected;
    const struct gw_compressor *compressor;
    size_t workers;
};

/* Elements of a worker's part of n, of which the last parts may hold fewer. */
static inline uint64_t gw_part_elements(uint64_t n, size_t workers) {
    return workers == 0 ? n : (n + workers - 1) / workers;
}

/* Bytes that one worker contributes to a leg. */
uint64_t gw_payload_bytes(enum gw_payload payload, const struct gw_extent *extent);

/* Operations on the data that a leg brings. */
enum gw_aggregator {
    GW_SCATTER_ADD,  /* entries are added to the aggregate at their places */
    GW_MERGE,        /* two lists of entries become one of the largest sums, and one of the rest */
    GW_GIVE_BACK,    /* own entries whose index is not in another list go back to the residual, and
                        as many of what was pruned whose index is */
    GW_TAKE_AND_PUT, /* values of known indices are collected, and their sums put in their places */
    GW_SUM,          /* a vector is added to another */
    GW_HEAVYMIX,     /* the heavy coordinates of a group are looked for in a sketch */
    GW_DECODE,       /* codes become floats */
    GW_DECODE_ADD,   /* codes become floats, which are added to a vector */
    GW_FACTOR,       /* left factors become orthonormal, and matrices times them right factors */
    GW_EXPAND,       /* factors become matrices, which are subtracted from the residual */
    GW_AGGREGATOR_COUNT,
    GW_ENCODE =
        GW_AGGREGATOR_COUNT, /* the group's compressor encodes, and takes its curve's time */
};

/* Whether the aggregator accesses entries at random places of a vector. */
static inline bool gw_aggregator_scatters(enum gw_aggregator by) {
    return by == GW_SCATTER_ADD || by == GW_GIVE_BACK || by == GW_TAKE_AND_PUT;
}

/* Names of aggregators in cluster files. */
extern const char *const gw_aggregator_names[GW_AGGREGATOR_COUNT];

/* Number of runs, each over one worker's contribution; of HEAVYMIX over the group's elements. */
enum gw_recurrence {
    GW_NEVER,
    GW_ONCE,
    GW_IN_EACH_ROUND,   /* of a tree: ceil(log2 workers) times, one after the other */
    GW_FOR_EACH_WORKER, /* for what all contribute, by one */
};

enum gw_aggregating {
    GW_ON_THE_WAY, /* workers of a tree, some of them in each round */
    GW_EVERYWHERE, /* all workers, at the same time */
    GW_AT_SERVER,  /* before it sends anything back */
};

struct gw_aggregation {
    enum gw_aggregator by;
    enum gw_recurrence recurrence;
    enum gw_aggregating where;
};

enum { GW_MAX_LEGS = 4, GW_MAX_AGGREGATIONS = 3 };

struct gw_leg {
    const char *collective; /* as in cluster files, or made of such (traces/cluster.h) */
    enum gw_payload payload;
    bool updates; /* the server updates what it was sent before it sends it back: before this leg */
    struct gw_aggregation aggregations[GW_MAX_AGGREGATIONS];
};

/* Number of elements for an aggregator in one worker's contribution. */
uint64_t gw_aggregation_elements(const struct gw_leg *leg, enum gw_aggregator by,
                                 const struct gw_extent *extent);

struct gw_exchange_kind {
    const char *name;  /* as in `--exchange` */
    const char *title; /* one line for a person */
    const char *source;
    const char *needed; /* what it can carry: "a compressor that ..." */
    bool (*carries)(const struct gw_compressor *compressor);
    bool server; /* a rank beside the workers takes part */
    bool led;    /* one worker in turn selects; the others only add to their residuals meanwhile */
    size_t leg_count;
    struct gw_leg legs[GW_MAX_LEGS];
};

/* The table, ended by NULL, and its rows. */
extern const struct gw_exchange_kind *const gw_exchange_kinds[];
extern const struct gw_exchange_kind gw_exchange_allreduce, gw_exchange_common_values,
    gw_exchange_union, gw_exchange_sketch_tree, gw_exchange_layer_server, gw_exchange_allgather,
    gw_exchange_allgather_padded, gw_exchange_gtopk, gw_exchange_sketch_server, gw_exchange_server,
    gw_exchange_leader, gw_exchange_halves, gw_exchange_two_phase, gw_exchange_allgather_codes,
    gw_exchange_low_rank;

/* The exchange of that name; fails with the list of names. */
enum gw_status gw_exchange_find(const char *name, const struct gw_exchange_kind **out,
                                struct gw_error *error);

/* The first in the table that carries the compressor's selections, or NULL. */
const struct gw_exchange_kind *gw_exchange_for(const struct gw_compressor *compressor);

/* ---- ways to travel ------------------------------------------------------------------------ */

/* How a group travels; without a compressor its density does not count. */
struct gw_way {
    const struct gw_compressor *compressor;
    const struct gw_exchange_kind *exchange;
    double density;      /* (0, 1]: share of the elements that the compressor is asked for */
    double sent_density; /* share that it is expected to select; 0: as asked */
};

/* Whether the group is compressed before it travels. */
static inline bool gw_way_compresses(const struct gw_way *way) {
    return way->compressor != &gw_compressor_none;
}

/* Whether workers keep what they do not send of the group: error feedback. */
static inline bool gw_way_keeps_residual(const struct gw_way *way) {
    return gw_compressor_selects(way->compressor) || way->compressor->code.residual ||
           way->compressor->rank > 0;
}

/* Elements that the compressor is asked for of a group of n. */
static inline uint64_t gw_way_kept(const struct gw_way *way, uint64_t n) {
    return gw_compressor_selects(way->compressor) ? gw_elements_kept(n, way->density) : n;
}

static inline double gw_way_sent_density(const struct gw_way *way) {
    return way->sent_density > 0 ? way->sent_density : way->density;
}

/* Elements that the compressor is expected to select of a group of n. */
static inline uint64_t gw_way_sent(const struct gw_way *way, uint64_t n) {
    return gw_compressor_selects(way->compressor) ? gw_elements_kept(n, gw_way_sent_density(way))
                                                  : n;
}

static inline bool gw_ways_equal(const struct gw_way *a, const struct gw_way *b) {
    return a->compressor == b->compressor && a->exchange == b->exchange &&
           a->density == b->density && gw_way_sent_density(a) == gw_way_sent_density(b);
}

/* ---- published pipelines ------------------------------------------------------------------- */

/* A preset of three choices, from which the schedule of an iteration follows (schedule.h). */
struct gw_algorithm {
    const char *name; /* as in `--algo` */
    const char *title;
    const char *paper;
    const char *policy; /* of the planner, as in `--policy` */
    const struct gw_compressor *compressor;
    const struct gw_exchange_kind *exchange;
};

/* The table, ended by a row without a name. */
extern const struct gw_algorithm gw_algorithms[];

/* The algorithm of that name; fails with the list of names. */
enum gw_status gw_algorithm_find(const char *name, const struct gw_algorithm **out,
                                 struct gw_error *error);

/* Whether it compresses; whether it sends some elements only, by a density. */
static inline bool gw_algorithm_compresses(const struct gw_algorithm *algorithm) {
    return algorithm->compressor != &gw_compressor_none;
}
static inline bool gw_algorithm_selects(const struct gw_algorithm *algorithm) {
    return gw_compressor_selects(algorithm->compressor);
}

/* The pipeline of a mixed plan, GW_MIXED; its compressor is that of the first group with one. */
struct gw_algorithm gw_algorithm_mixed(const struct gw_plan *plan);

/* Whether exchanges run beside the backward pass: a single group has to wait for its end. */
bool gw_algorithm_overlaps(const struct gw_algorithm *algorithm);

/* Names of choices other than a preset's own; NULL: as they are. */
struct gw_choice_changes {
    const char *policy, *compressor, *exchange;
};

/*
 * Changes choices of an algorithm. A compressor whose selections the exchange cannot carry brings
 * its own exchange, unless that is chosen too: then the exchange is refused.
 */
enum gw_status gw_algorithm_change(const struct gw_algorithm *preset,
                                   const struct gw_choice_changes *changes,
                                   struct gw_algorithm *out, struct gw_error *error);

/* The algorithm of that name with changed choices, or that of `plan` (NULL: none) if it is mixed.
 */
enum gw_status gw_algorithm_choose(const char *name, const struct gw_choice_changes *changes,
                                   const struct gw_plan *plan, struct gw_algorithm *out,
                                   struct gw_error *error);

#endif
