/* Files of gradients: what they hold, and workers beyond those recorded. */
#include "tests/traces/recorded_gradients.h"
#include "tests/traces/traces_support.h"

static const char *const names[] = {"a", "b", "c", "d", "e"};

TEST(recorded_gradients_are_read_back) {
    struct gw_random *random = random_stream(0);
    for (int round = 0, rounds = gw_trials(100); round < rounds; round++) {
        size_t elements[5];
        size_t sampled[5];
        struct drawn_gradients drawn = {.model = "m",
                                        .tensor_count = 1 + gw_random_below(random, 5),
                                        .workers = 1 + gw_random_below(random, 4),
                                        .iterations = 1 + gw_random_below(random, 4),
                                        .names = names,
                                        .elements = elements,
                                        .sampled = sampled};
        for (size_t i = 0; i < drawn.tensor_count; i++) {
            elements[i] = 1 + gw_random_below(random, 1u << 30);
            sampled[i] = 1 + gw_random_below(random, elements[i] < 40 ? elements[i] : 40);
        }
        draw_levels(&drawn, random);
        char *text = drawn_document(&drawn);
        struct gw_recorded_gradients read;
        assert_ok(gw_recorded_gradients_parse(text, strlen(text), "g", &read, &error));
        assert_string_equal(read.model, "m");
        assert_int_equal(read.workers, drawn.workers);
        assert_int_equal(read.iteration_count, drawn.iterations);
        size_t first = 0;
        for (size_t t = 0; t < drawn.tensor_count; t++) {
            assert_int_equal(read.tensors[t].elements, elements[t]);
            for (size_t list = 0; list < drawn.iterations * drawn.workers; list++) {
                size_t iteration = list / drawn.workers;
                size_t worker = list % drawn.workers;
                float values[40];
                gw_recorded_gradients_fill(&read, iteration, worker, t, values);
                for (size_t e = 0; e < sampled[t]; e++) {
                    double expected = drawn_value(&drawn, iteration, worker, first + e);
                    assert_true(near(values[e], expected, 1e-6));
                }
            }
            first += sampled[t];
        }
        gw_recorded_gradients_free(&read);
        free(text);
        free_drawn(&drawn);
    }
}

/* Worked out by hand: 0x7f is the scale, 0xf7 minus half of it, 0 zero; three iterations of two
 * workers. */
TEST(workers_are_recorded_ones_again_later) {
    static const char text[] =
        "{'schema': 'gradweave/gradients@1', 'model': 'm', 'tensors': [{'name': 'a', 'elements': "
        "9, 'sampled': 1}], 'scales': [[1, 2], [4, 8], [16, 32]], 'values': 'f/cAf3/3'}";
    static const float of_worker[6] = {1, -1, 0, 8, 16, -16};
    struct gw_recorded_gradients read;
    const char *document = quoted(text);
    assert_ok(gw_recorded_gradients_parse(document, strlen(document), "g", &read, &error));
    for (size_t workers = 1; workers <= 8; workers++) {
        size_t iterations = gw_recorded_iterations(&read, workers);
        assert_int_equal(iterations, workers <= 2 ? 3 : workers <= 4 ? 2 : workers <= 6 ? 1 : 0);
        for (size_t i = 0; i < iterations; i++) {
            for (size_t w = 0; w < workers; w++) {
                float value = 7;
                gw_recorded_gradients_fill(&read, i, w, 0, &value);
                assert_true(value == of_worker[2 * i + w]);
            }
        }
    }
    gw_recorded_gradients_free(&read);
}
