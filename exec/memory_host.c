/* The host's memory. */
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "exec/worker.h"

static enum gw_status allocate(const struct gw_memory *memory, size_t bytes, void **out,
                               struct gw_error *error) {
    (void)memory;
    *out = gw_resident_zeros(bytes);
    return *out != NULL ? GW_OK : gw_fail_memory(error, "making room for what travels");
}

static void release(const struct gw_memory *memory, void *block) {
    (void)memory;
    free(block);
}

static enum gw_status copy(const struct gw_memory *memory, void *to, const void *from, size_t bytes,
                           struct gw_error *error) {
    (void)memory, (void)error;
    if (bytes > 0 && to != from) {
        memcpy(to, from, bytes);
    }
    return GW_OK;
}

static enum gw_status clear(const struct gw_memory *memory, void *to, size_t bytes,
                            struct gw_error *error) {
    (void)memory, (void)error;
    if (bytes > 0) {
        memset(to, 0, bytes);
    }
    return GW_OK;
}

static enum gw_status look_at(const struct gw_memory *memory, const void *from, size_t bytes,
                              struct gw_buffer *unused, void **out, struct gw_error *error) {
    (void)memory, (void)bytes, (void)unused, (void)error;
    *out = (void *)(uintptr_t)from;
    return GW_OK;
}

/* ---- merging ------------------------------------------------------------------------------- */

/* All sums, ascending; returns how many. */
static size_t add_up(const struct gw_entry *a, const struct gw_entry *b, size_t k,
                     struct gw_entry *out) {
    size_t i = 0;
    size_t j = 0;
    size_t count = 0;
    while (i < k || j < k) {
        bool of_a = i < k && (j == k || a[i].index <= b[j].index);
        bool of_b = j < k && (i == k || b[j].index <= a[i].index);
        struct gw_entry sum = of_a ? a[i] : b[j];
        if (of_a && of_b) {
            sum.value += b[j].value;
        }
        i += of_a;
        j += of_b;
        out[count++] = sum;
    }
    return count;
}

/* What of `all` is not among the k of `kept`, which are some of them in the same order. */
static size_t leave_out(const struct gw_entry *all, size_t count, const struct gw_entry *kept,
                        size_t k, struct gw_entry *out) {
    size_t passed = 0;
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        if (passed < k && kept[passed].index == all[i].index) {
            passed++;
        } else {
            out[left++] = all[i];
        }
    }
    return left;
}

enum gw_status gw_merge(struct gw_entry *list, const struct gw_entry *came, size_t k,
                        struct gw_selection *merged, struct gw_entry *pruned,
                        struct gw_error *error) {
    /* All sums in the first half, of which copies in the second become the k largest. */
    GW_TRY(gw_selection_reserve(merged, 4 * k, error));
    struct gw_entry *all = merged->entries;
    size_t sums = add_up(list, came, k, all);
    struct gw_selection largest = {.count = sums, .capacity = 2 * k, .entries = all + 2 * k};
    memcpy(largest.entries, all, sums * sizeof *all);
    (void)gw_keep_largest(&largest, k);
    for (size_t i = leave_out(all, sums, largest.entries, k, pruned); i < k; i++) {
        pruned[i] = (struct gw_entry){.index = GW_NO_INDEX};
    }
    memcpy(list, largest.entries, k * sizeof *list);
    return GW_OK;
}

/* ---- vectors and lists --------------------------------------------------------------------- */

static enum gw_status add(const struct gw_memory *memory, float *sums, const float *values,
                          size_t count, struct gw_error *error) {
    (void)memory, (void)error;
    for (size_t i = 0; i < count; i++) {
        sums[i] += values[i];
    }
    return GW_OK;
}

enum { CHUNK = 4096 }; /* floats that stay in the L1 cache while block after block is added */

static enum gw_status sum_blocks(const struct gw_memory *memory, float *sums, size_t blocks,
                                 size_t count, struct gw_error *error) {
    (void)memory, (void)error;
    for (size_t first = 0; first < count; first += CHUNK) {
        size_t end = first + CHUNK < count ? first + CHUNK : count;
        for (size_t other = 1; other < blocks; other++) {
            const float *values = sums + other * count;
            for (size_t i = first; i < end; i++) {
                sums[i] += values[i];
            }
        }
    }
    return GW_OK;
}

static enum gw_status scatter_add(const struct gw_memory *memory, const struct gw_entry *entries,
                                  const size_t *counts, size_t lists, float *dense,
                                  struct gw_error *error) {
    (void)memory, (void)error;
    for (size_t i = 0; i < lists; i++) {
        gw_scatter_add(entries, counts[i], dense);
        entries += counts[i];
    }
    return GW_OK;
}

static enum gw_status scatter_add_where(const struct gw_memory *memory,
                                        const struct gw_entry *entries, size_t count,
                                        const struct gw_entry *list, size_t list_count, bool listed,
                                        float *dense, struct gw_error *error) {
    (void)memory, (void)error;
    for (size_t i = 0; i < count; i++) {
        if (gw_entries_have(list, list_count, entries[i].index) == listed) {
            dense[entries[i].index] += entries[i].value;
        }
    }
    return GW_OK;
}

