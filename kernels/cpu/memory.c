/* Buffers in either memory, and the operations of the host's. */
#include "kernels/memory.h"

#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "kernels/codes.h"
#include "kernels/gpu.h"
#include "kernels/low_rank.h"

#pragma GCC diagnostic ignored "-Wunused-parameter" /* the host needs no stream */

static enum gw_status host_allocate(const struct gw_memory *memory, size_t bytes, void **out,
                                    struct gw_error *error) {
    *out = gw_resident_zeros(bytes);
    return *out != NULL ? GW_OK : gw_fail_memory(error, "allocating buffers for exchanges");
}

static void host_free(const struct gw_memory *memory, void *block) {
    free(block);
}

static enum gw_status host_copy(const struct gw_memory *memory, void *to, const void *from,
                                size_t bytes, struct gw_error *error) {
    if (bytes > 0 && to != from) {
        memcpy(to, from, bytes);
    }
    return GW_OK;
}

static enum gw_status host_clear(const struct gw_memory *memory, void *to, size_t bytes,
                                 struct gw_error *error) {
    if (bytes > 0) {
        memset(to, 0, bytes);
    }
    return GW_OK;
}

static enum gw_status host_read(const struct gw_memory *memory, const void *from, size_t bytes,
                                struct gw_buffer *unused, void **out, struct gw_error *error) {
    *out = (void *)(uintptr_t)from;
    return GW_OK;
}

/* ---- merging ------------------------------------------------------------------------------- */

