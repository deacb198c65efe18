/*
 * Fronts and hulls against what they must contain, pair by pair: what is squeezed promises no less
 * than before, what is thinned no more, what is merged just what it was made of, and a hull no less
 * than the pairs that its lines were drawn for.
 */

#include "planner/front.h"
#include "tests/test.h"

enum { trials = 3000, most_pairs = 200, most_lines = 14 };

static const double slack =
    1e-14; /* of corners between whole steps, as a share; passes allow more */

/* Whole numbers that fall along a bent line, with more or less noise; few of them or many. */
static size_t make_pairs(struct gw_random *random, struct gw_front_pair *pairs) {
    size_t count = 1 + gw_random_below(random, most_pairs);
    uint64_t noise = UINT64_C(1) << gw_random_below(random, 30);
    double scale = pow(2, 10 + 30 * gw_random_uniform(random));
    for (size_t i = 0; i < count; i++) {
        double share = gw_random_uniform(random);
        pairs[i].first = floor(scale * share) + (double)gw_random_below(random, noise);
        pairs[i].second = floor(scale / (0.1 + share)) + (double)gw_random_below(random, noise);
    }
    return count;
}

static void make_front(struct gw_random *random, struct gw_front_pair *pairs, size_t *count,
                       struct gw_front *front) {
    struct gw_front scratch = {0};
    *front = (struct gw_front){0};
    *count = make_pairs(random, pairs);
    for (size_t i = 0; i < *count; i++) {
        assert_ok(gw_front_merge(front, &pairs[i], 1, &scratch, NULL));
    }
    free(scratch.pairs);
}

struct lines {
    size_t count;
    double weights[most_lines]; /* ascending from 0 to 1 */
    double exact[most_lines];   /* the least weighted sums of a front's pairs */
    double values[most_lines];  /* the same, or less */
};

static double weighted(struct gw_front_pair pair, double weight) {
    return (double)((long double)weight * pair.first + (1 - (long double)weight) * pair.second);
}

/* Lines for a front: with weights far apart or near each other, that touch it or do not. */
static void draw_lines(struct gw_random *random, const struct gw_front *front,
                       struct lines *lines) {
    bool touch = gw_random_below(random, 2) == 0;
    double least = pow(10, -9 * gw_random_uniform(random));
    lines->count = 2;
    lines->weights[0] = 0;
    for (size_t tries = gw_random_below(random, most_lines - 1); tries > 0; tries--) {
        double last = lines->weights[lines->count - 2];
        double weight = last + (1 - last) * pow(least, gw_random_uniform(random));
        if (weight - last > 1e-9 && 1 - weight > 1e-9) {
            lines->weights[lines->count++ - 1] = weight;
        }
    }
    lines->weights[lines->count - 1] = 1;
    for (size_t i = 0; i < lines->count; i++) {
        lines->exact[i] = INFINITY;
        for (size_t j = 0; j < front->count; j++) {
            lines->exact[i] = fmin(lines->exact[i], weighted(front->pairs[j], lines->weights[i]));
        }
        bool touches = touch || gw_random_below(random, 2) == 0;
        lines->values[i] = lines->exact[i] * (touches ? 1 : gw_random_uniform(random));
    }
}

static void make_hull(const struct lines *lines, struct gw_front *hull) {
    *hull = (struct gw_front){0};
    assert_ok(gw_hull_from_lines(hull, lines->weights, lines->values, lines->count, NULL));
    assert_in_range(hull->count, 1, lines->count - 1);
    for (size_t i = 1; i < hull->count; i++) {
        assert_true(hull->pairs[i - 1].first <= hull->pairs[i].first);
        assert_true(hull->pairs[i - 1].second >= hull->pairs[i].second);
    }
}

static bool matches(const struct gw_front *front, struct gw_front_pair pair) {
    for (size_t i = 0; i < front->count; i++) {
        if (front->pairs[i].first <= pair.first && front->pairs[i].second <= pair.second) {
            return true;
        }
    }
    return false;
}

