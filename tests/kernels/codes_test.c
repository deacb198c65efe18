/*
 * Codes of numbers against arithmetic in double precision. Random cases follow from one seed, which
 * is printed; GRADWEAVE_SEED repeats a run.
 */
#include <float.h>

#include "tests/kernels/code_numbers.h"

enum { MOST = 150000, LEVELS = 1 << 16 };

/* ---- numbers --------------------------------------------------------------------------------- */

/* Whether encoding ever writes the code. */
static bool is_written(const struct gw_compressor *compressor, uint32_t code) {
    return compressor == &gw_compressor_bf16   ? (code & 0x7fff) <= 0x7f80
           : compressor == &gw_compressor_fp16 ? (code & 0x7fff) <= 0x7c00
           : compressor == &gw_compressor_fp8  ? (code & 0x7f) <= 0x7e
           : compressor == &gw_compressor_int8 ? code != 0x80
                                               : true;
}

/* A payload of all codes in order; the reader is given each in turn, with scales of all sizes. */
TEST(every_code_stands_for_its_number) {
    static const float scales[] = {1, 0.37f, 3e-43f, FLT_MIN, 1e36f};
    uint8_t bytes[2 * LEVELS + 4 * LEVELS / 256];
    float *out = allocate(LEVELS, sizeof *out);
    for (size_t at = 0; at < FORMATS * 5; at++) {
        const struct gw_compressor *compressor = formats[at / 5];
        unsigned bits = compressor->code.bits;
        size_t n = (size_t)1 << bits;
        struct gw_codes codes = {compressor, 1, n, bytes};
        size_t code_bytes = (n * bits + 7) / 8;
        size_t scale_bytes = gw_code_bytes(compressor, n) - code_bytes;
        assert_int_equal(scale_bytes, is_scaled(compressor) ? 4 : 0);
        memcpy(bytes, &scales[at % 5], sizeof *scales);
        memset(bytes + scale_bytes, 0, code_bytes);
        for (size_t i = 0; i < n; i++) {
            size_t bit = i * bits;
            bytes[scale_bytes + bit / 8] |= (uint8_t)(i << bit % 8);
            if (bits == 16) {
                bytes[scale_bytes + bit / 8 + 1] = (uint8_t)(i >> 8);
            }
        }
        gw_decode(&codes, n, 1, out);
        for (size_t i = 0; i < n; i++) {
            float expected = number_at(&codes, 0, i);
            bool infinite = compressor == &gw_compressor_fp16 && (i & 0x7fff) == 0x7c00;
            expected = infinite ? expected * INFINITY : expected;
            if (is_written(compressor, (uint32_t)i) && bits_of(out[i]) != bits_of(expected)) {
                fail_msg("%s %zu: expected %a, got %a", compressor->name, i, (double)expected,
                         (double)out[i]);
            }
        }
    }
    free(out);
}

