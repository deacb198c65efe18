/* Sessions and calibrations of the library, of a rank that is alone; docs/examples/train.c has
 * more. */
#include "tests/library/alone.h"

/* ---- training, alone ----------------------------------------------------------------------- */

TEST(refuses_training_that_makes_no_sense) {
    static const struct gradweave_group gap[] = {{2, 2}, {0, 0}};
    static const uint64_t nothing[] = {0, 1, 2};
    static const char *const unnamed[LAYERS] = {"first", NULL, "third"};
    const enum gradweave_number numbers[LAYERS] = {GRADWEAVE_FLOAT, GRADWEAVE_BF16,
                                                   (enum gradweave_number)3};
    const struct gradweave_training good = {
        .tensor_count = LAYERS, .elements = layers, .algorithm = "topk"};
    static const char *const ways[] = {"dense", "zip:0.1"};
    static const struct gradweave_group halves[] = {{2, 1}, {0, 0}};
    struct gradweave_training cases[13];
    static const char *const messages[13] = {
        "tensor_count: expected at least one tensor",
        "elements[0]: expected a positive integer",
        "got \"magic\"",
        "got \"\"",
        "density: expected a number in (0, 1], or 0, got 2",
        "density: expected a number in (0, 1], or 0, got nan",
        "groups[1]: expected tensors from 1 down, got 0 to 0",
        "got \"magic\"",
        "names[1]: expected a name, got NULL",
        "numbers[2]: expected an enum gradweave_number, 0 to 2, got 3",
        "ways: expected algorithm mixed and no compressor or exchange beside them, got algorithm "
        "topk",
        "ways[0]: expected a group's choice of a mixed plan, such as topk:0.01, got \"\"",
        "ways[1]: expected a group's choice of a mixed plan, such as topk:0.01, got \"zip:0.1\"",
    };
    for (size_t i = 0; i < 13; i++) {
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
    cases[8].names = unnamed;
    cases[9].numbers = numbers;
    for (size_t i = 10; i < 13; i++) {
        cases[i].algorithm = i == 10 ? "topk" : "mixed";
        cases[i].ways = ways;
    }
    cases[12].groups = halves;
    cases[12].group_count = 2;
    for (size_t i = 0; i < 13; i++) {
        struct gradweave_session *session = NULL;
        assert_refused(gradweave_session_open(&cases[i], ranks, &session, &error), messages[i]);
        assert_null(session);
        size_t servers = 1;
        assert_int_equal(gradweave_session_check(&cases[i], &servers, &error),
                         cases[i].groups != NULL ? GRADWEAVE_OK : GRADWEAVE_BAD_INPUT);
    }
}

TEST(says_whether_a_rank_serves) {
    static const char *const exchanges[] = {NULL, "server"};
    struct gradweave_training training = {
        .tensor_count = LAYERS, .elements = layers, .algorithm = "dense"};
    for (size_t i = 0; i < 2; i++) {
        size_t servers = 2;
        training.exchange = exchanges[i];
        assert_done(gradweave_session_check(&training, &servers, &error));
        assert_int_equal(servers, i);
    }
}

/* A compressor hears of elements of a group alone. */
TEST(names_the_tensor_that_holds_a_nan) {
    static const char *const names[LAYERS] = {"first", "second", "third"};
    static const char *const algorithms[] = {"topk", "lags", "hard-threshold", "gs-sgd"};
    static float gradient[MOST_LAYER];
    for (size_t i = 0; i < 8; i++) {
        struct gradweave_training training = {.tensor_count = LAYERS,
                                              .elements = layers,
                                              .algorithm = algorithms[i / 2],
                                              .names = i % 2 == 0 ? names : NULL};
        struct gradweave_session *session = NULL;
        char expected[100];
        assert_done(gradweave_session_open(&training, ranks, &session, &error));
        assert_done(gradweave_session_begin(session, &error));
        for (size_t tensor = LAYERS; tensor-- > 0;) {
            gradient[layers[2] - 1] = tensor == 2 ? NAN : 0;
            (void)gradweave_session_ready(session, tensor, gradient, NULL, &error);
        }
        assert_int_equal(gradweave_session_wait(session, &error), GRADWEAVE_BAD_INPUT);
        (void)snprintf(expected, sizeof expected,
                       "%s: element %llu of %llu: expected a number or an infinity, got NaN",
                       i % 2 == 0 ? "third" : "tensor 2", (unsigned long long)layers[2] - 1,
                       (unsigned long long)layers[2]);
        assert_string_equal(error.message, expected);
        gradweave_session_close(session);
    }
}

/* ---- gradients that overflow ------------------------------------------------------------------
 */

/* An iteration with gradients of all elements, [ELEMENTS], in place of which results come. */
static enum gradweave_status iterate(struct gradweave_session *session, float *gradients) {
    assert_done(gradweave_session_begin(session, &error));
    for (size_t i = 0; i < LAYERS; i++) {
        (void)gradweave_session_ready(session, i, gradients, gradients, &error);
        gradients += layers[i];
    }
    return gradweave_session_wait(session, &error);
}

/* The unsent part of an element of all. */
static float left_of(const float *residual, size_t element) {
    size_t first = ELEMENTS;
    for (size_t i = 0, before = 0; i < LAYERS; before += layers[i++]) {
        first -= layers[i];
        if (element < before + layers[i]) {
            return residual[first + element - before];
        }
    }
    return NAN;
}

/* Whole numbers, exact as halves, whose sums are exact. */
static float finite_of(int iteration, size_t element) {
    float x = (float)((element * 37 + 11 * (size_t)iteration) % 101) - 50;
    return x * (float)(1 << element % 8);
}

/*
 * More elements overflow than are sent. That is said by infinities which are sent, so that a
 * trainer skips its step; no other one stays, and what was finite is sent or stays. Some codes
 * refuse infinities.
 */
TEST(infinities_do_not_stay_in_residuals) {
    static const uint64_t rows[LAYERS] = {25, 0, 20};
    size_t trained = 0;
    for (size_t a = 0; gradweave_algorithm_name(a) != NULL; a++) {
        const char *algorithm = gradweave_algorithm_name(a);
        const struct gradweave_training training = {.tensor_count = LAYERS,
                                                    .elements = layers,
                                                    .algorithm = algorithm,
                                                    .rows = rows,
                                                    .density = 0.05,
                                                    .seed = 3};
        struct gradweave_session *session = NULL;
        float values[ELEMENTS], residual[ELEMENTS];
        double got[ELEMENTS] = {0}, had[ELEMENTS] = {0};
        size_t infinite = 0, sent = 0;
        if (gradweave_session_open(&training, ranks, &session, &error) != GRADWEAVE_OK) {
            assert_non_null(strstr(error.message, "the server"));
            continue;
        }
        for (size_t e = 0; e < ELEMENTS; e++) {
            had[e] = e % 2 == 0 ? (double)finite_of(0, e) : 0;
            values[e] = e % 2 == 0 ? finite_of(0, e) : e % 4 == 1 ? INFINITY : -INFINITY;
        }
        if (iterate(session, values) != GRADWEAVE_OK) {
            assert_non_null(strstr(error.message, "expected a number, got NaN or an infinity"));
            gradweave_session_close(session);
            continue;
        }
        for (size_t e = 0; e < ELEMENTS; e++) {
            infinite += isinf(values[e]) ? 1 : 0;
            got[e] = isfinite(values[e]) ? (double)values[e] : 0;
        }
        assert_true(infinite > 0);
        assert_done(gradweave_session_residual(session, residual, &error));
        for (size_t e = 0; e < ELEMENTS; e++) {
            assert_true(isfinite(residual[e]));
        }
        for (int iteration = 1; iteration < 4; iteration++) {
            for (size_t e = 0; e < ELEMENTS; e++) {
                values[e] = finite_of(iteration, e);
                had[e] += (double)values[e];
            }
            assert_done(iterate(session, values));
            for (size_t e = 0; e < ELEMENTS; e++) {
                got[e] += (double)values[e];
                sent += values[e] != 0 ? 1 : 0;
            }
        }
        assert_done(gradweave_session_residual(session, residual, &error));
        gradweave_session_close(session);
        for (size_t e = 0; e < ELEMENTS; e++) {
            if (got[e] + (double)left_of(residual, e) != had[e]) {
                fail_msg("%s: element %zu: %g sent and %g left of %g", algorithm, e, got[e],
                         (double)left_of(residual, e), had[e]);
            }
        }
        assert_true(sent > 0);
        trained++;
    }
    assert_true(trained > 15);
}

/* ---- going on later ------------------------------------------------------------------------ */

static struct gradweave_session *open_alone(const char *algorithm, uint64_t shared) {
    const struct gradweave_training training = {.tensor_count = LAYERS,
                                                .elements = layers,
                                                .algorithm = algorithm,
                                                .density = 0.05,
                                                .seed = shared};
    struct gradweave_session *session = NULL;
    assert_done(gradweave_session_open(&training, ranks, &session, &error));
    return session;
}

/* An iteration with gradients that follow from its number; its aggregates go to `out`. */
static void train_once(struct gradweave_session *session, int iteration, float *out) {
    static float gradients[LAYERS][MOST_LAYER];
    assert_done(gradweave_session_begin(session, &error));
    for (size_t i = 0; i < LAYERS; i++) {
        for (size_t e = 0; e < layers[i]; e++) {
            float x = (float)((e * 37 + i + 11 * (size_t)iteration) % 101) - 50;
            gradients[i][e] = iteration < 0 ? 0 : x * x * x;
        }
        assert_done(gradweave_session_ready(session, i, gradients[i], out, &error));
        out += layers[i];
    }
    assert_done(gradweave_session_wait(session, &error));
}

enum { BEFORE = 3, AFTER = 3 };

TEST(refuses_states_that_are_damaged_or_others) {
    struct gradweave_session *session = open_alone("exdyna", 3);
    float expected[AFTER][ELEMENTS];
    float got[ELEMENTS];
    for (int i = 0; i < BEFORE; i++) {
        train_once(session, i, got);
    }
    size_t size = gradweave_session_state_size(session);
    unsigned char *saved = calloc(size + 1, 1);
    assert_done(gradweave_session_save(session, saved, &error));
    assert_done(gradweave_session_begin(session, &error));
    assert_int_equal(gradweave_session_save(session, saved, &error), GRADWEAVE_BAD_INPUT);
    assert_int_equal(gradweave_session_residual(session, got, &error), GRADWEAVE_BAD_INPUT);
    assert_refused(gradweave_session_load(session, saved, size, &error),
                   "begins once the last one was waited for");
    gradweave_session_close(session);

    session = open_alone("exdyna", 3);
    assert_done(gradweave_session_load(session, saved, size, &error));
    for (int i = 0; i < AFTER; i++) {
        train_once(session, BEFORE + i, expected[i]);
    }
    assert_done(gradweave_session_load(session, saved, size, &error));
    for (size_t i = 0; i < size; i++) {
        saved[i] ^= (unsigned char)(1 << i % 8);
        assert_refused(gradweave_session_load(session, saved, size, &error), "state: expected");
        saved[i] ^= (unsigned char)(1 << i % 8);
    }
    assert_refused(gradweave_session_load(session, saved, size - 1, &error), "bytes, got");
    assert_refused(gradweave_session_load(session, saved, size + 1, &error), "bytes, got");
    assert_refused(gradweave_session_load(session, saved, 5, &error), "got something else");
    for (int i = 0; i < AFTER; i++) { /* nothing was changed */
        train_once(session, BEFORE + i, got);
        assert_memory_equal(got, expected[i], sizeof got);
    }
    static const struct {
        const char *algorithm;
        uint64_t seed;
        const char *message;
    } others[] = {{"exdyna", 4, "seed: expected 4, got 3"},
                  {"topk", 3, "compressor: expected topk, got exdyna"},
                  {"dense", 3, "compressor: expected none, got exdyna"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct gradweave_session *other = open_alone(others[i].algorithm, others[i].seed);
        assert_refused(gradweave_session_load(other, saved, size, &error), others[i].message);
        gradweave_session_close(other);
    }
    free(saved);
    gradweave_session_close(session);
}

/* The residual of one pipeline is sent by another: here all of it at once. */
TEST(residuals_go_over_to_another_session) {
    struct gradweave_session *session = open_alone("topk", 3);
    double had[ELEMENTS] = {0};
    float got[ELEMENTS];
    for (int i = 0; i < BEFORE; i++) {
        size_t element = 0;
        train_once(session, i, got);
        for (size_t layer = 0; layer < LAYERS; layer++) {
            for (size_t e = 0; e < layers[layer]; e++, element++) {
                double x = (double)((e * 37 + layer + 11 * (size_t)i) % 101) - 50;
                had[element] += x * x * x - (double)got[element];
            }
        }
    }
    assert_done(gradweave_session_residual(session, got, &error));
    size_t first = ELEMENTS;
    for (size_t layer = 0, element = 0; layer < LAYERS; layer++) {
        first -= layers[layer];
        for (size_t e = 0; e < layers[layer]; e++, element++) {
            assert_true((double)got[first + e] == had[element]);
        }
    }
    size_t size = gradweave_session_state_size(session);
    void *saved = calloc(size, 1);
    assert_done(gradweave_session_save(session, saved, &error));
    gradweave_session_close(session);

    const struct gradweave_training all = {
        .tensor_count = LAYERS, .elements = layers, .algorithm = "lags", .density = 1};
    assert_done(gradweave_session_open(&all, ranks, &session, &error));
    for (int twice = 0; twice < 2; twice++) {
        assert_done(gradweave_session_add_residual(session, saved, size, &error));
    }
    train_once(session, -1, got);
    for (size_t i = 0; i < ELEMENTS; i++) { /* whole numbers below 2^24: exact */
        assert_true((double)got[i] == 2 * had[i]);
    }
    gradweave_session_close(session);

    static const uint64_t fewer[] = {500, 320};
    const struct gradweave_training two = {
        .tensor_count = 2, .elements = fewer, .algorithm = "topk"};
    assert_done(gradweave_session_open(&two, ranks, &session, &error));
    assert_refused(gradweave_session_add_residual(session, saved, size, &error),
                   "tensors: expected 2, got 3");
    gradweave_session_close(session);
    session = open_alone("dense", 3);
    assert_refused(gradweave_session_add_residual(session, saved, size, &error),
                   "this rank keeps none");
    gradweave_session_close(session);
    free(saved);
}

/* ---- calibrating, alone ---------------------------------------------------------------------- */

static void hear(void *context, double share, const char *what) {
    double *heard = context;
    assert_true(share >= *heard && share <= 1 && what[0] != '\0');
    *heard = share;
}

static int give_up(void *context, struct gradweave_pass *pass) {
    (void)pass;
    return context == NULL;
}

TEST_IN_FOLDER(one_rank_calibrates_its_compressors) {
    static const char alone[] = "at least 2 ranks";
    static const struct {
        struct gradweave_calibration asked;
        const char *message;
    } cases[] = {{{.only = NULL}, alone},
                 {{.only = "topk,network"}, alone},
                 {{.only = "topk,tpok"}, "network, overlap, each once, got \"tpok\""},
                 {{.only = "topk", .compressor = "topk"}, "only: expected no compressor with it"},
                 {{.compressor = "topk,topk"}, "each once, got \"topk\""},
                 {{.only = "topk", .backward = give_up}, "only: expected overlap in it"},
                 {{.only = "topk", .density = 1.5}, "density: expected a number in (0, 1]"},
                 {{.only = "topk", .precision = -1}, "precision: expected a number in (0, 1]"},
                 {{.only = "topk", .time_s = -1}, "time_s: expected 0 to 1e+07 seconds, got -1"},
                 {{.only = "topk", .session_s = -1}, "session_s: expected 0 to 1e+06 seconds"},
                 {{.only = "topk", .session_s = 1}, "session_elements: expected those of"},
                 {{.only = "topk", .max_bytes = 10}, "max_bytes: expected 4096 to 134217728"},
                 {{.only = "topk", .max_elements = 10}, "max_elements: expected 4096 to"}};
    const char *path = path_in(*state, "mine.json");
    double heard = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_refused(gradweave_calibrate(&cases[i].asked, ranks, path, &error), cases[i].message);
    }
    assert_null(fopen(path, "re"));
    FILE *file = fopen(path, "we");
    assert_true(file != NULL && fputs("{\"schema\": \"gradweave/model@1\"}", file) >= 0);
    assert_int_equal(fclose(file), 0);
    struct gradweave_calibration asked = {.only = "topk",
                                          .time_s = 0.5,
                                          .max_elements = 1 << 16,
                                          .progress = hear,
                                          .progress_context = &heard};
    assert_refused(gradweave_calibrate(&asked, ranks, path, &error),
                   "got \"gradweave/model\", which force replaces");
    for (asked.replace = 1; asked.replace >= 0; asked.replace--) { /* then its own file */
        assert_done(gradweave_calibrate(&asked, ranks, path, &error));
        assert_true(heard > 0);
        heard = 0;
    }
    static char text[1 << 20];
    file = fopen(path, "re");
    assert_true(file != NULL && fread(text, 1, sizeof text - 1, file) > 0);
    (void)fclose(file);
    assert_non_null(strstr(text, "\"name\":\t\"mine\""));
    assert_non_null(strstr(text, "\"transport\":\t\"group\""));
    assert_non_null(strstr(text, "\"topk\""));
}
