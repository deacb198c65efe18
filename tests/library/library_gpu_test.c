/*
 * Training sessions of the library with every pipeline, with gradients of each type, and with
 * gradients on a GPU, held to sessions on the host, bit for bit: of a rank that is alone or, inside
 * an MPI job, of its processes.
 */
#ifdef GW_HAVE_CUDA
#include "device/cuda.h"
#endif
#include "core/halves.h"
#include "tests/device/device_support.h"
#include "tests/library/alone.h"

/* Halves: what the first leaves in residuals goes into the second. */
enum { ITERATIONS = 4, ITERATIONS_OF_HALVES = 2 };
static const struct gradweave_group groups[] = {{2, 2}, {1, 0}};
static const uint64_t rows[LAYERS] = {25, 0, 20}; /* both worth factors */

/* ---- sessions ------------------------------------------------------------------------------ */

static enum gradweave_status open_session(const char *algorithm, enum gradweave_number number,
                                          const struct gradweave_gpu *gpu,
                                          struct gradweave_session **out) {
    const enum gradweave_number numbers[LAYERS] = {number, number, number};
    const struct gradweave_training training = {.tensor_count = LAYERS,
                                                .elements = layers,
                                                .rows = rows,
                                                .algorithm = algorithm,
                                                .groups = groups,
                                                .group_count = 2,
                                                .density = 0.1,
                                                .seed = 3,
                                                .numbers = numbers,
                                                .gpu = gpu};
    return gradweave_session_open(&training, ranks, out, &error);
}

/* The cudaStream_t. */
static void *handle_of(struct gw_device_stream *stream) {
#ifdef GW_HAVE_CUDA
    return gw_cuda_stream(stream);
#else
    return stream;
#endif
}

static size_t bytes_of(enum gradweave_number number) {
    return gw_number_bytes((enum gw_number_type)number);
}

/* Multiples of 1/8, whose sums as floats are exact in any order. */
static void draw_gradients(void *out, enum gradweave_number number, size_t iteration) {
    size_t rank = (size_t)gradweave_ranks_own(ranks);
    size_t at = 0;
    for (size_t i = 0; i < LAYERS; i++) {
        for (size_t e = 0; e < layers[i]; e++, at++) {
            float x = (float)((e * 37 + i + 11 * iteration + 5 * rank) % 101) - 50;
            if (number == GRADWEAVE_FLOAT) {
                ((float *)out)[at] = x * x * x / 8;
            } else {
                ((uint16_t *)out)[at] = gw_half_of((enum gw_number_type)number, x * x * x / 8);
            }
        }
    }
}

/* One iteration, from the first tensor to the last; a stream's gradients are still to be made. */
static void train(struct gradweave_session *session, enum gradweave_number number,
                  struct gw_device_stream *stream, const char *values, char *gradients) {
    assert_done(gradweave_session_begin(session, &error));
    gradweave_session_backward(session);
    for (size_t i = 0; i < LAYERS && !gradweave_session_serves(session); i++) {
        size_t bytes = layers[i] * bytes_of(number);
        if (stream != NULL) {
            assert_ok(gw_device_copy(stream, gradients, values, bytes, NULL));
        } else {
            memcpy(gradients, values, bytes);
        }
        assert_done(gradweave_session_ready(session, i, gradients, gradients, &error));
        values += bytes;
        gradients += bytes;
    }
    assert_done(gradweave_session_wait(session, &error));
    assert_done(gradweave_session_verify(session, &error));
}

static void check_parts(struct gradweave_session *session, const char *algorithm) {
    struct gradweave_prediction took;
    assert_done(gradweave_session_measure(session, &took, &error));
    double parts_s =
        took.forward_s + took.backward_s + took.compress_s + took.exposed_comm_s + took.other_s;
    assert_string_equal(took.algorithm, algorithm);
    assert_true(took.iteration_s > 0 && near(parts_s, took.iteration_s, 1e-9));
    assert_true(took.forward_s >= 0 && took.backward_s >= 0 && took.compress_s >= 0 &&
                took.other_s >= 0);
}

/* Results are the aggregates, rounded to their type, and not all zero. */
static void check_results(struct gradweave_session *session, enum gradweave_number number,
                          const void *results) {
    size_t sent = 0;
    size_t at = 0;
    for (size_t i = 0; i < LAYERS; i++) {
        const float *aggregate = gradweave_session_aggregate(session, i);
        for (size_t e = 0; e < layers[i]; e++, at++) {
            float result = gw_number_at((enum gw_number_type)number, results, at);
            uint16_t half = gw_half_of((enum gw_number_type)number, aggregate[e]);
            assert_true(result == (number == GRADWEAVE_FLOAT
                                       ? aggregate[e]
                                       : gw_number_at((enum gw_number_type)number, &half, 0)));
            sent += result != 0;
        }
    }
    assert_true(sent > 0);
}

/* The same state to the bit, also once its residual was added to the session's again. */
static void check_states(struct gradweave_session *const *sessions) {
    size_t size = gradweave_session_state_size(sessions[0]);
    char *states[2];
    assert_int_equal(gradweave_session_state_size(sessions[1]), size);
    for (int again = 0; again < 2; again++) {
        for (int s = 0; s < 2; s++) {
            states[s] = calloc(size, 1);
            assert_done(gradweave_session_save(sessions[s], states[s], &error));
        }
        assert_memory_equal(states[0], states[1], size);
        for (int s = 0; s < 2 && again == 0; s++) {
            assert_done(gradweave_session_add_residual(sessions[s], states[s], size, &error));
        }
        free(states[0]);
        free(states[1]);
    }
}

