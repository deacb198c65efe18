#include <stdlib.h>
#include <string.h>

#include "calibrate/hosts/host_list.h"
#include "calibrate/measure/pool.h"
#include "calibrate/measure/subjects.h"

static const size_t smallest_bytes = 1024;
static const size_t machine_pools = 1 << 30; /* of all its ranks together, but see share_of */
static const size_t tile = 4 << 20;          /* drawing all of a pool would take a second */
static const size_t least_part = 1 << 20;    /* always fits, whatever that takes */

struct pools {
    struct gw_pool send, receive;
};

/* One collective among the first ranks, at one size. */
struct exchange {
    struct gw_communicator *communicator;
    struct pools *pools;
    size_t bytes;  /* of one worker */
    size_t *parts; /* [ranks], of unequal contributions */
};

static void *next_send(const struct exchange *exchange, size_t length) {
    return gw_pool_next(&exchange->pools->send, length);
}

static void *next_receive(const struct exchange *exchange, size_t length) {
    return gw_pool_next(&exchange->pools->receive, length);
}

static size_t of_all(const struct exchange *exchange) {
    return exchange->bytes * (size_t)exchange->communicator->size;
}

static bool is_root(const struct exchange *exchange) {
    return exchange->communicator->rank == 0;
}

/* ---- the collectives ----------------------------------------------------------------------- */

static enum gw_status run_allgather(void *context, struct gw_error *error) {
    struct exchange *exchange = context;
    return exchange->communicator->transport->allgather(
        exchange->communicator, next_send(exchange, exchange->bytes), exchange->bytes,
        next_receive(exchange, of_all(exchange)), error);
}

/* Rank r of P contributes (2 r + 1) / P of the mean. */
static enum gw_status run_allgatherv(void *context, struct gw_error *error) {
    struct exchange *exchange = context;
    struct gw_communicator *communicator = exchange->communicator;
    size_t ranks = (size_t)communicator->size;
    for (size_t r = 0; r < ranks; r++) {
        exchange->parts[r] = exchange->bytes * (2 * r + 1) / ranks;
    }
    return communicator->transport->allgather_unequal(
        communicator, next_send(exchange, exchange->parts[communicator->rank]), exchange->parts,
        next_receive(exchange, of_all(exchange)), error);
}

static enum gw_status run_allreduce(void *context, struct gw_error *error) {
    struct exchange *exchange = context;
    return exchange->communicator->transport->allreduce(
        exchange->communicator, next_send(exchange, exchange->bytes),
        next_receive(exchange, exchange->bytes), exchange->bytes / sizeof(float), error);
}

static enum gw_status run_broadcast(void *context, struct gw_error *error) {
    struct exchange *exchange = context;
    void *data = is_root(exchange) ? next_send(exchange, exchange->bytes)
                                   : next_receive(exchange, exchange->bytes);
    return exchange->communicator->transport->broadcast(exchange->communicator, 0, data,
                                                        exchange->bytes, error);
}

static enum gw_status run_reduce(void *context, struct gw_error *error) {
    struct exchange *exchange = context;
    return exchange->communicator->transport->reduce(
        exchange->communicator, 0, next_send(exchange, exchange->bytes),
        next_receive(exchange, exchange->bytes), exchange->bytes / sizeof(float), error);
}

static enum gw_status run_gather(void *context, struct gw_error *error) {
    struct exchange *exchange = context;
    void *receive = is_root(exchange) ? next_receive(exchange, of_all(exchange)) : NULL;
    return exchange->communicator->transport->gather(exchange->communicator, 0,
                                                     next_send(exchange, exchange->bytes),
                                                     exchange->bytes, receive, error);
}

static enum gw_status run_scatter(void *context, struct gw_error *error) {
    struct exchange *exchange = context;
    const void *send = is_root(exchange) ? next_send(exchange, of_all(exchange)) : NULL;
    return exchange->communicator->transport->scatter(
        exchange->communicator, 0, send, exchange->bytes, next_receive(exchange, exchange->bytes),
        error);
}

/* One way: the clocks of both are in step. */
static enum gw_status run_sendrecv(void *context, struct gw_error *error) {
    struct exchange *exchange = context;
    return is_root(exchange)
               ? gw_send(exchange->communicator, 1, next_send(exchange, exchange->bytes),
                         exchange->bytes, error)
               : gw_receive(exchange->communicator, 0, next_receive(exchange, exchange->bytes),
                            exchange->bytes, error);
}

const char *const gw_calibrated_collectives[] = {"allgather", "allgatherv", "allreduce",
                                                 "broadcast", "reduce",     "gather",
                                                 "scatter",   "sendrecv",   NULL};

/* In the same order. */
static const struct {
    gw_action *run;
    bool of_two;    /* of two ranks alone */
    bool holds_all; /* some rank has the parts of all in a pool */
} collectives[] = {{run_allgather, false, true},  {run_allgatherv, false, true},
                   {run_allreduce, false, false}, {run_broadcast, false, false},
                   {run_reduce, false, false},    {run_gather, false, true},
                   {run_scatter, false, true},    {run_sendrecv, true, false}};

enum { COLLECTIVES = sizeof collectives / sizeof *collectives };
_Static_assert(sizeof gw_calibrated_collectives / sizeof *gw_calibrated_collectives ==
                   COLLECTIVES + 1,
               "each collective has a name");

/* ---- all ----------------------------------------------------------------------------------- */

struct gw_collective_series {
    struct pools pools;
    size_t largest_pool; /* the same on every rank: no message may be longer */
    size_t *parts;
    struct exchange *items; /* [collectives * worker counts] */
    size_t count;
};

