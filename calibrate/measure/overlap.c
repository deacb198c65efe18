/* Overlap factors of the cluster: how compression and collectives slow each other when a rank's two
 * threads run both. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/measure/overlap.h"
#include "calibrate/measure/points.h"
#include "calibrate/measure/pool.h"
#include "calibrate/report.h"
#include "methods/kernel_cost.h"

/* ---- exchanges ----------------------------------------------------------------------------- */

enum { LONGEST_SERIES = 8 };
static const double longest_series_s = 0.001; /* unless one exchange is longer */

static enum gw_status sum_over_ranks(struct gw_communicator *communicator, const void *send,
                                     size_t bytes, void *receive, struct gw_error *error) {
    return gw_allreduce(communicator, GW_NUMBER_FLOAT, send, receive, bytes / sizeof(float), error);
}

/* Those which sessions run beside a backward pass. */
static const struct overlap_collective {
    const char *name;
    enum gw_status (*run)(struct gw_communicator *communicator, const void *send, size_t bytes,
                          void *receive, struct gw_error *error);
    bool divides; /* a worker sends each rank another part; `bytes` of `run` are a part's */
    bool gathers; /* what all workers send is received */
} collectives[] = {{"allgather", gw_allgather, false, true},
                   {"allreduce", sum_over_ranks, false, false},
                   {"alltoall", gw_alltoall, true, false}};
enum { COLLECTIVES = sizeof collectives / sizeof *collectives };

/* The work of a communication thread: one collective after the other, of memory of the host or of
 * GPUs. */
struct overlap_exchanges {
    struct gw_communicator *communicator; /* of the collectives ... */
    struct gw_communicator *world;        /* ... and of agreements on the host */
    struct gw_pool send, receive;
    const struct overlap_collective *collective;
    size_t bytes;  /* of one worker */
    size_t series; /* between GPUs: exchanges until rank 0 may end them */
};

static size_t sent_parts(const struct overlap_exchanges *exchanges) {
    return exchanges->collective->divides ? (size_t)exchanges->world->size : 1;
}

static size_t received_parts(const struct overlap_exchanges *exchanges) {
    const struct overlap_collective *collective = exchanges->collective;
    return collective->divides || collective->gathers ? (size_t)exchanges->world->size : 1;
}

static size_t part_bytes(const struct overlap_exchanges *exchanges) {
    size_t floats = exchanges->bytes / sent_parts(exchanges) / sizeof(float);
    return gw_greater(floats, 1) * sizeof(float);
}

static enum gw_status run_exchange(struct overlap_exchanges *exchanges, float *send, float *receive,
                                   struct gw_error *error) {
    return exchanges->collective->run(exchanges->communicator, send, part_bytes(exchanges), receive,
                                      error);
}

static float *next_send(struct overlap_exchanges *exchanges) {
    return gw_pool_next(&exchanges->send, part_bytes(exchanges) * sent_parts(exchanges));
}

static float *next_receive(struct overlap_exchanges *exchanges) {
    return gw_pool_next(&exchanges->receive, part_bytes(exchanges) * received_parts(exchanges));
}

static enum gw_status exchange_next(struct overlap_exchanges *exchanges, struct gw_error *error) {
    return run_exchange(exchanges, next_send(exchanges), next_receive(exchanges), error);
}

static enum gw_status time_exchange(struct overlap_exchanges *exchanges, double *seconds,
                                    struct gw_error *error) {
    *seconds = INFINITY;
    for (int i = 0; i < 3; i++) {
        double started_s = gw_clock_now_s();
        GW_TRY(exchange_next(exchanges, error));
        *seconds = fmin(*seconds, gw_clock_now_s() - started_s);
    }
    GW_TRY(gw_agree_maximum(exchanges->world, seconds, 1, error));
    exchanges->series = (size_t)fmax(1, fmin(LONGEST_SERIES, longest_series_s / *seconds));
    return GW_OK;
}

