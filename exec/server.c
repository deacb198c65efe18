#include "exec/server.h"

/*
 * The server takes part in its gather and scatter: its own block is the one after the workers', and
 * what it gives or gets itself is one more.
 */
enum gw_status gw_prepare_server(const struct gw_worker *worker, struct gw_parcel *parcel,
                                 size_t bytes, struct gw_error *error) {
    return worker->serves ? gw_room_reserve(&parcel->received, &worker->exchange,
                                            (worker->workers + 2) * bytes, error)
                          : GW_OK;
}

enum gw_status gw_push_to_server(struct gw_worker *worker, struct gw_parcel *parcel,
                                 const void *data, size_t bytes, struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    int server = (int)worker->workers;
    if (!worker->serves) {
        return communicator->transport->gather(communicator, server, data, bytes, NULL, error);
    }
    GW_TRY(gw_prepare_server(worker, parcel, bytes, error));
    char *blocks = parcel->received.memory;
    return communicator->transport->gather(
        communicator, server, blocks + (worker->workers + 1) * bytes, bytes, blocks, error);
}

enum gw_status gw_sum_at_server(const struct gw_worker *worker, struct gw_parcel *parcel,
                                size_t count, float **sums, struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    *sums = parcel->received.memory;
    return memory->does->sum_blocks(memory, *sums, worker->workers, count, error);
}

enum gw_status gw_pull_from_server(struct gw_worker *worker, struct gw_parcel *parcel,
                                   const void *data, size_t bytes, void *out,
                                   struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    int server = (int)worker->workers;
    if (!worker->serves) {
        return communicator->transport->scatter(communicator, server, NULL, bytes, out, error);
    }
    const struct gw_memory *memory = &worker->exchange;
    char *blocks = parcel->received.memory;
    for (size_t i = 0; i < worker->workers; i++) {
        GW_TRY(memory->does->copy(memory, blocks + i * bytes, data, bytes, error));
    }
    return communicator->transport->scatter(communicator, server, blocks, bytes,
                                            blocks + (worker->workers + 1) * bytes, error);
}
