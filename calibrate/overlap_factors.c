/*
 * What compression and collectives do to each other when a rank's two threads run both: overlap
 * factors of the cluster.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/overlap_pair.h"
#include "calibrate/pool.h"
#include "calibrate/subjects.h"

/*
 * Compressors stand for others: exact top-k, which most pipelines use and which goes over its
 * gradient several times, and a threshold, which streams through memory once. A group of 2^18
 * elements is of middling size in ResNet-50's plans, and compressed in less than a millisecond.
 */
static const char *const compressors[] = {"topk", "hard-threshold"};
enum { COMPRESSORS = sizeof compressors / sizeof *compressors };
static const size_t group_elements = 1 << 18;
static const size_t pool_bytes = 8 << 20; /* more than caches near a core hold */

/*
 * Small messages are mostly waiting for the other side, which a thread that computes on the same
 * core makes longer by whole time slices; large ones are copying and summing.
 */
static const size_t message_bytes[] = {1 << 10, 1 << 15, 1 << 20};
enum { SIZES = sizeof message_bytes / sizeof *message_bytes };
static const double longest_exchange_s = 0.01; /* larger messages than that are left out */

enum { MOST_PAIRS = 2 * (SIZES * COMPRESSORS + 1) }; /* of two collectives; one pair waits */
static const double longest_block_s = 0.006;
static const size_t rounds = 5;
static const double longest_pair_s = 0.25; /* of all rounds of a size */
static const double waiting_s = 0.001;

/* ---- compute ------------------------------------------------------------------------------- */

/* What a compute thread does: compress one group after the other. */
struct load {
    const struct gw_compressor *compressor;
    struct gw_pool gradient, residual;
    struct gw_task task;
    struct gw_workspace workspace;
    struct gw_selection selection;
};

/* What a residual would keep is cleared, or a threshold would select more each time. */
static enum gw_status compress(void *context, struct gw_error *error) {
    struct load *load = context;
    struct gw_task *task = &load->task;
    task->gradient = gw_pool_next(&load->gradient, group_elements * sizeof(float));
    task->u = gw_pool_next(&load->residual, group_elements * sizeof(float));
    GW_TRY(gw_compress(load->compressor, task, &load->selection, error));
    memset(task->u, 0, group_elements * sizeof *task->u);
    return GW_OK;
}

/* As exec waits for its emulated accelerator: late once, the next one is the shorter for it. */
static enum gw_status wait(void *context, struct gw_error *error) {
    (void)error;
    double *deadline_s = context;
    *deadline_s = fmax(*deadline_s, gw_clock_now_s() - waiting_s) + waiting_s;
    gw_clock_sleep_until_s(*deadline_s);
    return GW_OK;
}

/* ---- communication ------------------------------------------------------------------------- */

/* What a communication thread does: one exchange after the other, until rank 0 ends them. */
struct stream {
    struct gw_communicator *communicator;
    bool reduces; /* allreduce; otherwise allgather */
    struct gw_pool send, receive;
    size_t bytes; /* of one worker */
};

/* The first number that rank 0 sends says whether this is the last; the others send 0 there. */
static enum gw_status run_exchange(void *context, bool last, bool *was_last,
                                   struct gw_error *error) {
    struct stream *stream = context;
    struct gw_communicator *communicator = stream->communicator;
    size_t gathered = stream->bytes * (stream->reduces ? 1 : (size_t)communicator->size);
    float *send = gw_pool_next(&stream->send, stream->bytes);
    float *receive = gw_pool_next(&stream->receive, gathered);
    send[0] = communicator->rank == 0 && last ? 1 : 0;
    GW_TRY(stream->reduces ? communicator->transport->allreduce(
                                 communicator, send, receive, stream->bytes / sizeof(float), error)
                           : communicator->transport->allgather(communicator, send, stream->bytes,
                                                                receive, error));
    *was_last = receive[0] > 0;
    return GW_OK;
}

static const struct {
    const char *name;
    bool reduces;
} streams[] = {{"allgather", false}, {"allreduce", true}};
enum { STREAMS = sizeof streams / sizeof *streams };