/* Writes all sums to `out`, ascending; returns their number. */
static size_t sum_entries(const struct gw_entry *a, const struct gw_entry *b, size_t k,
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

/*
 * Writes the entries of `all` that are not among the k of `kept`, a part of them in the same order.
 */
static size_t list_pruned(const struct gw_entry *all, size_t count, const struct gw_entry *kept,
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

static enum gw_status host_prepare_merge(struct gw_memory *memory, size_t k,
                                         struct gw_error *error) {
    return gw_selection_reserve(&memory->selection, 4 * k, error);
}

/* Keeps all sums in the first half of the scratch memory, and finds the k largest of a copy in the
 * second. */
static enum gw_status host_merge(struct gw_memory *memory, struct gw_entry *list,
                                 const struct gw_entry *came, size_t k, struct gw_entry *pruned,
                                 struct gw_error *error) {
    GW_TRY(host_prepare_merge(memory, k, error));
    struct gw_entry *all = memory->selection.entries;
    size_t sums = sum_entries(list, came, k, all);
    struct gw_selection largest = {.count = sums, .capacity = 2 * k, .entries = all + 2 * k};
    memcpy(largest.entries, all, sums * sizeof *all);
    (void)gw_keep_largest(&largest, k);
    for (size_t i = list_pruned(all, sums, largest.entries, k, pruned); i < k; i++) {
        pruned[i] = (struct gw_entry){.index = GW_NO_INDEX};
    }
    memcpy(list, largest.entries, k * sizeof *list);
    return GW_OK;
}

/* ---- vectors and lists --------------------------------------------------------------------- */

enum { CHUNK = 4096 }; /* floats that stay in the L1 cache while all blocks are added */

static enum gw_status host_sum_blocks(const struct gw_memory *memory, float *sums, size_t blocks,
                                      size_t count, struct gw_error *error) {
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

static enum gw_status host_scatter_add(const struct gw_memory *memory,
                                       const struct gw_entry *entries, const size_t *counts,
                                       size_t lists, float *dense, struct gw_error *error) {
    for (size_t i = 0; i < lists; i++) {
        gw_scatter_add(entries, counts[i], dense);
        entries += counts[i];
    }
    return GW_OK;
}

#define UNPACK(...) __VA_ARGS__
#define ADD(a, b) ((a) + (b))
#define STORE(to, value) *(to) = (value)
#define FOR_EACH(operation, n, parameters, arguments, ...)                                         \
    static enum gw_status host_##operation(const struct gw_memory *memory, UNPACK parameters,      \
                                           struct gw_error *error) {                               \
        for (size_t i = 0; i < (n); i++) {                                                         \
            __VA_ARGS__                                                                            \
        }                                                                                          \
        return GW_OK;                                                                              \
    }

#include "kernels/each.h"

/* ---- numbers of a type --------------------------------------------------------------------- */

/* Returns numbers from `first` on as floats: where they are, or decoded in `block`. */
static const float *as_floats(enum gw_number_type type, const void *numbers, size_t first,
                              size_t count, float block[CHUNK]) {
    if (type == GW_NUMBER_FLOAT) {
        return (const float *)numbers + first;
    }
    gw_halves_decode(type, (const uint16_t *)numbers + first, count, block);
    return block;
}

/* Runs the statement for each `i` of each chunk of `count` numbers, whose floats are `values`. */
#define FOR_EACH_NUMBER(operation, statement)                                                      \
    static enum gw_status host_##operation(const struct gw_memory *memory, float *to,              \
                                           enum gw_number_type type, const void *numbers,          \
                                           float scale, size_t count, struct gw_error *error) {    \
        float block[CHUNK];                                                                        \
        for (size_t first = 0; first < count; first += CHUNK, to += CHUNK) {                       \
            size_t size = count - first < CHUNK ? count - first : CHUNK;                           \
            const float *values = as_floats(type, numbers, first, size, block);                    \
            for (size_t i = 0; i < size; i++) {                                                    \
                statement;                                                                         \
            }                                                                                      \
        }                                                                                          \
        return GW_OK;                                                                              \
    }

FOR_EACH_NUMBER(copy_scaled, to[i] = scale * values[i])
FOR_EACH_NUMBER(accumulate, to[i] = gw_finite_or_0(to[i]) + scale * values[i])

static enum gw_status host_round_to_halves(const struct gw_memory *memory, enum gw_number_type type,
                                           const float *values, size_t count, uint16_t *to,
                                           struct gw_error *error) {
    gw_halves_encode(type, values, count, to);
    return GW_OK;
}

/* ---- codes --------------------------------------------------------------------------------- */

static enum gw_status host_encode(struct gw_memory *memory, const struct gw_task *task, bool takes,
                                  const struct gw_codes *codes, struct gw_gpu_selection *on_gpu,
                                  struct gw_error *error) {
    struct gw_task own = *task;
    own.workspace = &memory->workspace;
    return gw_encode(&own, takes, codes, error);
}

static enum gw_status host_finish_encode(const struct gw_memory *memory,
                                         const struct gw_codes *codes,
                                         const struct gw_gpu_selection *on_gpu,
                                         struct gw_error *error) {
    return GW_OK;
}

static enum gw_status host_decode(const struct gw_memory *memory, const struct gw_codes *codes,
                                  size_t n, size_t threads, bool adding, float *out,
                                  struct gw_error *error) {
    (adding ? gw_decode_add : gw_decode)(codes, n, threads, out);
    return GW_OK;
}

/* ---- factors ------------------------------------------------------------------------------- */

static enum gw_status host_project(struct gw_memory *memory, struct gw_low_rank *group,
                                   const struct gw_task *task, struct gw_gpu_selection *on_gpu,
                                   struct gw_error *error) {
    struct gw_task own = *task;
    own.workspace = &memory->workspace;
    return gw_low_rank_project(group, &own, error);
}

static enum gw_status host_finish_project(const struct gw_memory *memory,
                                          const struct gw_low_rank *group,
                                          const struct gw_gpu_selection *on_gpu,
                                          struct gw_error *error) {
    return GW_OK;
}

static enum gw_status host_factor(const struct gw_memory *memory, struct gw_low_rank *group,
                                  const struct gw_task *task, struct gw_error *error) {
    gw_low_rank_factor(group, task);
    return GW_OK;
}

static enum gw_status host_expand(const struct gw_memory *memory, struct gw_low_rank *group,
                                  const struct gw_task *task, float times, float *out,
                                  struct gw_error *error) {
    gw_low_rank_expand(group, task, times, out);
    return GW_OK;
}

const struct gw_memory_operations gw_memory_on_host = {
    .allocate = host_allocate,
    .free = host_free,
    .copy = host_copy,
    .clear = host_clear,
    .read = host_read,
    .write = host_copy,
    .add = host_add,
    .copy_scaled = host_copy_scaled,
    .accumulate = host_accumulate,
    .round_to_halves = host_round_to_halves,
    .sum_blocks = host_sum_blocks,
    .scatter_add = host_scatter_add,
    .scatter_add_where = host_scatter_add_where,
    .prepare_merge = host_prepare_merge,
    .merge = host_merge,
    .clear_entries = host_clear_entries,
    .list_indices = host_list_indices,
    .list_values = host_list_values,
    .flag_indices = host_flag_indices,
    .take = host_take,
    .put = host_put,
    .encode = host_encode,
    .finish_encode = host_finish_encode,
    .decode = host_decode,
    .project = host_project,
    .finish_project = host_finish_project,
    .factor = host_factor,
    .expand = host_expand,
};

/* ---- buffers ------------------------------------------------------------------------------- */

enum gw_status gw_buffer_reserve(struct gw_buffer *buffer, const struct gw_memory *space,
                                 size_t bytes, struct gw_error *error) {
    static const struct gw_memory host = {.does = &gw_memory_on_host};
    if (bytes <= buffer->capacity) {
        return GW_OK;
    }
    /* Reserves half as much again, so that counts that grow slowly do not need pages in each
     * iteration. */
    size_t capacity = buffer->capacity == 0 ? bytes : bytes + bytes / 2;
    void *memory = NULL;
    space = space == NULL ? &host : space;
    GW_TRY(space->does->allocate(space, capacity, &memory, error));
    enum gw_status status =
        space->does->copy(space, memory, buffer->memory, buffer->capacity, error);
    if (status != GW_OK) {
        space->does->free(space, memory);
        return status;
    }
    gw_buffer_free(buffer);
    *buffer = (struct gw_buffer){.space = space, .capacity = capacity, .memory = memory};
    return GW_OK;
}

void gw_buffer_free(struct gw_buffer *buffer) {
    if (buffer->space != NULL) {
        buffer->space->does->free(buffer->space, buffer->memory);
    }
    *buffer = (struct gw_buffer){0};
}
