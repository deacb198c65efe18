/*
 * GPUs behind C: memory, streams, events, errors, and launches. Without a GPU all is skipped but
 * what is said then; with one emulated (preset `emulated`), the emulation is what is tested.
 */
#include "tests/device/device_support.h"
#include "tests/test.h"

#ifdef GW_HAVE_CUDA
#include "tests/device/device_kernels.h"
#endif

TEST(absent_gpus_are_refused) {
    struct gw_gpu gpus[16];
    size_t count = gw_cuda_devices(gpus, 16);
    struct gw_device *device = NULL;
    struct gw_error error = {0};
    assert_int_equal(gw_device_open(&device, count, &error), GW_BAD_INPUT);
    assert_non_null(strstr(error.message, "expected"));
    assert_null(device);
    for (size_t i = 0; i < count; i++) {
        assert_true(gpus[i].name[0] != '\0' && gpus[i].memory_bytes > 1e6);
    }
}

TEST(memory_is_zeroed_and_copied) {
    struct gw_device *device = need_device();
    struct gw_device_stream *stream = open_stream(device);
    enum { N = 100003 };
    uint8_t *host = NULL;
    uint8_t *memory = NULL;
    uint8_t *nothing = host;
    assert_true(gw_device_multiprocessors(device) > 0);
    assert_ok(gw_device_allocate_host(device, N, (void **)&host, NULL));
    assert_ok(gw_device_allocate(device, N, (void **)&memory, NULL));
    assert_ok(gw_device_allocate(device, 0, (void **)&nothing, NULL));
    assert_null(nothing);
    assert_int_equal((uintptr_t)memory % 256, 0);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(host[i], 0);
        host[i] = (uint8_t)(i % 251 + 1);
    }
    uint8_t *back = calloc(N, 1);
    copy_from_device(stream, back, memory, N);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(back[i], 0);
    }
    assert_ok(gw_device_copy(stream, memory, host, N, NULL));
    assert_ok(gw_device_clear(stream, memory + 7, 5, NULL));
    copy_from_device(stream, back, memory, N);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(back[i], i >= 7 && i < 12 ? 0 : host[i]);
    }
    free(back);
    gw_device_free(device, memory);
    gw_device_free_host(device, host);
    gw_device_stream_close(stream);
    gw_device_close(device);
}

TEST(too_much_memory_is_an_error_that_names_the_call) {
    struct gw_device *device = need_device();
    struct gw_error error = {0};
    void *memory = &error;
    assert_int_equal(gw_device_allocate(device, (size_t)1 << 50, &memory, &error), GW_FAILED);
    assert_non_null(strstr(error.message, "cudaMalloc"));
    assert_null(memory);
    assert_ok(gw_device_allocate(device, 64, &memory, &error));
    gw_device_free(device, memory);
    gw_device_close(device);
}

TEST(events_order_streams_and_tell_time) {
    struct gw_device *device = need_device();
    struct gw_device_stream *streams[2];
    struct gw_device_event *events[2];
    double seconds = -1;
    float value = 0;
    float *memory = NULL;
    assert_ok(gw_device_allocate(device, 4, (void **)&memory, NULL));
    for (int i = 0; i < 2; i++) {
        assert_ok(gw_device_stream_open(device, i == 1, &streams[i], NULL));
        assert_ok(gw_device_event_open(device, true, &events[i], NULL));
    }
    for (int i = 1; i < 100; i++) {
        float next = (float)i;
        struct gw_device_stream *self = streams[i % 2];
        assert_ok(gw_device_event_hold(events[(i + 1) % 2], self, NULL));
        copy_from_device(self, &value, memory, sizeof value);
        assert_true(value == (float)(i - 1));
        assert_ok(gw_device_copy(self, memory, &next, sizeof next, NULL));
        assert_ok(gw_device_event_record(events[i % 2], self, NULL));
    }
    for (int i = 0; i < 2; i++) {
        assert_ok(gw_device_event_finish(events[i], NULL));
    }
    assert_ok(gw_device_event_elapsed_s(events[0], events[1], &seconds, NULL));
    assert_true(seconds >= 0 && seconds < 10);
    struct gw_device_event *untimed = NULL;
    struct gw_error error = {0};
    assert_ok(gw_device_event_open(device, false, &untimed, NULL));
    assert_ok(gw_device_event_record(untimed, streams[0], NULL));
    assert_int_equal(gw_device_event_elapsed_s(untimed, events[0], &seconds, &error), GW_FAILED);
    assert_non_null(strstr(error.message, "cudaEventElapsedTime"));
    gw_device_event_close(untimed);
    for (int i = 0; i < 2; i++) {
        gw_device_event_close(events[i]);
        gw_device_stream_close(streams[i]);
    }
    gw_device_free(device, memory);
    gw_device_close(device);
}

