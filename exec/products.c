#include "exec/products.h"

#include <stdlib.h>

#include "device/cuda.h"
#include "exec/cublas.h"
#include "exec/exec.h"
#include "kernels/kernels.h"

enum { DRAWN = 1 << 16 }; /* elements of a matrix that are drawn; the others are these again */

static const size_t workspace_bytes = (size_t)32 << 20; /* what cuBLAS asks for on an H100 */

static enum gw_status check(cublasStatus_t result, const char *call, struct gw_error *error) {
    if (result == CUBLAS_STATUS_SUCCESS) {
        return GW_OK;
    }
    (void)cudaGetLastError(); /* or the next launch would seem to have failed */
    return gw_fail(error, GW_FAILED, "%s: %s", call, gw_cublas_calls()->GetStatusString(result));
}

/* ---- matrices ------------------------------------------------------------------------------ */

/* Zeros would take less power, and so be multiplied faster than what training multiplies. */
static enum gw_status fill(const struct gw_products *products, float *matrix, uint64_t number,
                           struct gw_error *error) {
    size_t count = products->n * products->depth;
    size_t done = count < DRAWN ? count : DRAWN;
    float *drawn = malloc(done * sizeof *drawn);
    if (drawn == NULL) {
        return gw_fail_memory(error, "opening products of matrices");
    }
    enum gw_status status = gw_gradient_fill(drawn, done, 1, 0, number, error);
    if (status == GW_OK) {
        status = gw_device_copy(products->stream, matrix, drawn, done * sizeof *drawn, error);
    }
    while (status == GW_OK && done < count) {
        size_t more = count - done < done ? count - done : done;
        status =
            gw_device_copy(products->stream, matrix + done, matrix, more * sizeof *matrix, error);
        done += more;
    }
    enum gw_status finished = gw_device_stream_finish(products->stream, error);
    free(drawn);
    return status == GW_OK ? finished : status;
}

static enum gw_status open_matrices(struct gw_products *products, struct gw_error *error) {
    struct gw_device *device = gw_device_stream_device(products->stream);
    size_t deep_bytes = products->n * products->depth * sizeof(float);
    const size_t bytes[] = {deep_bytes, deep_bytes, products->n * products->n * sizeof(float),
                            workspace_bytes};
    void *memory[] = {NULL, NULL, NULL, NULL};
    enum gw_status status = GW_OK;
    for (size_t i = 0; i < 4 && status == GW_OK; i++) {
        status = gw_device_allocate(device, bytes[i], &memory[i], error);
    }
    products->a = memory[0];
    products->b = memory[1];
    products->c = memory[2];
    products->workspace = memory[3];
    GW_TRY(status);
    GW_TRY(fill(products, products->a, 1, error));
    return fill(products, products->b, 2, error);
}

/* ---- cuBLAS -------------------------------------------------------------------------------- */

/* A handle's workspace is the default again once its stream is set. */
static enum gw_status open_handle(struct gw_products *products, struct gw_error *error) {
    const struct gw_cublas_calls *calls = gw_cublas_calls();
    cudaStream_t stream = gw_cuda_stream(products->stream);
    GW_TRY(check(calls->Create(&products->handle), "cublasCreate", error));
    GW_TRY(check(calls->SetStream(products->handle, stream), "cublasSetStream", error));
    return check(calls->SetWorkspace(products->handle, products->workspace, workspace_bytes),
                 "cublasSetWorkspace", error);
}

enum gw_status gw_products_open(struct gw_products *out, struct gw_device_stream *stream, size_t n,
                                size_t depth, struct gw_error *error) {
    *out = (struct gw_products){.stream = stream, .n = n, .depth = depth};
    GW_TRY(gw_cublas_need(error));
    GW_TRY(open_matrices(out, error));
    return open_handle(out, error);
}

void gw_products_close(struct gw_products *products) {
    if (products->stream == NULL) {
        return;
    }
    struct gw_device *device = gw_device_stream_device(products->stream);
    if (products->handle != NULL) {
        (void)gw_cuda_stream(products->stream);
        (void)gw_cublas_calls()->Destroy(products->handle);
    }
    gw_device_free(device, products->a);
    gw_device_free(device, products->b);
    gw_device_free(device, products->c);
    gw_device_free(device, products->workspace);
    *products = (struct gw_products){0};
}

enum gw_status gw_products_multiply(const struct gw_products *products, size_t depth,
                                    struct gw_error *error) {
    const float alpha = 1;
    const float beta = 0;
    int n = (int)products->n;
    (void)gw_cuda_stream(products->stream);
    return check(gw_cublas_calls()->GemmEx(
                     products->handle, CUBLAS_OP_N, CUBLAS_OP_T, n, n, (int)depth, &alpha,
                     products->a, CUDA_R_32F, n, products->b, CUDA_R_32F, n, &beta, products->c,
                     CUDA_R_32F, n, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT),
                 "cublasGemmEx", error);
}