/* A GPU, and gradients there. */
struct on_gpu {
    struct gw_device *device;
    struct gw_device_stream *stream;
    char *gradients;
};

/* One pipeline on the host and, if there is one, on the GPU. */
static void train_both(const char *algorithm, enum gradweave_number number,
                       const struct on_gpu *gpu) {
    static float values[ELEMENTS], expected[ELEMENTS], got[ELEMENTS];
    struct gradweave_session *sessions[2];
    size_t bytes = ELEMENTS * bytes_of(number);
    assert_done(open_session(algorithm, number, NULL, &sessions[0]));
    if (gpu->device != NULL) {
        const struct gradweave_gpu own = {.stream = handle_of(gpu->stream)};
        assert_done(open_session(algorithm, number, &own, &sessions[1]));
    }
    bool serves = gradweave_session_serves(sessions[0]) != 0;
    size_t iterations = number == GRADWEAVE_FLOAT ? ITERATIONS : ITERATIONS_OF_HALVES;
    for (size_t iteration = 0; iteration < iterations; iteration++) {
        draw_gradients(values, number, iteration);
        train(sessions[0], number, NULL, (char *)values, (char *)expected);
        check_parts(sessions[0], algorithm);
        if (!serves) {
            check_results(sessions[0], number, expected);
        }
        if (gpu->device == NULL) {
            continue;
        }
        train(sessions[1], number, gpu->stream, (char *)values, gpu->gradients);
        if (!serves) {
            copy_from_device(gpu->stream, got, gpu->gradients, bytes);
            assert_memory_equal(got, expected, bytes);
            copy_from_device(gpu->stream, got, gradweave_session_aggregate(sessions[1], 1),
                             layers[1] * sizeof *got);
            assert_memory_equal(got, gradweave_session_aggregate(sessions[0], 1),
                                layers[1] * sizeof *got);
        }
        check_parts(sessions[1], algorithm);
        check_states(sessions);
    }
    assert_done(gradweave_session_trace(sessions[0], NULL, &error));
    assert_int_equal(gradweave_session_trace(sessions[0], "/nowhere/live.json", &error),
                     GRADWEAVE_FAILED);
    assert_non_null(strstr(error.message, "/nowhere/live.json"));
    gradweave_session_close(sessions[0]);
    if (gpu->device != NULL) {
        gradweave_session_close(sessions[1]);
    }
}

/* On the host alone where there is no GPU. */
TEST(sessions_train_with_any_pipeline_on_the_host_as_on_a_gpu) {
    static const float nothing[ELEMENTS];
    size_t trained = 0;
    struct on_gpu gpu = {0};
    struct gw_error why = {0};
    if (gw_device_open(&gpu.device, 0, &why) == GW_OK) {
        gpu.stream = open_stream(gpu.device);
        gpu.gradients = copy_to_device(gpu.stream, nothing, sizeof nothing);
    } else {
        print_message("skipped: sessions on a GPU: %s\n", why.message);
    }
    for (size_t a = 0; gradweave_algorithm_name(a) != NULL; a++) {
        const char *algorithm = gradweave_algorithm_name(a);
        struct gradweave_session *session = NULL;
        if (open_session(algorithm, GRADWEAVE_FLOAT, NULL, &session) != GRADWEAVE_OK) {
            assert_non_null(strstr(error.message, "the server"));
            assert_null(session);
            continue;
        }
        gradweave_session_close(session);
        for (int number = GRADWEAVE_FLOAT; number <= GRADWEAVE_FP16; number++) {
            train_both(algorithm, (enum gradweave_number)number, &gpu);
        }
        trained++;
    }
    assert_true(trained > 15);
    if (gpu.device != NULL) {
        gw_device_free(gpu.device, gpu.gradients);
        gw_device_stream_close(gpu.stream);
        gw_device_close(gpu.device);
    }
}

/* ---- what cannot be ------------------------------------------------------------------------ */

/* That one rank lacks its GPU, all hear. */
TEST(refuses_gpus_that_are_not_there) {
    const struct gradweave_gpu gpu = {.ordinal = gradweave_ranks_own(ranks) == 0 ? 1000 : 0};
    struct gw_gpu any;
    struct gradweave_session *session = NULL;
    assert_int_equal(open_session("topk", GRADWEAVE_FLOAT, &gpu, &session), GRADWEAVE_BAD_INPUT);
    assert_null(session);
    assert_non_null(strstr(error.message, gw_cuda_devices(&any, 1) == 0
                                              ? "expected a GPU"
                                              : "GPU 1000: expected one of the"));
}

TEST(refuses_groups_without_parts) {
    struct gradweave_process_group whole = alone_group;
    struct gradweave_ranks *all = ranks;
    struct gradweave_session *session = NULL;
    gw_device_close(need_device());
    whole.open_first = NULL;
    assert_done(gradweave_join_group(&whole, &ranks, &error));
    assert_refused(open_session("topk", GRADWEAVE_FLOAT, &(struct gradweave_gpu){0}, &session),
                   "opens groups of its first ranks");
    gradweave_leave(ranks);
    ranks = all;
}
