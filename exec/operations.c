#include "exec/operations.h"

#include <string.h>

#include "exec/exec.h"

/* ---- exchanges, by the collective's name --------------------------------------------------- */

static enum gw_status exchange_entries(struct gw_worker *worker,
                                       const struct gw_operation *operation,
                                       struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    const struct gw_slice *slice = &worker->schedule->groups[operation->group];
    size_t first = worker->buffers.first_entry[operation->group];
    size_t ranks = (size_t)communicator->size;
    struct gw_entry *received = worker->buffers.received + ranks * first;
    GW_TRY(communicator->transport->allgather(communicator, worker->buffers.sent + first,
                                              operation->bytes, received, error));
    gw_scatter_add(received, ranks * slice->kept, worker->buffers.aggregate + slice->first);
    return GW_OK;
}

static enum gw_status exchange_slice(struct gw_worker *worker, const struct gw_operation *operation,
                                     struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    const struct gw_slice *slice = &worker->schedule->groups[operation->group];
    return communicator->transport->allreduce(communicator, worker->buffers.gradient + slice->first,
                                              worker->buffers.aggregate + slice->first,
                                              slice->elements, error);
}

static const struct exchange {
    const char *collective;
    enum gw_payload payload;
    enum gw_status (*run)(struct gw_worker *worker, const struct gw_operation *operation,
                          struct gw_error *error);
} exchanges[] = {
    {"allgather", GW_SPARSE, exchange_entries},
    {"allreduce", GW_DENSE, exchange_slice},
};

static const struct exchange *find_exchange(const struct gw_operation *operation) {
    for (size_t i = 0; i < sizeof exchanges / sizeof *exchanges; i++) {
        if (exchanges[i].payload == operation->payload &&
            strcmp(exchanges[i].collective, operation->method) == 0) {
            return &exchanges[i];
        }
    }
    return NULL;
}

enum gw_status gw_operation_exchange(struct gw_worker *worker, const struct gw_operation *operation,
                                     struct gw_error *error) {
    return find_exchange(operation)->run(worker, operation, error);
}

/* ---- compression --------------------------------------------------------------------------- */

enum gw_status gw_operation_compress(struct gw_worker *worker, const struct gw_operation *operation,
                                     struct gw_error *error) {
    const struct gw_slice *slice = &worker->schedule->groups[operation->group];
    struct gw_buffers *buffers = &worker->buffers;
    struct gw_task task = {.u = buffers->residual + slice->first,
                           .gradient = buffers->gradient + slice->first,
                           .n = slice->elements,
                           .k = slice->kept,
                           .workspace = &worker->workspace};
    GW_TRY(gw_compress(gw_compressor_find(operation->method), &task, &worker->selection, error));
    memcpy(buffers->sent + buffers->first_entry[operation->group], worker->selection.entries,
           worker->selection.count * sizeof *buffers->sent);
    return GW_OK;
}

/* ---- checks -------------------------------------------------------------------------------- */

static enum gw_status check_compressor(const char *name, struct gw_error *error) {
    const struct gw_compressor *compressor = gw_compressor_find(name);
    if (compressor == NULL) {
        return gw_fail(error, GW_BAD_INPUT,
                       "execution: compressor %s: expected one that is built in "
                       "(gradweave list compressors)",
                       name);
    }
    if (!compressor->exact || compressor->common || compressor->open != NULL) {
        return gw_fail(error, GW_BAD_INPUT,
                       "execution: compressor %s: expected one without a state that selects as "
                       "many elements as it "
                       "is asked for, others on each worker",
                       name);
    }
    return GW_OK;
}

enum gw_status gw_executor_check(const struct gw_schedule *schedule, struct gw_error *error) {
    for (size_t i = 0; i < schedule->operation_count; i++) {
        const struct gw_operation *operation = &schedule->operations[i];
        if (operation->kind == GW_COMPRESS) {
            GW_TRY(check_compressor(operation->method, error));
        }
        if (operation->kind == GW_EXCHANGE && find_exchange(operation) == NULL) {
            return gw_fail(error, GW_BAD_INPUT,
                           "execution: collective %s: expected one that can carry this exchange",
                           operation->method);
        }
        if (operation->kind == GW_EXCHANGE && operation->payload == GW_DENSE &&
            operation->bytes != sizeof(float) * operation->elements) {
            return gw_fail(error, GW_BAD_INPUT,
                           "execution: expected gradients of 4 bytes an element, got %g",
                           (double)operation->bytes / (double)operation->elements);
        }
        if (operation->kind == GW_EXCHANGE && operation->payload == GW_SPARSE &&
            operation->bytes != sizeof(struct gw_entry) * schedule->groups[operation->group].kept) {
            return gw_fail(error, GW_BAD_INPUT,
                           "execution: expected a sparse exchange of %zu bytes a kept element, got "
                           "%llu bytes for %llu elements",
                           sizeof(struct gw_entry), (unsigned long long)operation->bytes,
                           (unsigned long long)schedule->groups[operation->group].kept);
        }
        if (operation->elements > UINT32_MAX && operation->kind == GW_COMPRESS) {
            return gw_fail(error, GW_BAD_INPUT,
                           "execution: expected groups of less than 2^32 elements, got one of %llu",
                           (unsigned long long)operation->elements);
        }
    }
    return GW_OK;
}

/* One step of a multiplicative hash over 32-bit words; its order of words matters. */
static uint64_t absorb(uint64_t hash, uint32_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

static uint32_t bits(float value) {
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

uint64_t gw_operation_checksum(const struct gw_worker *worker,
                               const struct gw_operation *operation) {
    const struct gw_slice *slice = &worker->schedule->groups[operation->group];
    const float *aggregate = worker->buffers.aggregate + slice->first;
    uint64_t hash = operation->group;
    if (operation->payload == GW_DENSE) {
        for (uint64_t i = 0; i < slice->elements; i++) {
            hash = absorb(hash, bits(aggregate[i]));
        }
        return hash;
    }
    size_t ranks = (size_t)worker->communicator->size;
    const struct gw_entry *received =
        worker->buffers.received + ranks * worker->buffers.first_entry[operation->group];
    for (size_t i = 0; i < ranks * slice->kept; i++) {
        hash = absorb(absorb(hash, received[i].index), bits(aggregate[received[i].index]));
    }
    return hash;
}

void gw_operation_clear(struct gw_worker *worker, const struct gw_operation *operation) {
    if (operation->payload == GW_DENSE) {
        return;
    }
    const struct gw_slice *slice = &worker->schedule->groups[operation->group];
    size_t ranks = (size_t)worker->communicator->size;
    const struct gw_entry *received =
        worker->buffers.received + ranks * worker->buffers.first_entry[operation->group];
    for (size_t i = 0; i < ranks * slice->kept; i++) {
        worker->buffers.aggregate[slice->first + received[i].index] = 0;
    }
}
