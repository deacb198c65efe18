/*
 * Products of matrices on a GPU's stream, by cuBLAS, as deep as asked; private to this room. What
 * is multiplied is in single precision, in tensor cores as TF32, as frameworks do.
 */
#ifndef GW_EXEC_PRODUCTS_H
#define GW_EXEC_PRODUCTS_H

#include "device/device.h"

struct gw_products {
    struct gw_device_stream *stream;
    size_t n, depth;
    float *a, *b;    /* GPU: [n * depth] each, column by column, of normal draws */
    float *c;        /* GPU: [n * n] */
    void *workspace; /* GPU: cuBLAS' own */
    struct cublasContext *handle;
};

/* *out is safe to close in any case. GW_BAD_INPUT: there is no cuBLAS (gw_cublas_need). */
enum gw_status gw_products_open(struct gw_products *out, struct gw_device_stream *stream, size_t n,
                                size_t depth, struct gw_error *error);
void gw_products_close(struct gw_products *products);

/* Puts c = a b^T on the stream, of the first `depth` columns of both. */
enum gw_status gw_products_multiply(const struct gw_products *products, size_t depth,
                                    struct gw_error *error);

#endif
