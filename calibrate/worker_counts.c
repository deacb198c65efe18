#include "calibrate/worker_counts.h"

static bool is_measured(int workers, int size) {
    int odd = workers;
    while (odd % 2 == 0) {
        odd /= 2;
    }
    return workers == size || odd == 1 || odd == 3;
}

enum gw_status gw_worker_counts_open(struct gw_communicator *world, bool whole_only,
                                     struct gw_worker_counts *out, struct gw_error *error) {
    enum gw_status status = GW_OK;
    *out = (struct gw_worker_counts){.world = world};
    for (int workers = whole_only ? world->size : 2; workers <= world->size && status == GW_OK;
         workers++) {
        if (!is_measured(workers, world->size)) {
            continue;
        }
        out->workers[out->count] = workers;
        if (workers < world->size) {
            status = world->transport->open_first(world, workers, &out->communicators[out->count],
                                                  error);
        }
        out->count += status == GW_OK;
    }
    if (status != GW_OK) {
        gw_worker_counts_close(out);
    }
    return status;
}

void gw_worker_counts_close(struct gw_worker_counts *counts) {
    for (size_t i = 0; i < counts->count; i++) {
        struct gw_communicator *communicator = &counts->communicators[i];
        if (communicator->transport != NULL) {
            communicator->transport->close(communicator);
        }
    }
    counts->count = 0;
}

bool gw_worker_counts_have(const struct gw_worker_counts *counts, size_t which) {
    return counts->world->rank < counts->workers[which];
}

struct gw_communicator *gw_worker_counts_communicator(struct gw_worker_counts *counts,
                                                      size_t which) {
    return counts->workers[which] == counts->world->size ? counts->world
                                                         : &counts->communicators[which];
}
