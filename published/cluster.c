/*
 * Makes clusters from published rates: collectives' times from links' rates and startups, and
 * compressors' times from a GPU's memory bandwidth.
 *
 * P workers in N nodes of G. A link of rate B carries collectives at B times an efficiency, and a
 * step costs s however few bytes it has: s_n between nodes, s_w within one. Costs of n bytes that
 * one worker contributes (Thakur, Rabenseifner and Gropp, 2005; Chan et al., 2007):
 *
 *     allreduce   2 D + 2 (P - 1) / P n / B      halving and doubling, or pipelined trees
 *     allgather                  R + (P - 1) n / B              a ring
 *     gather, scatter            D + (P - 1) n / B_n            all of it passes the root's link
 *     broadcast, reduce          D + log2(P) n / B              a tree
 *     alltoall    (P - G) s_n + (G - 1) s_w + G (P - G) / P n / B   pairwise; one node: (P - 1) / P
 *     sendrecv                   s + n / B
 *
 * The slow estimate of an allreduce is the smaller of 2 D + 2 log2(P) n / B, a tree up and down
 * again that is not pipelined, and 2 R + 2 (P - 1) / P n / B, a ring.
 *
 *     D = log2(N) s_n + log2(G) s_w, R = (N s_n + (P - N) s_w) (P - 1) / P, which is (P - 1) s for
 *     steps of one kind; B is the slower of the node's link and the GPU's: a ring goes through each
 *     node's link once, however many GPUs share it.
 */
#include <math.h>
#include <string.h>

#include "published/published.h"

/* ---- compressors ----------------------------------------------------------------------------- */

/*
 * Time of a compressor with its residual on a GPU: a constant, and passes of 4 bytes an element
 * over memory at its peak. Straight lines through the times that `gradweave bench compressors
 * --device cuda` measured on an H200 at 25,557,032 and 138,357,544 elements
 * (docs/results/kernels.md). The line of count-sketch, which leaves the caches, would begin below
 * zero: it has topk's constant, since it searches for its largest estimates, and the number of
 * passes with the least error at both sizes, a tenth.
 */
static const struct {
    const char *name;
    double fixed_s, passes;
} gpu_compressors[] = {
    {"topk", 76.7e-6, 3.90},
    {"randk", 32.4e-6, 4.38},
    {"dgc", 109e-6, 5.36},
    {"redsync", 80.2e-6, 6.45},
    {"gaussiank", 95.2e-6, 6.70},
    {"count-sketch", 76.7e-6, 28.3},
    {"layer-drop", 139e-6, 6.01},
    {"hard-threshold", 21.3e-6, 3.55},
    {"sidco", 246e-6, 9.23},
    {"exdyna", 21.5e-6, 3.54},
    {"exdyna-trend", 19.8e-6, 3.56},
    {"exdyna-static", 19e-6, 3.54},
    /* not measured: launches, and the bytes that they read and write over 4 an element */
    {"bf16", 20e-6, 1.5},
    {"fp16", 20e-6, 1.5},
    {"int8", 20e-6, 3.3},
    {"fp8", 20e-6, 3.3},
    {"onebit", 40e-6, 5.1},
    {"qsgd", 20e-6, 1.2},
    {"powersgd", 100e-6, 9}, /* with what follows its exchanges: products, Gram-Schmidt, factors
                              * that become a matrix again */
};

/* PowerSGD at another rank, also not measured: both products read the matrix once for four columns
 * (kernels/gpu/low_rank.cu), and Gram-Schmidt takes them one after another. */
static const double second_ranks[2] = {4, 16};
static const double second_fixed_s = 400e-6, second_passes = 15;

enum { BYTES_PER_ELEMENT = 4 };

/* Relative margin of times derived from another GPU's memory: a factor of two. */
static const double compressor_margin = 1;

/* ---- curves ---------------------------------------------------------------------------------- */

struct making {
    struct gw_cluster *cluster;
    struct gw_link network, within;
    size_t gpus_per_node;
    const char *reach; /* of the network, in words; of one card */
    bool has_within, has_network;
};

/* An algorithm for a collective. */
struct route {
    double between_steps, within_steps; /* one after another, of each kind */
    double bytes;                       /* that pass the bottleneck, for each byte contributed */
};

/* P workers in N nodes of G (see the top of the file). */
struct shape {
    double workers, nodes, per_node;
};

