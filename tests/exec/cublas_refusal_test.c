/* Work on a GPU where cuBLAS cannot be loaded: products are refused, waiting is not. */
#include "exec/accelerator.h"
#include "tests/device/device_support.h"
#include "tests/test.h"

TEST(a_missing_cublas_is_named) {
    struct gw_error error = {0};
    assert_int_equal(gw_cublas_need(&error), GW_BAD_INPUT);
    assert_non_null(strstr(error.message, "cuBLAS"));
    assert_non_null(strstr(error.message, GW_TEST_WHY));
    assert_non_null(strstr(gw_cublas_version(), "not on this machine"));
}

TEST(products_are_refused) {
    struct gw_device *device = need_device();
    struct gw_device_stream *stream = open_stream(device);
    struct gw_gpu_work work;
    struct gw_error error = {0};
    assert_int_equal(gw_gpu_work_open(&work, stream, GW_COMPUTE_GEMM, &error), GW_BAD_INPUT);
    assert_non_null(strstr(error.message, GW_TEST_WHY));
    gw_gpu_work_close(&work);
    assert_ok(gw_gpu_work_open(&work, stream, GW_COMPUTE_WAIT, NULL));
    assert_ok(gw_gpu_work_do(&work, 1e-4, false, NULL));
    assert_ok(gw_device_stream_finish(stream, NULL));
    gw_gpu_work_close(&work);
    gw_device_stream_close(stream);
    gw_device_close(device);
}
