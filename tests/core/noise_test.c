/*
 * Noise and the statistics of repetitions: against GSL's distributions, libm's functions in higher
 * precision, and bits that every machine, compiler and optimisation must come to.
 */
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "tests/test.h"

/* ---- portable functions -------------------------------------------------------------------- */

/* How far a result is off, in units of the truth's last place. */
static double units_off(double result, long double truth) {
    double rounded = fabs((double)truth);
    return (double)(fabsl(result - truth) / (nextafter(rounded, INFINITY) - rounded));
}

static double exponential_of(double x) {
    gw_portable_exp_each(&x, 1);
    return x;
}

static double quantile_of(double p) {
    gw_normal_quantile_each(&p, 1);
    return p;
}

TEST(functions_are_as_close_as_they_say) {
    struct gw_random *random = random_stream(1);
    for (int i = 0, trials = gw_trials(1000000); i < trials; i++) {
        double x = (i % 2 == 0 ? 1400 : 4) * (gw_random_uniform(random) - 0.5);
        assert_true(units_off(exponential_of(x), expl(x)) < 1.5);
        double y = i % 2 == 0 ? exp(x) : 0.5 + 1.5 * gw_random_uniform(random);
        assert_true(units_off(gw_portable_log2(y), log2l(y)) < 3);
    }
    for (int k = -1000; k < 1000; k++) {
        assert_true(gw_portable_log2(ldexp(1, k)) == k);
    }
    assert_true(exponential_of(0) == 1);
    assert_true(exponential_of(-1e300) == 0 && exponential_of(-INFINITY) == 0);
    assert_true(isinf(exponential_of(710)) && exponential_of(709) < INFINITY);
}

TEST(quantiles_are_gsls) {
    struct gw_random *random = random_stream(2);
    for (int i = 0, trials = gw_trials(300000); i < trials; i++) {
        double p = i % 2 == 0 ? gw_random_uniform(random) : exp(-44 * gw_random_uniform(random));
        p = i % 4 == 3 ? 1 - p : p;
        if (p > 0 && p < 1) {
            assert_true(near(quantile_of(p), gsl_cdf_ugaussian_Pinv(p), 2e-15));
        }
    }
}

TEST(many_at_a_time_are_the_same) {
    enum { count = 1111 };
    static double x[count], exponentials[count], quantiles[count];
    struct gw_random *random = random_stream(3);
    for (size_t i = 0; i < count; i++) {
        x[i] = gw_random_uniform(random) + 1e-12;
        quantiles[i] = x[i];
        exponentials[i] = 2000 * (x[i] - 0.5);
    }
    gw_portable_exp_each(exponentials, count);
    gw_normal_quantile_each(quantiles, count);
    for (size_t i = 0; i < count; i++) {
        assert_true(exponentials[i] == exponential_of(2000 * (x[i] - 0.5)));
        assert_true(quantiles[i] == quantile_of(x[i]));
    }
}

/* ---- draws --------------------------------------------------------------------------------- */

static double sample_of_five[] = {0.5, 0.75, 1, 1.25, 1.5};

static const struct gw_noise kinds[] = {
    {.kind = GW_NOISE_NONE},
    {.kind = GW_NOISE_NORMAL, .sigma = 0.5},
    {.kind = GW_NOISE_LOGNORMAL, .sigma = 0.3},
    {.kind = GW_NOISE_SAMPLE, .count = 5, .sample = sample_of_five},
};

/* FNV-1a over the bits of draws that visit both tails. */
static uint64_t fingerprint(const struct gw_noise *noise) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint64_t stream = 0; stream < 300; stream++) {
        uint64_t key = gw_noise_stream(1, stream / 100, stream);
        for (uint64_t index = 0; index < 300; index++) {
            double factor = gw_noise_factor(noise, key, index);
            uint64_t bits = 0;
            memcpy(&bits, &factor, sizeof bits);
            for (int byte = 0; byte < 8; byte++) {
                hash = (hash ^ (bits >> 8 * byte & 0xff)) * 0x100000001b3u;
            }
        }
    }
    return hash;
}

