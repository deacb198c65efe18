/*
 * ExDyna over a training with error feedback: partitions, and the density over iterations, from a
 * first threshold that is hundreds of times too low or too high, and while the scale of gradients
 * changes a hundredfold.
 */
#include "kernels/exdyna.h"
#include "kernels/gradients/training.h"
#include "tests/kernels/kernels_support.h"

enum {
    N = 6144,
    WORKERS = 2,
    WANTED = N / 100,
    REACH = 1300, /* iterations in which the density has to reach the one that is wanted */
    KEEP = 2000,  /* and those in which it has to stay there */
    WINDOW = 100, /* over which it is averaged: a count of 61 has an error of 13% by chance */
};

static void training_open(struct gw_training *training, const char *compressor, size_t workers,
                          enum gw_shape shape, double scale) {
    const size_t n = N;
    const struct gw_training_spec spec = {.compressor = gw_compressor_find(compressor),
                                          .gradients = {.shape = shape,
                                                        .scale = scale,
                                                        .drift = 1,
                                                        .sizes = &n,
                                                        .tensor_count = 1,
                                                        .seed = seed},
                                          .kept = WANTED,
                                          .workers = workers};
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
    training_open(&training, "exdyna-trend", WORKERS, shape, scale);
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
    training_open(&training, "exdyna", WORKERS, GW_SHAPE_NORMAL, 1e-2);
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

/* No element is selected twice, so that k' is the size of the union: there is no build-up. */
TEST(workers_select_disjoint_sets) {
    static const char *const names[] = {"exdyna", "exdyna-trend"};
    static const size_t workers[] = {1, 3, 7, 16};
    for (size_t i = 0; i < 8; i++) {
        struct gw_training training;
        training_open(&training, names[i % 2], workers[i / 2], GW_SHAPE_NORMAL, 1e-3);
        for (uint32_t t = 0; t < 50; t++) {
            size_t selected = step(&training, 1);
            assert_true(selected >= training.workers); /* one element each at least */
            assert_int_equal(gw_training_selected(&training), selected);
        }
        gw_training_close(&training);
    }
}

/* If scales differ between tensors, blocks move until all workers select about equally many. */
TEST(partitions_even_out_what_workers_select) {
    enum { TENSORS = 8, BURN_IN = 1500, SEEN = 200, P = 4 };
    size_t sizes[TENSORS];
    for (size_t i = 0; i < TENSORS; i++) {
        sizes[i] = 4096;
    }
    const struct gw_training_spec spec = {.compressor = gw_compressor_find("exdyna-trend"),
                                          .gradients = {.shape = GW_SHAPE_NORMAL,
                                                        .scale = 0.01,
                                                        .drift = 1,
                                                        .spread = 0.5,
                                                        .sizes = sizes,
                                                        .tensor_count = TENSORS,
                                                        .seed = seed},
                                          .kept = TENSORS * 4096 / 50,
                                          .workers = P};
    struct gw_training training;
    assert_ok(gw_training_open(&training, &spec, NULL));
    struct gw_running running = {0};
    for (uint32_t t = 0; t < BURN_IN + SEEN; t++) {
        (void)step(&training, 1);
        if (t >= BURN_IN) {
            gw_running_add(&running, gw_exdyna_padding(training.counts, P));
        }
    }
    gw_training_close(&training);
    assert_true(running.mean < 1.25);
}
