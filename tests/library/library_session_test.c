/* Sessions of the library, of a rank that is alone; docs/examples/train.c has more of them. */
#include <gradweave.h>
#include <math.h>
#include <string.h>

#include "tests/test.h"

/* ---- training, alone ----------------------------------------------------------------------- */

enum { LAYERS = 3, MOST_LAYER = 500 };
static const uint64_t layers[LAYERS] = {500, 20, 300};

static int sum_alone(void *context, const float *send, float *receive, size_t count) {
    memcpy(receive, send, count * sizeof *send);
    return context != NULL;
}

static int gather_alone(void *context, const void *send, size_t bytes, void *receive) {
    memcpy(receive, send, bytes);
    return context != NULL;
}

static int broadcast_alone(void *context, int root, void *data, size_t bytes) {
    return context != NULL || root != 0 || data == NULL || bytes == 0;
}

static struct gradweave_ranks *join_alone(void) {
    const struct gradweave_process_group alone = {
        .size = 1, .allreduce = sum_alone, .allgather = gather_alone, .broadcast = broadcast_alone};
    struct gradweave_ranks *ranks = NULL;
    struct gradweave_error error = {""};
    assert_int_equal(gradweave_join_group(&alone, &ranks, &error), GRADWEAVE_OK);
    assert_true(gradweave_ranks_own(ranks) == 0 && gradweave_ranks_count(ranks) == 1);
    return ranks;
}

/* One worker's aggregates are what it sent: over the iterations, all but what the residual keeps.
 */
TEST(trains_with_any_pipeline) {
    static const struct gradweave_group groups[] = {{2, 2}, {1, 0}};
    struct gradweave_ranks *ranks = join_alone();
    for (size_t a = 0; gradweave_algorithm_name(a) != NULL; a++) {
        struct gradweave_training training = {.tensor_count = LAYERS,
                                              .elements = layers,
                                              .algorithm = gradweave_algorithm_name(a),
                                              .groups = groups,
                                              .group_count = 2,
                                              .density = 0.1,
                                              .seed = 3};
        struct gradweave_session *session = NULL;
        struct gradweave_error error = {""};
        enum gradweave_status status = gradweave_session_open(&training, ranks, &session, &error);
        if (status != GRADWEAVE_OK && strstr(error.message, "with one group") != NULL) {
            training.group_count = 0;
            status = gradweave_session_open(&training, ranks, &session, &error);
        }
        if (status != GRADWEAVE_OK) {
            assert_non_null(strstr(error.message, "the server"));
            assert_null(session);
            continue;
        }
        assert_false(gradweave_session_serves(session));
        for (int iteration = 0; iteration < 4; iteration++) {
            static float gradients[LAYERS][MOST_LAYER];
            struct gradweave_prediction took;
            size_t sent = 0;
            assert_int_equal(gradweave_session_begin(session, &error), GRADWEAVE_OK);
            gradweave_session_backward(session);
            for (size_t i = LAYERS; i-- > 0;) {
                for (size_t e = 0; e < layers[i]; e++) {
                    float x = (float)((e * 37 + i + (size_t)iteration) % 101) - 50;
                    gradients[i][e] = x * x * x;
                }
                assert_int_equal(
                    gradweave_session_ready(session, i, gradients[i], gradients[i], &error),
                    GRADWEAVE_OK);
            }
            assert_int_equal(gradweave_session_wait(session, &error), GRADWEAVE_OK);
            for (size_t i = 0; i < LAYERS; i++) {
                assert_memory_equal(gradients[i], gradweave_session_aggregate(session, i),
                                    layers[i] * sizeof **gradients);
                for (size_t e = 0; e < layers[i]; e++) {
                    sent += gradients[i][e] != 0;
                }
            }
            if (sent == 0) {
                fail_msg("%s: nothing was sent", training.algorithm);
            }
            assert_int_equal(gradweave_session_verify(session, &error), GRADWEAVE_OK);
            assert_int_equal(gradweave_session_measure(session, &took, &error), GRADWEAVE_OK);
            assert_string_equal(took.algorithm, training.algorithm);
            double parts_s = took.forward_s + took.backward_s + took.compress_s +
                             took.exposed_comm_s + took.other_s;
            assert_true(near(parts_s, took.iteration_s, 1e-9));
        }
        gradweave_session_close(session);
    }
    gradweave_leave(ranks);
}

TEST(refuses_training_that_makes_no_sense) {
    static const struct gradweave_group gap[] = {{2, 2}, {0, 0}};
    static const uint64_t nothing[] = {0, 1, 2};
    const struct gradweave_training good = {
        .tensor_count = LAYERS, .elements = layers, .algorithm = "topk"};
    struct gradweave_training cases[8];
    static const char *const messages[8] = {
        "tensor_count: expected at least one tensor",
        "elements[0]: expected a positive integer",
        "got \"magic\"",
        "got \"\"",
        "density: expected a number in (0, 1], or 0, got 2",
        "density: expected a number in (0, 1], or 0, got nan",
        "groups[1]: expected tensors from 1 down, got 0 to 0",
        "got \"magic\"",
    };
    struct gradweave_ranks *ranks = join_alone();
    for (size_t i = 0; i < 8; i++) {
        cases[i] = good;
    }
    cases[0].tensor_count = 0;
    cases[1].elements = nothing;
    cases[2].algorithm = "magic";
    cases[3].algorithm = NULL;
    cases[4].density = 2;
    cases[5].density = NAN;
    cases[6].algorithm = "lags";
    cases[6].groups = gap;
    cases[6].group_count = 2;
    cases[7].compressor = "magic";
    for (size_t i = 0; i < 8; i++) {
        struct gradweave_session *session = NULL;
        struct gradweave_error error = {""};
        if (gradweave_session_open(&cases[i], ranks, &session, &error) != GRADWEAVE_BAD_INPUT) {
            fail_msg("expected \"%s\", got a session", messages[i]);
        }
        assert_null(session);
        if (strstr(error.message, messages[i]) == NULL) {
            fail_msg("expected \"%s\" in \"%s\"", messages[i], error.message);
        }
    }
    gradweave_leave(ranks);
}