/*
 * An exchange, after which all ranks know whether rank 0 wants it to be the last: rank 0 sends that
 * as the first number of each part, the others send 0 there. Between GPUs, whose data the host
 * cannot see without a copy, several exchanges, after which rank 0 says it on the host.
 */
static enum gw_status run_exchanges(void *context, bool last, bool *was_last,
                                    struct gw_error *error) {
    struct overlap_exchanges *exchanges = context;
    struct gw_communicator *world = exchanges->world;
    unsigned char flag = last;
    if (exchanges->communicator == world) {
        float *send = next_send(exchanges);
        float *receive = next_receive(exchanges);
        for (size_t i = 0; i < sent_parts(exchanges); i++) {
            send[i * part_bytes(exchanges) / sizeof(float)] = world->rank == 0 && last ? 1 : 0;
        }
        GW_TRY(run_exchange(exchanges, send, receive, error));
        *was_last = receive[0] > 0;
        return GW_OK;
    }
    for (size_t i = 0; i < exchanges->series; i++) {
        GW_TRY(exchange_next(exchanges, error));
    }
    GW_TRY(gw_broadcast(world, 0, &flag, 1, error));
    *was_last = flag;
    return GW_OK;
}

/* ---- probes -------------------------------------------------------------------------------- */

/* Two compressors represent the others: exact top-k, which most pipelines use and which reads its
 * gradient several times, and a threshold, which streams through memory once. */
static const struct gw_compressor *const compressors[] = {&gw_compressor_topk,
                                                          &gw_compressor_hard_threshold};
enum { COMPRESSORS = sizeof compressors / sizeof *compressors };

/*
 * Small messages are mostly waiting for the other side, which a thread that computes on the same
 * core extends by whole time slices; large ones are copying and summing. Between GPUs 1 MiB still
 * is mostly waiting.
 */
static const size_t message_bytes[] = {1 << 10, 1 << 15, 1 << 20, 1 << 24};
enum { SIZES = 3, GPU_SIZES = sizeof message_bytes / sizeof *message_bytes };
/* Messages that take longer are left out. */
static const double longest_exchange_s = 0.01, longest_beside_pass_s = 0.1;

static const double longest_block_s = 0.006;
static const size_t rounds = 5;
enum { BLOCKS_OF_A_ROUND = 3 };            /* one alone, and at once twice as long */
static const double longest_pair_s = 0.25; /* of all rounds of a size */

/*
 * The share of the time for a backward pass, which takes tenths of a second and is measured longer.
 */
static const double backward_share = 0.8;

/*
 * The usual distance of gradients in a pass, used for passes that report none; and the least one.
 */
static const double usually_apart_s = 1e-3, min_apart_s = 5e-5;

/*
 * Exchanges beside a pass: so many that they take this share of it, at least a few, each with its
 * data as cold as one of a plan's groups. Sizes that take less than the smaller share are not
 * measured: passes differ by more among themselves.
 */
enum { MIN_BESIDES_A_PASS = 4 };
static const double share_of_pass = 0.25, least_share_of_pass = 0.02;

struct overlap_measuring {
    const struct gw_calibration *calibration;
    struct gw_report report;
    struct gw_overlap_load load;
    struct overlap_exchanges exchanges;
    size_t sizes;  /* of messages */
    double time_s; /* for compressors */
    double end_s;  /* after which no other pair of the collective begins */
    struct gw_overlap *overlap;
    const struct gw_cluster *cluster; /* with curves, on rank 0 */
};

/* Measures factors of compute, and adds them by its name. */
static enum gw_status measure_named(struct overlap_measuring *measuring,
                                    const struct gw_overlap_subject *compute,
                                    const char *collective, const char *name,
                                    struct gw_error *error) {
    struct gw_overlap_subject subject = *compute;
    struct gw_overlap_point point = {.bytes = (double)measuring->exchanges.bytes};
    bool known = false;
    subject.communicate = run_exchanges;
    subject.communicate_context = &measuring->exchanges;
    subject.rounds = rounds;
    GW_TRY(gw_measure_overlap(measuring->exchanges.world, &subject, &point, &known, error));
    return known ? gw_overlap_add(measuring->overlap, collective, name, point, error) : GW_OK;
}