static struct shape shape_of(const struct making *making, size_t workers) {
    size_t per_node = making->gpus_per_node < workers ? making->gpus_per_node : workers;
    double nodes = ceil((double)workers / (double)per_node);
    return (struct shape){.workers = (double)workers, .nodes = nodes, .per_node = (double)per_node};
}

static struct route tree_way(const struct shape *shape, double times, double bytes) {
    return (struct route){.between_steps = times * ceil(log2(shape->nodes)),
                          .within_steps = times * ceil(log2(shape->per_node)),
                          .bytes = bytes};
}

static struct route ring_way(const struct shape *shape, double times, double bytes) {
    double part = times * (shape->workers - 1) / shape->workers;
    double between = shape->nodes > 1 ? shape->nodes : 0;
    return (struct route){.between_steps = part * between,
                          .within_steps = part * (shape->workers - between),
                          .bytes = bytes};
}

/* All workers of a node send to other nodes at once. */
static struct route pairwise_way(const struct shape *shape) {
    double here = shape->nodes > 1 ? shape->per_node : shape->workers;
    double others = shape->workers - here;
    return (struct route){.between_steps = others,
                          .within_steps = here - 1,
                          .bytes = shape->nodes > 1 ? here * others / shape->workers
                                                    : (here - 1) / here};
}

/* The typical or the slow end of a link's ranges. */
enum end { TYPICAL, SLOW };

static double step_s(const struct gw_link *link, enum end end) {
    return end == TYPICAL ? link->step_s.typical : link->step_s.high;
}

static double rate_of(const struct gw_link *link, enum end end) {
    return link->bytes_per_s * (end == TYPICAL ? link->efficiency.typical : link->efficiency.low);
}

/* Returns the rate of the slower of the links used. */
static double bottleneck(const struct making *making, const struct shape *shape, enum end end) {
    double rate = INFINITY;
    if (shape->nodes > 1) {
        rate = rate_of(&making->network, end);
    }
    if (shape->per_node > 1) {
        rate = fmin(rate, rate_of(&making->within, end));
    }
    return rate;
}

static struct gw_curve curve_of(const struct making *making, const struct shape *shape,
                                const struct route *way, enum end end) {
    return (struct gw_curve){.fixed_s = way->between_steps * step_s(&making->network, end) +
                                        way->within_steps * step_s(&making->within, end),
                             .per_unit_s = way->bytes / bottleneck(making, shape, end)};
}

/* ---- one collective -------------------------------------------------------------------------- */

/* The sizes, in bytes, for which a curve's uncertainty is given. */
static const double margin_sizes[] = {1 << 6,  1 << 10, 1 << 12, 1 << 14, 1 << 16,
                                      1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 28};

/* A collective's usual algorithm, and two (or one twice) of libraries that do it less well. */
struct ways {
    struct route usual, worse[2];
};

/* Times of the usual algorithm on typical links, and of the other algorithms on slow ones. */
struct curves {
    struct gw_curve typical, slow[2];
};

static struct curves curves_of(const struct making *making, const struct shape *shape,
                               const struct ways *ways) {
    return (struct curves){.typical = curve_of(making, shape, &ways->usual, TYPICAL),
                           .slow = {curve_of(making, shape, &ways->worse[0], SLOW),
                                    curve_of(making, shape, &ways->worse[1], SLOW)}};
}

/* Returns the relative time that the better of the slow algorithms adds. */
static double uncertainty_at(const struct curves *curves, double bytes) {
    double slow_s =
        fmin(gw_curve_time(&curves->slow[0], bytes), gw_curve_time(&curves->slow[1], bytes));
    return slow_s / gw_curve_time(&curves->typical, bytes) - 1;
}

/* Writes {"uncertainty": [[bytes, share], ...]}. */
static enum gw_status details_of(const struct curves *curves, cJSON **out, struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_array(&writer, "uncertainty");
    for (size_t i = 0; i < sizeof margin_sizes / sizeof *margin_sizes; i++) {
        double bytes = margin_sizes[i];
        gw_writer_array(&writer, NULL);
        gw_writer_number(&writer, NULL, bytes);
        gw_writer_number(&writer, NULL, uncertainty_at(curves, bytes));
        gw_writer_end(&writer);
    }
    gw_writer_end(&writer);
    return gw_writer_finish(&writer, out, error);
}

static enum gw_status add_collective(const struct making *making, const char *name,
                                     const struct shape *shape, struct ways ways,
                                     struct gw_error *error) {
    const struct curves curves = curves_of(making, shape, &ways);
    cJSON *details = NULL;
    GW_TRY(details_of(&curves, &details, error));
    return gw_cluster_add_collective(making->cluster, name, (size_t)shape->workers, curves.typical,
                                     details, error);
}

