/*
 * A training of several workers: batches, threads, what its workers selected together, and
 * ExDyna's partitions and its density from a first threshold that is hundreds of times too low or
 * too high.
 */
#include "kernels/exdyna.h"
#include "kernels/gradients/training.h"
#include "tests/kernels/kernels_support.h"

static struct gw_training_spec spec_of(const char *compressor, enum gw_shape shape,
                                       const size_t *sizes, size_t tensor_count, size_t workers) {
    return (struct gw_training_spec){.compressor = gw_compressor_find(compressor),
                                     .gradients = {.shape = shape,
                                                   .scale = 1,
                                                   .spread = 0.5,
                                                   .drift = 1,
                                                   .sizes = sizes,
                                                   .tensor_count = tensor_count,
                                                   .seed = seed},
                                     .kept = 50,
                                     .workers = workers,
                                     .threshold = 3};
}

/* With constant gradients, a step adds the batch's factor: of mean 1, with a spread of 10%. */
TEST(batches_differ) {
    enum { WORKERS = 4, STEPS = 2000 };
    const size_t size = 3;
    struct gw_training training;
    struct gw_training_spec spec = spec_of("hard-threshold", GW_SHAPE_CONSTANT, &size, 1, WORKERS);
    struct gw_running factors = {0};
    spec.kept = 1;
    spec.gradients.spread = 0;
    spec.threshold = 0; /* all is sent */
    spec.batch_spread = 0.1;
    assert_ok(gw_training_open(&training, &spec, NULL));
    for (size_t t = 0; t < STEPS; t++) {
        assert_ok(gw_training_step(&training, 2, NULL));
        for (size_t w = 0; w < WORKERS; w++) {
            const struct gw_selection *sent = &training.each[w].selection;
            assert_int_equal(sent->count, 3);
            assert_true(sent->entries[0].value == sent->entries[2].value);
            gw_running_add(&factors, (double)sent->entries[0].value / 2);
        }
    }
    gw_training_close(&training);
    assert_true(fabs(factors.mean - 1) < 0.01);
    assert_true(near(gw_running_sd(&factors), 0.1, 0.1));
}

TEST(threads_change_nothing) {
    enum { WORKERS = 5, STEPS = 30 };
    const size_t sizes[] = {3000, 2000, 400};
    static const char *const compressors[] = {"exdyna", "exdyna-static", "hard-threshold", "sidco"};
    for (size_t c = 0; c < sizeof compressors / sizeof *compressors; c++) {
        struct gw_training one, four;
        struct gw_training_spec spec = spec_of(compressors[c], GW_SHAPE_NORMAL, sizes, 3, WORKERS);
        spec.batch_spread = 0.2;
        assert_ok(gw_training_open(&one, &spec, NULL));
        spec.threads = 4;
        assert_ok(gw_training_open(&four, &spec, NULL));
        for (size_t t = 0; t < STEPS; t++) {
            assert_ok(gw_training_step(&one, 1, NULL));
            assert_ok(gw_training_step(&four, 1, NULL));
            assert_memory_equal(one.counts, four.counts, WORKERS * sizeof *one.counts);
            for (size_t w = 0; w < WORKERS; w++) {
                assert_memory_equal(one.each[w].task.u, four.each[w].task.u,
                                    one.elements * sizeof(float));
            }
        }
        gw_training_close(&one);
        gw_training_close(&four);
    }
}

/* Against a list of flags; and a second time, as the first leaves nothing behind. */
TEST(elements_of_several_workers_count_once) {
    enum { N = 5000, WORKERS = 3 };
    const size_t size = N;
    struct gw_training training;
    struct gw_training_spec spec = spec_of("hard-threshold", GW_SHAPE_NORMAL, &size, 1, WORKERS);
    spec.threshold = 1.5;
    assert_ok(gw_training_open(&training, &spec, NULL));
    for (size_t t = 0; t < 10; t++) {
        bool any[N] = {false};
        size_t distinct = 0;
        assert_ok(gw_training_step(&training, 1, NULL));
        for (size_t w = 0; w < WORKERS; w++) {
            const struct gw_selection *selection = &training.each[w].selection;
            assert_int_equal(training.counts[w], selection->count);
            for (size_t i = 0; i < selection->count; i++) {
                distinct += !any[selection->entries[i].index];
                any[selection->entries[i].index] = true;
            }
        }
        assert_int_equal(gw_training_selected(&training), distinct);
        assert_int_equal(gw_training_selected(&training), distinct);
    }
    gw_training_close(&training);
}

