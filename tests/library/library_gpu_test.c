/*
 * Sessions of the library whose gradients are on a GPU, held to sessions on the host, bit for bit:
 * of a rank that is alone or, inside an MPI job, of its processes.
 */
#include <stdlib.h>

#ifdef GW_HAVE_CUDA
#include "device/cuda.h"
#endif
#include "tests/device/device_support.h"
#include "tests/library/alone.h"
#include "tests/test.h"

enum { ELEMENTS = 820, ITERATIONS = 4 };
static const struct gradweave_group groups[] = {{2, 2}, {1, 0}};

/* ---- ranks --------------------------------------------------------------------------------- */

static int is_in_job(void) {
    return getenv("OMPI_COMM_WORLD_SIZE") != NULL;
}

static struct gradweave_ranks *ranks; /* of all tests: MPI is left once */
static struct gradweave_error error;

static void expect_done(enum gradweave_status status) {
    if (status != GRADWEAVE_OK) {
        fail_msg("%s", error.message);
    }
}

static int join_ranks(void **state) {
    (void)state;
    return (is_in_job() ? gradweave_join_mpi(&ranks, &error)
                        : gradweave_join_group(&alone_group, &ranks, &error)) == GRADWEAVE_OK
               ? 0
               : -1;
}

static int leave_ranks(void **state) {
    (void)state;
    gradweave_leave(ranks);
    return 0;
}
FIXTURES(join_ranks, leave_ranks)

/* ---- sessions ------------------------------------------------------------------------------ */

static enum gradweave_status open_session(const char *algorithm, const struct gradweave_gpu *gpu,
                                          struct gradweave_session **out) {
    const struct gradweave_training training = {.tensor_count = LAYERS,
                                                .elements = layers,
                                                .algorithm = algorithm,
                                                .groups = groups,
                                                .group_count = 2,
                                                .density = 0.1,
                                                .seed = 3,
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

/* Whole numbers, whose sums are exact in any order. */
static void draw_gradients(float *out, size_t iteration) {
    size_t rank = (size_t)gradweave_ranks_own(ranks);
    for (size_t i = 0; i < LAYERS; i++) {
        for (size_t e = 0; e < layers[i]; e++) {
            float x = (float)((e * 37 + i + 11 * iteration + 5 * rank) % 101) - 50;
            *out++ = x * x * x;
        }
    }
}

/* One iteration, from the first tensor to the last; a stream's gradients are still to be made. */
static void train(struct gradweave_session *session, struct gw_device_stream *stream,
                  const float *values, float *gradients) {
    expect_done(gradweave_session_begin(session, &error));
    gradweave_session_backward(session);
    for (size_t i = 0; i < LAYERS && !gradweave_session_serves(session); i++) {
        size_t bytes = layers[i] * sizeof *values;
        if (stream != NULL) {
            assert_ok(gw_device_copy(stream, gradients, values, bytes, NULL));
        } else {
            memcpy(gradients, values, bytes);
        }
        expect_done(gradweave_session_ready(session, i, gradients, gradients, &error));
        values += layers[i];
        gradients += layers[i];
    }
    expect_done(gradweave_session_wait(session, &error));
    expect_done(gradweave_session_verify(session, &error));
}

static void check_parts(struct gradweave_session *session) {
    struct gradweave_prediction took;
    expect_done(gradweave_session_measure(session, &took, &error));
    double parts_s =
        took.forward_s + took.backward_s + took.compress_s + took.exposed_comm_s + took.other_s;
    assert_true(took.iteration_s > 0 && near(parts_s, took.iteration_s, 1e-9));
    assert_true(took.forward_s >= 0 && took.backward_s >= 0 && took.compress_s >= 0 &&
                took.other_s >= 0);
}

/* The same state to the bit, also once its residual was added to the session's again. */
static void check_states(struct gradweave_session *const *sessions) {
    size_t size = gradweave_session_state_size(sessions[0]);
    char *states[2];
    assert_int_equal(gradweave_session_state_size(sessions[1]), size);
    for (int again = 0; again < 2; again++) {
        for (int s = 0; s < 2; s++) {
            states[s] = calloc(size, 1);
            expect_done(gradweave_session_save(sessions[s], states[s], &error));
        }
        assert_memory_equal(states[0], states[1], size);
        for (int s = 0; s < 2 && again == 0; s++) {
            expect_done(gradweave_session_add_residual(sessions[s], states[s], size, &error));
        }
        free(states[0]);
        free(states[1]);
    }
}

TEST(gpus_train_as_the_host) {
    static float values[ELEMENTS];
    static float expected[ELEMENTS];
    static float got[ELEMENTS];
    size_t trained = 0;
    struct gw_device *device = need_device();
    struct gw_device_stream *stream = open_stream(device);
    const struct gradweave_gpu gpu = {.stream = handle_of(stream)};
    float *gradients = copy_to_device(stream, values, sizeof values);
    for (size_t a = 0; gradweave_algorithm_name(a) != NULL; a++) {
        struct gradweave_session *sessions[2];
        if (open_session(gradweave_algorithm_name(a), NULL, &sessions[0]) != GRADWEAVE_OK) {
            assert_non_null(strstr(error.message, "the server"));
            continue;
        }
        expect_done(open_session(gradweave_algorithm_name(a), &gpu, &sessions[1]));
        bool serves = gradweave_session_serves(sessions[0]) != 0;
        for (size_t iteration = 0; iteration < ITERATIONS; iteration++) {
            draw_gradients(values, iteration);
            train(sessions[0], NULL, values, expected);
            train(sessions[1], stream, values, gradients);
            copy_from_device(stream, got, gradients, sizeof got);
            if (!serves) {
                assert_memory_equal(got, expected, sizeof got);
                copy_from_device(stream, got, gradweave_session_aggregate(sessions[1], 1),
                                 layers[1] * sizeof *got);
                assert_memory_equal(got, expected + layers[0], layers[1] * sizeof *got);
            }
            check_parts(sessions[1]);
            check_states(sessions);
        }
        gradweave_session_close(sessions[0]);
        gradweave_session_close(sessions[1]);
        trained++;
    }
    assert_true(trained > 15);
    gw_device_free(device, gradients);
    gw_device_stream_close(stream);
    gw_device_close(device);
}

/* ---- what cannot be ------------------------------------------------------------------------ */

/* That one rank lacks its GPU, all hear. */
TEST(refuses_gpus_that_are_not_there) {
    const struct gradweave_gpu gpu = {.ordinal = gradweave_ranks_own(ranks) == 0 ? 1000 : 0};
    struct gw_gpu any;
    struct gradweave_session *session = NULL;
    assert_int_equal(open_session("topk", &gpu, &session), GRADWEAVE_BAD_INPUT);
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
    expect_done(gradweave_join_group(&whole, &ranks, &error));
    assert_int_equal(open_session("topk", &(struct gradweave_gpu){0}, &session),
                     GRADWEAVE_BAD_INPUT);
    assert_non_null(strstr(error.message, "opens groups of its first ranks"));
    gradweave_leave(ranks);
    ranks = all;
}