/*
 * If ranks that compute leave no core to those that communicate, an exchange of microseconds
 * takes tenths of a second, and the pairs that come first must do for the others. All ranks get the
 * same answer.
 */
static enum gw_status agree_on_time(const struct overlap_measuring *measuring, bool *answer,
                                    struct gw_error *error) {
    double late_s = gw_clock_now_s() - measuring->end_s;
    GW_TRY(gw_agree_maximum(measuring->exchanges.world, &late_s, 1, error));
    *answer = late_s < 0;
    return GW_OK;
}

static enum gw_status measure_compressors(struct overlap_measuring *measuring,
                                          const char *collective, struct gw_error *error) {
    const struct gw_calibration *calibration = measuring->calibration;
    size_t pairs = COLLECTIVES * measuring->sizes * COMPRESSORS;
    bool goes_on = true;
    const struct gw_overlap_subject compute = {
        .compute = gw_overlap_load_run,
        .took_s = measuring->load.stream == NULL ? NULL : gw_overlap_load_took_s,
        .compute_context = &measuring->load,
        .block_s = fmin(longest_block_s, calibration->max_s_per_point / 4),
        .longest_s = fmin(longest_pair_s, measuring->time_s / (double)pairs)};
    for (size_t i = 0; i < COMPRESSORS && goes_on; i++) {
        measuring->load.compressor = compressors[i];
        GW_TRY(measure_named(measuring, &compute, collective, compressors[i]->name, error));
        GW_TRY(agree_on_time(measuring, &goes_on, error));
    }
    return GW_OK;
}

/* The time of an exchange by its curve, on all ranks; 0: no curve. Curves are of exchanges whose
 * processors were idle: those besides a pass may take less. */
static enum gw_status find_exchange_time(const struct overlap_measuring *measuring,
                                         const char *collective, double *out,
                                         struct gw_error *error) {
    const struct overlap_exchanges *exchanges = &measuring->exchanges;
    const struct gw_cluster *const known[] = {measuring->cluster, measuring->calibration->older};
    *out = 0;
    for (size_t i = 0; i < 2 && exchanges->world->rank == 0 && *out == 0; i++) {
        const struct gw_collective_cost *cost =
            known[i] == NULL
                ? NULL
                : gw_cluster_find_collective(known[i], collective, (size_t)exchanges->world->size);
        *out = cost == NULL ? 0 : gw_curve_time(&cost->curve, (double)exchanges->bytes);
    }
    return gw_agree_maximum(exchanges->world, out, 1, error);
}

/* Sets the collective and the bytes of exchanges; *seconds is the time of one on idle processors.
 */
static enum gw_status set_exchange(struct overlap_measuring *measuring, size_t which, size_t bytes,
                                   double *seconds, struct gw_error *error) {
    measuring->exchanges.collective = &collectives[which];
    measuring->exchanges.bytes = bytes;
    return time_exchange(&measuring->exchanges, seconds, error);
}

static enum gw_status measure_beside_compressors(struct overlap_measuring *measuring, size_t which,
                                                 struct gw_error *error) {
    bool goes_on = true;
    measuring->end_s = gw_clock_now_s() + measuring->time_s / COLLECTIVES;
    for (size_t i = 0; i < measuring->sizes && goes_on; i++) {
        double share =
            (double)(which * measuring->sizes + i) / (double)(COLLECTIVES * measuring->sizes);
        double exchange_s = 0;
        gw_report_progress(&measuring->report, share, "overlap");
        GW_TRY(set_exchange(measuring, which, message_bytes[i], &exchange_s, error));
        if (i == 0 || exchange_s <= longest_exchange_s) { /* all ranks agree on the time */
            GW_TRY(measure_compressors(measuring, collectives[which].name, error));
            GW_TRY(agree_on_time(measuring, &goes_on, error));
        }
    }
    return GW_OK;
}