TEST(bytes_of_codes_and_scales) {
    static const struct {
        const struct gw_compressor *compressor;
        uint64_t n, bytes;
    } rows[] = {
        {&gw_compressor_bf16, 5, 10},
        {&gw_compressor_fp16, 0, 0},
        {&gw_compressor_int8, 1, 5},
        {&gw_compressor_int8, 256, 260},
        {&gw_compressor_fp8, 257, 265},
        {&gw_compressor_onebit, 8, 5},
        {&gw_compressor_onebit, 9, 6},
        {&gw_compressor_onebit, 0, 0},
        {&gw_compressor_qsgd, 513, 265},
        {&gw_compressor_int8, 1ull << 40, (1ull << 40) + (1ull << 34)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(gw_code_bytes(rows[i].compressor, rows[i].n), rows[i].bytes);
    }
}

/* ---- rounding ------------------------------------------------------------------------------- */

/* The levels that are not negative, ascending; their codes ascend too. */
static size_t list_levels(const struct gw_compressor *compressor, double *levels) {
    size_t count = 0;
    uint32_t last = compressor->code.bits == 16 ? 0x7fff : 0x7f;
    for (uint32_t code = 0; code <= last && is_written(compressor, code); code++) {
        levels[count++] = level(compressor, code);
    }
    return count;
}

/* Levels, the middles between them, their neighbours, and floats of any bits. */
static size_t list_hard_cases(const double *levels, size_t count, float *out,
                              struct gw_random *random) {
    size_t n = 0;
    for (size_t i = 0; i + 1 < count && n + 8 < MOST; i += count > 20000 ? 7 : 1) {
        float middle = (float)((levels[i] + levels[i + 1]) / 2);
        float cases[] = {(float)levels[i], middle, nextafterf(middle, INFINITY),
                         nextafterf(middle, 0)};
        for (size_t c = 0; c < 4; c++) {
            out[n++] = i % 2 ? cases[c] : -cases[c];
        }
    }
    fill_bits(out + n, MOST - n, random);
    return MOST;
}

TEST(halves_round_to_the_nearest) {
    struct gw_random *random = random_stream(1);
    double *levels = allocate(LEVELS, sizeof *levels);
    float *u = allocate(MOST, sizeof *u);
    float *decoded[] = {allocate(MOST, sizeof *u), allocate(MOST, sizeof *u)};
    uint16_t *bytes = allocate(MOST, sizeof *bytes), *alone = allocate(MOST, sizeof *alone);
    struct gw_workspace workspace = {0};
    for (size_t f = 0; f < 2; f++) {
        enum gw_number_type type = f == 0 ? GW_NUMBER_BF16 : GW_NUMBER_FP16;
        size_t count = list_levels(formats[f], levels);
        size_t n = list_hard_cases(levels, count, u, random);
        const struct gw_task task = {.gradient = u, .n = n, .workspace = &workspace};
        const struct gw_codes codes = {formats[f], 1, n, bytes};
        assert_ok(gw_encode(&task, true, &codes, NULL));
        gw_decode(&codes, n, 1, decoded[0]);
        gw_halves_encode(type, u, n, alone);
        gw_halves_decode(type, bytes, n, decoded[1]);
        assert_memory_equal(alone, bytes, n * sizeof *bytes);
        assert_memory_equal(decoded[0], decoded[1], n * sizeof *u);
        for (size_t i = 0; i < n; i++) {
            double size = fmin(fabs((double)u[i]), levels[count - 1]);
            uint32_t expected = nearest(levels, count, size) | (signbit(u[i]) ? 0x8000u : 0);
            if (bytes[i] != expected) {
                fail_msg("%s of %a: expected %x, got %x", formats[f]->name, (double)u[i], expected,
                         bytes[i]);
            }
        }
    }
    gw_workspace_free(&workspace);
    free(decoded[0]);
    free(decoded[1]);
    free(levels);
    free(alone);
    free(bytes);
    free(u);
}

/* Payloads that no cache holds are written past the caches where they are aligned. */
TEST(large_payloads_are_coded_as_small_ones) {
    const size_t n = (32 << 20) / sizeof(uint16_t) + 1000001;
    float *u = allocate(n, sizeof *u);
    uint16_t *codes = allocate(n + 64, sizeof *codes), *expected = allocate(n, sizeof *expected);
    struct gw_random *random = random_stream(3);
    struct gw_workspace workspace = {0};
    for (size_t i = 0; i < n; i++) {
        u[i] = i < 4096 ? (float)gw_random_normal(random, 1) : u[i - 4096] * 0.9f;
    }
    for (size_t f = 0; f < 2; f++) {
        gw_halves_encode(f == 0 ? GW_NUMBER_BF16 : GW_NUMBER_FP16, u, n, expected);
        for (size_t offset = 0; offset <= 18; offset += 6) {
            const struct gw_task task = {
                .gradient = u, .n = n, .threads = 2, .workspace = &workspace};
            const struct gw_codes large = {formats[f], 1, n, codes + offset};
            assert_ok(gw_encode(&task, true, &large, NULL));
            assert_memory_equal(codes + offset, expected, n * sizeof *codes);
        }
    }
    gw_workspace_free(&workspace);
    free(expected);
    free(codes);
    free(u);
}

/* ---- by lot ---------------------------------------------------------------------------------- */

/*
 * Each element's mean over iterations is the element: a level or the next by lot, with variance at
 * most a quarter of a level squared, so that 6 standard deviations are 3 levels / sqrt(iterations).
 * Workers and iterations draw lots of their own: two agree as often as independent ones.
 */
TEST(qsgd_is_unbiased_and_draws_its_own_lots) {
    enum { N = 512, ITERATIONS = 4000 };
    float u[N];
    uint8_t bytes[2][4 + N / 2];
    float decoded[2][N];
    double sums[N] = {0};
    struct gw_workspace workspace = {0};
    size_t agreements[3] = {0};
    for (size_t i = 0; i < N; i++) {
        u[i] = (i % 2 ? 7.0f : -7.0f) * (float)i / (float)(N - 1);
    }
    for (size_t t = 0; t < ITERATIONS; t++) {
        for (size_t other = 0; other < 2; other++) {
            const struct gw_codes codes = {&gw_compressor_qsgd, 1, N, bytes[other]};
            const struct gw_task task = {.u = u,
                                         .n = N,
                                         .worker = other == 1 && t % 3 == 0,
                                         .iteration =
                                             t + (other == 1 && t % 3 == 1 ? ITERATIONS : 0),
                                         .seed = seed + (other == 1 && t % 3 == 2),
                                         .workspace = &workspace};
            assert_ok(gw_encode(&task, false, &codes, NULL));
            gw_decode(&codes, N, 1, decoded[other]);
        }
        for (size_t i = 0; i < N; i++) {
            sums[i] += (double)decoded[0][i];
            agreements[t % 3] += decoded[0][i] == decoded[1][i];
        }
    }
    double expected = 0;
    for (size_t i = 0; i < N; i++) {
        double share = fabs((double)u[i]) - floor(fabs((double)u[i]));
        assert_true(fabs(sums[i] / ITERATIONS - (double)u[i]) < 3 / sqrt(ITERATIONS));
        expected += share * share + (1 - share) * (1 - share);
    }
    for (size_t kind = 0; kind < 3; kind++) {
        double rounds = ITERATIONS / 3.0;
        assert_true(fabs((double)agreements[kind] / rounds - expected) <
                    6 * sqrt(N / 4.0 / rounds) + N / rounds);
    }
    gw_workspace_free(&workspace);
}