static void check_order(const struct gw_front *front) {
    for (size_t i = 1; i < front->count; i++) {
        assert_true(front->pairs[i - 1].first < front->pairs[i].first);
        assert_true(front->pairs[i - 1].second > front->pairs[i].second);
    }
}

static bool has(const struct gw_front_pair *pairs, size_t count, struct gw_front_pair pair) {
    for (size_t i = 0; i < count; i++) {
        if (pairs[i].first == pair.first && pairs[i].second == pair.second) {
            return true;
        }
    }
    return false;
}

/* A front, and the pairs that it was made of. */
struct drawn {
    struct gw_random *random;
    size_t count;
    struct gw_front_pair pairs[most_pairs];
    struct gw_front front;
};

static void for_fronts(uint64_t stream, void (*check)(struct drawn *x)) {
    struct gw_random *random = random_stream(stream);
    for (int trial = 0; trial < gw_trials(trials); trial++) {
        struct drawn x = {.random = random};
        make_front(random, x.pairs, &x.count, &x.front);
        check(&x);
        free(x.front.pairs);
    }
}

static void check_promises(const struct drawn *x) {
    check_order(&x->front);
    for (size_t i = 0; i < x->count; i++) {
        assert_true(matches(&x->front, x->pairs[i]));
    }
}

static void check_front(struct drawn *x) {
    check_promises(x);
    for (size_t i = 0; i < x->front.count; i++) {
        assert_true(has(x->pairs, x->count, x->front.pairs[i]));
    }
}

TEST(a_front_is_what_nothing_dominates) {
    for_fronts(1, check_front);
}

TEST(fronts_merge_as_their_pairs_do) {
    struct gw_random *random = random_stream(2);
    for (int trial = 0; trial < gw_trials(trials); trial++) {
        struct gw_front_pair pairs[2][most_pairs];
        struct gw_front fronts[2];
        struct gw_front scratch = {0};
        size_t counts[2];
        make_front(random, pairs[0], &counts[0], &fronts[0]);
        make_front(random, pairs[1], &counts[1], &fronts[1]);
        struct gw_front one_by_one = {0};
        for (int f = 0; f < 2; f++) {
            for (size_t i = 0; i < counts[f]; i++) {
                assert_ok(gw_front_merge(&one_by_one, &pairs[f][i], 1, &scratch, NULL));
            }
        }
        assert_ok(gw_front_merge(&fronts[0], fronts[1].pairs, fronts[1].count, &scratch, NULL));
        assert_int_equal(fronts[0].count, one_by_one.count);
        assert_memory_equal(fronts[0].pairs, one_by_one.pairs,
                            one_by_one.count * sizeof *one_by_one.pairs);
        free(fronts[0].pairs);
        free(fronts[1].pairs);
        free(one_by_one.pairs);
        free(scratch.pairs);
    }
}

static double guess; /* of the squeeze, or thinning, before */

static void check_squeezed(struct drawn *x) {
    size_t most = 1 + gw_random_below(x->random, 32);
    gw_front_squeeze(&x->front, most, &guess);
    assert_true(x->front.count <= most);
    check_promises(x);
}

TEST(squeezed_fronts_promise_no_less) {
    guess = 1;
    for_fronts(3, check_squeezed);
}

static void check_thinned(struct drawn *x) {
    double promised[most_pairs];
    size_t best = 0;
    for (size_t i = 0; i < x->front.count; i++) {
        promised[i] = gw_random_uniform(x->random);
        best = promised[i] < promised[best] ? i : best;
    }
    struct gw_front_pair kept = x->front.pairs[best];
    size_t most = 1 + gw_random_below(x->random, 32);
    gw_front_thin(&x->front, most, &guess, promised);
    check_order(&x->front);
    assert_true(x->front.count <= most);
    assert_true(has(x->front.pairs, x->front.count, kept));
    for (size_t i = 0; i < x->front.count; i++) {
        assert_true(has(x->pairs, x->count, x->front.pairs[i]));
    }
}

TEST(thinned_fronts_are_subsets) {
    guess = 1;
    for_fronts(4, check_thinned);
}

