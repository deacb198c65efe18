/*
 * Memory of the host or of a GPU, and operations on vectors and selections in it. Code that uses
 * these operations is the same for both, with the same results, bit for bit.
 *
 * On a GPU operations are work on a stream, done in order; only `read` waits for it. On the host an
 * operation is done when its function returns.
 */
#ifndef GW_KERNELS_MEMORY_H
#define GW_KERNELS_MEMORY_H

#include "core/halves.h"
#include "device/device.h"
#include "kernels/kernels.h"

struct gw_codes;
struct gw_gpu_selection;
struct gw_low_rank;
struct gw_memory;

/* A buffer in a memory, which grows on demand. Zero-initialise, then free. Its pages are touched
 * when they are reserved, so that timed code does not (gw_resident_zeros). */
struct gw_buffer {
    const struct gw_memory *space; /* where it was reserved */
    size_t capacity;               /* bytes */
    void *memory;
};

/* Makes the buffer hold `bytes` of the space, always the same one (NULL: the host), and keeps its
 * contents. It may move. */
enum gw_status gw_buffer_reserve(struct gw_buffer *buffer, const struct gw_memory *space,
                                 size_t bytes, struct gw_error *error);
void gw_buffer_free(struct gw_buffer *buffer);

struct gw_memory_operations {
    /* Zeroed and touched, so that timed code does not. */
    enum gw_status (*allocate)(const struct gw_memory *memory, size_t bytes, void **out,
                               struct gw_error *error);
    /*
     * Work on other streams of a GPU may still use the block: its driver waits for all work first.
     */
    void (*free)(const struct gw_memory *memory, void *block);

    enum gw_status (*copy)(const struct gw_memory *memory, void *to, const void *from, size_t bytes,
                           struct gw_error *error);
    enum gw_status (*clear)(const struct gw_memory *memory, void *to, size_t bytes,
                            struct gw_error *error);
    /* For the host: *out is `from` itself, or a copy of it in `copy`, a buffer of the host. */
    enum gw_status (*read)(const struct gw_memory *memory, const void *from, size_t bytes,
                           struct gw_buffer *copy, void **out, struct gw_error *error);
    /* From the host. `from` may be reused when this returns, and may be `to`. */
    enum gw_status (*write)(const struct gw_memory *memory, void *to, const void *from,
                            size_t bytes, struct gw_error *error);

    /* sums[i] += scale * values[i] */
    enum gw_status (*add)(const struct gw_memory *memory, float *sums, const float *values,
                          float scale, size_t count, struct gw_error *error);
    /* to[i] = scale * numbers[i], of a type */
    enum gw_status (*copy_scaled)(const struct gw_memory *memory, float *to,
                                  enum gw_number_type type, const void *numbers, float scale,
                                  size_t count, struct gw_error *error);
    /* The same, added to what the residual was, where that is finite: an infinity that stays would
     * be sent again after each overflow of gradients. */
    enum gw_status (*accumulate)(const struct gw_memory *memory, float *residual,
                                 enum gw_number_type type, const void *numbers, float scale,
                                 size_t count, struct gw_error *error);
    /* to[i] = values[i], rounded to a type of halves as gw_halves_encode does */
    enum gw_status (*round_to_halves)(const struct gw_memory *memory, enum gw_number_type type,
                                      const float *values, size_t count, uint16_t *to,
                                      struct gw_error *error);
    /* sums[i] += sums[b * count + i] for b = 1 .. blocks - 1, in this order. */
    enum gw_status (*sum_blocks)(const struct gw_memory *memory, float *sums, size_t blocks,
                                 size_t count, struct gw_error *error);

