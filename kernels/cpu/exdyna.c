/* The compressor ExDyna: each worker selects in a partition of its own, by a common threshold that
 * follows from the number of elements that all selected in the last iteration. */
#include <stdlib.h>

#include "kernels/compressors.h"
#include "kernels/cpu/collect.h"
#include "kernels/exdyna.h"
#include "kernels/threshold.h"

/* ---- the state ----------------------------------------------------------------------------- */

struct state {
    struct gw_exdyna_layout layout;
    size_t wanted;
    struct gw_exdyna_threshold threshold;
    uint64_t next;      /* iteration that the partitions are for */
    size_t blocks_of[]; /* [workers], by partition */
};

static enum gw_status open_exdyna(const struct gw_task *task, void **out, struct gw_error *error) {
    size_t workers = task->workers > 0 ? task->workers : 1;
    if (workers > (PTRDIFF_MAX - sizeof(struct state)) / sizeof(size_t)) {
        return gw_fail_memory(error, "opening ExDyna");
    }
    struct state *state = *out = calloc(1, sizeof *state + workers * sizeof *state->blocks_of);
    if (state == NULL) {
        return gw_fail_memory(error, "opening ExDyna");
    }
    double first = task->threshold > 0 ? task->threshold : gw_exdyna_first_threshold(task->k);
    state->layout = gw_exdyna_layout_of(task->n, workers);
    state->wanted = task->k;
    state->threshold.value = first;
    state->next = task->iteration;
    gw_exdyna_topology(&state->layout, state->blocks_of);
    return GW_OK;
}

static size_t sum_counts(const size_t *counts, size_t workers) {
    size_t selected = 0;
    for (size_t worker = 0; worker < workers; worker++) {
        selected += counts[worker];
    }
    return selected;
}

static void move_blocks(struct state *state, const size_t *counts) {
    gw_exdyna_allocate(&state->layout, state->next++, counts, state->blocks_of);
}

static void track_threshold(void *opened, const size_t *counts) {
    struct state *state = opened;
    state->threshold.value = gw_exdyna_next_threshold(
        state->threshold.value, sum_counts(counts, state->layout.workers), state->wanted);
}

static void observe_exdyna(void *opened, const size_t *counts) {
    track_threshold(opened, counts);
    move_blocks(opened, counts);
}

static void observe_exdyna_trend(void *opened, const size_t *counts) {
    struct state *state = opened;
    gw_exdyna_track(&state->threshold, sum_counts(counts, state->layout.workers), state->wanted);
    move_blocks(state, counts);
}

/* The members from the threshold on; those before it follow from the task. */
static struct gw_kept kept_exdyna(void *opened) {
    struct state *state = opened;
    return (struct gw_kept){.bytes = sizeof *state - offsetof(struct state, threshold) +
                                     state->layout.workers * sizeof *state->blocks_of,
                            .at = &state->threshold};
}

struct gw_exdyna_aim gw_exdyna_aim_of(const struct gw_task *task) {
    const struct state *state = task->state;
    size_t partition = gw_exdyna_partition(task->iteration, task->worker, state->layout.workers);
    struct gw_exdyna_range range = gw_exdyna_range_of(&state->layout, state->blocks_of, partition);
    bool any = range.begin < range.end;
    return (struct gw_exdyna_aim){.begin = range.begin,
                                  .end = range.end,
                                  .lone = any ? gw_exdyna_lone_index(range, task->iteration) : 0,
                                  .threshold = state->threshold.value};
}

static enum gw_status select_exdyna(const struct gw_task *task, struct gw_selection *out,
                                    struct gw_error *error) {
    struct gw_exdyna_aim aim = gw_exdyna_aim_of(task);
    GW_TRY(gw_accumulate(task, 0, aim.begin, error));
    GW_TRY(gw_threshold_select_range(task, aim.begin, aim.end, aim.threshold, out, error));
    GW_TRY(gw_accumulate(task, aim.end, task->n, error));
    /* Send one element if a worker has selected none. */
    if (out->count > 0 || aim.begin == aim.end) {
        return GW_OK;
    }
    GW_TRY(gw_selection_reserve(out, 1, error));
    out->entries[out->count++] =
        (struct gw_entry){.value = task->u[aim.lone], .index = (uint32_t)aim.lone};
    return GW_OK;
}

/* The published variant: the threshold by Algorithm 5, and dynamic allocation. */
const struct gw_kernel gw_kernel_exdyna = {
    .select = select_exdyna,
    .open = open_exdyna,
    .close = free,
    .kept = kept_exdyna,
    .observe = observe_exdyna,
};

/* The threshold by a step in proportion to the error that also follows the trend of scales. */
const struct gw_kernel gw_kernel_exdyna_trend = {
    .select = select_exdyna,
    .open = open_exdyna,
    .close = free,
    .kept = kept_exdyna,
    .observe = observe_exdyna_trend,
};

/* Without dynamic allocation: partitions stay equal, however unequal their loads are. The paper
 * compares with it as coarse-grained partitioning (its Fig. 9). */
const struct gw_kernel gw_kernel_exdyna_static = {
    .select = select_exdyna,
    .open = open_exdyna,
    .close = free,
    .kept = kept_exdyna,
    .observe = track_threshold,
};