static enum gw_status prepare(void *context, size_t bytes, struct gw_error *error) {
    struct exchange *exchange = context;
    (void)error;
    exchange->bytes = bytes;
    return GW_OK;
}

static bool is_asked(const struct gw_calibration *calibration, const char *name) {
    for (size_t i = 0; calibration->collectives[i] != NULL; i++) {
        if (strcmp(calibration->collectives[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Of a collective's sizes; what is larger is left out, as it would not fit into the pools. */
static size_t largest_size(const struct gw_collective_series *exchanges, size_t which, int workers,
                           size_t max_bytes) {
    size_t fits = exchanges->largest_pool / (collectives[which].holds_all ? (size_t)workers : 1);
    return fits < max_bytes ? fits : max_bytes;
}

static enum gw_status add(struct gw_collective_series *exchanges, size_t which,
                          struct gw_worker_counts *counts, size_t at,
                          const struct gw_calibration *calibration, struct gw_series_list *list,
                          struct gw_error *error) {
    static const enum gw_curve_shape shapes[] = {GW_STRAIGHT};
    struct exchange *exchange = &exchanges->items[exchanges->count++];
    *exchange = (struct exchange){.communicator = gw_worker_counts_data(counts, at),
                                  .pools = &exchanges->pools,
                                  .parts = exchanges->parts};
    const struct gw_series series = {
        .workers = counts->workers[at],
        .subject = {.name = gw_calibrated_collectives[which],
                    .size_key = "bytes",
                    .smallest = smallest_bytes,
                    .largest =
                        largest_size(exchanges, which, counts->workers[at], calibration->max_bytes),
                    .prepare = prepare,
                    .run = collectives[which].run,
                    .context = exchange,
                    .shapes = shapes,
                    .shape_count = 1}};
    return gw_series_list_add(list, series, error);
}

/* ---- pools --------------------------------------------------------------------------------- */

static size_t lesser(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t greater(size_t a, size_t b) {
    return a > b ? a : b;
}

/* What one of two pools may take: all of their pages are touched, and so are really there. */
static size_t share_of(size_t sharing, size_t ranks, const struct gw_calibration *calibration) {
    size_t max_bytes = calibration->max_bytes;
    size_t share = machine_pools / (2 * sharing);
    size_t needed = greater(calibration->pool_bytes, max_bytes * ranks);
    size_t least = lesser(least_part, max_bytes) * ranks;
    return gw_whole_lines(greater(lesser(needed, share), least));
}

/* A server sends or receives as many messages as there are workers, nobody else more than two. */
static enum gw_status open_pools(struct gw_collective_series *exchanges,
                                 struct gw_communicator *world,
                                 const struct gw_calibration *calibration, struct gw_error *error) {
    struct pools *pools = &exchanges->pools;
    struct gw_host_list machines;
    GW_TRY(gw_machine_list_open(world, &machines, error));
    exchanges->largest_pool =
        share_of(gw_host_list_most_ranks(&machines), (size_t)world->size, calibration);
    gw_host_list_close(&machines);
    size_t needed = gw_whole_lines(greater(calibration->pool_bytes, 2 * calibration->max_bytes));
    size_t sent =
        world->rank == 0 ? exchanges->largest_pool : lesser(exchanges->largest_pool, needed);
    exchanges->parts = calloc((size_t)world->size, sizeof *exchanges->parts);
    if (exchanges->parts == NULL) {
        return gw_fail_memory(error, "calibrating collectives");
    }
    GW_TRY(gw_pool_open(exchanges->largest_pool, calibration->device, &pools->receive, error));
    GW_TRY(gw_pool_open(sent, calibration->device, &pools->send, error));
    return gw_pool_fill(&pools->send, tile, world->rank, error);
}

static enum gw_status add_all(struct gw_collective_series *exchanges,
                              struct gw_worker_counts *counts,
                              const struct gw_calibration *calibration, struct gw_series_list *list,
                              struct gw_error *error) {
    for (size_t which = 0; which < COLLECTIVES; which++) {
        for (size_t at = 0; at < counts->count; at++) {
            bool fits = !collectives[which].of_two || counts->workers[at] == 2;
            if (fits && is_asked(calibration, gw_calibrated_collectives[which])) {
                GW_TRY(add(exchanges, which, counts, at, calibration, list, error));
            }
        }
    }
    return GW_OK;
}

enum gw_status gw_collective_series_open(struct gw_worker_counts *counts,
                                         const struct gw_calibration *calibration,
                                         struct gw_series_list *list,
                                         struct gw_collective_series **out,
                                         struct gw_error *error) {
    *out = NULL;
    if (calibration->collectives[0] == NULL) {
        return GW_OK;
    }
    struct gw_collective_series *exchanges = calloc(1, sizeof *exchanges);
    if (exchanges == NULL) {
        return gw_fail_memory(error, "calibrating collectives");
    }
    *out = exchanges;
    exchanges->items = calloc(COLLECTIVES * counts->count, sizeof *exchanges->items);
    enum gw_status status = exchanges->items == NULL
                                ? gw_fail_memory(error, "calibrating collectives")
                                : open_pools(exchanges, counts->world, calibration, error);
    if (status == GW_OK) {
        status = add_all(exchanges, counts, calibration, list, error);
    }
    if (status != GW_OK) {
        gw_collective_series_close(exchanges);
        *out = NULL;
    }
    return status;
}

void gw_collective_series_close(struct gw_collective_series *exchanges) {
    if (exchanges != NULL) {
        gw_pool_close(&exchanges->pools.send);
        gw_pool_close(&exchanges->pools.receive);
        free(exchanges->parts);
        free(exchanges->items);
        free(exchanges);
    }
}
