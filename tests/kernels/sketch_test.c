/*
 * Count sketches: every instruction set against the reference, and the reference against what
 * theory promises. Random cases follow from one seed, which is printed; GRADWEAVE_SEED repeats a
 * run.
 */
#include "kernels/sketch/loops.h" /* private: what is heavy */
#include "tests/kernels/references.h"
#include "tests/kernels/sketch_inputs.h"

static struct gw_sketch open_sketch(size_t rows, size_t columns, uint64_t sketch_seed) {
    struct gw_sketch sketch;
    assert_ok(gw_sketch_open(&sketch, rows, columns, sketch_seed, NULL));
    return sketch;
}

static void encode(struct gw_sketch *sketch, const float *u, size_t n) {
    assert_ok(gw_sketch_encode(sketch, u, 0, n, NULL));
}

static bool same_tables(const struct gw_sketch *a, const struct gw_sketch *b) {
    return memcmp(a->table, b->table, a->rows * a->columns * sizeof *a->table) == 0;
}

/* ---- instruction sets ---------------------------------------------------------------------- */

static const char *const instruction_sets[] = {"portable", "avx2", "avx512"}; /* best last */
enum { INSTRUCTION_SETS = 3 };

/* In chunks of any size, not one call, against the reference in one call. */
static void check_encode(const struct gw_sketch *expected, const float *u, size_t first, size_t n,
                         struct gw_random *random) {
    struct gw_sketch sketch = open_sketch(expected->rows, expected->columns, expected->seed);
    for (size_t i = 0, chunk; i < n; i += chunk) {
        chunk = between(random, 1, n - i);
        assert_ok(gw_sketch_encode(&sketch, u + i, first + i, chunk, NULL));
    }
    if (!same_tables(&sketch, expected)) {
        fail_msg("%s: %zu x %zu, coordinates %zu + %zu: another table", gw_instruction_set(),
                 sketch.rows, sketch.columns, first, n);
    }
    gw_sketch_free(&sketch);
}

static void check_estimate(const struct gw_sketch *sketch, size_t first, size_t n) {
    float *fast = allocate(n, sizeof *fast);
    float *reference = allocate(n, sizeof *reference);
    gw_sketch_estimate(sketch, first, n, fast);
    gw_sketch_estimate_reference(sketch, first, n, reference);
    for (size_t i = 0; i < n; i++) {
        if (bits_of(fast[i]) != bits_of(reference[i])) {
            fail_msg("%s, %zu x %zu: coordinate %zu of %zu + %zu: %g, expected %g",
                     gw_instruction_set(), sketch->rows, sketch->columns, first + i, first, n,
                     (double)fast[i], (double)reference[i]);
        }
    }
    free(fast);
    free(reference);
}

TEST(all_instruction_sets_agree_with_the_reference) {
    struct gw_random *random = random_stream(1);
    for (size_t at = 0; at < 160; at++) {
        size_t n = between(random, 1, at % 8 == 0 ? 5000 : 100);
        size_t first = at % 3 == 0 ? 0 : at % 3 == 1 ? between(random, 0, 100) : UINT32_MAX - n;
        size_t rows = at % 2 == 0 ? GW_SKETCH_ROWS : 2 * between(random, 0, 7) + 1;
        struct gw_sketch sketch = open_sketch(rows, (size_t)16 << between(random, 0, 6), at);
        float *u = allocate(n, sizeof *u);
        fill(u, n, at, random);
        assert_ok(gw_sketch_encode_reference(&sketch, u, first, n, NULL));
        for (size_t i = 0; i < INSTRUCTION_SETS; i++) {
            if (gw_force_instruction_set(instruction_sets[i])) {
                check_encode(&sketch, u, first, n, random);
                check_estimate(&sketch, first, n);
                size_t begin = between(random, 0, n - 1);
                check_estimate(&sketch, first + begin, between(random, 1, n - begin));
            }
        }
        free(u);
        gw_sketch_free(&sketch);
    }
}

