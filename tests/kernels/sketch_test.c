/*
 * Count sketches of each instruction set and of a GPU against the reference, bit for bit, and the
 * reference against what theory promises. Random cases follow from one seed, which is printed;
 * GRADWEAVE_SEED repeats a run.
 */
#include "kernels/sketch/loops.h" /* private: what is heavy */
#include "tests/kernels/sides.h"

/* ---- a sketch on a side -------------------------------------------------------------------- */

static const char *const sides[] = {"portable", "avx2", "avx512", "a GPU"};
enum { SIDES = sizeof sides / sizeof *sides, ON_GPU = SIDES - 1 };

/* Whether this machine has the side; later work of the host is by it. */
static bool use_side(size_t side) {
    return side == ON_GPU ? gpu_memory() != NULL : gw_force_instruction_set(sides[side]);
}

struct sketch {
    size_t side;
    struct gw_sketch host;
    struct gw_gpu_sketch gpu;
};

static struct sketch open_on(size_t side, size_t rows, size_t columns, uint64_t hashes) {
    struct sketch sketch = {.side = side};
    assert_ok(gw_sketch_open(&sketch.host, rows, columns, hashes, NULL));
    if (side == ON_GPU) {
        const struct gw_memory *gpu = gpu_memory();
        assert_ok(gw_gpu_sketch_open(&sketch.gpu, gpu->device, rows, columns, hashes, NULL));
        assert_ok(gw_gpu_sketch_clear(&sketch.gpu, gpu->stream, NULL));
    }
    return sketch;
}

static void close_sketch(struct sketch *sketch) {
    gw_sketch_free(&sketch->host);
    gw_gpu_sketch_free(&sketch->gpu);
}

/* Adds the gradient, if there is one, to u, and encodes u: on the host in chunks of any size. */
static enum gw_status encode_on(struct sketch *sketch, float *u, const float *gradient,
                                size_t first, size_t n, struct gw_random *random,
                                struct gw_error *error) {
    enum gw_status status = GW_OK;
    if (sketch->side == ON_GPU) {
        struct gw_memory *gpu = gpu_memory();
        float *there = copy_to_device(gpu->stream, u, (n + 1) * sizeof *u);
        float *added =
            gradient == NULL ? NULL : copy_to_device(gpu->stream, gradient, n * sizeof *gradient);
        status = gw_gpu_sketch_encode(&sketch->gpu, there, added, n, gpu->stream,
                                      gpu->gpu_workspace, error);
        copy_from_device(gpu->stream, u, there, (n + 1) * sizeof *u);
        gw_device_free(gpu->device, there);
        gw_device_free(gpu->device, added);
        return status;
    }
    for (size_t i = 0; i < n && gradient != NULL; i++) {
        u[i] += gradient[i];
    }
    for (size_t i = 0, chunk; i < n && status == GW_OK; i += chunk) {
        chunk = between(random, 1, n - i);
        status = gw_sketch_encode(&sketch->host, u + i, first + i, chunk, error);
    }
    return status;
}

static void check_table(struct sketch *sketch, const struct gw_sketch *expected) {
    struct gw_sketch *host = &sketch->host;
    size_t cells = host->rows * host->columns;
    if (sketch->side == ON_GPU) {
        copy_from_device(gpu_memory()->stream, host->table, sketch->gpu.table,
                         cells * sizeof *host->table);
    }
    for (size_t i = 0; i < cells; i++) {
        if (bits_of(host->table[i]) != bits_of(expected->table[i])) {
            fail_msg("%s: %zu x %zu: cell %zu: %g, expected %g", sides[sketch->side], host->rows,
                     host->columns, i, (double)host->table[i], (double)expected->table[i]);
        }
    }
}

static void clear_sketch(struct sketch *sketch) {
    gw_sketch_clear(&sketch->host);
    if (sketch->side == ON_GPU) {
        assert_ok(gw_gpu_sketch_clear(&sketch->gpu, gpu_memory()->stream, NULL));
    }
}

static struct gw_sketch open_sketch(size_t rows, size_t columns, uint64_t sketch_seed) {
    struct gw_sketch sketch;
    assert_ok(gw_sketch_open(&sketch, rows, columns, sketch_seed, NULL));
    return sketch;
}

static void encode(struct gw_sketch *sketch, const float *u, size_t n) {
    assert_ok(gw_sketch_encode(sketch, u, 0, n, NULL));
}

/* ---- every side ---------------------------------------------------------------------------- */

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

