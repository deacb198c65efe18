/* Everything, summed by one allreduce. */
#include "exec/exchange.h"

static enum gw_status run(struct gw_worker *worker, struct gw_parcel *parcel, uint64_t *bytes,
                          struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    size_t n = parcel->slice->elements;
    *bytes = n * sizeof(float);
    parcel->written = GW_WRITTEN_ALL;
    return communicator->transport->allreduce(communicator, gw_worker_gradient(worker, parcel),
                                              gw_worker_aggregate(worker, parcel), n, error);
}

const struct gw_leg_runner gw_leg_allreduce = {.run = run};
