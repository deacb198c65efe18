/*
 * What compression and collectives do to each other when a rank's two threads run both: overlap
 * factors of the cluster.
 */
#include <math.h>
#include <stdlib.h>

#include "calibrate/measure/overlap_exchanges.h"
#include "calibrate/measure/overlap_load.h"
#include "calibrate/measure/overlap_pair.h"
#include "calibrate/measure/subjects.h"

/*
 * Compressors stand for others: exact top-k, which most pipelines use and which goes over its
 * gradient several times, and a threshold, which streams through memory once.
 */
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
 * core makes longer by whole time slices; large ones are copying and summing. Between GPUs 1 MiB
 * is waiting yet.
 */
static const size_t message_bytes[] = {1 << 10, 1 << 15, 1 << 20, 1 << 24};
enum { SIZES = 3, GPU_SIZES = sizeof message_bytes / sizeof *message_bytes };
static const double longest_exchange_s = 0.01; /* larger messages than that are left out */

static const double longest_block_s = 0.006;
static const size_t rounds = 5;
static const double longest_pair_s = 0.25; /* of all rounds of a size */
static const double waiting_s = 0.001;

/* ---- compute ------------------------------------------------------------------------------- */

/* As exec waits for its emulated accelerator: late once, the next one is the shorter for it. */
static enum gw_status wait(void *context, struct gw_error *error) {
    (void)error;
    double *deadline_s = context;
    *deadline_s = fmax(*deadline_s, gw_clock_now_s() - waiting_s) + waiting_s;
    gw_clock_sleep_until_s(*deadline_s);
    return GW_OK;
}

/* ---- measuring ----------------------------------------------------------------------------- */

struct measuring {
    const struct gw_calibration *calibration;
    struct gw_report report;
    struct gw_overlap_load load;
    struct gw_overlap_exchanges exchanges;
    size_t sizes;      /* of messages */
    double deadline_s; /* of waiting */
    double end_s;      /* when no other pair of the collective is begun */
    struct gw_overlap *overlap;
};

static enum gw_status measure(struct measuring *measuring, bool waits, struct gw_overlap_point *out,
                              bool *known, struct gw_error *error) {
    bool on_gpus = measuring->calibration->device != NULL;
    size_t pairs = COLLECTIVES * (measuring->sizes * COMPRESSORS + 1); /* one of them waits */
    struct gw_overlap_subject subject = {
        .compute = waits ? wait : gw_overlap_load_run,
        .took_s = waits || !on_gpus ? NULL : gw_overlap_load_took_s,
        .compute_context = waits ? (void *)&measuring->deadline_s : &measuring->load,
        .communicate = gw_overlap_exchanges_run,
        .communicate_context = &measuring->exchanges,
        .block_s = fmin(longest_block_s, measuring->calibration->max_s_per_point / 4),
        .rounds = rounds,
        .longest_s = fmin(longest_pair_s, measuring->calibration->time_s / (double)pairs)};
    out->bytes = (double)measuring->exchanges.bytes;
    return gw_measure_overlap(measuring->exchanges.world, &subject, out, known, error);
}

/*
 * Where ranks that compute leave no core to those that communicate, an exchange of microseconds
 * takes tenths of a second, and the pairs that come first must do for the others. All ranks come to
 * the same answer.
 */
static enum gw_status has_time(const struct measuring *measuring, bool *answer,
                               struct gw_error *error) {
    double late_s = gw_clock_now_s() - measuring->end_s;
    GW_TRY(gw_agree_maximum(measuring->exchanges.world, &late_s, 1, error));
    *answer = late_s < 0;
    return GW_OK;
}

static enum gw_status measure_compressors(struct measuring *measuring, const char *collective,
                                          struct gw_error *error) {
    bool goes_on = true;
    for (size_t i = 0; i < COMPRESSORS && goes_on; i++) {
        struct gw_overlap_point point;
        bool known = false;
        gw_overlap_load_choose(&measuring->load, compressors[i]);
        GW_TRY(measure(measuring, false, &point, &known, error));
        if (known) {
            GW_TRY(
                gw_overlap_add(measuring->overlap, collective, compressors[i]->name, point, error));
        }
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
    bool known = false;
    GW_TRY(measure(measuring, true, &point, &known, error));
    if (!known) {
        return GW_OK;
    }
    cJSON *waiting = cJSON_GetObjectItemCaseSensitive(measuring->overlap->kept, "waiting");
    cJSON *object = cJSON_CreateObject();
    GW_TRY(gw_json_put(waiting, collective, object, error));
    GW_TRY(gw_json_put_number(object, "bytes", point.bytes, error));
    GW_TRY(put_factor(object, "compute", &point.compute, error));
    return put_factor(object, "communication", &point.communication, error);
}

static enum gw_status measure_collective(struct measuring *measuring, size_t which,
                                         struct gw_error *error) {
    const char *collective = collectives[which].name;
    bool goes_on = true;
    measuring->exchanges.reduces = collectives[which].reduces;
    measuring->end_s = gw_clock_now_s() + measuring->calibration->time_s / COLLECTIVES;
    for (size_t i = 0; i < measuring->sizes && goes_on; i++) {
        double exchange_s = 0;
        double share =
            (double)(which * measuring->sizes + i) / (double)(COLLECTIVES * measuring->sizes);
        measuring->report.tell(measuring->report.context,
                               measuring->report.offset + measuring->report.scale * share,
                               "overlap");
        measuring->exchanges.bytes = message_bytes[i];
        GW_TRY(gw_overlap_exchanges_time(&measuring->exchanges, &exchange_s, error));
        if (i > 0 && exchange_s > longest_exchange_s) {
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
    struct gw_overlap *overlap = measuring->overlap;
    overlap->workers = (size_t)measuring->exchanges.world->size;
    overlap->kept = cJSON_CreateObject();
    if (overlap->kept == NULL) {
        return gw_fail_memory(error, "measuring overlap");
    }
    GW_TRY(gw_json_put_number(overlap->kept, "elements", (double)measuring->load.elements, error));
    GW_TRY(gw_json_put(overlap->kept, "waiting", cJSON_CreateObject(), error));
    for (size_t i = 0; i < COLLECTIVES; i++) {
        GW_TRY(measure_collective(measuring, i, error));
    }
    return GW_OK;
}

/* ---- the subject --------------------------------------------------------------------------- */

static size_t count_sizes(const struct gw_calibration *calibration) {
    size_t most = calibration->device == NULL ? SIZES : GPU_SIZES;
    size_t count = 1;
    while (count < most && message_bytes[count] <= calibration->max_bytes) {
        count++;
    }
    return count;
}

static enum gw_status open_measuring(struct measuring *measuring,
                                     struct gw_communicator *communicator, struct gw_error *error) {
    const struct gw_calibration *calibration = measuring->calibration;
    measuring->sizes = count_sizes(calibration);
    GW_TRY(gw_overlap_load_open(&measuring->load, calibration, communicator->rank, error));
    return gw_overlap_exchanges_open(&measuring->exchanges, communicator, calibration,
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
    struct measuring measuring = {
        .calibration = calibration, .report = *report, .overlap = overlap};
    enum gw_status status = open_measuring(&measuring, communicator, error);
    if (status == GW_OK) {
        status = measure_all(&measuring, error);
    }
    gw_overlap_load_close(&measuring.load);
    gw_overlap_exchanges_close(&measuring.exchanges);
    if (status != GW_OK) {
        gw_overlap_free(overlap);
        return status;
    }
    gw_cluster_set_overlap(cluster, overlap);
    return GW_OK;
}
