#include "exec/worker.h"

#include <gsl/gsl_cdf.h>
#include <stdlib.h>

#include "exec/exchange.h"

float *gw_worker_residual(const struct gw_worker *worker, const struct gw_parcel *parcel) {
    return worker->buffers.residual + parcel->slice->first;
}

const float *gw_worker_gradient(const struct gw_worker *worker, const struct gw_parcel *parcel) {
    return worker->buffers.gradient + parcel->slice->first;
}

float *gw_worker_aggregate(const struct gw_worker *worker, const struct gw_parcel *parcel) {
    return worker->buffers.aggregate + parcel->slice->first;
}

struct gw_task gw_worker_task(const struct gw_worker *worker, const struct gw_parcel *parcel) {
    return (struct gw_task){.u = gw_worker_residual(worker, parcel),
                            .gradient = gw_worker_gradient(worker, parcel),
                            .n = parcel->slice->elements,
                            .k = parcel->slice->kept,
                            .worker = worker->rank,
                            .workers = worker->workers,
                            .seed = parcel->seed,
                            .iteration = worker->iteration,
                            .threshold = parcel->threshold,
                            .layers = parcel->layers,
                            .layer_count = parcel->slice->layer_count,
                            .state = parcel->state};
}

/* ---- opening ------------------------------------------------------------------------------- */

/* Of the first gradients, which are normal, this lets just `kept` through (two-sided). */
static double first_threshold(const struct gw_slice *slice) {
    double tail = (double)slice->kept / (2 * (double)slice->elements);
    return gw_gradient_deviation * gsl_cdf_ugaussian_Qinv(tail);
}

static const struct gw_compressor *compressor_of(const struct gw_schedule *schedule,
                                                 uint32_t group) {
    for (size_t i = 0; i < schedule->operation_count; i++) {
        const struct gw_operation *operation = &schedule->operations[i];
        if (operation->kind == GW_COMPRESS && operation->group == group) {
            return gw_compressor_find(operation->method);
        }
    }
    return NULL;
}

static enum gw_status open_parcel(struct gw_worker *worker, uint32_t group, uint64_t seed,
                                  struct gw_error *error) {
    const struct gw_schedule *schedule = worker->schedule;
    struct gw_parcel *parcel = &worker->parcels[group];
    *parcel = (struct gw_parcel){.slice = &schedule->groups[group],
                                 .compressor = compressor_of(schedule, group),
                                 .seed = gw_random_mix(seed) + group,
                                 .counts = calloc(worker->workers, sizeof *parcel->counts)};
    parcel->layers = schedule->layers + parcel->slice->first_layer;
    parcel->threshold = first_threshold(parcel->slice);
    if (parcel->counts == NULL) {
        return gw_fail_memory(error, "opening an executor's group");
    }
    for (size_t i = 0; i < schedule->operation_count; i++) {
        const struct gw_operation *operation = &schedule->operations[i];
        if (operation->kind == GW_EXCHANGE && operation->group == group) {
            GW_TRY(gw_exchange_prepare(worker, operation, error));
        }
    }
    if (worker->serves || parcel->compressor == NULL) {
        return GW_OK;
    }
    GW_TRY(worker->compute.does->prepare(&worker->compute, parcel, error));
    if (parcel->compressor->open == NULL) {
        return GW_OK;
    }
    struct gw_task task = gw_worker_task(worker, parcel);
    return parcel->compressor->open(&task, &parcel->state, error);
}

enum gw_status gw_worker_open(struct gw_worker *out, const struct gw_schedule *schedule,
                              const struct gw_worker_place *place, uint64_t seed,
                              struct gw_error *error) {
    *out = (struct gw_worker){.schedule = schedule,
                              .communicator = place->communicator,
                              .hosts = place->hosts,
                              .rank = (size_t)place->hosts->rank,
                              .workers = schedule->workers};
    out->serves = out->rank == schedule->workers;
    out->parcels = calloc(schedule->group_count, sizeof *out->parcels);
    if (out->parcels == NULL) {
        return gw_fail_memory(error, "opening an executor");
    }
    GW_TRY(gw_memory_open(&out->compute, place->compute, error));
    GW_TRY(gw_memory_open(&out->exchange, place->exchange, error));
    if (!out->serves) {
        GW_TRY(gw_buffers_open(&out->buffers, &out->exchange, schedule, out->rank, seed, error));
    }
    for (uint32_t group = 0; group < schedule->group_count; group++) {
        GW_TRY(open_parcel(out, group, seed, error));
    }
    return GW_OK;
}

void gw_worker_close(struct gw_worker *worker) {
    for (size_t i = 0; worker->parcels != NULL && i < worker->schedule->group_count; i++) {
        gw_parcel_close(&worker->parcels[i]);
    }
    free(worker->parcels);
    gw_buffers_close(&worker->buffers, &worker->exchange);
    gw_room_free(&worker->list_copy);
    gw_room_free(&worker->dense_copy);
    gw_memory_close(&worker->compute);
    gw_memory_close(&worker->exchange);
}
