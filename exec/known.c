/*
 * Selections that are known before an iteration, where compression is timed waiting: elements from
 * everywhere in the gradient, just as many as asked. They stand where compression would have left
 * them for the first leg, so that none of it is done in the iteration's time.
 */
#include <string.h>

#include "exec/exchange.h"

/* Of the elements that are kept of a group. */
struct part {
    size_t first, count;
};

/* What is selected together is shared out as evenly as can be. */
static struct part own_part(const struct gw_worker *worker, const struct gw_group_state *group) {
    size_t kept = group->slice->kept;
    size_t first = worker->rank * kept / worker->workers;
    size_t end = (worker->rank + 1) * kept / worker->workers;
    return group->compressor->joint ? (struct part){.first = first, .count = end - first}
                                    : (struct part){.count = kept};
}

/*
 * Where in the n / k elements around each that is kept: by lot, of a part of them that is one of
 * `parts`' alone, in turns that follow from a lot as well. What is the same for each, processors
 * foresee: they merge and add that in less time than what is selected of a gradient.
 */
struct lots {
    size_t part, parts;
    uint64_t seed;
};

/* As floor(i n / k) ascends by at least floor(n / k), the lot may be anything below that. */
static uint32_t index_of(const struct gw_slice *slice, size_t i, const struct lots *lots) {
    uint64_t drawn = gw_random_mix(lots->seed + i);
    size_t width = slice->elements / slice->kept;
    size_t turn = (lots->part + (drawn >> 32) % lots->parts) % lots->parts;
    size_t first = width * turn / lots->parts;
    size_t count = width * (turn + 1) / lots->parts - first;
    size_t lot = first + (count == 0 ? 0 : (size_t)(drawn & UINT32_MAX) % count);
    return (uint32_t)(i * slice->elements / slice->kept + lot);
}

/* Other elements on each worker, as far as there are as many. */
static struct lots lots_of_worker(const struct gw_worker *worker,
                                  const struct gw_group_state *group) {
    return (struct lots){.part = worker->rank, .parts = worker->workers, .seed = group->seed};
}

static struct lots lots_of_all(const struct gw_group_state *group) {
    return (struct lots){.parts = 1, .seed = group->seed};
}

enum gw_status gw_known_entries(struct gw_worker *worker, struct gw_group_state *group,
                                struct gw_error *error) {
    const struct gw_slice *slice = group->slice;
    struct part own = own_part(worker, group);
    struct lots lots = lots_of_worker(worker, group);
    if (worker->serves) {
        return GW_OK;
    }
    GW_TRY(gw_buffer_reserve(&group->sent, &worker->exchange, own.count * sizeof *group->entries,
                             error));
    struct gw_entry *entries = group->sent.memory;
    const float *gradient = gw_worker_gradient(worker, group);
    for (size_t i = 0; i < own.count; i++) {
        uint32_t index = index_of(slice, own.first + i, &lots);
        entries[i] = (struct gw_entry){.index = index, .value = gradient[index]};
    }
    group->selected = own.count;
    return GW_OK;
}

/* The worker's indices, of elements that are the same on all workers; and values of all of them. */
enum gw_status gw_known_indices(struct gw_worker *worker, struct gw_group_state *group,
                                struct gw_error *error) {
    const struct gw_slice *slice = group->slice;
    struct lots lots = lots_of_all(group);
    struct part own = own_part(worker, group);
    GW_TRY(gw_group_reserve_common(&worker->exchange, group, slice->kept, error));
    uint32_t *common = gw_group_common(group);
    for (size_t i = 0; i < own.count; i++) {
        common[i] = index_of(slice, own.first + i, &lots);
    }
    group->selected = group->common_count = own.count;
    for (size_t i = 0; i < slice->kept && !worker->serves; i++) {
        uint32_t index = index_of(slice, i, &lots);
        gw_worker_residual(worker, group)[index] = gw_worker_gradient(worker, group)[index];
    }
    return GW_OK;
}

/* All layers are chosen, which have just so many elements. */
enum gw_status gw_known_layers(struct gw_worker *worker, struct gw_group_state *group,
                               struct gw_error *error) {
    size_t layers = group->slice->layer_count;
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

enum gw_status gw_known_select(struct gw_worker *worker, struct gw_error *error) {
    for (size_t g = 0; g < worker->schedule->group_count; g++) {
        struct gw_group_state *group = &worker->groups[g];
        if (group->compression != NULL) {
            GW_TRY(group->compression->know(worker, group, error));
        }
    }
    return GW_OK;
}