TEST(draws_are_the_same_bits_everywhere) {
    static const uint64_t expected[] = {0, 0xbb6354b9f9a5d234, 0x2af5549ce70f7049,
                                        0x7a6aaae5900e4c11};
    for (size_t kind = 1; kind < 4; kind++) {
        assert_true(fingerprint(&kinds[kind]) == expected[kind]);
    }
}

TEST(draws_do_not_depend_on_their_company) {
    enum { count = 700 };
    uint64_t streams[count];
    double factors[count];
    for (size_t i = 0; i < count; i++) {
        streams[i] = gw_noise_stream(seed, 0, i);
    }
    for (size_t kind = 0; kind < 4; kind++) {
        gw_noise_factors(&kinds[kind], streams, count, 3, factors);
        for (size_t i = count; i-- > 0;) {
            assert_true(factors[i] == gw_noise_factor(&kinds[kind], streams[i], 3));
        }
    }
}

enum { draws = 200000 };

static double *draw_sorted(const struct gw_noise *noise, uint64_t first_stream) {
    double *values = calloc(draws, sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < draws; i++) {
        uint64_t stream = gw_noise_stream(seed, 0, first_stream + i / 400);
        values[i] = gw_noise_factor(noise, stream, i % 400);
    }
    gsl_sort(values, 1, draws);
    return values;
}

static double normal_share(double factor) {
    return gsl_cdf_gaussian_P(factor - 1, 0.2);
}

static double lognormal_share(double factor) {
    return gsl_cdf_lognormal_P(factor, -0.5 * 0.3 * 0.3, 0.3);
}

/* Kolmogorov and Smirnov: a distance beyond 2.5 / sqrt(n) happens once in 130,000 times. */
TEST(draws_have_their_distribution) {
    const struct {
        struct gw_noise noise;
        double (*share)(double);
    } table[] = {{{.kind = GW_NOISE_NORMAL, .sigma = 0.2}, normal_share},
                 {{.kind = GW_NOISE_LOGNORMAL, .sigma = 0.3}, lognormal_share}};
    for (size_t t = 0; t < 2; t++) {
        double *values = draw_sorted(&table[t].noise, 0);
        double distance = 0;
        for (size_t i = 0; i < draws; i++) {
            double share = table[t].share(values[i]);
            distance = fmax(distance, fmax(fabs(share - (double)i / draws),
                                           fabs(share - (double)(i + 1) / draws)));
        }
        assert_true(distance * sqrt(draws) < 2.5);
        free(values);
    }
}

TEST(normal_factors_stop_at_nothing) {
    const struct gw_noise wide = {.kind = GW_NOISE_NORMAL, .sigma = 2};
    double *values = draw_sorted(&wide, 0);
    size_t zeros = 0;
    while (zeros < draws && values[zeros] == 0) {
        zeros++;
    }
    double share = gsl_cdf_ugaussian_P(-0.5);
    assert_true(values[0] == 0);
    assert_true(fabs((double)zeros / draws - share) < 5 * sqrt(share * (1 - share) / draws));
    free(values);
}

TEST(large_sigmas_give_finite_factors) {
    static const double sigmas[] = {10, 1e10, 1e200, 1.7e308};
    for (size_t s = 0; s < 4; s++) {
        const struct gw_noise noise = {.kind = GW_NOISE_LOGNORMAL, .sigma = sigmas[s]};
        for (uint64_t i = 0; i < 10000; i++) {
            double factor = gw_noise_factor(&noise, gw_noise_stream(seed, 0, 0), i);
            assert_true(isfinite(factor) && factor >= 0);
        }
    }
}

/* The correlation of two sequences of independent factors of standard deviation 0.2. */
static double correlation(uint64_t stream_step, uint64_t index_step) {
    const struct gw_noise noise = {.kind = GW_NOISE_NORMAL, .sigma = 0.2};
    double total = 0;
    for (uint64_t i = 0; i < draws; i++) {
        uint64_t a = gw_noise_stream(seed, 0, i / 100);
        uint64_t b = gw_noise_stream(seed, 0, i / 100 + stream_step);
        total += (gw_noise_factor(&noise, a, i % 100) - 1) *
                 (gw_noise_factor(&noise, b, i % 100 + index_step) - 1);
    }
    return total / draws / (0.2 * 0.2);
}

