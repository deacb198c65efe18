/* Everything to a server, which sums it, and back. */
#include "exec/exchange.h"
#include "exec/server.h"

static size_t bytes_of(const struct gw_parcel *parcel) {
    return parcel->slice->elements * sizeof(float);
}

static enum gw_status prepare(struct gw_worker *worker, struct gw_parcel *parcel,
                              struct gw_error *error) {
    return gw_prepare_server(worker, parcel, bytes_of(parcel), error);
}

static enum gw_status push(struct gw_worker *worker, struct gw_parcel *parcel, uint64_t *bytes,
                           struct gw_error *error) {
    *bytes = bytes_of(parcel);
    return gw_push_to_server(
        worker, parcel, worker->serves ? NULL : gw_worker_gradient(worker, parcel), *bytes, error);
}

static enum gw_status pull(struct gw_worker *worker, struct gw_parcel *parcel, uint64_t *bytes,
                           struct gw_error *error) {
    float *sums = NULL;
    if (worker->serves) {
        GW_TRY(gw_sum_at_server(worker, parcel, parcel->slice->elements, &sums, error));
    }
    *bytes = bytes_of(parcel);
    parcel->written = GW_WRITTEN_ALL;
    return gw_pull_from_server(worker, parcel, sums, *bytes,
                               worker->serves ? NULL : gw_worker_aggregate(worker, parcel), error);
}

const struct gw_leg_runner gw_leg_push = {.prepare = prepare, .run = push};
const struct gw_leg_runner gw_leg_pull = {.follows = true, .after = GW_DENSE, .run = pull};
