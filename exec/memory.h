/*
 * Where a worker's vectors are and what travels: in the memory of the host or of a GPU, and what is
 * done with it there. Legs of exchanges are written once, with these functions; which of the two
 * it is, only memory_host.c and memory_gpu.c know. Private to this room.
 *
 * On a GPU work is put on a stream, where it is done in order; none of it has been waited for, but
 * what `read` gives. On the host it is done when a function returns.
 */
#ifndef GW_EXEC_MEMORY_H
#define GW_EXEC_MEMORY_H

#include "device/device.h"
#include "kernels/kernels.h"

struct gw_memory;
struct gw_group_state;

/*
 * Memory for what travels, which grows where more is selected than before. Zero-initialise, then
 * free. Its pages are there before time is taken (gw_resident_zeros).
 */
struct gw_buffer {
    const struct gw_memory *space; /* that it was reserved in; NULL: the host, for the host alone */
    size_t capacity;               /* bytes */
    void *memory;
};

/*
 * Makes it hold `bytes` of the space, always the same one, and keeps what is in it. It may move.
 */
enum gw_status gw_buffer_reserve(struct gw_buffer *buffer, const struct gw_memory *space,
                                 size_t bytes, struct gw_error *error);
void gw_buffer_free(struct gw_buffer *buffer);

struct gw_memory_operations {
    /* Zeroed, and there before time is taken. */
    enum gw_status (*allocate)(const struct gw_memory *memory, size_t bytes, void **out,
                               struct gw_error *error);
    void (*free)(const struct gw_memory *memory, void *block);

    enum gw_status (*copy)(const struct gw_memory *memory, void *to, const void *from, size_t bytes,
                           struct gw_error *error);
    enum gw_status (*clear)(const struct gw_memory *memory, void *to, size_t bytes,
                            struct gw_error *error);
    /* For the host to look at: *out is `from` itself or a copy in `copy`, a buffer of the host. */
    enum gw_status (*read)(const struct gw_memory *memory, const void *from, size_t bytes,
                           struct gw_buffer *copy, void **out, struct gw_error *error);
    /* From the host, of whose `from` nothing is needed any more then; it may be `to`. */
    enum gw_status (*write)(const struct gw_memory *memory, void *to, const void *from,
                            size_t bytes, struct gw_error *error);

    /* sums[i] += values[i] */
    enum gw_status (*add)(const struct gw_memory *memory, float *sums, const float *values,
                          size_t count, struct gw_error *error);
    /* sums[i] += sums[b * count + i] for b = 1 .. blocks - 1, in this order. */
    enum gw_status (*sum_blocks)(const struct gw_memory *memory, float *sums, size_t blocks,
                                 size_t count, struct gw_error *error);

    /* dense[entry.index] += entry.value, of lists one after another in which no index is twice. */
    enum gw_status (*scatter_add)(const struct gw_memory *memory, const struct gw_entry *entries,
                                  const size_t *counts, size_t lists, float *dense,
                                  struct gw_error *error);
    /* Of a list, those whose index is in another, ascending one, or is not. */
    enum gw_status (*scatter_add_where)(const struct gw_memory *memory,
                                        const struct gw_entry *entries, size_t count,
                                        const struct gw_entry *list, size_t list_count, bool listed,
                                        float *dense, struct gw_error *error);
    /* As gw_merge, of k entries each; and room for it, before time is taken. */
    enum gw_status (*prepare_merge)(struct gw_memory *memory, size_t k, struct gw_error *error);
    enum gw_status (*merge)(struct gw_memory *memory, struct gw_entry *entries,
                            const struct gw_entry *came, size_t k, struct gw_entry *pruned,
                            struct gw_error *error);
    /* dense[entry.index] = 0 */
    enum gw_status (*clear_entries)(const struct gw_memory *memory, const struct gw_entry *entries,
                                    size_t count, float *dense, struct gw_error *error);
    /* indices[i] = entries[i].index */
    enum gw_status (*list)(const struct gw_memory *memory, const struct gw_entry *entries,
                           size_t count, uint32_t *indices, struct gw_error *error);
    /* values[i] = dense[indices[i]], and zero is left there; no index is twice. */
    enum gw_status (*take)(const struct gw_memory *memory, float *dense, const uint32_t *indices,
                           size_t count, float *values, struct gw_error *error);
    /* dense[indices[i]] = values[i]; NULL for values: 0. */
    enum gw_status (*put)(const struct gw_memory *memory, float *dense, const uint32_t *indices,
                          size_t count, const float *values, struct gw_error *error);
    /*
     * Of the group's entries, which are whole layers: to `out`, 1 for each layer that is among
     * them and 0 for the others, then the entries' values.
     */
    enum gw_status (*pack_layers)(const struct gw_memory *memory, struct gw_group_state *group,
                                  float *out, struct gw_error *error);

    /* Makes room for what the group's compressor selects, before time is taken. */
    enum gw_status (*prepare)(const struct gw_memory *memory, struct gw_group_state *group,
                              struct gw_error *error);
    /*
     * Starts a selection by the group's compressor, which leaves zeros in task->u if it `takes`.
     * `found` gives it, on whichever stream goes on with it: waits, then the group's entries are
     * there, and their number.
     */
    enum gw_status (*select)(struct gw_memory *memory, struct gw_group_state *group,
                             struct gw_task *task, bool takes, struct gw_error *error);
    enum gw_status (*found)(struct gw_memory *memory, struct gw_group_state *group,
                            struct gw_error *error);

    /*
     * The group's sketch, of so many columns; of u + gradient, which is left in u; and what is
     * found in it: as many indices as the group keeps.
     */
    enum gw_status (*open_sketch)(const struct gw_memory *memory, struct gw_group_state *group,
                                  size_t columns, struct gw_error *error);
    enum gw_status (*sketch)(struct gw_memory *memory, struct gw_group_state *group, float *u,
                             const float *gradient, struct gw_error *error);
    enum gw_status (*find)(struct gw_memory *memory, struct gw_group_state *group,
                           uint64_t iteration, uint32_t *indices, struct gw_error *error);
};

/* One stream's. */
struct gw_memory {
    const struct gw_memory_operations *does;
    struct gw_device *device;               /* NULL: the host */
    struct gw_device_stream *stream;        /* borrowed */
    struct gw_gpu_workspace *gpu_workspace; /* of selections on the stream */
    struct gw_workspace workspace;          /* the same of the host */
    struct gw_selection selection;          /* or of a merge */
};

extern const struct gw_memory_operations gw_memory_on_host, gw_memory_on_gpu;

/*
 * Merges the entries of two workers into as many as either has: two lists of k entries, each
 * ascending without repeated indices. Their sums, those of one index added up (`list` + `came`),
 * are at least k; the k of the largest magnitude, of equals those of lower index, are left in
 * `list`, ascending. The others, at most k, go to `pruned`, [k], ascending, and behind them 0 with
 * GW_NO_INDEX. `merged` is for its use.
 */
enum gw_status gw_merge(struct gw_entry *list, const struct gw_entry *came, size_t k,
                        struct gw_selection *merged, struct gw_entry *pruned,
                        struct gw_error *error);

#endif