TEST(neighbours_are_unrelated) {
    assert_true(near(correlation(0, 0), 1, 0.05));
    assert_true(fabs(correlation(1, 0)) < 5 / sqrt(draws));
    assert_true(fabs(correlation(0, 1)) < 5 / sqrt(draws));
    assert_true(fabs(correlation(1, 1)) < 5 / sqrt(draws));
    assert_true(gw_noise_stream(1, 0, 0) != gw_noise_stream(2, 0, 0));
    assert_true(gw_noise_stream(1, 0, 0) != gw_noise_stream(1, 1, 0));
}

/* ---- names and samples --------------------------------------------------------------------- */

TEST(names_are_read) {
    static const struct {
        const char *text;
        enum gw_noise_kind kind;
        double sigma;
    } table[] = {
        {"none", GW_NOISE_NONE, 0},           {"0", GW_NOISE_NONE, 0},
        {"0.05", GW_NOISE_LOGNORMAL, 0.05},   {"lognormal:0.1", GW_NOISE_LOGNORMAL, 0.1},
        {"normal:0.2", GW_NOISE_NORMAL, 0.2}, {"normal:0", GW_NOISE_NONE, 0},
    };
    for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
        struct gw_noise noise;
        assert_ok(gw_noise_read(table[t].text, "--noise", &noise, NULL));
        assert_true(noise.kind == table[t].kind && noise.sigma == table[t].sigma);
    }
}

static const char *write_sample(const char *folder, const char *text) {
    const char *path = path_in(folder, "sample");
    assert_ok(gw_file_write(path, text, strlen(text), NULL));
    return path;
}

static enum gw_status read_sample(const char *folder, const char *text, struct gw_noise *out,
                                  struct gw_error *error) {
    char name[600];
    (void)snprintf(name, sizeof name, "sample:%s", write_sample(folder, text));
    return gw_noise_read(name, "--noise", out, error);
}

/* Milliseconds with mean 2: factors 0.5, 1, 1.5. */
TEST_IN_FOLDER(samples_are_read_and_scaled) {
    static const char *const texts[] = {"1\n2\n3\n", "# ms\n\n 1 \r\n2e0\n\t3", "[1, 2, 3]\n",
                                        " \n[1e0,2,3]"};
    for (size_t t = 0; t < 4; t++) {
        struct gw_noise noise;
        assert_ok(read_sample(*state, texts[t], &noise, NULL));
        assert_int_equal(noise.kind, GW_NOISE_SAMPLE);
        assert_int_equal(noise.count, 3);
        assert_true(noise.sample[0] == 0.5 && noise.sample[1] == 1 && noise.sample[2] == 1.5);
        gw_noise_free(&noise);
    }
}

TEST_IN_FOLDER(samples_are_drawn_evenly) {
    struct gw_noise noise;
    assert_ok(read_sample(*state, "1\n2\n3\n4\n90\n", &noise, NULL));
    double *values = draw_sorted(&noise, 7);
    size_t from = 0;
    double total = 0;
    for (size_t value = 0; value < noise.count; value++) {
        size_t hits = 0;
        while (from + hits < draws && values[from + hits] == noise.sample[value]) {
            hits++;
        }
        from += hits;
        total += (double)hits * noise.sample[value];
        assert_true(fabs((double)hits - draws / 5.0) < 5 * sqrt(draws * 0.2 * 0.8));
    }
    assert_int_equal(from, draws);
    assert_true(fabs(total / draws - 1) < 5 * 1.75 / sqrt(draws)); /* standard deviation 1.75 */
    free(values);
    gw_noise_free(&noise);
}

