/* Of vectors, lists and sketches on GPUs in a build without CUDA: only what frees is ever called.
 */
#include "kernels/gpu.h"

static enum gw_status refuse(struct gw_error *error) {
    return gw_fail(error, GW_BAD_INPUT, "expected a GPU: this build has no CUDA in it");
}

enum gw_status gw_gpu_add(float *sums, const float *values, size_t n,
                          struct gw_device_stream *stream, struct gw_error *error) {
    (void)sums, (void)values, (void)n, (void)stream;
    return refuse(error);
}

enum gw_status gw_gpu_add_all(float *sums, const float *vectors, size_t count, size_t n,
                              struct gw_device_stream *stream, struct gw_error *error) {
    (void)sums, (void)vectors, (void)count, (void)n, (void)stream;
    return refuse(error);
}

enum gw_status gw_gpu_scatter_add(const struct gw_entry *entries, const size_t *counts,
                                  size_t lists, float *dense, struct gw_device_stream *stream,
                                  struct gw_error *error) {
    (void)entries, (void)counts, (void)lists, (void)dense, (void)stream;
    return refuse(error);
}

enum gw_status gw_gpu_scatter_add_where(const struct gw_entry *entries, size_t count,
                                        const struct gw_entry *list, size_t list_count, bool listed,
                                        float *dense, struct gw_device_stream *stream,
                                        struct gw_error *error) {
    (void)entries, (void)count, (void)list, (void)list_count, (void)listed, (void)dense,
        (void)stream;
    return refuse(error);
}

enum gw_status gw_gpu_merge_reserve(size_t k, struct gw_gpu_workspace *workspace,
                                    struct gw_error *error) {
    (void)k, (void)workspace;
    return refuse(error);
}

enum gw_status gw_gpu_merge(struct gw_entry *list, const struct gw_entry *came, size_t k,
                            struct gw_entry *pruned, struct gw_device_stream *stream,
                            struct gw_gpu_workspace *workspace, struct gw_error *error) {
    (void)list, (void)came, (void)k, (void)pruned, (void)stream, (void)workspace;
    return refuse(error);
}

enum gw_status gw_gpu_clear_entries(const struct gw_entry *entries, size_t count, float *dense,
                                    struct gw_device_stream *stream, struct gw_error *error) {
    (void)entries, (void)count, (void)dense, (void)stream;
    return refuse(error);
}

enum gw_status gw_gpu_list_indices(const struct gw_entry *entries, size_t count, uint32_t *indices,
                                   struct gw_device_stream *stream, struct gw_error *error) {
    (void)entries, (void)count, (void)indices, (void)stream;
    return refuse(error);
}

enum gw_status gw_gpu_list_values(const struct gw_entry *entries, size_t count, float *values,
                                  struct gw_device_stream *stream, struct gw_error *error) {
    (void)entries, (void)count, (void)values, (void)stream;
    return refuse(error);
}

enum gw_status gw_gpu_flag_indices(const struct gw_entry *entries, size_t count,
                                   const uint32_t *indices, size_t n, float *flags,
                                   struct gw_device_stream *stream, struct gw_error *error) {
    (void)entries, (void)count, (void)indices, (void)n, (void)flags, (void)stream;
    return refuse(error);
}

enum gw_status gw_gpu_take(const float *dense, const uint32_t *indices, size_t count, float *values,
                           struct gw_device_stream *stream, struct gw_error *error) {
    (void)dense, (void)indices, (void)count, (void)values, (void)stream;
    return refuse(error);
}

enum gw_status gw_gpu_put(float *dense, const uint32_t *indices, size_t count, const float *values,
                          struct gw_device_stream *stream, struct gw_error *error) {
    (void)dense, (void)indices, (void)count, (void)values, (void)stream;
    return refuse(error);
}

enum gw_status gw_gpu_sketch_open(struct gw_gpu_sketch *out, struct gw_device *device, size_t rows,
                                  size_t columns, uint64_t seed, struct gw_error *error) {
    (void)out, (void)device, (void)rows, (void)columns, (void)seed;
    return refuse(error);
}

enum gw_status gw_gpu_sketch_clear(struct gw_gpu_sketch *sketch, struct gw_device_stream *stream,
                                   struct gw_error *error) {
    (void)sketch, (void)stream;
    return refuse(error);
}

enum gw_status gw_gpu_sketch_prepare(struct gw_gpu_sketch *sketch, size_t n,
                                     struct gw_device_stream *stream, struct gw_error *error) {
    (void)sketch, (void)n, (void)stream;
    return refuse(error);
}

enum gw_status gw_gpu_sketch_encode(struct gw_gpu_sketch *sketch, float *u, const float *gradient,
                                    size_t n, struct gw_device_stream *stream,
                                    struct gw_gpu_workspace *workspace, struct gw_error *error) {
    (void)sketch, (void)u, (void)gradient, (void)n, (void)stream, (void)workspace;
    return refuse(error);
}

enum gw_status gw_gpu_sketch_merge(struct gw_gpu_sketch *sketch, const struct gw_gpu_sketch *other,
                                   struct gw_device_stream *stream, struct gw_error *error) {
    (void)sketch, (void)other, (void)stream;
    return refuse(error);
}

enum gw_status gw_gpu_sketch_estimate(const struct gw_gpu_sketch *sketch, size_t n,
                                      float *estimates, struct gw_device_stream *stream,
                                      struct gw_error *error) {
    (void)sketch, (void)n, (void)estimates, (void)stream;
    return refuse(error);
}

enum gw_status gw_gpu_sketch_heavymix(const struct gw_gpu_sketch *sketch, size_t n, size_t k,
                                      uint64_t iteration, struct gw_device_stream *stream,
                                      struct gw_gpu_workspace *workspace, uint32_t *indices,
                                      size_t *heavy, struct gw_error *error) {
    (void)sketch, (void)n, (void)k, (void)iteration, (void)stream, (void)workspace, (void)indices,
        (void)heavy;
    return refuse(error);
}

void gw_gpu_sketch_free(struct gw_gpu_sketch *sketch) {
    *sketch = (struct gw_gpu_sketch){0};
}