    /* dense[entry.index] += entry.value for the entries of each of `lists` lists, one list after
     * the other; counts[i] (of the host) entries each, no index twice in a list. */
    enum gw_status (*scatter_add)(const struct gw_memory *memory, const struct gw_entry *entries,
                                  const size_t *counts, size_t lists, float *dense,
                                  struct gw_error *error);
    /* The same for those entries of one list whose index is in another, ascending `list`, if
     * `listed`, or is not in it otherwise. */
    enum gw_status (*scatter_add_where)(const struct gw_memory *memory,
                                        const struct gw_entry *entries, size_t count,
                                        const struct gw_entry *list, size_t list_count, bool listed,
                                        float *dense, struct gw_error *error);
    /*
     * Merges two lists of k entries, each ascending without repeated indices. Values of one index
     * are added (`list` + `came`), which leaves at least k sums. The k of the largest magnitude, of
     * equal ones those of lower index, go to `list`, ascending. The others, at most k, go to
     * `pruned`, [k], ascending, followed by 0 with GW_NO_INDEX. `prepare_merge` reserves memory for
     * it, before timed code; on a GPU it refuses (GW_BAD_INPUT) more than 2^31 - 1 entries.
     */
    enum gw_status (*prepare_merge)(struct gw_memory *memory, size_t k, struct gw_error *error);
    enum gw_status (*merge)(struct gw_memory *memory, struct gw_entry *list,
                            const struct gw_entry *came, size_t k, struct gw_entry *pruned,
                            struct gw_error *error);
    /* dense[entry.index] = 0 */
    enum gw_status (*clear_entries)(const struct gw_memory *memory, const struct gw_entry *entries,
                                    size_t count, float *dense, struct gw_error *error);
    /* indices[i] = entries[i].index, and values[i] = entries[i].value */
    enum gw_status (*list_indices)(const struct gw_memory *memory, const struct gw_entry *entries,
                                   size_t count, uint32_t *indices, struct gw_error *error);
    enum gw_status (*list_values)(const struct gw_memory *memory, const struct gw_entry *entries,
                                  size_t count, float *values, struct gw_error *error);
    /* flags[i] = 1 if an entry of `entries` (ascending) has the index indices[i], or 0; i < n. */
    enum gw_status (*flag_indices)(const struct gw_memory *memory, const struct gw_entry *entries,
                                   size_t count, const uint32_t *indices, size_t n, float *flags,
                                   struct gw_error *error);
    /* values[i] = dense[indices[i]], which becomes 0; no index occurs twice. */
    enum gw_status (*take)(const struct gw_memory *memory, float *dense, const uint32_t *indices,
                           size_t count, float *values, struct gw_error *error);
    /* dense[indices[i]] = values[i]; NULL for values: 0. */
    enum gw_status (*put)(const struct gw_memory *memory, float *dense, const uint32_t *indices,
                          size_t count, const float *values, struct gw_error *error);

    /*
     * gw_encode (kernels/codes.h), with the workspace of the memory. On a GPU `on_gpu`, which needs
     * no capacity (gw_gpu_selection_reserve), keeps the outcome until `finish_encode` waits for it
     * and reports bad input; on the host it may be NULL.
     */
    enum gw_status (*encode)(struct gw_memory *memory, const struct gw_task *task, bool takes,
                             const struct gw_codes *codes, struct gw_gpu_selection *on_gpu,
                             struct gw_error *error);
    enum gw_status (*finish_encode)(const struct gw_memory *memory, const struct gw_codes *codes,
                                    const struct gw_gpu_selection *on_gpu, struct gw_error *error);
    /* gw_decode or, if `adding`, gw_decode_add. */
    enum gw_status (*decode)(const struct gw_memory *memory, const struct gw_codes *codes, size_t n,
                             size_t threads, bool adding, float *out, struct gw_error *error);

    /*
     * gw_low_rank_project, gw_low_rank_factor and gw_low_rank_expand (kernels/low_rank.h) of
     * factors in this memory; on a GPU `on_gpu` is as that of encode.
     */
    enum gw_status (*project)(struct gw_memory *memory, struct gw_low_rank *group,
                              const struct gw_task *task, struct gw_gpu_selection *on_gpu,
                              struct gw_error *error);
    enum gw_status (*finish_project)(const struct gw_memory *memory,
                                     const struct gw_low_rank *group,
                                     const struct gw_gpu_selection *on_gpu, struct gw_error *error);
    enum gw_status (*factor)(const struct gw_memory *memory, struct gw_low_rank *group,
                             const struct gw_task *task, struct gw_error *error);
    enum gw_status (*expand)(const struct gw_memory *memory, struct gw_low_rank *group,
                             const struct gw_task *task, float times, float *out,
                             struct gw_error *error);
};

/* The memory of one stream. */
struct gw_memory {
    const struct gw_memory_operations *does;
    struct gw_device *device;               /* NULL: the host */
    struct gw_device_stream *stream;        /* borrowed */
    struct gw_gpu_workspace *gpu_workspace; /* of selections on the stream */
    struct gw_workspace workspace;          /* of selections on the host */
    struct gw_selection selection;          /* the result of one, or scratch memory of a merge */
};

extern const struct gw_memory_operations gw_memory_on_host, gw_memory_on_gpu;

/* Opens a stream's GPU or, for NULL, the host. *out may be closed on failure too. */
enum gw_status gw_memory_open(struct gw_memory *out, struct gw_device_stream *stream,
                              struct gw_error *error);
void gw_memory_close(struct gw_memory *memory);

#endif