/* The second of two, so that connections stand; of the slowest rank. */
static enum gw_status time_exchange(struct stream *stream, double *seconds,
                                    struct gw_error *error) {
    bool was_last = false;
    GW_TRY(run_exchange(stream, false, &was_last, error));
    double started_s = gw_clock_now_s();
    GW_TRY(run_exchange(stream, false, &was_last, error));
    *seconds = gw_clock_now_s() - started_s;
    return gw_agree_maximum(stream->communicator, seconds, 1, error);
}

/* ---- measuring ----------------------------------------------------------------------------- */

struct measuring {
    const struct gw_calibration *calibration;
    struct gw_report report;
    struct load load;
    struct stream stream;
    double deadline_s; /* of waiting */
    double end_s;      /* when no other pair of the collective is begun */
    struct gw_overlap *overlap;
};

static enum gw_status measure(struct measuring *measuring, bool waits, struct gw_overlap_point *out,
                              struct gw_error *error) {
    struct gw_overlap_subject subject = {
        .compute = waits ? wait : compress,
        .compute_context = waits ? (void *)&measuring->deadline_s : &measuring->load,
        .communicate = run_exchange,
        .communicate_context = &measuring->stream,
        .block_s = fmin(longest_block_s, measuring->calibration->max_s_per_point / 4),
        .rounds = rounds,
        .longest_s = fmin(longest_pair_s, measuring->calibration->time_s / MOST_PAIRS)};
    out->bytes = (double)measuring->stream.bytes;
    return gw_measure_overlap(measuring->stream.communicator, &subject, out, error);
}

/*
 * Where ranks that compute leave no core to those that communicate, an exchange of microseconds
 * takes tenths of a second, and the pairs that come first must do for the others. All ranks come to
 * the same answer.
 */
static enum gw_status has_time(const struct measuring *measuring, bool *answer,
                               struct gw_error *error) {
    double late_s = gw_clock_now_s() - measuring->end_s;
    GW_TRY(gw_agree_maximum(measuring->stream.communicator, &late_s, 1, error));
    *answer = late_s < 0;
    return GW_OK;
}

static enum gw_status measure_compressors(struct measuring *measuring, const char *collective,
                                          struct gw_error *error) {
    bool goes_on = true;
    for (size_t i = 0; i < COMPRESSORS && goes_on; i++) {
        struct gw_overlap_point point;
        measuring->load.compressor = gw_compressor_find(compressors[i]);
        GW_TRY(measure(measuring, false, &point, error));
        GW_TRY(gw_overlap_add(measuring->overlap, collective, compressors[i], point, error));
        GW_TRY(has_time(measuring, &goes_on, error));
    }
    return GW_OK;
}

static enum gw_status put_factor(cJSON *object, const char *key,
                                 const struct gw_overlap_factor *factor, struct gw_error *error) {
    cJSON *entry = cJSON_CreateObject();
    GW_TRY(gw_json_put(object, key, entry, error));
    GW_TRY(gw_json_put_number(entry, "factor", factor->factor, error));
    GW_TRY(gw_json_put_number(entry, "low", factor->low, error));
    return gw_json_put_number(entry, "high", factor->high, error);
}

/*
 * A thread that waits slows nothing and is not slowed: what is measured of it says how far the
 * other factors can be believed. It is written down beside them and not used.
 */
static enum gw_status measure_waiting(struct measuring *measuring, const char *collective,
                                      struct gw_error *error) {
    struct gw_overlap_point point;
    GW_TRY(measure(measuring, true, &point, error));
    cJSON *waiting = cJSON_GetObjectItemCaseSensitive(measuring->overlap->kept, "waiting");
    cJSON *object = cJSON_CreateObject();
    GW_TRY(gw_json_put(waiting, collective, object, error));
    GW_TRY(gw_json_put_number(object, "bytes", point.bytes, error));
    GW_TRY(put_factor(object, "compute", &point.compute, error));
    return put_factor(object, "communication", &point.communication, error);
}