/* Iterations of three ranks: a factor says which rank's it is, and in which iteration. */
TEST_IN_FOLDER(ranks_are_drawn_together) {
    enum { iterations = 4, ranks = 3, repetitions = 40000 };
    struct gw_noise noise;
    size_t hits[iterations] = {0};
    size_t apart = 0;
    assert_ok(read_sample(*state,
                          " {\"schema\": \"gradweave/noise@1\", \"factors\": "
                          "[[1, 1.1, 1.2], [2, 2.1, 2.2], [3, 3.1, 3.2], [4, 4.1, 4.2]]}",
                          &noise, NULL));
    assert_int_equal(noise.kind, GW_NOISE_RECORDED);
    assert_int_equal(gw_noise_iterations(&noise), iterations);
    for (uint64_t repetition = 0; repetition < repetitions; repetition++) {
        size_t drawn[2] = {0};
        for (uint64_t worker = 0; worker < 2 * ranks; worker++) {
            uint64_t stream = gw_noise_worker_stream(&noise, seed, repetition, worker);
            double factor = gw_noise_factor(&noise, stream, repetition % 7);
            size_t iteration = (size_t)factor;
            assert_true(near(factor - (double)iteration, 0.1 * (double)(worker % ranks), 1e-9));
            assert_true(worker % ranks == 0 || iteration == drawn[worker / ranks]);
            drawn[worker / ranks] = iteration;
        }
        hits[drawn[0] - 1]++;
        apart += drawn[0] != drawn[1];
    }
    for (size_t i = 0; i < iterations; i++) {
        assert_true(fabs((double)hits[i] - repetitions / 4.0) < 5 * sqrt(repetitions * 3 / 16.0));
    }
    assert_true(fabs((double)apart - repetitions * 0.75) < 5 * sqrt(repetitions * 3 / 16.0));
    assert_true(gw_noise_worker_stream(&kinds[1], 1, 2, 3) == gw_noise_stream(1, 2, 3));
    gw_noise_free(&noise);
}

#define RECORDED "{\"schema\": \"gradweave/noise@1\", \"factors\": "

TEST_IN_FOLDER(bad_noise_is_refused) {
    static const struct {
        const char *text, *message;
    } names[] = {
        {"gauss:1", "--noise: expected none, SIGMA, normal:SIGMA, lognormal:SIGMA or sample:FILE"},
        {"", "got \"\""},
        {"normal", "got \"normal\""},
        {"normal:", "--noise: expected a number >= 0 and at most 10, got \"\""},
        {"normal:-1", "got \"-1\""},
        {"lognormal:inf", "got \"inf\""},
        {"0.1x", "got \"0.1x\""},
        {"1e999", "got \"1e999\""},
        {"normal:10.5", "at most 10, got \"10.5\""},
        {"sample:absent", "absent: cannot be read"},
    };
    static const struct {
        const char *text, *message;
    } samples[] = {
        {"", "expected numbers with a mean above 0, got 0 with mean 0"},
        {"# nothing\n", "got 0 with"},
        {"0\n0\n", "got 2 with mean 0"},
        {"1\n-2\n", "sample:2: expected a number >= 0, got \"-2\""},
        {"1\n\n2 3\n", "sample:3: expected a number >= 0, got \"2 3\""},
        {"1\nnan\n", "got \"nan\""},
        {"[1, \"2\"]", "sample: [1]: expected a finite number >= 0, got \"2\""},
        {"[1, -2]", "sample: [1]: expected a finite number >= 0, got -2"},
        {"[1, 2", "sample: line 1"},
        {"[]", "got 0 with"},
        {"{}", "sample: schema: expected \"gradweave/noise@1\", got nothing"},
        {"{\"schema\": \"gradweave/model@1\"}", "expected \"gradweave/noise@1\", got"},
        {RECORDED "3}", "sample: factors: expected an array, got 3"},
        {RECORDED "[]}", "sample: factors: expected at least one iteration"},
        {RECORDED "[1, 2]}", "sample: factors[0]: expected an array, got 1"},
        {RECORDED "[[]]}", "sample: factors[0]: expected a factor of each of 1 ranks, got 0"},
        {RECORDED "[[1, 2], [1]]}", "factors[1]: expected a factor of each of 2 ranks, got 1"},
        {RECORDED "[[1], [1, 2]]}", "factors[1]: expected a factor of each of 1 ranks, got 2"},
        {RECORDED "[[1, 0]]}", "sample: factors[0][1]: expected a finite number > 0, got 0"},
        {RECORDED "[[1, \"2\"]]}", "got \"2\""},
    };
    struct gw_noise noise;
    struct gw_error error;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(gw_noise_read(names[i].text, "--noise", &noise, &error), GW_BAD_INPUT);
        assert_non_null(strstr(error.message, names[i].message));
    }
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        assert_int_equal(read_sample(*state, samples[i].text, &noise, &error), GW_BAD_INPUT);
        if (strstr(error.message, samples[i].message) == NULL) {
            print_error("%s\n", error.message);
        }
        assert_non_null(strstr(error.message, samples[i].message));
        assert_null(noise.sample);
    }
}

