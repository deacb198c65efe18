#include "calibrate/measure/overlap_exchanges.h"

#include <math.h>

static const size_t least_pool = 8 << 20; /* more than caches near a core hold */
enum { LONGEST_SERIES = 8 };
static const double longest_series_s = 0.001; /* unless one exchange is longer */

static size_t greater(size_t a, size_t b) {
    return a > b ? a : b;
}

enum gw_status gw_overlap_exchanges_open(struct gw_overlap_exchanges *out,
                                         struct gw_communicator *world,
                                         const struct gw_calibration *calibration,
                                         size_t largest_bytes, struct gw_error *error) {
    struct gw_communicator *gpus = calibration->gpu_communicator;
    size_t gathered = largest_bytes * (size_t)world->size;
    *out =
        (struct gw_overlap_exchanges){.communicator = gpus != NULL ? gpus : world, .world = world};
    GW_TRY(
        gw_pool_open(greater(largest_bytes, least_pool), calibration->device, &out->send, error));
    GW_TRY(gw_pool_open(greater(gathered, least_pool), calibration->device, &out->receive, error));
    return gw_pool_fill(&out->send, least_pool, world->rank, error);
}

void gw_overlap_exchanges_close(struct gw_overlap_exchanges *exchanges) {
    gw_pool_close(&exchanges->send);
    gw_pool_close(&exchanges->receive);
}

static enum gw_status exchange(struct gw_overlap_exchanges *exchanges, float *send, float *receive,
                               struct gw_error *error) {
    struct gw_communicator *communicator = exchanges->communicator;
    const struct gw_transport *transport = communicator->transport;
    return exchanges->reduces
               ? transport->allreduce(communicator, send, receive, exchanges->bytes / sizeof(float),
                                      error)
               : transport->allgather(communicator, send, exchanges->bytes, receive, error);
}

static float *next_send(struct gw_overlap_exchanges *exchanges) {
    return gw_pool_next(&exchanges->send, exchanges->bytes);
}

static float *next_receive(struct gw_overlap_exchanges *exchanges) {
    size_t senders = exchanges->reduces ? 1 : (size_t)exchanges->world->size;
    return gw_pool_next(&exchanges->receive, exchanges->bytes * senders);
}

static enum gw_status exchange_next(struct gw_overlap_exchanges *exchanges,
                                    struct gw_error *error) {
    return exchange(exchanges, next_send(exchanges), next_receive(exchanges), error);
}

enum gw_status gw_overlap_exchanges_time(struct gw_overlap_exchanges *exchanges, double *seconds,
                                         struct gw_error *error) {
    GW_TRY(exchange_next(exchanges, error));
    double started_s = gw_clock_now_s();
    GW_TRY(exchange_next(exchanges, error));
    *seconds = gw_clock_now_s() - started_s;
    GW_TRY(gw_agree_maximum(exchanges->world, seconds, 1, error));
    exchanges->series = (size_t)fmax(1, fmin(LONGEST_SERIES, longest_series_s / *seconds));
    return GW_OK;
}

/* The first number that rank 0 sends says whether this is the last; the others send 0 there. */
static enum gw_status run_one(struct gw_overlap_exchanges *exchanges, bool last, bool *was_last,
                              struct gw_error *error) {
    float *send = next_send(exchanges);
    float *receive = next_receive(exchanges);
    send[0] = exchanges->world->rank == 0 && last ? 1 : 0;
    GW_TRY(exchange(exchanges, send, receive, error));
    *was_last = receive[0] > 0;
    return GW_OK;
}

/*
 * What GPUs exchange the host would have to copy to look at. So several exchanges follow each
 * other, and rank 0 says on the host whether they were the last.
 */
static enum gw_status run_series(struct gw_overlap_exchanges *exchanges, bool last, bool *was_last,
                                 struct gw_error *error) {
    struct gw_communicator *world = exchanges->world;
    unsigned char flag = last;
    for (size_t i = 0; i < exchanges->series; i++) {
        GW_TRY(exchange_next(exchanges, error));
    }
    GW_TRY(world->transport->broadcast(world, 0, &flag, 1, error));
    *was_last = flag;
    return GW_OK;
}

enum gw_status gw_overlap_exchanges_run(void *context, bool last, bool *was_last,
                                        struct gw_error *error) {
    struct gw_overlap_exchanges *exchanges = context;
    return exchanges->communicator == exchanges->world
               ? run_one(exchanges, last, was_last, error)
               : run_series(exchanges, last, was_last, error);
}
