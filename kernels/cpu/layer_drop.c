/*
 * Layer dropping (kernels/layers.h): layers whose mean |u| reaches a threshold are sent whole, the
 * others are dropped. The threshold admits about k elements at the iteration of its search, which
 * is repeated every hundred iterations.
 */
#include "kernels/layers.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/compressors.h"
#include "kernels/cpu/collect.h"

enum { SEARCH_INTERVAL = 100 }; /* iterations (paper, Section 5) */

static void close_layer_drop(void *opened) {
    struct gw_layer_drop *state = opened;
    gw_arena_free(&state->arena);
    free(state);
}

static enum gw_status open_layer_drop(const struct gw_task *task, void **out,
                                      struct gw_error *error) {
    size_t count = task->layers == NULL ? 1 : task->layer_count;
    struct gw_layer_drop *state = *out = calloc(1, sizeof *state);
    if (state == NULL) {
        return gw_fail_memory(error, "opening layer dropping");
    }
    state->layer_count = count;
    state->threshold = (double)NAN;
    state->sizes = gw_arena_zeros(&state->arena, count, sizeof *state->sizes);
    state->means = gw_arena_zeros(&state->arena, count, sizeof *state->means);
    state->sent = gw_arena_zeros(&state->arena, count, sizeof *state->sent);
    GW_TRY(gw_arena_check(&state->arena, "opening layer dropping", error));
    memcpy(state->sizes, task->layers == NULL ? &task->n : task->layers,
           count * sizeof *state->sizes);
    return GW_OK;
}

static struct gw_kept kept_layer_drop(void *opened) {
    struct gw_layer_drop *state = opened;
    return (struct gw_kept){.bytes = sizeof state->threshold, .at = &state->threshold};
}

enum gw_status gw_layer_drop_choose(const struct gw_task *task, struct gw_error *error) {
    struct gw_layer_drop *state = task->state;
    /* rounds up, so that n - k elements do not exceed it through rounding */
    double dropped = nextafter((double)(task->n - task->k) / (double)task->n, 1);
    if (isnan(state->threshold) || task->iteration % SEARCH_INTERVAL == 0) {
        GW_TRY(gw_layers_threshold(state->means, state->sizes, state->layer_count, dropped,
                                   &state->threshold, error));
    }
    (void)gw_layers_choose(state->means, state->sizes, state->layer_count, state->threshold,
                           state->sent);
    return GW_OK;
}

static enum gw_status add_layers(const struct gw_task *task, struct gw_selection *out,
                                 struct gw_error *error) {
    const struct gw_layer_drop *state = task->state;
    size_t count = 0;
    for (size_t i = 0; i < state->layer_count; i++) {
        count += state->sent[i] ? state->sizes[i] : 0;
    }
    GW_TRY(gw_selection_reserve(out, count, error));
    out->count = 0;
    for (size_t i = 0, first = 0; i < state->layer_count; first += state->sizes[i++]) {
        for (size_t e = first; e < first + state->sizes[i] && state->sent[i]; e++) {
            out->entries[out->count++] =
                (struct gw_entry){.value = task->u[e], .index = (uint32_t)e};
        }
    }
    return GW_OK;
}

static enum gw_status select_layers(const struct gw_task *task, struct gw_selection *out,
                                    struct gw_error *error) {
    GW_TRY(gw_accumulate(task, 0, task->n, error));
    const struct gw_layer_drop *state = task->state;
    GW_TRY(gw_layers_means(task->u, state->sizes, state->layer_count, state->means, error));
    GW_TRY(gw_layer_drop_choose(task, error));
    return add_layers(task, out, error);
}

const struct gw_kernel gw_kernel_layer_drop = {
    .select = select_layers,
    .open = open_layer_drop,
    .close = close_layer_drop,
    .kept = kept_layer_drop,
};