static enum gw_status add_one_way(const struct making *making, const char *name,
                                  const struct shape *shape, struct route way,
                                  struct gw_error *error) {
    return add_collective(making, name, shape, (struct ways){way, {way, way}}, error);
}

static struct ways allreduce_among(const struct shape *shape) {
    double P = shape->workers;
    double halves = 2 * (P - 1) / P;
    return (struct ways){
        .usual = tree_way(shape, 2, halves),
        .worse = {tree_way(shape, 2, 2 * ceil(log2(P))), ring_way(shape, 2, halves)},
    };
}

/* Whether an allreduce, the least certain collective, is certain to a factor of 10. */
static bool is_known(const struct making *making, size_t workers) {
    static const double most = 10;
    struct shape shape = shape_of(making, workers);
    struct ways ways = allreduce_among(&shape);
    const struct curves curves = curves_of(making, &shape, &ways);
    for (size_t i = 0; i < sizeof margin_sizes / sizeof *margin_sizes; i++) {
        if (1 + uncertainty_at(&curves, margin_sizes[i]) > most) {
            return false;
        }
    }
    return true;
}

static enum gw_status add_among(const struct making *making, size_t workers,
                                struct gw_error *error) {
    struct shape shape = shape_of(making, workers);
    double P = shape.workers;
    double depth = ceil(log2(P));
    struct route gathered = ring_way(&shape, 1, P - 1);
    struct route rooted = tree_way(&shape, 1, P - 1);
    struct route spread = tree_way(&shape, 1, depth);
    struct route by_itself =
        tree_way(&shape, 1, fmin(P - 1, 2 * depth)); /* a root that sends to each */
    const struct ways spreading = {spread, {by_itself, by_itself}};
    GW_TRY(add_collective(making, "allreduce", &shape, allreduce_among(&shape), error));
    GW_TRY(add_one_way(making, "allgather", &shape, gathered, error));
    GW_TRY(add_collective(making, "broadcast", &shape, spreading, error));
    GW_TRY(add_collective(making, "reduce", &shape, spreading, error));
    GW_TRY(add_one_way(making, "alltoall", &shape, pairwise_way(&shape), error));
    GW_TRY(add_one_way(making, "gather", &shape, rooted, error));
    return add_one_way(making, "scatter", &shape, rooted, error);
}

/* ---- the whole ------------------------------------------------------------------------------- */

enum { MOST_WORKERS = 256 }; /* unless more are asked for */

static int by_value(const void *a, const void *b) {
    size_t left = *(const size_t *)a;
    size_t right = *(const size_t *)b;
    return (left > right) - (left < right);
}

static bool has_network(const struct gw_cluster_request *request) {
    return request->network != NULL || request->measured_bytes_per_s > 0;
}

/* Lists powers of two, the number asked for, and one more for a server; ascending. */
static size_t list_workers(const struct making *making, size_t asked, size_t out[64]) {
    size_t per_node = making->gpus_per_node;
    size_t most = making->has_network ? MOST_WORKERS : per_node;
    size_t count = 0;
    size_t kept = 0;
    for (size_t workers = 2; workers < per_node; workers *= 2) {
        out[count++] = workers;
    }
    for (size_t workers = per_node; workers <= most; workers *= 2) {
        if (workers < asked || is_known(making, workers)) {
            out[count++] = workers;
        }
    }
    out[count++] = asked;
    if (making->has_network) {
        out[count++] = asked + 1;
    }
    qsort(out, count, sizeof *out, by_value);
    for (size_t i = 0; i < count; i++) {
        if (out[i] > 1 && (kept == 0 || out[i] != out[kept - 1])) {
            out[kept++] = out[i];
        }
    }
    return kept;
}

/* Writes {"uncertainty": [[1, share]]}, which holds at all sizes. */
static enum gw_status assumed_details(cJSON **out, struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_array(&writer, "uncertainty");
    gw_writer_array(&writer, NULL);
    gw_writer_number(&writer, NULL, 1);
    gw_writer_number(&writer, NULL, compressor_margin);
    gw_writer_end(&writer);
    gw_writer_end(&writer);
    return gw_writer_finish(&writer, out, error);
}

