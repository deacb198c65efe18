/*
 * The part of cuBLAS that gradweave calls, on the CPU. The names are NVIDIA's. Products are done in
 * the order of the handle's stream, in single precision throughout. Stricter than cuBLAS: a handle
 * must have been given a stream, and then a workspace, and multiplies whole matrices, A by B^T.
 */
#ifndef GW_EMULATION_CUBLAS_V2_H
#define GW_EMULATION_CUBLAS_V2_H

#include <cuda_runtime_api.h>

#define CUBLAS_VER_MAJOR 0
#define CUBLAS_VER_MINOR 0
#define CUBLAS_VER_PATCH 1

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

typedef struct cublasContext *cublasHandle_t;

typedef enum {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_NOT_SUPPORTED = 15,
} cublasStatus_t;

typedef enum { MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL } libraryPropertyType;
typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 } cublasOperation_t;
typedef enum { CUDA_R_32F = 0 } cudaDataType;
typedef enum { CUBLAS_COMPUTE_32F_FAST_TF32 = 77 } cublasComputeType_t;
typedef enum { CUBLAS_GEMM_DEFAULT = -1 } cublasGemmAlgo_t;

#define cublasCreate cublasCreate_v2
#define cublasDestroy cublasDestroy_v2
#define cublasSetStream cublasSetStream_v2
#define cublasSetWorkspace cublasSetWorkspace_v2

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value);
const char *cublasGetStatusString(cublasStatus_t status);
cublasStatus_t cublasCreate(cublasHandle_t *handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes);

/* C = A B^T, column by column: A is [m * k], B [n * k], C [m * n]. */
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t a_operation,
                            cublasOperation_t b_operation, int m, int n, int k, const void *alpha,
                            const void *a, cudaDataType a_type, int a_stride, const void *b,
                            cudaDataType b_type, int b_stride, const void *beta, void *c,
                            cudaDataType c_type, int c_stride, cublasComputeType_t compute,
                            cublasGemmAlgo_t algorithm);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