TEST(nan_is_bad_input) {
    struct gw_random *random = random_stream(2);
    float u[200];
    for (size_t at = 0; at < 100; at++) {
        size_t n = between(random, 1, 200);
        size_t first = between(random, 0, 40);
        fill(u, n, at, random);
        size_t bad = between(random, 0, n - 1);
        u[bad] = at % 2 ? NAN : -NAN;
        u[between(random, bad, n - 1)] = NAN;
        char place[64];
        snprintf(place, sizeof place, "element %zu:", first + bad);
        for (size_t i = 0; i < INSTRUCTION_SETS; i++) {
            struct gw_sketch sketch = open_sketch(5, 64, at);
            struct gw_error error = {0};
            if (gw_force_instruction_set(instruction_sets[i])) {
                assert_int_equal(gw_sketch_encode(&sketch, u, first, n, &error), GW_BAD_INPUT);
                assert_non_null(strstr(error.message, place));
            }
            assert_int_equal(gw_sketch_encode_reference(&sketch, u, first, n, &error),
                             GW_BAD_INPUT);
            assert_non_null(strstr(error.message, place));
            gw_sketch_free(&sketch);
        }
    }
}

/* ---- a linear map -------------------------------------------------------------------------- */

TEST(a_coordinate_meets_one_cell_of_each_row) {
    for (size_t i = 0; i < 100; i++) {
        struct gw_sketch sketch = open_sketch(5, 64, seed + i);
        float u = 3;
        float estimate;
        assert_ok(gw_sketch_encode(&sketch, &u, i, 1, NULL));
        gw_sketch_estimate(&sketch, i, 1, &estimate);
        assert_true(estimate == 3);
        for (size_t row = 0; row < 5; row++) {
            size_t hit = 0;
            for (size_t c = 0; c < 64; c++) {
                hit += fabsf(sketch.table[row * 64 + c]) == 3;
            }
            assert_int_equal(hit, 1);
        }
        assert_true(near(gw_sketch_norm2(&sketch), 9, 0));
        gw_sketch_free(&sketch);
    }
}

/* sketch(a) + sketch(b) = sketch(a + b): exactly in integers, to rounding otherwise. */
TEST(sketches_of_workers_add) {
    enum { N = 3000, WORKERS = 5 };
    struct gw_random *random = random_stream(3);
    float u[N];
    for (size_t exact = 0; exact < 2; exact++) {
        float sum[N] = {0};
        struct gw_sketch total = open_sketch(5, 256, seed);
        struct gw_sketch whole = open_sketch(5, 256, seed);
        for (size_t w = 0; w < WORKERS; w++) {
            struct gw_sketch worker = open_sketch(5, 256, seed);
            fill(u, N, exact ? 2 : 0, random);
            encode(&worker, u, N);
            for (size_t c = 0; c < 5 * 256; c++) {
                total.table[c] += worker.table[c];
            }
            for (size_t i = 0; i < N; i++) {
                sum[i] += u[i];
            }
            gw_sketch_free(&worker);
        }
        encode(&whole, sum, N);
        for (size_t c = 0; c < 5 * 256; c++) {
            double error = fabs((double)total.table[c] - (double)whole.table[c]);
            /* at most some 40 x 5 adds to a cell of |sum| < 5: 200 x 5 x 2^-24 */
            assert_true(exact ? error == 0 : error < 6e-5);
        }
        gw_sketch_free(&total);
        gw_sketch_free(&whole);
    }
}

TEST(a_cleared_sketch_is_as_new) {
    struct gw_sketch used = open_sketch(5, 64, 1);
    struct gw_sketch fresh = open_sketch(5, 64, 1);
    const float u[] = {1, 2, 3};
    encode(&used, u, 3);
    assert_false(same_tables(&used, &fresh));
    gw_sketch_clear(&used);
    assert_true(same_tables(&used, &fresh));
    gw_sketch_free(&used);
    gw_sketch_free(&fresh);
    gw_sketch_free(&fresh);
}

TEST(sizes_that_no_sketch_has_are_refused) {
    const size_t bad[][2] = {
        {0, 64}, {2, 64}, {17, 64}, {5, 0}, {5, 8}, {5, 100}, {5, (size_t)1 << 32}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct gw_sketch sketch;
        struct gw_error error = {0};
        assert_int_equal(gw_sketch_open(&sketch, bad[i][0], bad[i][1], 1, &error), GW_BAD_INPUT);
        assert_non_null(strstr(error.message, "expected"));
        gw_sketch_free(&sketch);
    }
}

/* ---- what theory promises ------------------------------------------------------------------ */

/*
 * Over the seed, a row's estimate of u_i has the mean u_i and the variance
 * (||u||^2 - what is in the block of i) / columns. Means over many seeds and all coordinates.
 */
