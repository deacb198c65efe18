/* When a compressor has warmed up, and whether it still comes nearer to what it is asked for. */
#include "core/warm_up.h"

#include "tests/test.h"

enum { SELECTIONS = 500, EARLY = 20 };

/* A ratio, off by no more than so much of it. */
static double vary(struct gw_random *random, double ratio, double spread) {
    return ratio * (1 + spread * (2 * gw_random_uniform(random) - 1));
}

/* A threshold of which each step lets 1% fewer pass, a hundred times too many at first. */
TEST(a_falling_count_warms_up_until_it_is_reached) {
    struct gw_random *random = random_stream(0);
    struct gw_warm_up warm_up = {.tolerance = 0.1};
    size_t count = 0;
    for (double ratio = 100; !gw_warm_up_reached(&warm_up) && count < SELECTIONS; ratio *= 0.99) {
        gw_warm_up_add(&warm_up, vary(random, ratio, 0.01), 1);
        assert_true(gw_warm_up_nears(&warm_up) || gw_warm_up_reached(&warm_up));
        count++;
    }
    assert_true(count >= 450 && count < SELECTIONS); /* 0.99^449 < 1.1 / 100 */
}

/* In the mean one in two is nearer than those before it: three in a row are not after 14. */
TEST(a_varying_or_growing_count_ends_its_warm_up) {
    struct gw_random *random = random_stream(1);
    for (size_t i = 0; i < 100; i++) {
        struct gw_warm_up varying = {.tolerance = 0.1};
        struct gw_warm_up growing = {.tolerance = 0.1};
        bool ended = false;
        double ratio = 1;
        for (size_t s = 0; s < SELECTIONS; s++, ratio *= 1.01) {
            gw_warm_up_add(&varying, vary(random, 60, 0.02), 1);
            gw_warm_up_add(&growing, vary(random, ratio, 0.001), 1);
            ended = ended || (s >= EARLY && !gw_warm_up_nears(&varying));
            assert_true(s < EARLY || !gw_warm_up_nears(&growing));
        }
        assert_true(ended && !gw_warm_up_reached(&varying) && !gw_warm_up_reached(&growing));
    }
}

/* No selected element is as far off as possible; and a constant number has come to an end. */
TEST(a_constant_count_ends_its_warm_up) {
    struct gw_warm_up none = {.tolerance = 0.1};
    struct gw_warm_up same = {.tolerance = 0.1};
    for (size_t s = 0; s < SELECTIONS; s++) {
        gw_warm_up_add(&none, 0, 1);
        gw_warm_up_add(&same, 3, 1);
    }
    assert_false(gw_warm_up_nears(&none) || gw_warm_up_nears(&same));
    assert_true(gw_warm_up_unchanged(&same) && !gw_warm_up_reached(&same));
    for (size_t s = 0; s < GW_WARM_UP_ROW; s++) {
        assert_false(gw_warm_up_reached(&same));
        gw_warm_up_add(&same, 0.95, 1);
    }
    assert_true(gw_warm_up_reached(&same) && gw_warm_up_nears(&same));
}
