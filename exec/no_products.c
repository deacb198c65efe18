/* A build without cuBLAS' header. */
#include "exec/exec.h"
#include "exec/products.h"

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