/* ---- beside a backward pass ---------------------------------------------------------------- */

struct overlap_passes {
    const struct gw_calibration *calibration;
    struct gw_pass told;
    double took_s;    /* of one pass, on the slowest rank */
    size_t gradients; /* of one pass, on the rank that reports the fewest; 0: it reports none */
    double time_s;    /* for all collectives */
};

static enum gw_status run_pass(void *context, struct gw_error *error) {
    struct overlap_passes *passes = context;
    const struct gw_calibration *calibration = passes->calibration;
    return calibration->backward(calibration->backward_context, &passes->told, error);
}

/* The first pass warms up. */
static enum gw_status time_pass(struct overlap_passes *passes, struct gw_communicator *world,
                                struct gw_error *error) {
    for (int i = 0; i < 2; i++) {
        size_t before = passes->told.gradients;
        double started_s = gw_clock_now_s();
        GW_TRY(run_pass(passes, error));
        passes->took_s = gw_clock_now_s() - started_s;
        passes->gradients = passes->told.gradients - before;
    }
    double agreed[] = {passes->took_s, -(double)passes->gradients};
    GW_TRY(gw_agree_maximum(world, agreed, 2, error));
    passes->took_s = agreed[0];
    passes->gradients = (size_t)-agreed[1];
    return GW_OK;
}

/* An exchange that is measured beside passes: its bytes, and how many of it are beside one. */
struct overlap_size {
    size_t bytes, besides;
};

/* The number of exchanges of this time beside a pass, if it reports its gradients. */
static size_t count_besides(const struct overlap_passes *passes, double exchange_s) {
    double wanted = fmax(MIN_BESIDES_A_PASS, share_of_pass * passes->took_s / exchange_s);
    return (size_t)fmax(1, fmin(wanted, (double)passes->gradients));
}

/* Finds the sizes to measure, the largest first; returns how many. All ranks agree on the times. */
static enum gw_status find_sizes(struct overlap_measuring *measuring,
                                 const struct overlap_passes *passes, size_t which,
                                 struct overlap_size *out, size_t *count, struct gw_error *error) {
    double longest_s = fmax(longest_beside_pass_s, passes->took_s / 2);
    *count = 0;
    for (size_t i = measuring->sizes; i-- > 0;) {
        double exchange_s = 0;
        GW_TRY(set_exchange(measuring, which, message_bytes[i], &exchange_s, error));
        size_t besides = count_besides(passes, exchange_s);
        double beside_s = (double)besides * exchange_s;
        bool is_seen = passes->gradients == 0 || beside_s >= least_share_of_pass * passes->took_s;
        if (i == 0 ? *count == 0 || is_seen : is_seen && exchange_s <= longest_s) {
            out[(*count)++] = (struct overlap_size){message_bytes[i], besides};
        }
    }
    return GW_OK;
}

/*
 * Exchanges wait for a pass's gradients, as those of a training do: a thread that a timer wakes
 * takes more of a processor than one that the pass itself wakes. Rounds fill the time: those of a
 * few passes of 3 ms gave factors from 0.2 to 2.4.
 */
