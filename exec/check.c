/* What of a schedule can be run here. */
#include "exec/exchange.h"
#include "exec/exec.h"
#include "kernels/gpu.h"

static enum gw_status check_compression(const struct gw_operation *operation, bool on_gpu,
                                        struct gw_error *error) {
    if (gw_compressor_find(operation->method) == NULL) {
        return gw_fail(error, GW_BAD_INPUT,
                       "execution: compressor %s: expected one that is built in "
                       "(gradweave list compressors)",
                       operation->method);
    }
    if (on_gpu && gw_gpu_compressor_find(operation->method) == NULL) {
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
    const struct gw_leg_runner *runner = gw_exchange_runner(operation);
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