/* The least weighted sum over the hull, which is that of a corner. */
static double least_sum(const struct gw_front *hull, double weight) {
    double least = INFINITY;
    for (size_t i = 0; i < hull->count; i++) {
        least = fmin(least, weighted(hull->pairs[i], weight));
    }
    return least;
}

/* The hull gives the lines' values, or larger ones where they lie apart, never too large. */
static void check_hull(struct drawn *x) {
    static const double loss =
        1e-6; /* of corners rounded outwards, where lines are near each other */
    struct gw_front hull;
    struct lines lines;
    draw_lines(x->random, &x->front, &lines);
    make_hull(&lines, &hull);
    double largest = x->front.pairs[0].second + x->front.pairs[x->front.count - 1].first;
    for (size_t i = 0; i < lines.count; i++) {
        double again = least_sum(&hull, lines.weights[i]);
        if (again < lines.values[i] - loss * largest || again > lines.exact[i] + slack * largest) {
            fail_msg("a line of weight %.17g is %.17g, from %.17g of at most %.17g",
                     lines.weights[i], again, lines.values[i], lines.exact[i]);
        }
    }
    free(hull.pairs);
}

TEST(a_hull_says_what_its_lines_say) {
    for_fronts(5, check_hull);
}

TEST(a_hull_of_nothing_has_no_corner) {
    struct gw_front hull = {0};
    static const double values[] = {INFINITY, INFINITY, INFINITY};
    assert_ok(gw_hull_from_lines(&hull, (const double[]){0, 0.5, 1}, values, 3, NULL));
    assert_int_equal(hull.count, 0);
    assert_true(gw_hull_complete(&hull, 0, 0) == INFINITY);
}

/* Finds partners that survive with some pair of the other front, and those that complete to the
 * least. */
TEST(partners_are_found) {
    struct gw_random *random = random_stream(6);
    for (int trial = 0; trial < gw_trials(trials); trial++) {
        struct gw_front_pair pairs[2][most_pairs];
        struct gw_front fronts[2];
        size_t counts[2];
        for (int f = 0; f < 2; f++) {
            make_front(random, pairs[f], &counts[f], &fronts[f]);
        }
        struct lines lines;
        struct gw_front hull;
        draw_lines(random, &fronts[1], &lines);
        make_hull(&lines, &hull);
        const struct gw_front *a = &fronts[0];
        double least = INFINITY;
        for (size_t i = 0; i < a->count; i++) {
            struct gw_front_pair x = a->pairs[i];
            double best = INFINITY;
            for (size_t j = 0; j < fronts[1].count; j++) {
                best = fmin(best, fmax(fronts[1].pairs[j].first + x.first,
                                       fronts[1].pairs[j].second + x.second));
            }
            assert_true(gw_front_complete(&fronts[1], x.first, x.second) == best);
            assert_true(gw_hull_complete(&hull, x.first, x.second) <= best * (1 + slack));
            least = fmin(least, best);
        }
        double limit = least * (0.9 + 0.4 * gw_random_uniform(random));
        struct gw_front_pair by_front[most_pairs];
        struct gw_front_pair by_hull[most_pairs];
        memcpy(by_front, a->pairs, a->count * sizeof *by_front);
        memcpy(by_hull, a->pairs, a->count * sizeof *by_hull);
        size_t kept = gw_front_keep(&fronts[1], limit, by_front, a->count);
        size_t kept_by_hull = gw_hull_keep(&hull, limit * (1 + slack), by_hull, a->count);
        size_t expected = 0;
        for (size_t i = 0; i < a->count; i++) {
            struct gw_front_pair x = a->pairs[i];
            if (gw_front_complete(&fronts[1], x.first, x.second) < limit) {
                assert_memory_equal(&by_front[expected], &x, sizeof x);
                expected++;
            }
        }
        assert_int_equal(kept, expected);
        for (size_t i = 0, j = 0; i < kept; i++, j++) {
            while (j < kept_by_hull && memcmp(&by_hull[j], &by_front[i], sizeof *by_hull) != 0) {
                j++;
            }
            assert_true(j < kept_by_hull);
        }
        for (int f = 0; f < 2; f++) {
            free(fronts[f].pairs);
        }
        free(hull.pairs);
    }
}