static enum gw_status measure_beside_pass(struct overlap_measuring *measuring,
                                          struct overlap_passes *passes, size_t which,
                                          struct gw_error *error) {
    const char *collective = collectives[which].name;
    struct overlap_size sizes[GPU_SIZES];
    size_t count = 0;
    double share_s = passes->time_s / COLLECTIVES;
    double apart_s = passes->took_s / (double)passes->gradients;
    bool goes_on = true;
    measuring->end_s = gw_clock_now_s() + share_s;
    GW_TRY(find_sizes(measuring, passes, which, sizes, &count, error));
    for (size_t i = 0; i < count && goes_on; i++) {
        double longest_s = share_s / (double)count;
        double fair_s = longest_s / (double)(BLOCKS_OF_A_ROUND * rounds);
        struct gw_overlap_subject pass = {
            .compute = run_pass,
            .compute_context = passes,
            .rest_s = passes->gradients > 0 ? fmax(min_apart_s, apart_s) : usually_apart_s,
            .pass = passes->gradients > 0 ? &passes->told : NULL,
            .apart = gw_greater(passes->gradients / sizes[i].besides, 1),
            .block_s = fmax(fmax(longest_block_s, fair_s), passes->took_s),
            .longest_s = longest_s};
        double share = (double)(which * count + i) / (double)(COLLECTIVES * count);
        gw_report_progress(&measuring->report, share, "overlap with a backward pass");
        measuring->exchanges.bytes = sizes[i].bytes;
        GW_TRY(find_exchange_time(measuring, collective, &pass.alone_s, error));
        GW_TRY(measure_named(measuring, &pass, collective, GW_OVERLAP_BACKWARD, error));
        GW_TRY(agree_on_time(measuring, &goes_on, error));
    }
    return GW_OK;
}

static enum gw_status measure_passes(struct overlap_measuring *measuring,
                                     struct overlap_passes *passes, struct gw_error *error) {
    GW_TRY(time_pass(passes, measuring->exchanges.world, error));
    GW_TRY(gw_json_put_number(measuring->overlap->kept, "backward_s", passes->took_s, error));
    for (size_t i = 0; i < COLLECTIVES; i++) {
        GW_TRY(measure_beside_pass(measuring, passes, i, error));
    }
    return GW_OK;
}

/* ---- a session ------------------------------------------------------------------------------- */

/* Finds a kernel in the cluster's costs, or in those of the older one; or NULL. */
static const struct gw_kernel_cost *find_kernel(const struct gw_kernel_costs *measured,
                                                const struct gw_kernel_costs *older,
                                                const char *name) {
    const struct gw_kernel_cost *cost = gw_kernel_cost_find(measured, name);
    return cost != NULL || older == NULL ? cost : gw_kernel_cost_find(older, name);
}

/* The time of the parts of the trainer's session, as predictions count them: selecting, an
 * allgather and adding all selections. On rank 0, which has the curves. */
static enum gw_status find_parts(struct overlap_measuring *measuring, double *out,
                                 struct gw_error *error) {
    const struct gw_calibration *calibration = measuring->calibration;
    const struct gw_cluster *cluster = measuring->cluster;
    const struct gw_cluster *older = calibration->older;
    uint64_t elements = calibration->session_elements;
    uint64_t kept = gw_elements_kept(elements, calibration->density);
    measuring->exchanges.bytes = kept * GW_ENTRY_BYTES;
    GW_TRY(find_exchange_time(measuring, "allgather", out, error));
    if (measuring->exchanges.world->rank > 0) {
        return GW_OK;
    }
    const struct gw_compressor *topk = &gw_compressor_topk;
    const struct gw_kernel_cost *selects =
        find_kernel(&cluster->compressors, older == NULL ? NULL : &older->compressors, topk->name);
    const struct gw_kernel_cost *adds =
        find_kernel(&cluster->aggregation, older == NULL ? NULL : &older->aggregation,
                    gw_aggregator_names[GW_SCATTER_ADD]);
    if (selects != NULL) {
        *out += gw_compressor_s(topk, selects, (double)elements, calibration->density);
    }
    if (adds != NULL) {
        double entries = (double)kept * measuring->exchanges.world->size;
        *out += gw_scatter_s(gw_curve_time(&adds->curve, entries),
                             gw_curve_time(&adds->denser, entries),
                             gw_scatter_share(adds->densities, calibration->density));
    }
    return GW_OK;
}