TEST(a_row_errs_as_theory_says) {
    enum { N = 1024, SKETCHES = 600, COLUMNS = 64 };
    struct gw_random *random = random_stream(4);
    static const size_t kinds[] = {0, 6, 7}; /* normal, all one, peaks */
    for (size_t kind = 0; kind < 3; kind++) {
        float u[N];
        float estimates[N];
        double sum = 0;
        double squares = 0;
        double norm2 = 0;
        fill(u, N, kinds[kind], random);
        for (size_t i = 0; i < N; i++) {
            norm2 += (double)u[i] * (double)u[i];
        }
        for (size_t s = 0; s < SKETCHES; s++) {
            struct gw_sketch sketch = open_sketch(1, COLUMNS, seed + s);
            encode(&sketch, u, N);
            gw_sketch_estimate(&sketch, 0, N, estimates);
            double inner = 0; /* <error, u>: the errors' common part, if they had one */
            for (size_t i = 0; i < N; i++) {
                double error = (double)estimates[i] - (double)u[i];
                inner += error * (double)u[i];
                squares += error * error;
            }
            sum += inner / norm2;
            gw_sketch_free(&sketch);
        }
        double variance = norm2 * (1 - (double)GW_SKETCH_BLOCK / N) / COLUMNS;
        /* The inner product has a variance of at most 2 / columns (AMS); 5 standard deviations. */
        assert_true(fabs(sum / SKETCHES) < 5 * sqrt(2.0 / COLUMNS / SKETCHES));
        assert_true(near(squares / SKETCHES / N, variance, 0.15));
    }
}

/* P(at least 3 of 5 rows err by more than t standard deviations), each by Chebyshev <= 1 / t^2. */
static double failure_bound(double t) {
    double p = 1 / (t * t);
    return 10 * p * p * p * (1 - p) * (1 - p) + 5 * p * p * p * p * (1 - p) + p * p * p * p * p;
}

TEST(the_median_rarely_errs) {
    enum { N = 20000, SKETCHES = 10, COLUMNS = 512 };
    static const double ts[] = {1.5, 2, 3};
    struct gw_random *random = random_stream(5);
    float *u = allocate(N, sizeof *u);
    float *estimates = allocate(N, sizeof *estimates);
    for (size_t input = 0; input < SKETCH_INPUTS; input++) {
        if (input == 3 || input == 4 || input == 5) {
            continue; /* rounding, infinities and overflow are not theory's */
        }
        double failures[3] = {0};
        double norm2 = 0;
        fill(u, N, input, random);
        for (size_t i = 0; i < N; i++) {
            norm2 += (double)u[i] * (double)u[i];
        }
        for (size_t s = 0; s < SKETCHES; s++) {
            struct gw_sketch sketch = open_sketch(5, COLUMNS, seed + s);
            encode(&sketch, u, N);
            gw_sketch_estimate(&sketch, 0, N, estimates);
            for (size_t i = 0; i < N; i++) {
                double error = fabs((double)estimates[i] - (double)u[i]);
                for (size_t t = 0; t < 3; t++) {
                    failures[t] += error > ts[t] * sqrt(norm2 / COLUMNS);
                }
            }
            assert_true(near(gw_sketch_norm2(&sketch), norm2, 0.4)); /* 6 sqrt(2 / columns) */
            gw_sketch_free(&sketch);
        }
        for (size_t t = 0; t < 3; t++) {
            assert_true(failures[t] / SKETCHES / N <= failure_bound(ts[t]));
        }
    }
    free(u);
    free(estimates);
}

TEST(default_columns_grow_with_k_and_fit) {
    assert_int_equal(gw_sketch_columns(25557032, 25557), 131072);
    assert_int_equal(gw_sketch_columns(1, 1), 16);
    assert_int_equal(gw_sketch_columns(1000000, 1), 16);
    assert_int_equal(gw_sketch_columns(1000, 1000), 1024);
    size_t last = 0;
    for (size_t k = 1; k <= 100000; k = k * 5 / 4 + 1) {
        size_t columns = gw_sketch_columns(100000, k);
        struct gw_sketch sketch = open_sketch(1, columns, 1);
        assert_true(columns >= k && columns >= last / 2);
        last = columns;
        gw_sketch_free(&sketch);
    }
}