enum gw_status gw_cluster_assume_compressors(const char *gpu, struct gw_cluster *cluster,
                                             struct gw_error *error) {
    const struct gw_published_gpu *found = NULL;
    GW_TRY(gw_published_gpu_find(gpu, &found, error));
    double pass_s = BYTES_PER_ELEMENT / found->bytes_per_s;
    if (cluster->compressors.count > 0) {
        return GW_OK;
    }
    for (size_t i = 0; i < sizeof gpu_compressors / sizeof *gpu_compressors; i++) {
        cJSON *details = NULL;
        GW_TRY(assumed_details(&details, error));
        struct gw_curve curve = {.fixed_s = gpu_compressors[i].fixed_s,
                                 .per_unit_s = gpu_compressors[i].passes * pass_s};
        GW_TRY(gw_kernel_costs_add(&cluster->compressors, gpu_compressors[i].name, curve, details,
                                   error));
    }
    cJSON *details = NULL;
    GW_TRY(assumed_details(&details, error));
    GW_TRY(gw_kernel_costs_add_curve(
        &cluster->compressors, "powersgd",
        (struct gw_kernel_curve){.densities = {second_ranks[0], second_ranks[1]}},
        (struct gw_curve){.fixed_s = second_fixed_s, .per_unit_s = second_passes * pass_s}, details,
        error));
    GW_TRY(gw_cluster_put_source(cluster, "device", "cuda", error));
    return gw_cluster_put_source(cluster, GW_CLUSTER_ASSUMED_COMPRESSORS,
                                 "as many passes over memory as on an H200, at this GPU's "
                                 "published rate; what is done with received entries is not "
                                 "counted",
                                 error);
}

/*
 * Margin of passes in jobs, which take longer than one GPU's pace and the exchanges: collectives
 * share multiprocessors and memory with the passes (a matrix product takes 30 to 40% longer beside
 * one, pytorch#179937), workers wait for the slowest, and hooks, launches and data take time. The
 * smallest whole percent whose interval contains 95% of the throughputs in
 * traces/papers/throughputs.json; script/published_throughputs.py computes it, also with each
 * source left out.
 */
static const double passes_uncertainty = 0.19;

enum gw_status gw_cluster_assume_passes(struct gw_cluster *cluster, struct gw_error *error) {
    cJSON *details = cJSON_CreateObject();
    cluster->passes_uncertainty = passes_uncertainty;
    GW_TRY(gw_json_put(cluster->kept, "passes", details, error));
    return gw_json_put_text(details, "source",
                            "published throughputs of jobs against one GPU's pace", error);
}

static enum gw_status put_source(const struct making *making,
                                 const struct gw_cluster_request *request, struct gw_error *error) {
    struct gw_json_writer writer;
    cJSON *source = NULL;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "kind", "assumed");
    if (making->has_network) {
        gw_writer_text(&writer, "network", making->network.title);
        gw_writer_text(&writer, GW_CLUSTER_NETWORK_REACH, making->reach);
        gw_writer_text(&writer, "network_source", making->network.source);
    }
    if (request->cards > 1) {
        gw_writer_number(&writer, "network_cards", (double)request->cards);
    }
    if (making->has_within) {
        gw_writer_text(&writer, "within", making->within.title);
        gw_writer_text(&writer, "within_source", making->within.source);
    }
    gw_writer_text(&writer, "note",
                   request->measured_bytes_per_s > 0
                       ? "Made of a network's measured rate and of what collectives usually reach "
                         "of it, no collective is measured. They go by rings and trees; the GPUs "
                         "of a node share its link."
                       : "Made of published rates, nothing is measured. Collectives by rings and "
                         "trees; the GPUs of a node share its link.");
    GW_TRY(gw_writer_finish(&writer, &source, error));
    return gw_json_put(making->cluster->kept, "source", source, error);
}

static enum gw_status fill_cluster(const struct making *making,
                                   const struct gw_cluster_request *request,
                                   struct gw_error *error) {
    size_t workers[64];
    size_t count = list_workers(making, making->cluster->workers, workers);
    bool far = request->nodes > 1;
    struct shape pair = {.workers = 2, .nodes = far ? 2 : 1, .per_node = far ? 1 : 2};
    for (size_t i = 0; i < count; i++) {
        GW_TRY(add_among(making, workers[i], error));
    }
    GW_TRY(add_one_way(making, "sendrecv", &pair, tree_way(&pair, 1, 1), error));
    GW_TRY(put_source(making, request, error));
    GW_TRY(gw_cluster_assume_passes(making->cluster, error));
    return request->gpu == NULL
               ? GW_OK
               : gw_cluster_assume_compressors(request->gpu, making->cluster, error);
}