/* ---- all combinations ---------------------------------------------------------------------- */

static enum gw_status measure_all(struct overlap_measuring *measuring, struct gw_error *error) {
    struct gw_overlap *overlap = measuring->overlap;
    overlap->workers = (size_t)measuring->exchanges.world->size;
    overlap->kept = cJSON_CreateObject();
    if (overlap->kept == NULL) {
        return gw_fail_memory(error, "measuring overlap");
    }
    GW_TRY(gw_json_put_number(overlap->kept, "elements", (double)measuring->load.elements, error));
    for (size_t i = 0; i < COLLECTIVES; i++) {
        GW_TRY(measure_beside_compressors(measuring, i, error));
    }
    measuring->report.offset += measuring->report.scale;
    measuring->report.scale *= backward_share / (1 - backward_share);
    if (measuring->calibration->backward == NULL) {
        return GW_OK;
    }
    double parts_s = 0;
    GW_TRY(find_parts(measuring, &parts_s, error));
    overlap->session_s = fmax(0, measuring->calibration->session_s - parts_s);
    struct overlap_passes passes = {.calibration = measuring->calibration,
                                    .time_s = measuring->calibration->time_s - measuring->time_s};
    gw_pass_open(&passes.told);
    enum gw_status status = measure_passes(measuring, &passes, error);
    gw_pass_close(&passes.told);
    return status;
}

static enum gw_status open_measuring(struct overlap_measuring *measuring,
                                     struct gw_communicator *communicator, struct gw_error *error) {
    const struct gw_calibration *calibration = measuring->calibration;
    size_t most = calibration->device == NULL ? SIZES : GPU_SIZES;
    measuring->sizes = 1;
    while (measuring->sizes < most && message_bytes[measuring->sizes] <= calibration->max_bytes) {
        measuring->sizes++;
    }
    GW_TRY(gw_overlap_load_open(&measuring->load, calibration, communicator->rank, error));
    struct overlap_exchanges *exchanges = &measuring->exchanges;
    struct gw_communicator *gpus = calibration->gpu_communicator;
    size_t largest = message_bytes[measuring->sizes - 1];
    size_t gathered = largest * (size_t)communicator->size;
    exchanges->communicator = gpus != NULL ? gpus : communicator;
    exchanges->world = communicator;
    GW_TRY(gw_pool_open(gw_greater(largest, GW_OVERLAP_MIN_POOL), calibration->device,
                        &exchanges->send, error));
    GW_TRY(gw_pool_open(gw_greater(gathered, GW_OVERLAP_MIN_POOL), calibration->device,
                        &exchanges->receive, error));
    return gw_pool_fill(&exchanges->send, GW_OVERLAP_MIN_POOL, communicator->rank, error);
}

enum gw_status gw_calibrate_overlap(struct gw_communicator *communicator,
                                    const struct gw_calibration *calibration,
                                    const struct gw_report *report, struct gw_cluster *cluster,
                                    struct gw_error *error) {
    struct gw_overlap *overlap = calloc(1, sizeof *overlap);
    if (overlap == NULL) {
        return gw_fail_memory(error, "measuring overlap");
    }
    double share = calibration->backward == NULL ? 1 : 1 - backward_share;
    struct overlap_measuring measuring = {.calibration = calibration,
                                          .report = *report,
                                          .time_s = share * calibration->time_s,
                                          .overlap = overlap,
                                          .cluster = cluster};
    measuring.report.scale *= share;
    enum gw_status status = open_measuring(&measuring, communicator, error);
    if (status == GW_OK) {
        status = measure_all(&measuring, error);
    }
    gw_overlap_load_close(&measuring.load);
    gw_pool_close(&measuring.exchanges.send);
    gw_pool_close(&measuring.exchanges.receive);
    if (status != GW_OK) {
        gw_overlap_free(overlap);
        return status;
    }
    gw_cluster_set_overlap(cluster, overlap);
    return GW_OK;
}