/* ---- HEAVYMIX ------------------------------------------------------------------------------ */

struct choice {
    uint32_t *indices;
    size_t k, heavy;
};

static struct choice choose(const struct gw_sketch *sketch, size_t n, size_t k,
                            uint64_t iteration) {
    struct choice choice = {.indices = allocate(k + 1, sizeof(uint32_t)), .k = k};
    struct gw_workspace workspace = {0}; /* new each time, so that sanitizers see its bounds */
    choice.indices[k] = 4242;
    assert_ok(gw_sketch_heavymix(sketch, n, k, iteration, &workspace, choice.indices, &choice.heavy,
                                 NULL));
    assert_int_equal(choice.indices[k], 4242);
    for (size_t i = 0; i < k; i++) {
        assert_true(choice.indices[i] < n);
        assert_true(i == 0 || choice.indices[i - 1] < choice.indices[i]);
    }
    gw_workspace_free(&workspace);
    return choice;
}

static bool same_choices(const struct choice *a, const struct choice *b) {
    return a->heavy == b->heavy && memcmp(a->indices, b->indices, a->k * sizeof *a->indices) == 0;
}

static bool contains(const struct choice *choice, uint32_t index) {
    for (size_t i = 0; i < choice->k; i++) {
        if (choice->indices[i] == index) {
            return true;
        }
    }
    return false;
}

static void check_choice(const struct gw_sketch *sketch, size_t n, size_t k, uint64_t iteration) {
    struct choice fast = choose(sketch, n, k, iteration);
    struct choice again = choose(sketch, n, k, iteration);
    struct choice reference = {.indices = allocate(k, sizeof(uint32_t)), .k = k};
    assert_ok(gw_sketch_heavymix_reference(sketch, n, k, iteration, reference.indices,
                                           &reference.heavy, NULL));
    if (!same_choices(&fast, &reference)) {
        fail_msg("n %zu, k %zu, %zu columns: %zu heavy, expected %zu", n, k, sketch->columns,
                 fast.heavy, reference.heavy);
    }
    assert_true(same_choices(&fast, &again));
    free(fast.indices);
    free(again.indices);
    free(reference.indices);
}

TEST(heavymix_agrees_with_the_reference) {
    struct gw_random *random = random_stream(6);
    for (size_t at = 0; at < 160; at++) {
        size_t n = between(random, 1, at % 16 < 8 ? 300 : 6000);
        size_t any = between(random, 1, n);
        size_t few = between(random, 1, n / 50 + 1);
        size_t ks[] = {1, n, any, few};
        float *u = allocate(n, sizeof *u);
        fill(u, n, at, random);
        /* with few columns estimates are noise, and far more than k seem heavy */
        size_t columns =
            at % 3 == 0 ? (size_t)16 << between(random, 0, 3) : gw_sketch_columns(n, few);
        struct gw_sketch sketch = open_sketch(at % 5 == 0 ? 1 : 5, columns, seed + at);
        encode(&sketch, u, n);
        for (size_t i = 0; i < (n > 300 ? 1 : 4); i++) {
            check_choice(&sketch, n, n > 300 ? few : ks[i], at);
        }
        gw_sketch_free(&sketch);
        free(u);
    }
}

TEST(planted_heavy_hitters_are_found) {
    enum { N = 50000, K = 50 };
    struct gw_random *random = random_stream(7);
    float *u = allocate(N, sizeof *u);
    fill(u, N, 0, random); /* norm^2: 5 */
    uint32_t planted[K / 2];
    for (size_t p = 0; p < K / 2; p++) {
        planted[p] = (uint32_t)(p * (N / (K / 2)) + between(random, 0, 1000));
        u[planted[p]] = p % 2 ? 8.0f : -8.0f; /* norm^2 in all: 1605, of which K-th: 32 */
    }
    /* Others that meet planted ones in 3 rows: 2.5 N (25 / 2048)^3 = 0.2, see gw_sketch_columns */
    struct gw_sketch sketch = open_sketch(5, 2048, seed);
    encode(&sketch, u, N);
    struct choice choice = choose(&sketch, N, K, 0);
    size_t missing = 0;
    for (size_t p = 0; p < K / 2; p++) {
        missing += !contains(&choice, planted[p]);
    }
    assert_int_equal(missing, 0);
    assert_true(choice.heavy >= K / 2 && choice.heavy < K);
    free(choice.indices);
    gw_sketch_free(&sketch);
    free(u);
}

