#include <string.h>

#include "calibrate/hosts/hosts.h"
#include "calibrate/measure/measure.h"

static const size_t smallest_bytes = 1024;
static const size_t machine_pools = 1 << 30; /* of all its ranks together, but see share_of */
static const size_t tile = 4 << 20;          /* drawing all of a pool would take a second */
static const size_t least_part = 1 << 20;    /* always fits, whatever that takes */

/* What all of them share; the survey's. */
struct all {
    struct gw_pool send, receive;
    size_t largest_pool; /* the same on every rank: no message may be longer */
    size_t *parts;       /* [ranks], of unequal contributions */
};

/* One collective among the first ranks, at one size. */
struct exchange {
    struct gw_communicator *communicator;
    struct all *all;
    size_t which; /* of the collectives */
    size_t bytes; /* of one worker */
};

/* ---- the collectives ----------------------------------------------------------------------- */

enum { SENDRECV = 7, COLLECTIVES };

const char *const gw_calibrated_collectives[] = {"allgather", "allgatherv", "allreduce",
                                                 "broadcast", "reduce",     "gather",
                                                 "scatter",   "sendrecv",   NULL};

/*
 * What many small exchanges in a row take is not many times what one takes after a pause: before
 * that, ranks come from waiting, some late for want of a core, and links have saved up a burst.
 * One after a pause is hardly felt, being small. So those that end on all ranks together, as none
 * can run ahead into the next, are run in rows of so many bytes of a rank.
 */
static const size_t row_bytes = 64 << 10;

/* Dense gradients that jobs send: a bucket of DDP, and all of a ResNet-50. */
static const size_t asked_bytes[GW_MOST_ASKED] = {25 << 20, 100 << 20};

/* What ranks take from the pools: those that are not the root, and the root, which is rank 0. */
enum share { NOTHING, ONE_PART, ALL_PARTS };
static const struct {
    enum gw_collective_kind kind;
    enum share sends[2], receives[2];
    bool in_rows;
} collectives[COLLECTIVES] = {
    {GW_ALLGATHER, {ONE_PART, ONE_PART}, {ALL_PARTS, ALL_PARTS}, true},
    {GW_ALLGATHER_UNEQUAL, {ONE_PART, ONE_PART}, {ALL_PARTS, ALL_PARTS}, true},
    {GW_ALLREDUCE, {ONE_PART, ONE_PART}, {ONE_PART, ONE_PART}, true},
    {GW_BROADCAST, {NOTHING, ONE_PART}, {ONE_PART, NOTHING}, false},
    {GW_REDUCE, {ONE_PART, ONE_PART}, {ONE_PART, ONE_PART}, false},
    {GW_GATHER, {ONE_PART, ONE_PART}, {NOTHING, ALL_PARTS}, false},
    {GW_SCATTER, {NOTHING, ALL_PARTS}, {ONE_PART, ONE_PART}, false},
    [SENDRECV] = {.sends = {NOTHING, ONE_PART}, .receives = {ONE_PART, NOTHING}}};

/* Whether some rank has the parts of all in a pool. */
static bool holds_all(size_t which) {
    return collectives[which].sends[1] == ALL_PARTS || collectives[which].receives[1] == ALL_PARTS;
}

static void *take(struct gw_pool *pool, enum share share, size_t part, size_t whole) {
    return share == NOTHING ? NULL : gw_pool_next(pool, share == ONE_PART ? part : whole);
}

/* A message goes one way: the clocks of both are in step. */
static enum gw_status run(void *context, struct gw_error *error) {
    const struct exchange *exchange = context;
    struct gw_communicator *communicator = exchange->communicator;
    struct all *all = exchange->all;
    size_t which = exchange->which;
    bool is_root = communicator->rank == 0;
    size_t ranks = (size_t)communicator->size;
    size_t sent = exchange->bytes;
    struct gw_collective_call call = {.kind = collectives[which].kind, .bytes = exchange->bytes};
    if (call.kind == GW_ALLGATHER_UNEQUAL) { /* rank r of P contributes (2 r + 1) / P of the mean */
        for (size_t r = 0; r < ranks; r++) {
            all->parts[r] = exchange->bytes * (2 * r + 1) / ranks;
        }
        call.parts = all->parts;
        sent = all->parts[communicator->rank];
    }
    size_t whole = exchange->bytes * ranks;
    call.send = take(&all->send, collectives[which].sends[is_root], sent, whole);
    call.receive =
        take(&all->receive, collectives[which].receives[is_root], exchange->bytes, whole);
    if (which != SENDRECV) {
        return communicator->transport->collect(communicator, &call, error);
    }
    return is_root ? gw_send(communicator, 1, call.send, call.bytes, error)
                   : gw_receive(communicator, 0, call.receive, call.bytes, error);
}

/* ---- pools --------------------------------------------------------------------------------- */

