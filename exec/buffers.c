#include "exec/buffers.h"

#include <stdlib.h>
#include <string.h>

enum { MARGIN = 1 << 16, ALIGNMENT = 64 };

/* Zeroed and touched, so that no page is faulted in while time is taken. */
static void *allocate(size_t bytes) {
    size_t rounded = (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    void *memory = aligned_alloc(ALIGNMENT, rounded);
    if (memory != NULL) {
        memset(memory, 0, rounded);
    }
    return memory;
}

static size_t lay_out_entries(struct gw_buffers *buffers, const struct gw_schedule *schedule) {
    size_t entries = 0;
    for (size_t g = 0; g < schedule->group_count; g++) {
        buffers->first_entry[g] = entries;
        entries += schedule->groups[g].kept;
    }
    return entries;
}

static bool sends_entries(const struct gw_schedule *schedule) {
    for (size_t i = 0; i < schedule->operation_count; i++) {
        if (schedule->operations[i].kind == GW_EXCHANGE &&
            schedule->operations[i].payload == GW_SPARSE) {
            return true;
        }
    }
    return false;
}

enum gw_status gw_buffers_open(struct gw_buffers *out, const struct gw_schedule *schedule,
                               size_t ranks, size_t rank, uint64_t seed, struct gw_error *error) {
    *out = (struct gw_buffers){0};
    for (size_t g = 0; g < schedule->group_count; g++) {
        out->elements += schedule->groups[g].elements;
    }
    out->first_entry = calloc(schedule->group_count + 1, sizeof *out->first_entry);
    out->noise = allocate((out->elements + MARGIN) * sizeof(float));
    out->residual = allocate(out->elements * sizeof(float));
    out->aggregate = allocate(out->elements * sizeof(float));
    bool complete = out->first_entry != NULL && out->noise != NULL && out->residual != NULL &&
                    out->aggregate != NULL;
    if (complete && sends_entries(schedule)) {
        size_t entries = lay_out_entries(out, schedule);
        out->sent = allocate(entries * sizeof *out->sent);
        out->received = allocate(ranks * entries * sizeof *out->received);
        complete = out->sent != NULL && out->received != NULL;
    }
    enum gw_status status =
        complete ? gw_gradient_fill(out->noise, out->elements + MARGIN, 1e-3, seed, rank, error)
                 : gw_fail_memory(error, "opening an executor's buffers");
    if (status != GW_OK) {
        gw_buffers_close(out);
        return status;
    }
    out->gradient = out->noise;
    return GW_OK;
}

void gw_buffers_next_gradient(struct gw_buffers *buffers, size_t iteration) {
    /* Steps of an odd number of cache lines visit every aligned window before one comes again. */
    size_t step = 1237 * (ALIGNMENT / sizeof(float));
    buffers->gradient = buffers->noise + iteration * step % MARGIN;
}

void gw_buffers_close(struct gw_buffers *buffers) {
    free(buffers->first_entry);
    free(buffers->noise);
    free(buffers->residual);
    free(buffers->aggregate);
    free(buffers->sent);
    free(buffers->received);
    *buffers = (struct gw_buffers){0};
}