static enum gw_status prepare_merge(struct gw_memory *memory, size_t k, struct gw_error *error) {
    return gw_selection_reserve(&memory->selection, 4 * k, error);
}

static enum gw_status merge(struct gw_memory *memory, struct gw_entry *entries,
                            const struct gw_entry *came, size_t k, struct gw_entry *pruned,
                            struct gw_error *error) {
    return gw_merge(entries, came, k, &memory->selection, pruned, error);
}

static enum gw_status clear_entries(const struct gw_memory *memory, const struct gw_entry *entries,
                                    size_t count, float *dense, struct gw_error *error) {
    (void)memory, (void)error;
    for (size_t i = 0; i < count; i++) {
        dense[entries[i].index] = 0;
    }
    return GW_OK;
}

static enum gw_status list(const struct gw_memory *memory, const struct gw_entry *entries,
                           size_t count, uint32_t *indices, struct gw_error *error) {
    (void)memory, (void)error;
    for (size_t i = 0; i < count; i++) {
        indices[i] = entries[i].index;
    }
    return GW_OK;
}

static enum gw_status take(const struct gw_memory *memory, float *dense, const uint32_t *indices,
                           size_t count, float *values, struct gw_error *error) {
    (void)memory, (void)error;
    for (size_t i = 0; i < count; i++) {
        values[i] = dense[indices[i]];
        dense[indices[i]] = 0;
    }
    return GW_OK;
}

static enum gw_status put(const struct gw_memory *memory, float *dense, const uint32_t *indices,
                          size_t count, const float *values, struct gw_error *error) {
    (void)memory, (void)error;
    for (size_t i = 0; i < count; i++) {
        dense[indices[i]] = values == NULL ? 0 : values[i];
    }
    return GW_OK;
}

/* A layer has at least one element, so that it was chosen if its first one was. */
static enum gw_status pack_layers(const struct gw_memory *memory, struct gw_group_state *group,
                                  float *out, struct gw_error *error) {
    (void)memory, (void)error;
    const struct gw_entry *entries = group->entries;
    float *values = out + group->slice->layer_count;
    size_t packed = 0;
    for (size_t layer = 0, first = 0; layer < group->slice->layer_count; layer++) {
        bool chosen = packed < group->selected && entries[packed].index == (uint32_t)first;
        out[layer] = chosen ? 1 : 0;
        for (size_t e = 0; e < group->layers[layer] && chosen; e++, packed++) {
            values[packed] = entries[packed].value;
        }
        first += group->layers[layer];
    }
    return GW_OK;
}

/* ---- selections and sketches --------------------------------------------------------------- */

/* Selections grow on demand. */
static enum gw_status prepare(const struct gw_memory *memory, struct gw_group_state *group,
                              struct gw_error *error) {
    (void)memory;
    (void)group;
    (void)error;
    return GW_OK;
}

static enum gw_status choose(struct gw_memory *memory, struct gw_group_state *group,
                             struct gw_task *task, bool takes, struct gw_error *error) {
    struct gw_selection *selection = &memory->selection;
    task->workspace = &memory->workspace;
    GW_TRY(takes ? gw_compress(group->compressor, task, selection, error)
                 : gw_kernel_of(group->compressor)->select(task, selection, error));
    group->entries = selection->entries;
    group->selected = selection->count;
    return GW_OK;
}

static enum gw_status found(struct gw_memory *memory, struct gw_group_state *group,
                            struct gw_error *error) {
    (void)memory, (void)group, (void)error;
    return GW_OK;
}

static enum gw_status open_sketch(const struct gw_memory *memory, struct gw_group_state *group,
                                  size_t columns, struct gw_error *error) {
    (void)memory;
    GW_TRY(gw_sketch_open(&group->sketch, GW_SKETCH_ROWS, columns, group->seed, error));
    group->cells = group->sketch.table;
    return GW_OK;
}

static enum gw_status sketch(struct gw_memory *memory, struct gw_group_state *group, float *u,
                             const float *gradient, struct gw_error *error) {
    GW_TRY(add(memory, u, gradient, group->slice->elements, error));
    gw_sketch_clear(&group->sketch);
    return gw_sketch_encode(&group->sketch, u, 0, group->slice->elements, error);
}

static enum gw_status find(struct gw_memory *memory, struct gw_group_state *group,
                           uint64_t iteration, uint32_t *indices, struct gw_error *error) {
    return gw_sketch_heavymix(&group->sketch, group->slice->elements, group->slice->kept, iteration,
                              &memory->workspace, indices, NULL, error);
}

const struct gw_memory_operations gw_memory_on_host = {
    .allocate = allocate,
    .free = release,
    .copy = copy,
    .clear = clear,
    .read = look_at,
    .write = copy,
    .add = add,
    .sum_blocks = sum_blocks,
    .scatter_add = scatter_add,
    .scatter_add_where = scatter_add_where,
    .prepare_merge = prepare_merge,
    .merge = merge,
    .clear_entries = clear_entries,
    .list = list,
    .take = take,
    .put = put,
    .pack_layers = pack_layers,
    .prepare = prepare,
    .select = choose,
    .found = found,
    .open_sketch = open_sketch,
    .sketch = sketch,
    .find = find,
};
