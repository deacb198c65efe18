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

/* The work of a communication thread: one collective after the other, of memory of the host or of
 * GPUs. */
struct overlap_exchanges {
    struct gw_communicator *communicator; /* of the collectives ... */
    struct gw_communicator *world;        /* ... and of agreements on the host */
    struct gw_pool send, receive;
    bool reduces;  /* allreduce; otherwise allgather */
    size_t bytes;  /* of one worker */
    size_t series; /* between GPUs: exchanges until rank 0 may end them */
};

static enum gw_status open_exchanges(struct overlap_exchanges *out, struct gw_communicator *world,
                                     const struct gw_calibration *calibration, size_t largest_bytes,
                                     struct gw_error *error) {
    struct gw_communicator *gpus = calibration->gpu_communicator;
    size_t gathered = largest_bytes * (size_t)world->size;
    *out = (struct overlap_exchanges){.communicator = gpus != NULL ? gpus : world, .world = world};
    GW_TRY(gw_pool_open(gw_greater(largest_bytes, GW_OVERLAP_MIN_POOL), calibration->device,
                        &out->send, error));
    GW_TRY(gw_pool_open(gw_greater(gathered, GW_OVERLAP_MIN_POOL), calibration->device,
                        &out->receive, error));
    return gw_pool_fill(&out->send, GW_OVERLAP_MIN_POOL, world->rank, error);
}

static void close_exchanges(struct overlap_exchanges *exchanges) {
    gw_pool_close(&exchanges->send);
    gw_pool_close(&exchanges->receive);
}

static enum gw_status exchange(struct overlap_exchanges *exchanges, float *send, float *receive,
                               struct gw_error *error) {
    struct gw_communicator *communicator = exchanges->communicator;
    return exchanges->reduces
               ? gw_allreduce(communicator, send, receive, exchanges->bytes / sizeof(float), error)
               : gw_allgather(communicator, send, exchanges->bytes, receive, error);
}

static float *next_send(struct overlap_exchanges *exchanges) {
    return gw_pool_next(&exchanges->send, exchanges->bytes);
}

static float *next_receive(struct overlap_exchanges *exchanges) {
    size_t senders = exchanges->reduces ? 1 : (size_t)exchanges->world->size;
    return gw_pool_next(&exchanges->receive, exchanges->bytes * senders);
}