/* ---- the density and partitions of ExDyna --------------------------------------------------- */

enum {
    DENSE = 6144,
    WANTED = DENSE / 100,
    REACH = 1300, /* iterations in which the density has to reach the one that is wanted */
    KEEP = 2000,  /* and those in which it has to stay there */
    WINDOW = 100, /* over which it is averaged: a count of 61 has an error of 13% by chance */
};

static void open_exdyna(struct gw_training *training, const char *compressor, enum gw_shape shape,
                        double scale) {
    const size_t size = DENSE;
    struct gw_training_spec spec = spec_of(compressor, shape, &size, 1, 2);
    spec.gradients.scale = scale;
    spec.gradients.spread = 0;
    spec.kept = WANTED;
    assert_ok(gw_training_open(training, &spec, NULL));
}

static size_t step(struct gw_training *training, double factor) {
    assert_ok(gw_training_step(training, factor, NULL));
    size_t selected = 0;
    for (size_t r = 0; r < training->workers; r++) {
        selected += training->counts[r];
    }
    return selected;
}

/*
 * The largest error of a window's mean of k' / k after REACH iterations, the last KEEP of which
 * change scales `change` times in all.
 */
static double largest_error(enum gw_shape shape, double scale, double change) {
    struct gw_training training;
    open_exdyna(&training, "exdyna-trend", shape, scale);
    double largest = 0;
    double sum = 0;
    for (uint32_t t = 0; t < REACH + KEEP; t++) {
        double drifted = t < REACH ? 0 : (double)(t - REACH) / KEEP;
        sum = t % WINDOW == REACH % WINDOW ? 0 : sum;
        sum += (double)step(&training, pow(change, drifted)) / WANTED;
        if (t >= REACH && (t + 1) % WINDOW == REACH % WINDOW) {
            largest = fmax(largest, fabs(sum / WINDOW - 1));
        }
    }
    gw_training_close(&training);
    return largest;
}

TEST(density_is_kept_while_scales_grow_or_shrink) {
    assert_true(largest_error(GW_SHAPE_NORMAL, 1, 100) < 0.1);
    assert_true(largest_error(GW_SHAPE_LAPLACE, 1e-5, 0.01) < 0.1);
}

/*
 * Algorithm 5 as published ends at the lower edge of its band, k / 1.1, where it moves up four
 * times by a quarter of what it moves down once.
 */
TEST(the_published_rule_selects_too_few) {
    struct gw_training training;
    open_exdyna(&training, "exdyna", GW_SHAPE_NORMAL, 1e-2);
    struct gw_running running = {0};
    for (uint32_t t = 0; t < REACH + KEEP; t++) {
        size_t selected = step(&training, 1);
        if (t >= REACH) {
            gw_running_add(&running, (double)selected / WANTED);
        }
    }
    gw_training_close(&training);
    assert_true(running.mean > 0.94 && running.mean < 0.99);
}

/* If scales differ between tensors, blocks move until all workers select about equally many. */
TEST(partitions_even_out_the_selections_of_workers) {
    enum { TENSORS = 8, BURN_IN = 1500, SEEN = 200, WORKERS = 4 };
    size_t sizes[TENSORS];
    for (size_t i = 0; i < TENSORS; i++) {
        sizes[i] = 4096;
    }
    struct gw_training training;
    struct gw_training_spec spec =
        spec_of("exdyna-trend", GW_SHAPE_NORMAL, sizes, TENSORS, WORKERS);
    struct gw_running padding = {0};
    spec.gradients.scale = 0.01;
    spec.kept = TENSORS * 4096 / 50;
    assert_ok(gw_training_open(&training, &spec, NULL));
    for (size_t t = 0; t < BURN_IN + SEEN; t++) {
        (void)step(&training, 1);
        if (t >= BURN_IN) {
            gw_running_add(&padding, gw_exdyna_padding(training.counts, WORKERS));
        }
    }
    gw_training_close(&training);
    assert_true(padding.mean < 1.25);
}
