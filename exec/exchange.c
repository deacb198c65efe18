/* Which runner a leg has, what of a schedule can be run, and running it. */
#include "exec/exchange.h"

#include <string.h>

#include "exec/compress.h"
#include "exec/exec.h"
#include "kernels/gpu.h"

/* NULL if there is none. */
static const struct gw_leg_runner *find_runner(const struct gw_operation *operation) {
    static const struct gw_leg_runner *const families[] = {gw_gathered_legs, gw_server_legs,
                                                           gw_tree_legs};
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

enum gw_status gw_exchanges_prepare(struct gw_worker *worker, struct gw_error *error) {
    const struct gw_schedule *schedule = worker->schedule;
    for (size_t i = 0; i < schedule->operation_count; i++) {
        const struct gw_operation *operation = &schedule->operations[i];
        struct gw_group_state *group = &worker->groups[operation->group];
        if (operation->kind == GW_EXCHANGE) {
            const struct gw_leg_runner *runner = find_runner(operation);
            group->compression =
                group->compression == NULL ? runner->compression : group->compression;
            GW_TRY(runner->prepare == NULL ? GW_OK : runner->prepare(worker, group, error));
        }
    }
    return GW_OK;
}

enum gw_status gw_exchange_run(struct gw_worker *worker, const struct gw_operation *operation,
                               uint64_t *bytes, struct gw_error *error) {
    struct gw_group_state *group = &worker->groups[operation->group];
    GW_TRY(gw_compress_pack(worker, group, error));
    return find_runner(operation)->run(worker, group, bytes, error);
}

/* ---- what can be run ----------------------------------------------------------------------- */

static enum gw_status check_compression(const struct gw_operation *operation, bool on_gpu,
                                        struct gw_error *error) {
    if (gw_compressor_find(operation->method) == NULL) {
        return gw_fail(error, GW_BAD_INPUT,
                       "execution: compressor %s: expected one that is built in "
                       "(gradweave list compressors)",
                       operation->method);
    }
    if (on_gpu && gw_gpu_kernel_of(gw_compressor_find(operation->method)) == NULL) {
        return gw_fail(error, GW_BAD_INPUT,
                       "execution: compressor %s: expected one that there is for GPUs",
                       operation->method);
    }
    return operation->elements <= UINT32_MAX
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "execution: expected groups of less than 2^32 elements, got one of %llu",
                         (unsigned long long)operation->elements);
}

/* Bytes are otherwise what the exchange itself finds that they are. */
static enum gw_status check_bytes(const struct gw_schedule *schedule,
                                  const struct gw_operation *operation, struct gw_error *error) {
    uint64_t kept = schedule->groups[operation->group].kept;
    if (operation->payload == GW_DENSE && operation->bytes != sizeof(float) * operation->elements) {
        return gw_fail(error, GW_BAD_INPUT,
                       "execution: expected gradients of 4 bytes an element, got %g",
                       (double)operation->bytes / (double)operation->elements);
    }
    if (operation->payload == GW_SKETCH && schedule->groups[operation->group].sketch_cells == 0) {
        return gw_fail(error, GW_BAD_INPUT,
                       "execution: collective %s: expected a group with a sketch, got none",
                       operation->method);
    }
    if (operation->payload == GW_SPARSE && operation->bytes != sizeof(struct gw_entry) * kept) {
        return gw_fail(error, GW_BAD_INPUT,
                       "execution: expected a sparse exchange of %zu bytes a kept element, got "
                       "%llu bytes for %llu elements",
                       sizeof(struct gw_entry), (unsigned long long)operation->bytes,
                       (unsigned long long)kept);
    }
    return GW_OK;
}

/* What has been met of the group so far. */
struct met {
    const struct gw_compressor *compressor;
    unsigned payloads; /* bit p: of legs */
    bool compressed;   /* for a leg that said how */
};

static enum gw_status check_leg(const struct gw_operation *operation, struct met *met,
                                struct gw_error *error) {
    const struct gw_leg_runner *runner = find_runner(operation);
    if (runner == NULL || (runner->follows && (met->payloads >> runner->after & 1) == 0)) {
        return gw_fail(error, GW_BAD_INPUT,
                       "execution: collective %s: expected one that can carry this exchange",
                       operation->method);
    }
    met->payloads |= 1U << operation->payload;
    if (runner->compression == NULL || met->compressed) {
        return GW_OK;
    }
    met->compressed = true;
    if (met->compressor == NULL) {
        return gw_fail(error, GW_BAD_INPUT,
                       "execution: collective %s: expected a group that is compressed before",
                       operation->method);
    }
    return runner->suits == NULL || runner->suits(met->compressor)
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "execution: compressor %s: expected one that %s, for collective %s",
                         met->compressor->name, runner->needed, operation->method);
}

static enum gw_status check_group(const struct gw_schedule *schedule, uint32_t group, bool on_gpu,
                                  struct gw_error *error) {
    struct met met = {0};
    for (size_t i = 0; i < schedule->operation_count; i++) {
        const struct gw_operation *operation = &schedule->operations[i];
        if (operation->group != group) {
            continue;
        }
        if (operation->kind == GW_COMPRESS) {
            GW_TRY(check_compression(operation, on_gpu, error));
            met.compressor = gw_compressor_find(operation->method);
        }
        if (operation->kind == GW_EXCHANGE) {
            GW_TRY(check_leg(operation, &met, error));
            GW_TRY(check_bytes(schedule, operation, error));
        }
    }
    return met.compressor == NULL || met.compressed
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "execution: compressor %s: expected an exchange that can carry it",
                         met.compressor->name);
}

enum gw_status gw_executor_check(const struct gw_schedule *schedule, bool on_gpu,
                                 struct gw_error *error) {
    for (uint32_t group = 0; group < schedule->group_count; group++) {
        GW_TRY(check_group(schedule, group, on_gpu, error));
    }
    return GW_OK;
}
