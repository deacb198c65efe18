#include <stdlib.h>
#include <string.h>

#include "calibrate/subjects.h"
#include "kernels/kernels.h"

static const size_t smallest_bytes = 1024;
static const size_t pool_bytes = 128 << 20; /* about what a model's gradients take */

/*
 * One collective at one size. Each repeat sends another part of a large pool, because a pipeline
 * does not send the same bytes twice in a row either: caches must not flatter the measurement. The
 * pool holds what gradients hold: some processors write zeros over zeros for less.
 */
struct exchange {
    struct gw_communicator *communicator;
    char *pool, *receive;
    size_t receive_bytes;
    size_t bytes, position, receive_position;
};

static enum gw_status run_allgather(void *context, struct gw_error *error) {
    struct exchange *exchange = context;
    size_t gathered = exchange->bytes * (size_t)exchange->communicator->size;
    const char *send =
        exchange->pool + gw_next_part(&exchange->position, exchange->bytes, pool_bytes);
    char *receive = exchange->receive +
                    gw_next_part(&exchange->receive_position, gathered, exchange->receive_bytes);
    return exchange->communicator->transport->allgather(exchange->communicator, send,
                                                        exchange->bytes, receive, error);
}

static enum gw_status run_allreduce(void *context, struct gw_error *error) {
    struct exchange *exchange = context;
    const char *send =
        exchange->pool + gw_next_part(&exchange->position, exchange->bytes, pool_bytes);
    char *receive = exchange->receive + gw_next_part(&exchange->receive_position, exchange->bytes,
                                                     exchange->receive_bytes);
    return exchange->communicator->transport->allreduce(
        exchange->communicator, (const float *)(const void *)send, (float *)(void *)receive,
        exchange->bytes / sizeof(float), error);
}

static const struct {
    const char *name;
    gw_action *run;
} collectives[] = {{"allgather", run_allgather}, {"allreduce", run_allreduce}};

enum { COLLECTIVE_COUNT = sizeof collectives / sizeof *collectives };

static enum gw_status prepare(void *context, size_t bytes, struct gw_error *error) {
    (void)error;
    struct exchange *exchange = context;
    exchange->bytes = bytes;
    return GW_OK;
}

static enum gw_status calibrate_one(size_t which, struct exchange *exchange,
                                    const struct gw_calibration *calibration,
                                    const struct gw_report *report, struct gw_cluster *cluster,
                                    struct gw_error *error) {
    static const enum gw_curve_shape shapes[] = {GW_STRAIGHT};
    struct gw_subject subject = {.name = collectives[which].name,
                                 .size_key = "bytes",
                                 .smallest = smallest_bytes,
                                 .largest = calibration->max_bytes,
                                 .prepare = prepare,
                                 .run = collectives[which].run,
                                 .context = exchange,
                                 .shapes = shapes,
                                 .shape_count = 1};
    struct gw_report part = *report;
    part.scale = report->scale / COLLECTIVE_COUNT;
    part.offset = report->offset + part.scale * (double)which;
    struct gw_curve curve;
    cJSON *details = NULL;
    GW_TRY(gw_measure_curve(exchange->communicator, calibration, &subject, &part, &curve, &details,
                            error));
    return gw_cluster_add_collective(cluster, subject.name, (size_t)exchange->communicator->size,
                                     curve, details, error);
}

enum gw_status gw_calibrate_collectives(struct gw_communicator *communicator,
                                        const struct gw_calibration *calibration,
                                        const struct gw_report *report, struct gw_cluster *cluster,
                                        struct gw_error *error) {
    size_t largest_receive = calibration->max_bytes * (size_t)communicator->size;
    struct exchange exchange = {.communicator = communicator,
                                .receive_bytes =
                                    largest_receive > pool_bytes ? largest_receive : pool_bytes};
    exchange.pool = malloc(pool_bytes);
    exchange.receive = malloc(exchange.receive_bytes);
    enum gw_status status = GW_OK;
    if (exchange.pool == NULL || exchange.receive == NULL) {
        status = gw_fail_memory(error, "calibrating collectives");
    } else {
        memset(exchange.receive, 0, exchange.receive_bytes);
        status = gw_gradient_fill((float *)(void *)exchange.pool, pool_bytes / sizeof(float), 1e-3,
                                  1, (uint64_t)communicator->rank, error);
    }
    for (size_t which = 0; which < COLLECTIVE_COUNT && status == GW_OK; which++) {
        status = calibrate_one(which, &exchange, calibration, report, cluster, error);
    }
    free(exchange.pool);
    free(exchange.receive);
    return status;
}
