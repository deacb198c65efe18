/* What a build without CUDA, or without cuBLAS' header, answers. */
#include "exec/exec.h"
#include "exec/gpu_kernels.h"
#include "exec/memory.h"
#include "exec/products.h"

#ifndef GW_HAVE_CUDA

/* There is no stream to open such a memory for, or to call this with. */
const struct gw_memory_operations gw_memory_on_gpu = {0};

enum gw_status gw_gpu_hold(uint64_t *clock, uint64_t nanoseconds, bool continues,
                           struct gw_device_stream *stream, struct gw_error *error) {
    (void)clock, (void)nanoseconds, (void)continues, (void)stream;
    return gw_fail(error, GW_BAD_INPUT, "expected a GPU: this build has no CUDA in it");
}

#endif

#ifndef GW_HAVE_CUBLAS

const char *gw_cublas_version(void) {
    return NULL;
}

enum gw_status gw_cublas_need(struct gw_error *error) {
    return gw_fail(error, GW_BAD_INPUT, "expected a build with cuBLAS");
}

enum gw_status gw_products_open(struct gw_products *out, struct gw_device_stream *stream, size_t n,
                                size_t depth, struct gw_error *error) {
    (void)stream, (void)n, (void)depth;
    *out = (struct gw_products){0};
    return gw_cublas_need(error);
}

void gw_products_close(struct gw_products *products) {
    (void)products;
}

enum gw_status gw_products_multiply(const struct gw_products *products, size_t depth,
                                    struct gw_error *error) {
    (void)products, (void)depth;
    return gw_cublas_need(error);
}

#endif