/* On a GPU the coordinates begin with 0, and fewer cases are tried. */
TEST(all_sides_agree_with_the_reference) {
    struct gw_random *random = random_stream(1);
    for (size_t at = 0; at < 160; at++) {
        bool on_gpu = at < 8 + (size_t)gw_trials(32);
        size_t n = between(random, 1, at % 8 == 0 ? 5000 : 100);
        size_t first = on_gpu || at % 3 == 0 ? 0
                       : at % 3 == 1         ? between(random, 0, 100)
                                             : UINT32_MAX - n;
        size_t rows = at % 2 == 0 ? GW_SKETCH_ROWS : 2 * between(random, 0, 7) + 1;
        struct gw_sketch expected = open_sketch(rows, (size_t)16 << between(random, 0, 6), at);
        float *u = allocate(n + 1, sizeof *u);
        float *gradient = allocate(n, sizeof *gradient);
        float *sum = allocate(n + 1, sizeof *sum);
        inputs[at / 2 % INPUTS].fill(u, n, random);
        fill_normal(gradient, n, random);
        for (size_t i = 0; i < n; i++) {
            sum[i] = at % 3 == 0 ? u[i] + gradient[i] : u[i];
        }
        for (size_t side = 0; side < (on_gpu ? SIDES : ON_GPU); side++) {
            if (!use_side(side)) {
                continue;
            }
            struct sketch sketch = open_on(side, rows, expected.columns, at);
            gw_sketch_clear(&expected);
            for (size_t times = 0; times < 2; times++) { /* more into the same */
                float *own = allocate(n + 1, sizeof *own);
                memcpy(own, u, n * sizeof *u);
                assert_ok(
                    encode_on(&sketch, own, at % 3 == 0 ? gradient : NULL, first, n, random, NULL));
                assert_memory_equal(own, sum, (n + 1) * sizeof *sum);
                assert_ok(gw_sketch_encode_reference(&expected, sum, first, n, NULL));
                check_table(&sketch, &expected);
                free(own);
            }
            if (side != ON_GPU) {
                size_t begin = between(random, 0, n - 1);
                check_estimate(&sketch.host, first, n);
                check_estimate(&sketch.host, first + begin, between(random, 1, n - begin));
            }
            clear_sketch(&sketch);
            gw_sketch_clear(&expected);
            check_table(&sketch, &expected);
            close_sketch(&sketch);
        }
        free(u);
        free(gradient);
        free(sum);
        gw_sketch_free(&expected);
    }
}

/* More than one chunk of those that a GPU takes one after the other, in one line and in many; one
 * of both if few random cases are tried. */
TEST(large_vectors_keep_the_order_of_sums) {
    struct gw_random *random = random_stream(9);
    size_t n = ((size_t)1 << 22) + between(random, 1, 1000);
    size_t only = gw_trials(2) < 2 ? 1 + (size_t)gw_random_below(random, 2) : 0;
    if (gpu_memory() == NULL) {
        skip();
    }
    float *u = allocate(n + 1, sizeof *u);
    float *gradient = allocate(n, sizeof *gradient);
    fill_ties(u, n, random);
    fill_normal(gradient, n, random);
    for (size_t many = 0; many < 2; many++) {
        struct sketch sketch = open_on(ON_GPU, 1, many ? 1024 : 16, seed);
        if (only == 0 || only == 1 + many) {
            assert_ok(encode_on(&sketch, u, many ? gradient : NULL, 0, n, random, NULL));
            struct gw_sketch expected = open_sketch(1, sketch.host.columns, seed);
            encode(&expected, u, n); /* with the gradient, if it was added */
            check_table(&sketch, &expected);
            gw_sketch_free(&expected);
        }
        close_sketch(&sketch);
    }
    free(u);
    free(gradient);
}

TEST(nan_is_bad_input) {
    struct gw_random *random = random_stream(2);
    float u[201];
    for (size_t at = 0; at < 100; at++) {
        size_t n = between(random, 1, 200);
        size_t first = at < 4 ? 0 : between(random, 0, 40);
        inputs[at % INPUTS].fill(u, n, random);
        size_t bad = between(random, 0, n - 1);
        u[bad] = at % 2 ? NAN : -NAN;
        u[between(random, bad, n - 1)] = NAN;
        char place[64];
        snprintf(place, sizeof place, "element %zu:", first + bad);
        for (size_t side = 0; side <= SIDES; side++) { /* the last is the reference */
            struct gw_error error = {0};
            enum gw_status status = GW_BAD_INPUT;
            if (side == SIDES || (use_side(side) && (side != ON_GPU || at < 4))) {
                struct sketch sketch = open_on(side, 5, 64, at);
                status = side == SIDES
                             ? gw_sketch_encode_reference(&sketch.host, u, first, n, &error)
                             : encode_on(&sketch, u, NULL, first, n, random, &error);
                assert_non_null(strstr(error.message, place));
                close_sketch(&sketch);
            }
            assert_int_equal(status, GW_BAD_INPUT);
        }
    }
}

