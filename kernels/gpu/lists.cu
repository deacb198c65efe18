/* Vectors, and lists of entries and of indices, on a GPU: one thread an element at a time. */
#include "kernels/gpu/kernels.cuh"

#include "kernels/gpu/add.cuh"

enum { THREADS = 256, BLOCKS_EACH = 16 /* of a multiprocessor: more than it holds at once */ };

/* No more blocks than keep the GPU full; each goes on until all n elements are done. */
static size_t blocks_for(const struct gw_device_stream *stream, size_t n) {
    size_t most = BLOCKS_EACH * gw_device_multiprocessors(gw_device_stream_device(stream));
    size_t needed = n / THREADS + (n % THREADS != 0);
    return needed < most ? needed : most;
}

/* For each i < n of this thread, which all threads share out evenly. */
#define EACH(i, n)                                                                                 \
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < (n);                           \
         i += (size_t)gridDim.x * THREADS)

/* ---- vectors ------------------------------------------------------------------------------- */

static __global__ void add_all(float *sums, const float *vectors, size_t count, size_t n) {
    EACH(i, n) {
        float sum = sums[i];
        for (size_t v = 0; v < count; v++) {
            sum = gw_add(sum, vectors[v * n + i]);
        }
        sums[i] = sum;
    }
}

enum gw_status gw_gpu_add(float *sums, const float *values, size_t n,
                          struct gw_device_stream *stream, struct gw_error *error) {
    return gw_gpu_add_all(sums, values, 1, n, stream, error);
}

enum gw_status gw_gpu_add_all(float *sums, const float *vectors, size_t count, size_t n,
                              struct gw_device_stream *stream, struct gw_error *error) {
    return GW_LAUNCH(add_all, blocks_for(stream, n), THREADS, stream, error, sums, vectors, count,
                     n);
}

/* ---- lists of entries ---------------------------------------------------------------------- */

static __global__ void scatter_add(const struct gw_entry *entries, size_t count, float *dense) {
    EACH(i, count) {
        struct gw_entry entry = entries[i];
        dense[entry.index] = gw_add(dense[entry.index], entry.value);
    }
}

/* A launch for each list: the next one begins when all sums of this one are there. */
enum gw_status gw_gpu_scatter_add(const struct gw_entry *entries, const size_t *counts,
                                  size_t lists, float *dense, struct gw_device_stream *stream,
                                  struct gw_error *error) {
    for (size_t list = 0; list < lists; list++) {
        GW_TRY(GW_LAUNCH(scatter_add, blocks_for(stream, counts[list]), THREADS, stream, error,
                         entries, counts[list], dense));
        entries += counts[list];
    }
    return GW_OK;
}

static __global__ void scatter_add_where(const struct gw_entry *entries, size_t count,
                                         const struct gw_entry *list, size_t list_count,
                                         bool listed, float *dense) {
    EACH(i, count) {
        struct gw_entry entry = entries[i];
        if (gw_entries_have(list, list_count, entry.index) == listed) {
            dense[entry.index] = gw_add(dense[entry.index], entry.value);
        }
    }
}

enum gw_status gw_gpu_scatter_add_where(const struct gw_entry *entries, size_t count,
                                        const struct gw_entry *list, size_t list_count, bool listed,
                                        float *dense, struct gw_device_stream *stream,
                                        struct gw_error *error) {
    return GW_LAUNCH(scatter_add_where, blocks_for(stream, count), THREADS, stream, error, entries,
                     count, list, list_count, listed, dense);
}

static __global__ void clear_entries(const struct gw_entry *entries, size_t count, float *dense) {
    EACH(i, count) {
        gw_store_now(&dense[entries[i].index], 0); /* an index may be there more than once */
    }
}

enum gw_status gw_gpu_clear_entries(const struct gw_entry *entries, size_t count, float *dense,
                                    struct gw_device_stream *stream, struct gw_error *error) {
    return GW_LAUNCH(clear_entries, blocks_for(stream, count), THREADS, stream, error, entries,
                     count, dense);
}

static __global__ void list_indices(const struct gw_entry *entries, size_t count,
                                    uint32_t *indices) {
    EACH(i, count) {
        indices[i] = entries[i].index;
    }
}

enum gw_status gw_gpu_list_indices(const struct gw_entry *entries, size_t count, uint32_t *indices,
                                   struct gw_device_stream *stream, struct gw_error *error) {
    return GW_LAUNCH(list_indices, blocks_for(stream, count), THREADS, stream, error, entries,
                     count, indices);
}

static __global__ void list_values(const struct gw_entry *entries, size_t count, float *values) {
    EACH(i, count) {
        values[i] = entries[i].value;
    }
}

enum gw_status gw_gpu_list_values(const struct gw_entry *entries, size_t count, float *values,
                                  struct gw_device_stream *stream, struct gw_error *error) {
    return GW_LAUNCH(list_values, blocks_for(stream, count), THREADS, stream, error, entries, count,
                     values);
}

static __global__ void flag_indices(const struct gw_entry *entries, size_t count,
                                    const uint32_t *indices, size_t n, float *flags) {
    EACH(i, n) {
        flags[i] = gw_entries_have(entries, count, indices[i]) ? 1 : 0;
    }
}

enum gw_status gw_gpu_flag_indices(const struct gw_entry *entries, size_t count,
                                   const uint32_t *indices, size_t n, float *flags,
                                   struct gw_device_stream *stream, struct gw_error *error) {
    return GW_LAUNCH(flag_indices, blocks_for(stream, n), THREADS, stream, error, entries, count,
                     indices, n, flags);
}

/* ---- lists of indices ---------------------------------------------------------------------- */

static __global__ void take(const float *dense, const uint32_t *indices, size_t count,
                            float *values) {
    EACH(i, count) {
        values[i] = dense[indices[i]];
    }
}

enum gw_status gw_gpu_take(const float *dense, const uint32_t *indices, size_t count, float *values,
                           struct gw_device_stream *stream, struct gw_error *error) {
    return GW_LAUNCH(take, blocks_for(stream, count), THREADS, stream, error, dense, indices, count,
                     values);
}

static __global__ void put(float *dense, const uint32_t *indices, size_t count,
                           const float *values) {
    EACH(i, count) {
        dense[indices[i]] = values == NULL ? 0 : values[i];
    }
}

enum gw_status gw_gpu_put(float *dense, const uint32_t *indices, size_t count, const float *values,
                          struct gw_device_stream *stream, struct gw_error *error) {
    return GW_LAUNCH(put, blocks_for(stream, count), THREADS, stream, error, dense, indices, count,
                     values);
}
