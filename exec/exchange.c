#include "exec/exchange.h"

#include <string.h>

#include "exec/compress.h"

static const struct {
    enum gw_payload payload;
    const char *collective;
    const struct gw_leg_runner *runner;
} legs[] = {
#define LEG(payload, collective, runner) {payload, #collective, &gw_leg_##runner},
#include "exec/legs.inc"
#undef LEG
};

const struct gw_leg_runner *gw_exchange_runner(const struct gw_operation *operation) {
    for (size_t i = 0; i < sizeof legs / sizeof *legs; i++) {
        if (legs[i].payload == operation->payload &&
            strcmp(legs[i].collective, operation->method) == 0) {
            return legs[i].runner;
        }
    }
    return NULL;
}

enum gw_status gw_exchange_prepare(struct gw_worker *worker, const struct gw_operation *operation,
                                   struct gw_error *error) {
    const struct gw_leg_runner *runner = gw_exchange_runner(operation);
    struct gw_parcel *parcel = &worker->parcels[operation->group];
    if (parcel->compression == NULL) {
        parcel->compression = runner->compression;
    }
    return runner->prepare == NULL ? GW_OK : runner->prepare(worker, parcel, error);
}

enum gw_status gw_exchange_run(struct gw_worker *worker, const struct gw_operation *operation,
                               uint64_t *bytes, struct gw_error *error) {
    struct gw_parcel *parcel = &worker->parcels[operation->group];
    GW_TRY(gw_compress_pack(worker, parcel, error));
    return gw_exchange_runner(operation)->run(worker, parcel, bytes, error);
}