static enum gw_status exchange_next(struct overlap_exchanges *exchanges, struct gw_error *error) {
    return exchange(exchanges, next_send(exchanges), next_receive(exchanges), error);
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

/* Rank 0 sends whether this is the last as the first number; the others send 0 there. */
static enum gw_status run_exchange(struct overlap_exchanges *exchanges, bool last, bool *was_last,
                                   struct gw_error *error) {
    float *send = next_send(exchanges);
    float *receive = next_receive(exchanges);
    send[0] = exchanges->world->rank == 0 && last ? 1 : 0;
    GW_TRY(exchange(exchanges, send, receive, error));
    *was_last = receive[0] > 0;
    return GW_OK;
}

/* Runs several exchanges between GPUs, whose data the host cannot see without a copy; rank 0 says
 * on the host whether they were the last. */
static enum gw_status run_exchange_series(struct overlap_exchanges *exchanges, bool last,
                                          bool *was_last, struct gw_error *error) {
    struct gw_communicator *world = exchanges->world;
    unsigned char flag = last;
    for (size_t i = 0; i < exchanges->series; i++) {
        GW_TRY(exchange_next(exchanges, error));
    }
    GW_TRY(gw_broadcast(world, 0, &flag, 1, error));
    *was_last = flag;
    return GW_OK;
}

static enum gw_status run_exchanges(void *context, bool last, bool *was_last,
                                    struct gw_error *error) {
    struct overlap_exchanges *exchanges = context;
    return exchanges->communicator == exchanges->world
               ? run_exchange(exchanges, last, was_last, error)
               : run_exchange_series(exchanges, last, was_last, error);
}

/* ---- probes -------------------------------------------------------------------------------- */

/* Two compressors represent the others: exact top-k, which most pipelines use and which reads its
 * gradient several times, and a threshold, which streams through memory once. */
static const struct gw_compressor *const compressors[] = {&gw_compressor_topk,
                                                          &gw_compressor_hard_threshold};
enum { COMPRESSORS = sizeof compressors / sizeof *compressors };

static const struct {
    const char *name;
    bool reduces;
} collectives[] = {{"allgather", false}, {"allreduce", true}};
enum { COLLECTIVES = sizeof collectives / sizeof *collectives };

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
static const double longest_pair_s = 0.25; /* of all rounds of a size */
static const double waiting_s = 0.001;

/*
 * Waits as exec does for its emulated accelerator: after a late wake-up, the next wait is shorter.
 */
static enum gw_status wait_once(void *context, struct gw_error *error) {
    (void)error;
    double *deadline_s = context;
    *deadline_s = fmax(*deadline_s, gw_clock_now_s() - waiting_s) + waiting_s;
    gw_clock_sleep_until_s(*deadline_s);
    return GW_OK;
}

/*
 * The share of the time for a backward pass, which takes tenths of a second and is measured longer.
 */
static const double backward_share = 0.8;

/*
 * The usual distance of gradients in a pass, used for passes that report none; and the least one.
 */
static const double usually_apart_s = 1e-3, min_apart_s = 5e-5;

/*
 * The maximum number of exchanges, so that each finds its data as cold as one of a plan's groups.
 */
enum { MAX_BESIDES_A_PASS = 4 };

struct overlap_measuring {
    const struct gw_calibration *calibration;
    struct gw_report report;
    struct gw_overlap_load load;
    struct overlap_exchanges exchanges;
    size_t sizes;      /* of messages */
    double time_s;     /* for compressors and waiting */
    double deadline_s; /* of waiting */
    double end_s;      /* after which no other pair of the collective begins */
    struct gw_overlap *overlap;
    const struct gw_cluster *cluster; /* with curves, on rank 0 */
};

/* The work of the compute thread. */
struct work {
    gw_action *run;
    double (*took_s)(void *context); /* NULL: from call to return */
    void *context;
    double rest_s;             /* of the communication thread, before each exchange ... */
    struct gw_pass *pass;      /* ... unless it waits for the pass's gradients; or NULL */
    size_t apart;              /* number of gradients before each exchange */
    double alone_s;            /* time of an exchange, by the cluster's curve; 0: to be measured */
    double block_s, longest_s; /* as of rounds */
};

static enum gw_status measure_factors(struct overlap_measuring *measuring, const struct work *work,
                                      struct gw_overlap_point *out, bool *known,
                                      struct gw_error *error) {
    struct gw_overlap_subject subject = {.compute = work->run,
                                         .took_s = work->took_s,
                                         .compute_context = work->context,
                                         .communicate = run_exchanges,
                                         .communicate_context = &measuring->exchanges,
                                         .rest_s = work->rest_s,
                                         .pass = work->pass,
                                         .apart = work->apart,
                                         .alone_s = work->alone_s,
                                         .block_s = work->block_s,
                                         .rounds = rounds,
                                         .longest_s = work->longest_s};
    out->bytes = (double)measuring->exchanges.bytes;
    return gw_measure_overlap(measuring->exchanges.world, &subject, out, known, error);
}

/* Measures factors of work that has a name, and adds them. */
static enum gw_status measure_named(struct overlap_measuring *measuring, const struct work *work,
                                    const char *collective, const char *name,
                                    struct gw_error *error) {
    struct gw_overlap_point point;
    bool known = false;
    GW_TRY(measure_factors(measuring, work, &point, &known, error));
    return known ? gw_overlap_add(measuring->overlap, collective, name, point, error) : GW_OK;
}

/* Work that takes milliseconds. */
static struct work short_work(const struct overlap_measuring *measuring, gw_action *run,
                              void *context) {
    size_t pairs = COLLECTIVES * (measuring->sizes * COMPRESSORS + 1); /* one of them waits */
    return (struct work){.run = run,
                         .context = context,
                         .block_s =
                             fmin(longest_block_s, measuring->calibration->max_s_per_point / 4),
                         .longest_s = fmin(longest_pair_s, measuring->time_s / (double)pairs)};
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
    bool goes_on = true;
    struct work work = short_work(measuring, gw_overlap_load_run, &measuring->load);
    work.took_s = measuring->load.device == NULL ? NULL : gw_overlap_load_took_s;
    for (size_t i = 0; i < COMPRESSORS && goes_on; i++) {
        gw_overlap_load_choose(&measuring->load, compressors[i]);
        GW_TRY(measure_named(measuring, &work, collective, compressors[i]->name, error));
        GW_TRY(agree_on_time(measuring, &goes_on, error));
    }
    return GW_OK;
}

static void write_factor(struct gw_json_writer *writer, const char *key,
                         const struct gw_overlap_factor *factor) {
    gw_writer_object(writer, key);
    gw_writer_number(writer, "factor", factor->factor);
    gw_writer_number(writer, "low", factor->low);
    gw_writer_number(writer, "high", factor->high);
    gw_writer_end(writer);
}

/* A waiting thread slows nothing and is not slowed: its measured factors show the error of the
 * others. They are recorded beside them and not used. */
static enum gw_status measure_waiting(struct overlap_measuring *measuring, const char *collective,
                                      struct gw_error *error) {
    const struct work work = short_work(measuring, wait_once, &measuring->deadline_s);
    struct gw_overlap_point point;
    bool known = false;
    GW_TRY(measure_factors(measuring, &work, &point, &known, error));
    if (!known) {
        return GW_OK;
    }
    struct gw_json_writer writer;
    cJSON *factors = NULL;
    gw_writer_begin(&writer);
    gw_writer_number(&writer, "bytes", point.bytes);
    write_factor(&writer, "compute", &point.compute);
    write_factor(&writer, "communication", &point.communication);
    GW_TRY(gw_writer_finish(&writer, &factors, error));
    return gw_json_put(cJSON_GetObjectItemCaseSensitive(measuring->overlap->kept, "waiting"),
                       collective, factors, error);
}

/* Sets *in_time if an exchange of this size takes at most longest_s, agreed by all ranks. */
static enum gw_status choose_size(struct overlap_measuring *measuring, size_t size,
                                  double longest_s, bool *in_time, struct gw_error *error) {
    double exchange_s = 0;
    measuring->exchanges.bytes = message_bytes[size];
    GW_TRY(time_exchange(&measuring->exchanges, &exchange_s, error));
    *in_time = exchange_s <= longest_s;
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

static enum gw_status measure_beside_pass(struct overlap_measuring *measuring,
                                          const struct work *backward, const char *collective,
                                          struct gw_error *error) {
    struct work work = *backward;
    GW_TRY(find_exchange_time(measuring, collective, &work.alone_s, error));
    return measure_named(measuring, &work, collective, GW_OVERLAP_BACKWARD, error);
}

/*
 * Measures a collective besides a backward pass or, NULL, besides compressors and waiting. Besides
 * a backward pass the largest size is second: if the time ends early, sizes in between are bounded
 * from both sides.
 */
static enum gw_status measure_collective(struct overlap_measuring *measuring, size_t which,
                                         const struct work *backward, double time_s,
                                         struct gw_error *error) {
    const struct gw_report *report = &measuring->report;
    const char *collective = collectives[which].name;
    double pass_s = backward == NULL ? 0 : backward->block_s;
    bool goes_on = true;
    bool in_time = true;
    measuring->exchanges.reduces = collectives[which].reduces;
    measuring->end_s = gw_clock_now_s() + time_s / COLLECTIVES;
    for (size_t i = 0; i < measuring->sizes && goes_on; i++) {
        double share =
            (double)(which * measuring->sizes + i) / (double)(COLLECTIVES * measuring->sizes);
        report->on_progress(report->context, report->offset + report->scale * share,
                            backward == NULL ? "overlap" : "overlap with a backward pass");
        size_t size = backward == NULL || i == 0 ? i : measuring->sizes - i;
        GW_TRY(choose_size(measuring, size,
                           backward == NULL ? longest_exchange_s
                                            : fmax(longest_beside_pass_s, pass_s / 2),
                           &in_time, error));
        if (i > 0 && !in_time) {
            continue;
        }
        GW_TRY(backward == NULL ? measure_compressors(measuring, collective, error)
                                : measure_beside_pass(measuring, backward, collective, error));
        if (i == 0 && backward == NULL) {
            GW_TRY(measure_waiting(measuring, collective, error));
        }
        GW_TRY(agree_on_time(measuring, &goes_on, error));
    }
    return GW_OK;
}

struct overlap_passes {
    const struct gw_calibration *calibration;
    struct gw_pass told;
    double took_s;    /* of one pass, on the slowest rank */
    size_t gradients; /* of one pass, on the rank that reports the fewest */
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

/* Exchanges wait for a pass's gradients, as those of a training do: a thread that a timer wakes
 * takes more of a processor than one that the pass itself wakes. */
static enum gw_status measure_passes(struct overlap_measuring *measuring,
                                     struct overlap_passes *passes, double time_s,
                                     struct gw_error *error) {
    GW_TRY(time_pass(passes, measuring->exchanges.world, error));
    GW_TRY(gw_json_put_number(measuring->overlap->kept, "backward_s", passes->took_s, error));
    double apart_s = passes->took_s / (double)passes->gradients;
    const struct work work = {.run = run_pass,
                              .context = passes,
                              .rest_s = passes->gradients > 0 ? fmax(min_apart_s, apart_s)
                                                              : usually_apart_s,
                              .pass = passes->gradients > 0 ? &passes->told : NULL,
                              .apart = gw_greater(passes->gradients / MAX_BESIDES_A_PASS, 1),
                              .block_s = fmax(longest_block_s, passes->took_s),
                              .longest_s = time_s / (double)(COLLECTIVES * measuring->sizes)};
    for (size_t i = 0; i < COLLECTIVES; i++) {
        GW_TRY(measure_collective(measuring, i, &work, time_s, error));
    }
    return GW_OK;
}

static enum gw_status measure_backward(struct overlap_measuring *measuring, double time_s,
                                       struct gw_error *error) {
    struct overlap_passes passes = {.calibration = measuring->calibration};
    gw_pass_open(&passes.told);
    enum gw_status status = measure_passes(measuring, &passes, time_s, error);
    gw_pass_close(&passes.told);
    return status;
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
        *out += gw_scatter_s(adds, entries, gw_scatter_share(adds, calibration->density));
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
    GW_TRY(gw_json_put(overlap->kept, "waiting", cJSON_CreateObject(), error));
    for (size_t i = 0; i < COLLECTIVES; i++) {
        GW_TRY(measure_collective(measuring, i, NULL, measuring->time_s, error));
    }
    measuring->report.offset += measuring->report.scale;
    measuring->report.scale *= backward_share / (1 - backward_share);
    if (measuring->calibration->backward == NULL) {
        return GW_OK;
    }
    double parts_s = 0;
    GW_TRY(find_parts(measuring, &parts_s, error));
    overlap->session_s = fmax(0, measuring->calibration->session_s - parts_s);
    return measure_backward(measuring, measuring->calibration->time_s - measuring->time_s, error);
}

static size_t count_sizes(const struct gw_calibration *calibration) {
    size_t most = calibration->device == NULL ? SIZES : GPU_SIZES;
    size_t count = 1;
    while (count < most && message_bytes[count] <= calibration->max_bytes) {
        count++;
    }
    return count;
}

static enum gw_status open_measuring(struct overlap_measuring *measuring,
                                     struct gw_communicator *communicator, struct gw_error *error) {
    const struct gw_calibration *calibration = measuring->calibration;
    measuring->sizes = count_sizes(calibration);
    GW_TRY(gw_overlap_load_open(&measuring->load, calibration, communicator->rank, error));
    return open_exchanges(&measuring->exchanges, communicator, calibration,
                          message_bytes[measuring->sizes - 1], error);
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
    close_exchanges(&measuring.exchanges);
    if (status != GW_OK) {
        gw_overlap_free(overlap);
        return status;
    }
    gw_cluster_set_overlap(cluster, overlap);
    return GW_OK;
}
