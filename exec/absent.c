/* The exec room of a build without CUDA, or without cuBLAS' header. */
#include "exec/accelerator.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#ifndef GW_HAVE_CUDA

enum gw_status gw_gpu_hold(uint64_t *clock, uint64_t nanoseconds, bool continues,
                           struct gw_device_stream *stream, struct gw_error *error) {
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
    *out = (struct gw_products){0};
    return gw_cublas_need(error);
}

void gw_products_close(struct gw_products *products) {
}

enum gw_status gw_products_multiply(const struct gw_products *products, size_t depth,
                                    struct gw_error *error) {
    return gw_cublas_need(error);
}

#endif