static enum gw_status measure_collective(struct measuring *measuring, size_t which,
                                         struct gw_error *error) {
    const char *collective = streams[which].name;
    bool goes_on = true;
    measuring->stream.reduces = streams[which].reduces;
    measuring->end_s = gw_clock_now_s() + measuring->calibration->time_s / STREAMS;
    for (size_t i = 0; i < SIZES && goes_on; i++) {
        double exchange_s = 0;
        double share = (double)(which * SIZES + i) / (STREAMS * SIZES);
        measuring->report.tell(measuring->report.context,
                               measuring->report.offset + measuring->report.scale * share,
                               "overlap");
        measuring->stream.bytes = message_bytes[i];
        GW_TRY(time_exchange(&measuring->stream, &exchange_s, error));
        if (i > 0 && (exchange_s > longest_exchange_s ||
                      message_bytes[i] > measuring->calibration->max_bytes)) {
            break;
        }
        GW_TRY(measure_compressors(measuring, collective, error));
        if (i == 0) {
            GW_TRY(measure_waiting(measuring, collective, error));
        }
        GW_TRY(has_time(measuring, &goes_on, error));
    }
    return GW_OK;
}

static enum gw_status measure_all(struct measuring *measuring, struct gw_error *error) {
    struct gw_communicator *communicator = measuring->stream.communicator;
    struct gw_overlap *overlap = measuring->overlap;
    overlap->workers = (size_t)communicator->size;
    overlap->kept = cJSON_CreateObject();
    if (overlap->kept == NULL) {
        return gw_fail_memory(error, "measuring overlap");
    }
    GW_TRY(gw_json_put_number(overlap->kept, "elements", (double)group_elements, error));
    GW_TRY(gw_json_put(overlap->kept, "waiting", cJSON_CreateObject(), error));
    for (size_t i = 0; i < STREAMS; i++) {
        GW_TRY(measure_collective(measuring, i, error));
    }
    return GW_OK;
}

/* ---- the subject --------------------------------------------------------------------------- */

static enum gw_status open_measuring(struct measuring *measuring, struct gw_error *error) {
    struct load *load = &measuring->load;
    struct stream *stream = &measuring->stream;
    int rank = stream->communicator->rank;
    size_t largest = message_bytes[SIZES - 1] * (size_t)stream->communicator->size;
    load->task = gw_pool_task(group_elements, measuring->calibration->density, &load->workspace);
    GW_TRY(gw_pool_open(pool_bytes, NULL, &load->gradient, error));
    GW_TRY(gw_pool_open(pool_bytes, NULL, &load->residual, error));
    GW_TRY(gw_pool_open(pool_bytes, NULL, &stream->send, error));
    GW_TRY(
        gw_pool_open(largest > pool_bytes ? largest : pool_bytes, NULL, &stream->receive, error));
    GW_TRY(gw_pool_fill(&load->gradient, pool_bytes, rank, error));
    return gw_pool_fill(&stream->send, pool_bytes, rank, error);
}

static void close_measuring(struct measuring *measuring) {
    gw_pool_close(&measuring->load.gradient);
    gw_pool_close(&measuring->load.residual);
    gw_pool_close(&measuring->stream.send);
    gw_pool_close(&measuring->stream.receive);
    gw_selection_free(&measuring->load.selection);
    gw_workspace_free(&measuring->load.workspace);
}

enum gw_status gw_calibrate_overlap(struct gw_communicator *communicator,
                                    const struct gw_calibration *calibration,
                                    const struct gw_report *report, struct gw_cluster *cluster,
                                    struct gw_error *error) {
    struct gw_overlap *overlap = calloc(1, sizeof *overlap);
    if (overlap == NULL) {
        return gw_fail_memory(error, "measuring overlap");
    }
    struct measuring measuring = {.calibration = calibration,
                                  .report = *report,
                                  .stream = {.communicator = communicator},
                                  .overlap = overlap};
    enum gw_status status = open_measuring(&measuring, error);
    if (status == GW_OK) {
        status = measure_all(&measuring, error);
    }
    close_measuring(&measuring);
    if (status != GW_OK) {
        gw_overlap_free(overlap);
        return status;
    }
    gw_cluster_set_overlap(cluster, overlap);
    return GW_OK;
}
