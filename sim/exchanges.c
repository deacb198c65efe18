#include "sim/exchanges.h"

#include <stdlib.h>
#include <string.h>

static enum gw_status find(const struct gw_simulation *simulation, const char *operation,
                           const struct gw_collective **out, struct gw_error *error) {
    const char *name = NULL;
    for (size_t i = 0; i < simulation->choice_count; i++) {
        const struct gw_collective_choice *choice = &simulation->choices[i];
        name = strcmp(choice->operation, operation) == 0 ? choice->name : name;
    }
    return gw_collective_find(operation, name, out, error);
}

static struct gw_call call_of(const struct gw_collective *collective, uint64_t bytes,
                              size_t workers) {
    struct gw_call call = {.workers = (uint32_t)workers, .bytes = bytes};
    uint64_t multiple = 4 * (uint64_t)workers;
    if (collective->shares && gw_collective_symmetric(collective, call.workers) &&
        bytes % multiple > 0) {
        call.bytes += multiple - bytes % multiple;
    }
    return call;
}

enum gw_status gw_exchanges_open(struct gw_exchanges *out, const struct gw_schedule *schedule,
                                 const struct gw_simulation *simulation, struct gw_error *error) {
    enum { MOST_WORKERS = 1 << 29 };
    *out = (struct gw_exchanges){.symmetric = true};
    if (simulation->workers > MOST_WORKERS) {
        return gw_fail(error, GW_BAD_INPUT,
                       "workers: expected at most %d where messages are simulated, got %zu",
                       MOST_WORKERS, simulation->workers);
    }
    out->list = calloc(schedule->operation_count + 1, sizeof *out->list);
    if (out->list == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    out->ranks = (uint32_t)simulation->workers;
    for (size_t i = 0; i < schedule->operation_count; i++) {
        const struct gw_operation *operation = &schedule->operations[i];
        if (operation->kind != GW_EXCHANGE) {
            continue;
        }
        struct gw_exchange *exchange = &out->list[out->count++];
        exchange->operation = i;
        enum gw_status status = find(simulation, operation->method, &exchange->collective, error);
        if (status != GW_OK) {
            gw_exchanges_close(out);
            return status;
        }
        exchange->call = call_of(exchange->collective, operation->bytes, simulation->workers);
        exchange->ranks = gw_collective_ranks(exchange->collective, exchange->call.workers);
        out->ranks = exchange->ranks > out->ranks ? exchange->ranks : out->ranks;
        out->symmetric =
            out->symmetric && gw_collective_symmetric(exchange->collective, exchange->call.workers);
    }
    return GW_OK;
}

void gw_exchanges_again(struct gw_exchanges *exchanges, const struct gw_schedule *schedule) {
    for (size_t i = 0; i < exchanges->count; i++) {
        struct gw_exchange *exchange = &exchanges->list[i];
        uint64_t bytes = schedule->operations[exchange->operation].bytes;
        exchange->call = call_of(exchange->collective, bytes, exchange->call.workers);
    }
}

void gw_exchanges_close(struct gw_exchanges *exchanges) {
    free(exchanges->list);
    *exchanges = (struct gw_exchanges){0};
}

uint32_t gw_exchange_steps(const struct gw_exchange *exchange, uint32_t rank) {
    return exchange->call.bytes == 0 ? 0 : exchange->collective->steps(&exchange->call, rank);
}