/* Names a cluster: "8-25gbit", "4x8-8*hdr-nvlink3", "1x8-nvlink3". */
static enum gw_status name_cluster(const struct making *making,
                                   const struct gw_cluster_request *request, struct gw_arena *arena,
                                   const char **out, struct gw_error *error) {
    const char *workers =
        making->gpus_per_node > 1
            ? gw_arena_format(arena, "%zux%zu", request->nodes, making->gpus_per_node)
            : gw_arena_format(arena, "%zu", request->nodes);
    const char *cards = request->cards > 1 ? gw_arena_format(arena, "%zu*", request->cards) : "";
    const char *network =
        making->has_network ? gw_arena_format(arena, "-%s%s", cards, making->network.name) : "";
    const char *within =
        making->has_within ? gw_arena_format(arena, "-%s", making->within.name) : "";
    *out = request->name != NULL ? request->name
                                 : gw_arena_format(arena, "%s%s%s", workers, network, within);
    return gw_arena_check(arena, "making a cluster", error);
}

/* Finds the link asked for, or the usual one in servers of the GPU. */
static enum gw_status find_within(const struct gw_cluster_request *request, struct gw_arena *arena,
                                  struct making *making, struct gw_error *error) {
    const struct gw_published_gpu *gpu = NULL;
    if (request->within == NULL && request->gpu != NULL) {
        GW_TRY(gw_published_gpu_find(request->gpu, &gpu, error));
    }
    const char *name = gpu == NULL ? request->within : gpu->within;
    return name != NULL
               ? gw_link_find(name, true, arena, &making->within, error)
               : gw_fail(error, GW_BAD_INPUT,
                         "--intra: expected the link between a node's GPUs, such as nvlink3 or "
                         "pcie4%s%s",
                         gpu == NULL ? "" : ", as none is usual for this GPU: ",
                         gpu == NULL ? "" : gpu->title);
}

static enum gw_status find_links(const struct gw_cluster_request *request, struct gw_arena *arena,
                                 struct making *making, struct gw_error *error) {
    making->has_within = making->gpus_per_node > 1;
    making->has_network = request->nodes > 1 || has_network(request);
    if (request->cards > 1 && !making->has_network) {
        return gw_fail(error, GW_BAD_INPUT, "--cards: expected --network LINK with it");
    }
    if (making->has_network && !has_network(request)) {
        return gw_fail(error, GW_BAD_INPUT,
                       "--network: expected the link between nodes, such as 25gbit or hdr");
    }
    if (!making->has_network && !making->has_within) {
        return gw_fail(error, GW_BAD_INPUT,
                       "--nodes: expected two or more, or several GPUs in a node, got one worker");
    }
    if (making->has_network) {
        GW_TRY(
            request->network != NULL
                ? gw_link_find(request->network, false, arena, &making->network, error)
                : gw_link_measured(request->measured_bytes_per_s, arena, &making->network, error));
        const char *reach = gw_link_reach(&making->network, arena);
        making->reach = request->cards > 1 && reach != NULL
                            ? gw_arena_format(arena, "%zu cards, each %s", request->cards, reach)
                            : reach;
        making->network.bytes_per_s *= request->cards > 0 ? (double)request->cards : 1;
    }
    return making->has_within ? find_within(request, arena, making, error) : GW_OK;
}

static enum gw_status make_cluster(const struct gw_cluster_request *request, struct gw_arena *arena,
                                   struct gw_cluster *out, struct gw_error *error) {
    size_t per_node = request->gpus_per_node > 0 ? request->gpus_per_node : 1;
    struct making making = {.cluster = out, .gpus_per_node = per_node};
    const char *name = NULL;
    GW_TRY(find_links(request, arena, &making, error));
    GW_TRY(gw_arena_check(arena, "making a cluster", error));
    GW_TRY(name_cluster(&making, request, arena, &name, error));
    GW_TRY(gw_cluster_create(out, name, request->nodes * per_node, per_node, error));
    enum gw_status status = fill_cluster(&making, request, error);
    if (status != GW_OK) {
        gw_cluster_free(out);
    }
    return status;
}

enum gw_status gw_cluster_make(const struct gw_cluster_request *request, struct gw_cluster *out,
                               struct gw_error *error) {
    struct gw_arena arena = {0};
    *out = (struct gw_cluster){0};
    enum gw_status status = make_cluster(request, &arena, out, error);
    gw_arena_free(&arena);
    GW_TRY(status);
    status = gw_cluster_find_growth(out, error);
    if (status != GW_OK) {
        gw_cluster_free(out);
    }
    return status;
}