/* ---- statistics of repetitions ------------------------------------------------------------- */

/* The chance that none of so many lies beyond the percentile is at most 5%, and was more before. */
TEST(percentiles_want_enough_values) {
    for (int rank = 1; rank < 100; rank++) {
        double inner = fmax(rank, 100 - rank) / 100.0;
        double least = (double)gw_percentile_least(rank);
        assert_true(pow(inner, least) <= 0.05 && pow(inner, least - 1) > 0.05);
    }
    assert_int_equal(gw_percentile_least(50), 5);
    assert_int_equal(gw_percentile_least(95), 59);
    assert_int_equal(gw_percentile_least(99), 299);
}

/* Student's t of 4 degrees of freedom is 2.776 445 105. */
TEST(a_spread_by_hand) {
    double values[] = {5, 1, 4, 2, 3};
    struct gw_spread spread;
    gw_spread_of(values, 5, &spread);
    assert_int_equal(spread.count, 5);
    assert_true(spread.mean == 3 && spread.minimum == 1 && spread.maximum == 5);
    assert_true(near(spread.sd, sqrt(2.5), 1e-15));
    assert_true(near(spread.mean_high - 3, 2.776445105 * sqrt(0.5), 1e-9));
    assert_true(near(3 - spread.mean_low, 2.776445105 * sqrt(0.5), 1e-9));
    static const double expected[GW_PERCENTILES] = {1.2, 2, 3, 4, 4.8, 4.96};
    for (size_t i = 0; i < GW_PERCENTILES; i++) {
        assert_true(near(spread.percentiles[i], expected[i], 1e-15));
    }
    double equal[] = {0.3, 0.3, 0.3};
    gw_spread_of(equal, 3, &spread);
    assert_true(spread.percentiles[1] == 0.3 && spread.mean_low == 0.3 && spread.sd == 0);
    gw_spread_of(equal, 1, &spread);
    assert_true(spread.percentiles[0] == 0.3 && spread.mean_high == 0.3);
}

/* 95% of 2,000 intervals contain the mean: within five standard errors of that share. */
TEST(the_means_interval_covers_as_stated) {
    enum { size = 6 };
    int trials = gw_trials(2000);
    size_t covered = 0;
    struct gw_random *random = random_stream(4);
    for (int trial = 0; trial < trials; trial++) {
        double values[size];
        struct gw_spread spread;
        for (int i = 0; i < size; i++) {
            values[i] = 10 + gw_random_normal(random, 2);
        }
        gw_spread_of(values, size, &spread);
        covered += spread.mean_low <= 10 && spread.mean_high >= 10;
    }
    assert_true(fabs((double)covered / trials - 0.95) < 5 * sqrt(0.95 * 0.05 / trials));
}

TEST(times_is_repeated_addition) {
    struct gw_random *random = random_stream(5);
    for (int trial = 0, trials = gw_trials(1000); trial < trials; trial++) {
        struct gw_sum at_once = {0}, one_by_one = {0};
        for (int part = 0; part < 3; part++) {
            double value = gw_random_normal(random, 1);
            size_t times = 1 + (size_t)gw_random_below(random, 1000);
            gw_sum_add(&at_once, value, (double)times);
            for (size_t i = 0; i < times; i++) {
                gw_sum_add(&one_by_one, value, 1);
            }
        }
        assert_true(at_once.high + at_once.low == one_by_one.high + one_by_one.low);
    }
}