/* ---- launches ------------------------------------------------------------------------------ */

#ifdef GW_HAVE_CUDA

enum { BLOCKS = 13, VALUES = BLOCKS * 256 };

TEST(every_element_is_worked_on_once) {
    struct gw_device *device = need_device();
    struct gw_device_stream *stream = open_stream(device);
    static const size_t sizes[] = {0, 1, 31, 1024, 1025, 65537};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t n = sizes[s];
        float *host = calloc(n + 1, sizeof *host);
        for (size_t i = 0; i < n; i++) {
            host[i] = (float)i;
        }
        float *a = copy_to_device(stream, host, (n + 1) * sizeof *host);
        float *out = copy_to_device(stream, host, (n + 1) * sizeof *host);
        assert_ok(test_add(stream, a, out, out, n, NULL));
        copy_from_device(stream, host, out, (n + 1) * sizeof *host);
        for (size_t i = 0; i < n; i++) {
            assert_true(host[i] == 2 * (float)i);
        }
        assert_true(host[n] == 0);
        gw_device_free(device, a);
        gw_device_free(device, out);
        free(host);
    }
    gw_device_stream_close(stream);
    gw_device_close(device);
}

TEST(warps_and_blocks_work_together) {
    struct gw_device *device = need_device();
    struct gw_device_stream *stream = open_stream(device);
    static uint32_t values[VALUES], ranks[VALUES];
    uint64_t sums[BLOCKS];
    unsigned long long odd = 0;
    unsigned long long all_odd = 0;
    for (uint32_t i = 0; i < VALUES; i++) {
        values[i] = i * 2654435761u >> 7;
    }
    uint32_t *on_device = copy_to_device(stream, values, sizeof values);
    uint32_t *ranked = copy_to_device(stream, values, sizeof values);
    uint64_t *summed = copy_to_device(stream, sums, sizeof sums);
    unsigned long long *counted = copy_to_device(stream, &odd, sizeof odd);
    assert_ok(test_sum_blocks(stream, on_device, summed, BLOCKS, NULL));
    assert_ok(test_rank_odd(stream, on_device, ranked, counted, BLOCKS, NULL));
    copy_from_device(stream, sums, summed, sizeof sums);
    copy_from_device(stream, ranks, ranked, sizeof ranks);
    copy_from_device(stream, &odd, counted, sizeof odd);
    for (size_t block = 0; block < BLOCKS; block++) {
        uint64_t sum = 0;
        uint32_t before = 0;
        for (size_t i = block * 256; i < (block + 1) * 256; i++) {
            assert_int_equal(ranks[i], before);
            sum += values[i];
            before += values[i] % 2;
        }
        assert_true(sums[block] == sum);
        all_odd += before;
    }
    assert_true(odd == all_odd);
    gw_device_free(device, on_device);
    gw_device_free(device, ranked);
    gw_device_free(device, summed);
    gw_device_free(device, counted);
    gw_device_stream_close(stream);
    gw_device_close(device);
}

#endif
