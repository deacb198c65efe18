#include "calibrate/measure/worker_counts.h"

static bool is_measured(int workers, int size) {
    int odd = workers;
    while (odd % 2 == 0) {
        odd /= 2;
    }
    return workers == size || odd == 1 || odd == 3;
}

static enum gw_status open_both(struct gw_worker_counts *counts, size_t which,
                                struct gw_error *error) {
    struct gw_communicator *world = counts->world;
    struct gw_communicator *gpu_world = counts->gpu_world;
    int workers = counts->workers[which];
    GW_TRY(world->transport->open_first(world, workers, &counts->communicators[which], error));
    return gpu_world == NULL ? GW_OK
                             : gpu_world->transport->open_first(
                                   gpu_world, workers, &counts->gpu_communicators[which], error);
}

enum gw_status gw_worker_counts_open(struct gw_communicator *world,
                                     struct gw_communicator *gpu_world, bool whole_only,
                                     struct gw_worker_counts *out, struct gw_error *error) {
    enum gw_status status = GW_OK;
    *out = (struct gw_worker_counts){.world = world, .gpu_world = gpu_world};
    bool one = whole_only || world->size < 2;
    for (int workers = one ? world->size : 2; workers <= world->size && status == GW_OK;
         workers++) {
        if (!is_measured(workers, world->size)) {
            continue;
        }
        out->workers[out->count] = workers;
        if (workers < world->size) {
            status = open_both(out, out->count, error);
        }
        out->count++;
    }
    if (status != GW_OK) {
        gw_worker_counts_close(out);
    }
    return status;
}

static void close_one(struct gw_communicator *communicator) {
    if (communicator->transport != NULL) {
        communicator->transport->close(communicator);
    }
}

void gw_worker_counts_close(struct gw_worker_counts *counts) {
    for (size_t i = 0; i < counts->count; i++) {
        close_one(&counts->gpu_communicators[i]);
        close_one(&counts->communicators[i]);
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

struct gw_communicator *gw_worker_counts_data(struct gw_worker_counts *counts, size_t which) {
    if (counts->gpu_world == NULL) {
        return gw_worker_counts_communicator(counts, which);
    }
    return counts->workers[which] == counts->world->size ? counts->gpu_world
                                                         : &counts->gpu_communicators[which];
}
