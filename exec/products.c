/* Products of matrices. cuBLAS is loaded on demand: a machine without it can do everything else. */
#include "exec/accelerator.h"

#include <cublas_v2.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/system.h"
#include "device/cuda.h"
#include "kernels/kernels.h"

/* cuBLAS' functions by their names, without "cublas". */
struct cublas_calls {
    cublasStatus_t (*GetProperty)(libraryPropertyType type, int *value);
    const char *(*GetStatusString)(cublasStatus_t status);
    cublasStatus_t (*Create)(cublasHandle_t *handle);
    cublasStatus_t (*Destroy)(cublasHandle_t handle);
    cublasStatus_t (*SetStream)(cublasHandle_t handle, cudaStream_t stream);
    cublasStatus_t (*SetWorkspace)(cublasHandle_t handle, void *workspace, size_t bytes);
    cublasStatus_t (*GemmEx)(cublasHandle_t handle, cublasOperation_t a_operation,
                             cublasOperation_t b_operation, int m, int n, int k, const void *alpha,
                             const void *a, cudaDataType a_type, int a_stride, const void *b,
                             cudaDataType b_type, int b_stride, const void *beta, void *c,
                             cudaDataType c_type, int c_stride, cublasComputeType_t compute,
                             cublasGemmAlgo_t algorithm);
};

/* Both versions have the same functions; the one of this build's toolkit suits the toolkit's
 * driver. */
#ifndef GW_CUBLAS_LIBRARIES
#define TEXT_OF(value) #value
#define NAME_OF(major) "libcublas.so." TEXT_OF(major)
#define GW_CUBLAS_LIBRARIES NAME_OF(CUBLAS_VER_MAJOR), "libcublas.so.13", "libcublas.so.12"
#endif

static const struct gw_symbol symbols[] = {
    {"cublasGetProperty", offsetof(struct cublas_calls, GetProperty)},
    {"cublasGetStatusString", offsetof(struct cublas_calls, GetStatusString)},
    {"cublasCreate_v2", offsetof(struct cublas_calls, Create)},
    {"cublasDestroy_v2", offsetof(struct cublas_calls, Destroy)},
    {"cublasSetStream_v2", offsetof(struct cublas_calls, SetStream)},
    {"cublasSetWorkspace_v2", offsetof(struct cublas_calls, SetWorkspace)},
    {"cublasGemmEx", offsetof(struct cublas_calls, GemmEx)},
};

static struct cublas_calls calls;
static char missing[256]; /* why this machine's cuBLAS cannot be used; empty: it can */
static char version_text[64];

/* Opens the first of its names, "...so.12", that this machine has and its driver supports;
 * otherwise keeps why the first failed. */
static void *open_library(void) {
    static const char *const names[] = {GW_CUBLAS_LIBRARIES};
    void *library = dlopen(names[0], RTLD_NOW);
    if (library == NULL) {
        (void)snprintf(missing, sizeof missing, "%s", dlerror());
    }
    int driver = 0;
    bool known = cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0;
    for (size_t i = 1; i < sizeof names / sizeof *names && library == NULL; i++) {
        const char *dot = strrchr(names[i], '.');
        bool suits = !known || dot == NULL || strtol(dot + 1, NULL, 10) <= driver / 1000;
        library = suits ? dlopen(names[i], RTLD_NOW) : NULL;
    }
    return library;
}

static int read_version(libraryPropertyType type) {
    int value = 0;
    return calls.GetProperty(type, &value) == CUBLAS_STATUS_SUCCESS ? value : 0;
}

static void load_cublas(void) {
    void *library = open_library();
    if (library != NULL) {
        const char *lacks =
            gw_find_symbols(library, symbols, sizeof symbols / sizeof *symbols, &calls);
        missing[0] = '\0';
        if (lacks != NULL) {
            (void)snprintf(missing, sizeof missing, "it has no %s", lacks);
        }
    }
    if (missing[0] == '\0') {
        (void)snprintf(version_text, sizeof version_text, "%d.%d.%d", read_version(MAJOR_VERSION),
                       read_version(MINOR_VERSION), read_version(PATCH_LEVEL));
    } else {
        (void)snprintf(version_text, sizeof version_text, "%d.%d.%d, not on this machine",
                       CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH);
    }
}

static void load_cublas_once(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_cublas);
}

const char *gw_cublas_version(void) {
    load_cublas_once();
    return version_text;
}

enum gw_status gw_cublas_need(struct gw_error *error) {
    load_cublas_once();
    return missing[0] == '\0'
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "expected cuBLAS on this machine: %s", missing);
}

/* ---- products ------------------------------------------------------------------------------ */

enum { MAX_DRAWN = 1 << 16 }; /* drawn elements of a matrix; the others repeat them */

static const size_t workspace_bytes = (size_t)32 << 20; /* cuBLAS' recommendation for an H100 */

static enum gw_status check_cublas(cublasStatus_t result, const char *call,
                                   struct gw_error *error) {
    if (result == CUBLAS_STATUS_SUCCESS) {
        return GW_OK;
    }
    (void)cudaGetLastError(); /* clears the error, which the check of the next launch would report
                               * again */
    return gw_fail(error, GW_FAILED, "%s: %s", call, calls.GetStatusString(result));
}

/* ---- matrices ------------------------------------------------------------------------------ */

/* Fills a matrix with normal draws. Zeros would take less power, and so be multiplied faster than
 * the data of a training. */
static enum gw_status fill_matrix(const struct gw_products *products, float *matrix,
                                  uint64_t number, struct gw_error *error) {
    size_t count = products->n * products->depth;
    size_t done = count < MAX_DRAWN ? count : MAX_DRAWN;
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
    GW_TRY(fill_matrix(products, products->a, 1, error));
    return fill_matrix(products, products->b, 2, error);
}

/* ---- multiplying --------------------------------------------------------------------------- */

enum gw_status gw_products_open(struct gw_products *out, struct gw_device_stream *stream, size_t n,
                                size_t depth, struct gw_error *error) {
    *out = (struct gw_products){.stream = stream, .n = n, .depth = depth};
    GW_TRY(gw_cublas_need(error));
    GW_TRY(open_matrices(out, error));
    GW_TRY(check_cublas(calls.Create(&out->handle), "cublasCreate", error));
    GW_TRY(check_cublas(calls.SetStream(out->handle, gw_cuda_stream(stream)), "cublasSetStream",
                        error));
    /* after the stream, which resets the workspace */
    return check_cublas(calls.SetWorkspace(out->handle, out->workspace, workspace_bytes),
                        "cublasSetWorkspace", error);
}

void gw_products_close(struct gw_products *products) {
    if (products->stream == NULL) {
        return;
    }
    struct gw_device *device = gw_device_stream_device(products->stream);
    if (products->handle != NULL) {
        (void)gw_cuda_stream(products->stream);
        (void)calls.Destroy(products->handle);
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
    return check_cublas(calls.GemmEx(products->handle, CUBLAS_OP_N, CUBLAS_OP_T, n, n, (int)depth,
                                     &alpha, products->a, CUDA_R_32F, n, products->b, CUDA_R_32F, n,
                                     &beta, products->c, CUDA_R_32F, n,
                                     CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT),
                        "cublasGemmEx", error);
}
