/* The runners of legs, and the check that a schedule can run. */
#include "exec/exchange.h"

#include <string.h>

#include "exec/exec.h"
#include "kernels/gpu.h"

/* Finds the runner of an operation's leg; NULL if there is none. */
static const struct gw_leg_runner *find_runner(const struct gw_operation *operation) {
    static const struct gw_leg_runner *const families[] = {
        gw_gathered_legs, gw_server_legs, gw_tree_legs, gw_code_legs, gw_low_rank_legs};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        for (const struct gw_leg_runner *leg = families[i]; leg->run != NULL; leg++) {
            if (leg->payload == operation->payload &&
                strcmp(leg->collective, operation->method) == 0) {
                return leg;
            }
        }
    }
    return NULL;
}

static bool is_of_halves(const struct gw_operation *operation) {
    return operation->bytes == sizeof(uint16_t) * operation->elements;
}

enum gw_status gw_exchanges_prepare(struct gw_worker *worker, struct gw_error *error) {
    const struct gw_schedule *schedule = worker->schedule;
    for (size_t i = 0; i < schedule->operation_count; i++) {
        const struct gw_operation *operation = &schedule->operations[i];
        struct gw_group_state *group = &worker->groups[operation->group];
        if (operation->kind == GW_EXCHANGE) {
            const struct gw_leg_runner *runner = gw_needed(find_runner(operation));
            group->compression =
                group->compression == NULL ? runner->compression : group->compression;
            group->number = operation->payload == GW_DENSE && is_of_halves(operation)
                                ? worker->half
                                : GW_NUMBER_FLOAT;
            GW_TRY(runner->prepare == NULL ? GW_OK : runner->prepare(worker, group, error));
        }
    }
    return GW_OK;
}

enum gw_status gw_exchange_run(struct gw_worker *worker, const struct gw_operation *operation,
                               uint64_t *bytes, struct gw_error *error) {
    const struct gw_leg_runner *runner = gw_needed(find_runner(operation));
    struct gw_group_state *group = &worker->groups[operation->group];
    GW_TRY(gw_compress_pack(worker, group, error));
    return runner->run(worker, group, bytes, error);
}

/* ---- checks of schedules ------------------------------------------------------------------- */

static enum gw_status check_exchange(const struct gw_operation *operation, struct gw_error *error) {
    /* a server's are floats */
    bool takes_halves = strcmp(operation->method, "allreduce") == 0;
    if (operation->payload == GW_DENSE && operation->bytes != sizeof(float) * operation->elements &&
        !(takes_halves && is_of_halves(operation))) {
        return gw_fail(
            error, GW_BAD_INPUT, "execution: expected gradients of 4 bytes an element%s, got %g",
            takes_halves ? ", or 2" : "", (double)operation->bytes / (double)operation->elements);
    }
    return find_runner(operation) != NULL
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "execution: collective %s: expected one that can carry this exchange",
                         operation->method);
}

static enum gw_status check_way(const struct gw_way *way, bool on_gpu, struct gw_error *error) {
    if (!way->exchange->carries(way->compressor)) {
        return gw_fail(error, GW_BAD_INPUT, "execution: exchange %s: expected %s, got %s",
                       way->exchange->name, way->exchange->needed, way->compressor->name);
    }
    return !on_gpu || !gw_way_compresses(way) || gw_is_on_gpus(way->compressor)
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "execution: expected a compressor with GPU code, or gradients in the "
                         "host's memory, got %s for gradients on a GPU",
                         way->compressor->name);
}

enum gw_status gw_session_check(const struct gw_schedule *schedule, bool on_gpu,
                                struct gw_error *error) {
    for (size_t i = 0; i < schedule->way_count; i++) {
        GW_TRY(check_way(&schedule->ways[i], on_gpu, error));
    }
    for (size_t i = 0; i < schedule->operation_count; i++) {
        const struct gw_operation *operation = &schedule->operations[i];
        if (operation->kind == GW_COMPRESS && operation->elements > UINT32_MAX) {
            return gw_fail(error, GW_BAD_INPUT,
                           "execution: expected groups of less than 2^32 elements, got one of %llu",
                           (unsigned long long)operation->elements);
        }
        GW_TRY(operation->kind == GW_EXCHANGE ? check_exchange(operation, error) : GW_OK);
    }
    return GW_OK;
}