TEST(sizes_that_no_sketch_has_are_refused) {
    const size_t bad[][2] = {
        {0, 64}, {2, 64}, {17, 64}, {5, 0}, {5, 8}, {5, 100}, {5, (size_t)1 << 32}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct gw_sketch sketch;
        struct gw_gpu_sketch on_gpu;
        struct gw_error error = {0};
        assert_int_equal(gw_sketch_open(&sketch, bad[i][0], bad[i][1], 1, &error), GW_BAD_INPUT);
        assert_non_null(strstr(error.message, "expected"));
        gw_sketch_free(&sketch);
        if (gpu_memory() != NULL) {
            assert_int_equal(
                gw_gpu_sketch_open(&on_gpu, gpu_memory()->device, bad[i][0], bad[i][1], 1, NULL),
                GW_BAD_INPUT);
            gw_gpu_sketch_free(&on_gpu);
        }
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
    for (size_t kind = 0; kind < 3; kind++) {
        float u[N];
        float estimates[N];
        double sum = 0;
        double squares = 0;
        double norm2 = 0;
        (kind == 0 ? fill_normal : kind == 1 ? fill_constant : fill_mostly_zeros)(u, N, random);
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
    for (size_t input = 0; input < INPUTS; input++) {
        double failures[3] = {0};
        double norm2 = 0;
        inputs[input].fill(u, N, random);
        for (size_t i = 0; i < N; i++) {
            norm2 += (double)u[i] * (double)u[i];
        }
        if (norm2 > 0 && !(norm2 > 1e-30 && norm2 < 1e30)) {
            continue; /* rounding, infinities and overflow are not theory's */
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

static struct choice choose_on(struct sketch *sketch, size_t n, size_t k, uint64_t iteration) {
    struct choice choice = {.indices = allocate(k + 1, sizeof(uint32_t)), .k = k};
    choice.indices[k] = 4242;
    if (sketch->side == ON_GPU) {
        struct gw_memory *gpu = gpu_memory();
        size_t bytes = (k + 1) * sizeof(uint32_t);
        uint32_t *there = copy_to_device(gpu->stream, choice.indices, bytes);
        assert_ok(gw_gpu_sketch_heavymix(&sketch->gpu, n, k, iteration, gpu->stream,
                                         gpu->gpu_workspace, there, &choice.heavy, NULL));
        copy_from_device(gpu->stream, choice.indices, there, bytes);
        gw_device_free(gpu->device, there);
    } else {
        struct gw_workspace workspace = {0}; /* new each time, so that sanitizers see its bounds */
        assert_ok(gw_sketch_heavymix(&sketch->host, n, k, iteration, &workspace, choice.indices,
                                     &choice.heavy, NULL));
        gw_workspace_free(&workspace);
    }
    assert_int_equal(choice.indices[k], 4242);
    for (size_t i = 0; i < k; i++) {
        assert_true(choice.indices[i] < n);
        assert_true(i == 0 || choice.indices[i - 1] < choice.indices[i]);
    }
    return choice;
}

static struct choice choose(const struct gw_sketch *sketch, size_t n, size_t k,
                            uint64_t iteration) {
    return choose_on(&(struct sketch){.host = *sketch}, n, k, iteration);
}

static bool contains(const struct choice *choice, uint32_t index) {
    for (size_t i = 0; i < choice->k; i++) {
        if (choice->indices[i] == index) {
            return true;
        }
    }
    return false;
}

/* The sketch's choice, and how many of it were heavy, are those of the reference. */
static size_t check_choice(struct sketch *sketch, size_t n, size_t k, uint64_t iteration) {
    struct choice fast = choose_on(sketch, n, k, iteration);
    struct choice reference = {.indices = allocate(k, sizeof(uint32_t)), .k = k};
    assert_ok(gw_sketch_heavymix_reference(&sketch->host, n, k, iteration, reference.indices,
                                           &reference.heavy, NULL));
    if (fast.heavy != reference.heavy ||
        memcmp(fast.indices, reference.indices, k * sizeof *fast.indices) != 0) {
        fail_msg("%s, n %zu, k %zu, %zu columns: %zu heavy, expected %zu", sides[sketch->side], n,
                 k, sketch->host.columns, fast.heavy, reference.heavy);
    }
    free(fast.indices);
    free(reference.indices);
    return reference.heavy;
}

/* The same table on the host, for the reference. */
static void encode_both(struct sketch *sketch, float *u, size_t n, struct gw_random *random) {
    assert_ok(encode_on(sketch, u, NULL, 0, n, random, NULL));
    if (sketch->side == ON_GPU) {
        encode(&sketch->host, u, n);
    }
}

TEST(heavymix_agrees_with_the_reference) {
    struct gw_random *random = random_stream(6);
    bool fewer = false;
    bool as_many = false;
    for (size_t at = 0; at < 160; at++) {
        size_t n = between(random, 1, at % 16 < 8 ? 300 : 6000);
        size_t any = between(random, 1, n);
        size_t few = between(random, 1, n / 50 + 1);
        size_t ks[] = {1, n, any, few};
        float *u = allocate(n + 1, sizeof *u);
        inputs[at / 2 % INPUTS].fill(u, n, random);
        /* with few columns estimates are noise, and far more than k seem heavy */
        size_t columns =
            at % 3 == 0 ? (size_t)16 << between(random, 0, 3) : gw_sketch_columns(n, few);
        for (size_t gpu = 0; gpu < (at % 2 == 0 && at < 20 + (size_t)gw_trials(60) ? 2 : 1);
             gpu++) {
            if (gpu == 1 && gpu_memory() == NULL) {
                continue;
            }
            struct sketch sketch =
                open_on(gpu ? ON_GPU : 0, at % 5 == 0 ? 1 : 5, columns, seed + at);
            encode_both(&sketch, u, n, random);
            for (size_t i = 0; i < (n > 300 ? 1 : 4); i++) {
                size_t k = n > 300 ? few : ks[i];
                size_t all = at % 7 == 0 ? 2 * n : n; /* also of coordinates that never were */
                size_t heavy = check_choice(&sketch, all, k, at);
                fewer = fewer || heavy < k;
                as_many = as_many || heavy == k;
            }
            close_sketch(&sketch);
        }
        free(u);
    }
    assert_true(fewer && as_many);
}

/* In a sketch that is much too small, nearly all coordinates seem to be heavy: more than a GPU has
 * reserved memory for. */
TEST(too_many_heavy_hitters_are_cut_to_k) {
    enum { N = 30000 };
    struct gw_random *random = random_stream(10);
    float *u = allocate(N + 1, sizeof *u);
    fill_normal(u, N, random);
    for (size_t side = ON_GPU - 1; side < SIDES; side++) {
        if (use_side(side)) {
            struct sketch sketch = open_on(side, 1, 16, seed);
            encode_both(&sketch, u, N, random);
            assert_int_equal(check_choice(&sketch, N, 40, 0), 40);
            close_sketch(&sketch);
        }
    }
    free(u);
}

TEST(planted_heavy_hitters_are_found) {
    enum { N = 50000, K = 50, PLANTED = K / 2 };
    struct gw_random *random = random_stream(7);
    float *u = allocate(N, sizeof *u);
    uint32_t planted[PLANTED];
    fill_normal(u, N, random); /* norm^2: 5 */
    for (size_t p = 0; p < PLANTED; p++) {
        planted[p] = (uint32_t)(p * (N / PLANTED) + between(random, 0, 1000));
        u[planted[p]] = p % 2 ? 8.0f : -8.0f; /* norm^2 in all: 1605, of which K-th: 32 */
    }
    /* Others that meet planted ones in 3 rows: 2.5 N (25 / 2048)^3 = 0.2, see gw_sketch_columns */
    struct gw_sketch sketch = open_sketch(5, 2048, seed);
    encode(&sketch, u, N);
    struct choice choice = choose(&sketch, N, K, 0);
    for (size_t p = 0; p < PLANTED; p++) {
        assert_true(contains(&choice, planted[p]));
    }
    assert_in_range(choice.heavy, PLANTED, K - 1);
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

/* After the first cut among equals, the few that are larger by one bit must still get in. */
TEST(cuts_keep_no_larger_ones_out) {
    struct gw_sketch sketch = open_sketch(1, 4096, seed);
    for (size_t c = 0; c < 4096; c++) {
        sketch.table[c] = c == seed % 4096 ? nextafterf(1, 2) : 1;
    }
    (void)check_choice(&(struct sketch){.host = sketch}, 100000, 5000, 0);
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
