/* cuBLAS as it is found at run time; private to this room. */
#ifndef GW_EXEC_CUBLAS_H
#define GW_EXEC_CUBLAS_H

#include <cublas_v2.h>

/* cuBLAS' functions by their names, without "cublas". */
struct gw_cublas_calls {
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

/* NULL unless this machine has all of them. */
const struct gw_cublas_calls *gw_cublas_calls(void);

#endif
