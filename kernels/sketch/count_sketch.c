/* Count sketch with HEAVYMIX (kernels/sketch.h): selects k elements by one worker's own sketch. If
 * workers add their sketches first, the exchange selects by the sum. */
#include <stdlib.h>

#include "kernels/compressors.h"
#include "kernels/cpu/collect.h"
#include "kernels/sketch/gpu.h"

static void close_count_sketch(void *opened) {
    struct gw_count_sketch *state = opened;
    if (state->indices_on_gpu != NULL) {
        gw_device_free(state->on_gpu.device, state->indices_on_gpu);
        gw_gpu_sketch_free(&state->on_gpu);
    }
    gw_sketch_free(&state->sketch);
    free(state->indices);
    free(state);
}

static enum gw_status open_count_sketch(const struct gw_task *task, void **out,
                                        struct gw_error *error) {
    struct gw_count_sketch *state = *out = calloc(1, sizeof *state);
    if (state == NULL) {
        return gw_fail_memory(error, "opening a sketch");
    }
    size_t columns = gw_sketch_columns(task->n, task->k);
    state->indices = malloc(task->k * sizeof *state->indices);
    return state->indices == NULL
               ? gw_fail_memory(error, "opening a sketch")
               : gw_sketch_open(&state->sketch, GW_SKETCH_ROWS, columns, task->seed, error);
}

static enum gw_status add_elements(const struct gw_task *task, struct gw_selection *out,
                                   struct gw_error *error) {
    const struct gw_count_sketch *state = task->state;
    GW_TRY(gw_selection_reserve(out, task->k, error));
    for (size_t i = 0; i < task->k; i++) {
        uint32_t index = state->indices[i];
        out->entries[i] = (struct gw_entry){.value = task->u[index], .index = index};
    }
    out->count = task->k;
    return GW_OK;
}

static enum gw_status select_sketched(const struct gw_task *task, struct gw_selection *out,
                                      struct gw_error *error) {
    struct gw_count_sketch *state = task->state;
    gw_sketch_clear(&state->sketch);
    GW_TRY(gw_accumulate(task, 0, task->n, error));
    GW_TRY(gw_sketch_encode(&state->sketch, task->u, 0, task->n, error));
    GW_TRY(gw_sketch_heavymix(&state->sketch, task->n, task->k, task->iteration, task->workspace,
                              state->indices, NULL, error));
    return add_elements(task, out, error);
}

const struct gw_kernel gw_kernel_count_sketch = {
    .select = select_sketched,
    .open = open_count_sketch,
    .close = close_count_sketch,
};
