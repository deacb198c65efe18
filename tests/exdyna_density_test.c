/*
 * ExDyna's density over iterations, with error feedback: two workers, one after the other, each
 * with a residual of its own, of which both clear what either selected. From a first threshold that
 * is hundreds of times too low or too high, and while the scale of gradients changes a hundredfold.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "exdyna_training.h"
#include "kernels_support.h"

static uint64_t seed;

enum {
    N = 6144,
    WORKERS = 2,
    WANTED = N / 100,
    REACH = 1300, /* iterations in which the density has to reach the one that is wanted */
    KEEP = 2000,  /* and those in which it has to stay there */
    WINDOW = 100, /* over which it is averaged: a count of 61 has an error of 13% by chance */
};

static void training_open(struct exdyna_training *training, enum gw_distribution distribution,
                          double scale) {
    const size_t n = N;
    const struct gw_gradients_spec spec = {.distribution = distribution,
                                           .scale = scale,
                                           .drift = 1,
                                           .sizes = &n,
                                           .tensor_count = 1,
                                           .seed = seed};
    assert_int_equal(exdyna_training_open(training, &spec, WORKERS, NULL), GW_OK);
}

/*
 * The largest error of a window's mean of k' / k after REACH iterations, the last KEEP of which
 * change scales `change` times in all.
 */
static double largest_error(enum gw_distribution distribution, double scale, double change) {
    struct exdyna_training training;
    training_open(&training, distribution, scale);
    struct gw_exdyna_threshold threshold = {.value = gw_exdyna_first_threshold(WANTED)};
    double largest = 0;
    double sum = 0;
    for (uint32_t t = 0; t < REACH + KEEP; t++) {
        double drifted = t < REACH ? 0 : (double)(t - REACH) / KEEP;
        size_t selected = exdyna_train(&training, t, pow(change, drifted), threshold.value);
        gw_exdyna_track(&threshold, selected, WANTED);
        sum = t % WINDOW == REACH % WINDOW ? 0 : sum;
        sum += (double)selected / WANTED;
        if (t >= REACH && (t + 1) % WINDOW == REACH % WINDOW) {
            largest = fmax(largest, fabs(sum / WINDOW - 1));
        }
    }
    exdyna_training_close(&training);
    return largest;
}

static void density_is_kept_while_scales_grow(void **state) {
    (void)state;
    assert_true(largest_error(GW_NORMAL, 1, 100) < 0.1);
}

static void density_is_kept_while_scales_shrink(void **state) {
    (void)state;
    assert_true(largest_error(GW_LAPLACE, 1e-5, 0.01) < 0.1);
}

/*
 * Algorithm 5 as published ends at the lower edge of its band, k / 1.1, where it moves up four
 * times by a quarter of what it moves down once.
 */
static void the_published_rule_selects_too_few(void **state) {
    (void)state;
    struct exdyna_training training;
    training_open(&training, GW_NORMAL, 1e-2);
    double threshold = gw_exdyna_first_threshold(WANTED);
    struct gw_running running = {0};
    for (uint32_t t = 0; t < REACH + KEEP; t++) {
        size_t selected = exdyna_train(&training, t, 1, threshold);
        threshold = gw_exdyna_next_threshold(threshold, selected, WANTED);
        if (t >= REACH) {
            gw_running_add(&running, (double)selected / WANTED);
        }
    }
    exdyna_training_close(&training);
    assert_true(running.mean > 0.94 && running.mean < 0.99);
}

int main(void) {
    seed = choose_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(density_is_kept_while_scales_grow),
        cmocka_unit_test(density_is_kept_while_scales_shrink),
        cmocka_unit_test(the_published_rule_selects_too_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