/* Exact, since coordinates of one block never share a cell; ||u||^2 = 41. */
TEST(heavy_hitters_have_their_share_of_the_norm) {
    const float u[16] = {1, -3, 2, 3, -3, 2, 1, -2};
    static const size_t heavy[] = {0, 0, 0, 0, 3, 3, 3, 3, 3, 3, 6}; /* 9 k >= 41, 4 k >= 41 */
    struct gw_sketch sketch = open_sketch(5, 16, seed);
    encode(&sketch, u, 16);
    for (size_t k = 1; k <= 11; k++) {
        struct choice choice = choose(&sketch, 16, k, 0);
        assert_int_equal(choice.heavy, heavy[k - 1]);
        for (uint32_t i = 0; i < 8; i++) {
            float square = u[i] * u[i];
            assert_true(square * (float)k < 41 || contains(&choice, i));
        }
        free(choice.indices);
    }
    gw_sketch_free(&sketch);
}

/* 256 estimates are 1 or -1, as the only element is: all of them equally heavy. */
TEST(too_many_heavy_hitters_are_cut_to_the_best) {
    enum { N = 4096, K = 16 };
    const float u = 1;
    struct gw_sketch sketch = open_sketch(1, 16, seed); /* one estimate in 16 is 1 or -1 */
    assert_ok(gw_sketch_encode(&sketch, &u, 0, 1, NULL));
    struct choice choice = choose(&sketch, N, K, 0);
    float estimates[N];
    gw_sketch_estimate(&sketch, 0, N, estimates);
    size_t found = 0;
    for (uint32_t i = 0; i < N && found < K; i++) {
        if (fabsf(estimates[i]) == 1) {
            assert_int_equal(choice.indices[found++], i);
        }
    }
    assert_int_equal(found, choice.heavy < K ? choice.heavy : K);
    assert_int_equal(choice.heavy, K);
    free(choice.indices);
    gw_sketch_free(&sketch);
}

/* After the first cut among equals, the few that are larger by one bit must still get in. */
TEST(cuts_keep_no_larger_ones_out) {
    struct gw_sketch sketch = open_sketch(1, 4096, seed);
    for (size_t c = 0; c < 4096; c++) {
        sketch.table[c] = c == seed % 4096 ? nextafterf(1, 2) : 1;
    }
    check_choice(&sketch, 100000, 5000, 0);
    gw_sketch_free(&sketch);
}

TEST(zeros_give_a_random_choice) {
    enum { N = 1000, K = 100, ROUNDS = 300 };
    struct gw_sketch sketch = open_sketch(5, gw_sketch_columns(N, K), seed);
    size_t times[N] = {0};
    for (size_t round = 0; round < ROUNDS; round++) {
        struct choice choice = choose(&sketch, N, K, round);
        assert_int_equal(choice.heavy, 0);
        for (size_t i = 0; i < K; i++) {
            times[choice.indices[i]]++;
        }
        free(choice.indices);
    }
    double chi2 = 0; /* mean N, standard deviation sqrt(2 N), times 1 - K / N for each draw */
    for (size_t i = 0; i < N; i++) {
        double excess = (double)times[i] - (double)ROUNDS * K / N;
        chi2 += excess * excess / ((double)ROUNDS * K / N * (1 - (double)K / N));
    }
    assert_true(fabs(chi2 - N) < 6 * sqrt(2.0 * N));
    gw_sketch_free(&sketch);
}

TEST(the_threshold_is_the_least_float_that_reaches_it) {
    struct gw_random *random = random_stream(8);
    for (size_t at = 0; at < 2000; at++) {
        double norm2 = exp(gw_random_normal(random, at % 2 ? 1 : 60));
        size_t k = between(random, 1, 1000);
        double threshold = (double)gw_sketch_heavy_threshold(norm2, k);
        double below = (double)nextafterf((float)threshold, 0);
        assert_true(threshold * threshold >= norm2 / (double)k);
        assert_true(below == 0 || below * below < norm2 / (double)k);
    }
    assert_true(gw_sketch_heavy_threshold(0, 3) == ldexpf(1, -149));
    assert_true(gw_sketch_heavy_threshold((double)INFINITY, 3) == INFINITY);
}