/* What one of two pools may take: all of their pages are touched, and so are really there. */
static size_t share_of(size_t sharing, size_t ranks, const struct gw_calibration *calibration) {
    size_t max_bytes = calibration->max_bytes;
    size_t share = machine_pools / (2 * sharing);
    size_t needed = gw_greater(calibration->pool_bytes, max_bytes * ranks);
    size_t least = gw_lesser(least_part, max_bytes) * ranks;
    return gw_whole_lines(gw_greater(gw_lesser(needed, share), least));
}

/* A server sends or receives as many messages as there are workers, nobody else more than two. */
static enum gw_status open_pools(struct all *all, struct gw_communicator *world,
                                 const struct gw_calibration *calibration, struct gw_error *error) {
    struct gw_host_list machines;
    GW_TRY(gw_machine_list_open(world, &machines, error));
    all->largest_pool =
        share_of(gw_host_list_most_ranks(&machines), (size_t)world->size, calibration);
    gw_host_list_close(&machines);
    size_t needed = gw_whole_lines(gw_greater(calibration->pool_bytes, 2 * calibration->max_bytes));
    size_t sent = world->rank == 0 ? all->largest_pool : gw_lesser(all->largest_pool, needed);
    GW_TRY(gw_pool_open(all->largest_pool, calibration->device, &all->receive, error));
    GW_TRY(gw_pool_open(sent, calibration->device, &all->send, error));
    return gw_pool_fill(&all->send, tile, world->rank, error);
}

static void close_pools(void *object) {
    struct all *all = object;
    gw_pool_close(&all->send);
    gw_pool_close(&all->receive);
}

/* ---- all ----------------------------------------------------------------------------------- */

static enum gw_status prepare(void *context, size_t bytes, struct gw_error *error) {
    struct exchange *exchange = context;
    (void)error;
    exchange->bytes = bytes;
    return GW_OK;
}

/* What is larger than fits into the pools is left out. */
static enum gw_status add(struct gw_survey *survey, struct all *all, size_t which, size_t at,
                          size_t max_bytes, struct gw_error *error) {
    struct gw_worker_counts *counts = &survey->worker_counts;
    struct exchange *exchange = gw_arena_zeros(&survey->arena, 1, sizeof *exchange);
    GW_TRY(gw_arena_check(&survey->arena, "calibrating collectives", error));
    *exchange = (struct exchange){
        .communicator = gw_worker_counts_data(counts, at), .all = all, .which = which};
    int workers = counts->workers[at];
    size_t fits = all->largest_pool / (holds_all(which) ? (size_t)workers : 1);
    struct gw_series series = {.workers = workers,
                               .of_fewer = workers < counts->world->size,
                               .subject = {.name = gw_calibrated_collectives[which],
                                           .size_key = "bytes",
                                           .ends_straight = true,
                                           .row_size = collectives[which].in_rows ? row_bytes : 0,
                                           .smallest = smallest_bytes,
                                           .largest = gw_lesser(fits, max_bytes),
                                           .prepare = prepare,
                                           .run = run,
                                           .context = exchange}};
    bool is_dense = collectives[which].kind == GW_ALLREDUCE && which != SENDRECV;
    for (size_t i = 0, count = 0; i < GW_MOST_ASKED && is_dense && !series.of_fewer; i++) {
        if (asked_bytes[i] > series.subject.largest && asked_bytes[i] <= fits) {
            series.subject.asked[count++] = asked_bytes[i];
        }
    }
    return gw_series_list_add(&survey->list, series, error);
}

static bool is_asked(const struct gw_calibration *calibration, const char *name) {
    for (size_t i = 0; calibration->collectives[i] != NULL; i++) {
        if (strcmp(calibration->collectives[i], name) == 0) {
            return true;
        }
    }
    return false;
}

enum gw_status gw_survey_add_collectives(struct gw_survey *survey,
                                         const struct gw_calibration *calibration,
                                         struct gw_error *error) {
    struct gw_communicator *world = survey->communicator;
    struct all *all = gw_arena_zeros(&survey->arena, 1, sizeof *all);
    if (calibration->collectives[0] == NULL) {
        return GW_OK;
    }
    (void)gw_arena_own(&survey->arena, all, close_pools);
    size_t *parts = gw_arena_zeros(&survey->arena, (size_t)world->size, sizeof *parts);
    GW_TRY(gw_arena_check(&survey->arena, "calibrating collectives", error));
    all->parts = parts;
    GW_TRY(open_pools(all, world, calibration, error));
    for (size_t which = 0; which < COLLECTIVES; which++) {
        for (size_t at = 0; at < survey->worker_counts.count; at++) {
            int workers = survey->worker_counts.workers[at];
            bool fits = which == SENDRECV ? workers == 2 : workers > 1 || world->size == 1;
            if (fits && is_asked(calibration, gw_calibrated_collectives[which])) {
                GW_TRY(add(survey, all, which, at, calibration->max_bytes, error));
            }
        }
    }
    return GW_OK;
}
