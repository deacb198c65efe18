/* Random numbers: reproducible from a seed and a stream, within their bounds, and well mixed. */
#include "core/core.h"
#include "tests/support.h"

/* Seeds are fixed: a statistical verdict must not depend on the day. */
static struct gw_random *open_random(uint64_t stream) {
    struct gw_random *random = NULL;
    assert_int_equal(gw_random_open(&random, 20240229, stream, NULL), GW_OK);
    return random;
}

static void random_numbers_follow_from_seed_and_stream(void **state) {
    (void)state;
    const uint64_t pairs[][2] = {{7, 1}, {7, 1}, {7, 2}, {8, 1}, {1, 7}};
    double drawn[5][64];
    for (size_t i = 0; i < 5; i++) {
        struct gw_random *random = NULL;
        assert_int_equal(gw_random_open(&random, pairs[i][0], pairs[i][1], NULL), GW_OK);
        for (size_t d = 0; d < 64; d++) {
            drawn[i][d] = gw_random_uniform(random);
        }
        gw_random_close(random);
    }
    assert_memory_equal(drawn[0], drawn[1], sizeof drawn[0]);
    for (size_t i = 2; i < 5; i++) {
        size_t equal = 0;
        for (size_t d = 0; d < 64; d++) {
            equal += drawn[i][d] == drawn[0][d];
        }
        assert_int_equal(equal, 0);
    }
}

static void random_numbers_keep_to_their_bounds(void **state) {
    (void)state;
    enum { draws = 20000 };
    struct gw_random *random = open_random(1);
    struct gw_running uniform = {0}, normal = {0}, noise = {0};
    size_t hits[7] = {0};
    for (size_t i = 0; i < draws; i++) {
        double u = gw_random_uniform(random);
        assert_true(u >= 0 && u < 1);
        gw_running_add(&uniform, u);
        gw_running_add(&normal, gw_random_normal(random, 3));
        gw_running_add(&noise, gw_random_noise(random, 0.5));
        assert_int_equal(gw_random_below(random, 1), 0);
        assert_true(gw_random_below(random, UINT64_C(1) << 53) < UINT64_C(1) << 53);
        hits[gw_random_below(random, 7)]++;
    }
    assert_true(near(gw_random_noise(random, 0), 1, 0));
    assert_true(near(uniform.mean, 0.5, 0.02) &&
                near(gw_running_sd(&uniform), sqrt(1.0 / 12), 0.02));
    assert_true(fabs(normal.mean) < 0.1 && near(gw_running_sd(&normal), 3, 0.03));
    assert_true(near(noise.mean, 1, 0.02) &&
                near(gw_running_sd(&noise), sqrt(exp(0.25) - 1), 0.06));
    for (size_t i = 0; i < 7; i++) {
        assert_true(near((double)hits[i], draws / 7.0, 0.1));
    }
    gw_random_close(random);
}

/* Of 24 orders of four items each comes up as often as any other: chi squared of 23 degrees. */
static void orders_are_equally_likely(void **state) {
    (void)state;
    enum { COUNT = 4, ORDERS = 24, TIMES = 24000 };
    struct gw_random *random = open_random(4);
    size_t hits[1 << (2 * COUNT)] = {0};
    double chi_squared = 0;
    size_t seen = 0;
    for (size_t i = 0; i < TIMES; i++) {
        struct {
            char number;
            double beside;
        } items[COUNT] = {{0, 0}, {1, -1}, {2, -2}, {3, -3}};
        size_t order = 0;
        gw_random_shuffle(random, items, COUNT, sizeof *items);
        for (size_t k = 0; k < COUNT; k++) {
            assert_true(items[k].beside == -items[k].number);
            order = COUNT * order + (size_t)items[k].number;
        }
        hits[order]++;
    }
    for (size_t o = 0; o < sizeof hits / sizeof *hits; o++) {
        double off = (double)hits[o] - (double)TIMES / ORDERS;
        seen += hits[o] > 0;
        chi_squared += hits[o] > 0 ? off * off * ORDERS / TIMES : 0;
    }
    assert_int_equal(seen, ORDERS);
    assert_true(chi_squared < 49.7); /* less in 99.9% of cases */
    gw_random_close(random);
}

static void little_is_shuffled_too(void **state) {
    (void)state;
    struct gw_random *random = open_random(3);
    int one = 7;
    gw_random_shuffle(random, NULL, 0, sizeof one);
    gw_random_shuffle(random, &one, 1, sizeof one);
    assert_int_equal(one, 7);
    gw_random_close(random);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_numbers_follow_from_seed_and_stream),
        cmocka_unit_test(random_numbers_keep_to_their_bounds),
        cmocka_unit_test(orders_are_equally_likely),
        cmocka_unit_test(little_is_shuffled_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
