/*
 * Preset selections, for compression that is timed waiting: exactly the wanted number of elements,
 * from everywhere in the gradient. They are set before an iteration, in the form that compression
 * would leave for the first leg, so that they cost no time in the iteration.
 */
#include <string.h>

#include "exec/exchange.h"

/* A part of the elements that are kept of a group. */
struct part {
    size_t first, count;
};

/* A joint selection is divided evenly among workers. */
static struct part own_part(const struct gw_worker *worker, const struct gw_group_state *group) {
    size_t kept = group->slice->kept;
    size_t first = worker->rank * kept / worker->workers;
    size_t end = (worker->rank + 1) * kept / worker->workers;
    return group->compressor->joint ? (struct part){.first = first, .count = end - first}
                                    : (struct part){.count = kept};
}

/*
 * The offset of each kept element within its n / k elements: pseudo-random, within one of `parts`
 * ranges, whose order is pseudo-random too. With equal offsets, processors would predict the
 * accesses, and merge and add faster than with elements selected from a gradient.
 */
struct offsets {
    size_t part, parts;
    uint64_t seed;
};

/* floor(i n / k) ascends by at least floor(n / k), so any offset below that keeps the order. */
static uint32_t preset_index(const struct gw_slice *slice, size_t i,
                             const struct offsets *offsets) {
    uint64_t drawn = gw_random_mix(offsets->seed + i);
    size_t width = slice->size.elements / slice->kept;
    size_t turn = (offsets->part + (drawn >> 32) % offsets->parts) % offsets->parts;
    size_t first = width * turn / offsets->parts;
    size_t count = width * (turn + 1) / offsets->parts - first;
    size_t lot = first + (count == 0 ? 0 : (size_t)(drawn & UINT32_MAX) % count);
    return (uint32_t)(i * slice->size.elements / slice->kept + lot);
}

enum gw_status gw_preset_entries(struct gw_worker *worker, struct gw_group_state *group,
                                 struct gw_error *error) {
    const struct gw_slice *slice = group->slice;
    struct part own = own_part(worker, group);
    /* different elements on each worker, as far as there are enough */
    struct offsets offsets = {.part = worker->rank, .parts = worker->workers, .seed = group->seed};
    if (worker->serves) {
        return GW_OK;
    }
    GW_TRY(gw_buffer_reserve(&group->sent, &worker->exchange, own.count * sizeof *group->entries,
                             error));
    struct gw_entry *entries = group->sent.memory;
    const float *gradient = gw_worker_gradient(worker, group);
    for (size_t i = 0; i < own.count; i++) {
        uint32_t index = preset_index(slice, own.first + i, &offsets);
        entries[i] = (struct gw_entry){.index = index, .value = gradient[index]};
    }
    group->selected = own.count;
    return GW_OK;
}

/* Presets the worker's indices, of elements that are equal on all workers, and the values of all of
 * them. */
enum gw_status gw_preset_indices(struct gw_worker *worker, struct gw_group_state *group,
                                 struct gw_error *error) {
    const struct gw_slice *slice = group->slice;
    struct offsets offsets = {.parts = 1, .seed = group->seed};
    struct part own = own_part(worker, group);
    GW_TRY(gw_group_reserve_common(&worker->exchange, group, slice->kept, error));
    uint32_t *common = gw_group_common(group);
    for (size_t i = 0; i < own.count; i++) {
        common[i] = preset_index(slice, own.first + i, &offsets);
    }
    group->selected = group->common_count = own.count;
    for (size_t i = 0; i < slice->kept && !worker->serves; i++) {
        uint32_t index = preset_index(slice, i, &offsets);
        gw_worker_residual(worker, group)[index] = gw_worker_gradient(worker, group)[index];
    }
    return GW_OK;
}

/* Chooses all layers, which have been cut to the wanted number of elements. */
enum gw_status gw_preset_layers(struct gw_worker *worker, struct gw_group_state *group,
                                struct gw_error *error) {
    size_t layers = group->slice->size.tensors;
    size_t kept = group->slice->kept;
    if (worker->serves) {
        return GW_OK;
    }
    GW_TRY(
        gw_buffer_reserve(&group->sent, &worker->exchange, (layers + kept) * sizeof(float), error));
    float *flags = group->sent.memory;
    for (size_t layer = 0; layer < layers; layer++) {
        flags[layer] = 1;
    }
    memcpy(flags + layers, gw_worker_gradient(worker, group), kept * sizeof *flags);
    return GW_OK;
}

enum gw_status gw_preset_select(struct gw_worker *worker, struct gw_error *error) {
    for (size_t g = 0; g < worker->schedule->group_count; g++) {
        struct gw_group_state *group = &worker->groups[g];
        if (group->compression != NULL) {
            GW_TRY(group->compression->preset(worker, group, error));
        }
    }
    return GW_OK;
}
