/*
 * The inner loops of sketches for AVX-512, AVX2 and any processor. All do the same operations on
 * each element in the same order, so their results agree bit for bit: a block meets every cell of
 * its line once, so adding it as a vector keeps the order of the additions to a cell.
 */
#include "kernels/sketch/loops.h"
#include "kernels/arithmetic.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

enum { BLOCK = GW_SKETCH_BLOCK };

/* ---- hash functions ------------------------------------------------------------------------ */

/* SplitMix64 (Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014). */
static uint64_t splitmix(uint64_t *state) {
    return gw_mix(*state += 0x9e3779b97f4a7c15u);
}

struct gw_sketch_hash gw_sketch_hash_of(uint64_t seed, size_t row) {
    uint64_t start = seed;
    uint64_t state = splitmix(&start) + row; /* neighbouring seeds share no row */
    state = splitmix(&state);
    struct gw_sketch_hash hash = {.place_multiplier = splitmix(&state)};
    hash.place_increment = splitmix(&state);
    hash.signs_multiplier = splitmix(&state);
    hash.signs_increment = splitmix(&state);
    return hash;
}

/* ---- hashes of blocks ---------------------------------------------------------------------- */

struct words {
    uint32_t places[GW_SKETCH_TILE], signs[GW_SKETCH_TILE];
};

INLINE void hash_blocks(struct words *words, struct gw_sketch_hash hash, unsigned column_bits,
                        uint32_t block, size_t count) {
    for (size_t b = 0; b < count; b++) {
        words->places[b] = gw_sketch_place(hash, column_bits, block + (uint32_t)b);
    }
    for (size_t b = 0; b < count; b++) {
        words->signs[b] = gw_sketch_signs(hash, block + (uint32_t)b);
    }
}

/* The hashes of a row, and the start of its table. */
struct row {
    const float *cells;
    struct words words;
};

INLINE void hash_rows(struct row *rows, const struct gw_sketch *sketch, uint32_t block,
                      size_t count) {
    for (size_t r = 0; r < sketch->rows; r++) {
        rows[r].cells = sketch->table + r * sketch->columns;
        hash_blocks(&rows[r].words, gw_sketch_hash_of(sketch->seed, r),
                    gw_sketch_column_bits(sketch), block, count);
    }
}

/* Sorts enough of `values` by compare-exchanges that the median stands in the middle: the smallest,
 * the second smallest and so on move to the front. */
#define MEDIAN(type, values, rows, min_int, max_int)                                               \
    for (size_t low = 0; low <= (rows) / 2; low++) {                                               \
        for (size_t high = (rows)-1; high > low; high--) {                                         \
            type left = (values)[high - 1];                                                        \
            type right = (values)[high];                                                           \
            (values)[high - 1] = min_int(left, right);                                             \
            (values)[high] = max_int(left, right);                                                 \
        }                                                                                          \
    }

/* ---- any processor ------------------------------------------------------------------------- */

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Floats as integers of the same order, NaNs outside; its own inverse. */
static int32_t ordered_bits(int32_t bits) {
    /* cppcheck-suppress shiftTooManyBitsSigned ; all our compilers repeat the sign */
    return bits ^ (int32_t)((uint32_t)(bits >> 31) >> 1);
}

static int32_t min_int(int32_t a, int32_t b) {
    return a < b ? a : b;
}

static int32_t max_int(int32_t a, int32_t b) {
    return a < b ? b : a;
}

/* The sign bit of `lane`. */
static uint32_t sign_bit(uint32_t signs, uint32_t lane) {
    return signs << (31 - lane) & 0x80000000u;
}

static bool add_portable(float *cells, struct gw_sketch_hash hash, unsigned column_bits,
                         const float *u, uint32_t block, size_t count) {
    struct words words;
    hash_blocks(&words, hash, column_bits, block, count);
    bool numbers = true;
    for (size_t b = 0; b < count; b++) {
        for (uint32_t lane = 0; lane < BLOCK; lane++) {
            float value = u[b * BLOCK + lane];
            numbers &= !isnan(value);
            cells[words.places[b] ^ lane] +=
                float_of(bits_of(value) ^ sign_bit(words.signs[b], lane));
        }
    }
    return numbers;
}

static void estimate_portable(const struct gw_sketch *sketch, uint32_t block, size_t count,
                              float *estimates) {
    struct row rows[GW_SKETCH_ROWS_LIMIT];
    hash_rows(rows, sketch, block, count);
    for (size_t i = 0; i < count * BLOCK; i++) {
        int32_t values[GW_SKETCH_ROWS_LIMIT];
        uint32_t lane = i % BLOCK;
        for (size_t r = 0; r < sketch->rows; r++) {
            const struct words *words = &rows[r].words;
            float value = rows[r].cells[words->places[i / BLOCK] ^ lane];
            values[r] =
                ordered_bits((int32_t)(bits_of(value) ^ sign_bit(words->signs[i / BLOCK], lane)));
        }
        /*
         * NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): a sketch has at least one row
         */
        MEDIAN(int32_t, values, sketch->rows, min_int, max_int)
        estimates[i] = float_of((uint32_t)ordered_bits(values[sketch->rows / 2]));
    }
}

static const struct gw_sketch_loops portable = {
    .name = "portable",
    .add = add_portable,
    .estimate = estimate_portable,
};

#if defined(__x86_64__)

/* ---- AVX-512: a block is a vector ---------------------------------------------------------- */

#define AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))

/* The sign bits of a block, lane by lane. */
AVX512 INLINE __m512i sign_bits_avx512(uint32_t signs) {
    const __m512i shifts =
        _mm512_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16);
    return _mm512_and_si512(_mm512_sllv_epi32(_mm512_set1_epi32((int)signs), shifts),
                            _mm512_set1_epi32(INT32_MIN));
}

/* Lane l of the result is lane l xor place of `line`, both modulo 16. */
AVX512 INLINE __m512 exchange_avx512(__m512 line, uint32_t place) {
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_permutexvar_ps(_mm512_xor_si512(lanes, _mm512_set1_epi32((int)place)), line);
}

AVX512 static bool add_avx512(float *cells, struct gw_sketch_hash hash, unsigned column_bits,
                              const float *u, uint32_t block, size_t count) {
    struct words words;
    hash_blocks(&words, hash, column_bits, block, count);
    __mmask16 nan = 0;
    for (size_t b = 0; b < count; b++) {
        uint32_t place = words.places[b];
        float *line = cells + place / BLOCK * BLOCK;
        __m512 values = _mm512_loadu_ps(u + b * BLOCK);
        nan |= _mm512_cmp_ps_mask(values, values, _CMP_UNORD_Q);
        values = _mm512_xor_ps(values, _mm512_castsi512_ps(sign_bits_avx512(words.signs[b])));
        values = _mm512_add_ps(_mm512_loadu_ps(line), exchange_avx512(values, place));
        _mm512_storeu_ps(line, values);
    }
    return nan == 0;
}

AVX512 INLINE __m512i order_avx512(__m512i bits) {
    return _mm512_xor_si512(bits, _mm512_srli_epi32(_mm512_srai_epi32(bits, 31), 1));
}

AVX512 INLINE void estimate_rows_avx512(const struct row *rows, size_t row_count, size_t count,
                                        float *estimates) {
    for (size_t b = 0; b < count; b++) {
        __m512i values[GW_SKETCH_ROWS_LIMIT];
        for (size_t r = 0; r < row_count; r++) {
            uint32_t place = rows[r].words.places[b];
            __m512 line = _mm512_loadu_ps(rows[r].cells + place / BLOCK * BLOCK);
            __m512i bits = _mm512_castps_si512(exchange_avx512(line, place));
            values[r] =
                order_avx512(_mm512_xor_si512(bits, sign_bits_avx512(rows[r].words.signs[b])));
        }
        MEDIAN(__m512i, values, row_count, _mm512_min_epi32, _mm512_max_epi32)
        _mm512_storeu_si512(estimates + b * BLOCK, order_avx512(values[row_count / 2]));
    }
}

AVX512 static void estimate_avx512(const struct gw_sketch *sketch, uint32_t block, size_t count,
                                   float *estimates) {
    struct row rows[GW_SKETCH_ROWS_LIMIT];
    hash_rows(rows, sketch, block, count);
    if (sketch->rows == GW_SKETCH_ROWS) {
        estimate_rows_avx512(rows, GW_SKETCH_ROWS, count, estimates); /* unrolled */
    } else {
        estimate_rows_avx512(rows, sketch->rows, count, estimates);
    }
}

static const struct gw_sketch_loops avx512 = {
    .name = "avx512",
    .add = add_avx512,
    .estimate = estimate_avx512,
};

/* ---- AVX2: a block is two vectors, which `place` may exchange ------------------------------ */

#define AVX2 __attribute__((target("avx2")))

/* The sign bits of the first 8 lanes. */
AVX2 INLINE __m256i sign_bits_avx2(uint32_t signs) {
    const __m256i shifts = _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24);
    return _mm256_and_si256(_mm256_sllv_epi32(_mm256_set1_epi32((int)signs), shifts),
                            _mm256_set1_epi32(INT32_MIN));
}

/* Lane l of the result is lane l xor place of `half`, both modulo 8. */
AVX2 INLINE __m256 exchange_avx2(__m256 half, uint32_t place) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_permutevar8x32_ps(half, _mm256_xor_si256(lanes, _mm256_set1_epi32((int)place)));
}

AVX2 static bool add_avx2(float *cells, struct gw_sketch_hash hash, unsigned column_bits,
                          const float *u, uint32_t block, size_t count) {
    struct words words;
    hash_blocks(&words, hash, column_bits, block, count);
    __m256 nan = _mm256_setzero_ps();
    for (size_t b = 0; b < count; b++) {
        for (uint32_t lane = 0; lane < BLOCK; lane += 8) {
            uint32_t place = words.places[b] ^ lane;
            float *line = cells + place / 8 * 8;
            __m256 values = _mm256_loadu_ps(u + b * BLOCK + lane);
            nan = _mm256_or_ps(nan, _mm256_cmp_ps(values, values, _CMP_UNORD_Q));
            __m256i signs = sign_bits_avx2(words.signs[b] >> lane);
            values = _mm256_xor_ps(values, _mm256_castsi256_ps(signs));
            values = _mm256_add_ps(_mm256_loadu_ps(line), exchange_avx2(values, place));
            _mm256_storeu_ps(line, values);
        }
    }
    return _mm256_movemask_ps(nan) == 0;
}

AVX2 INLINE __m256i order_avx2(__m256i bits) {
    return _mm256_xor_si256(bits, _mm256_srli_epi32(_mm256_srai_epi32(bits, 31), 1));
}

AVX2 INLINE void estimate_rows_avx2(const struct row *rows, size_t row_count, size_t count,
                                    float *estimates) {
    for (size_t half = 0; half < 2 * count; half++) {
        __m256i values[GW_SKETCH_ROWS_LIMIT];
        uint32_t lane = half % 2 * 8;
        for (size_t r = 0; r < row_count; r++) {
            uint32_t place = rows[r].words.places[half / 2] ^ lane;
            __m256 line = _mm256_loadu_ps(rows[r].cells + place / 8 * 8);
            __m256i bits = _mm256_castps_si256(exchange_avx2(line, place));
            __m256i signs = sign_bits_avx2(rows[r].words.signs[half / 2] >> lane);
            values[r] = order_avx2(_mm256_xor_si256(bits, signs));
        }
        MEDIAN(__m256i, values, row_count, _mm256_min_epi32, _mm256_max_epi32)
        _mm256_storeu_si256((__m256i *)(void *)(estimates + half * 8),
                            order_avx2(values[row_count / 2]));
    }
}

AVX2 static void estimate_avx2(const struct gw_sketch *sketch, uint32_t block, size_t count,
                               float *estimates) {
    struct row rows[GW_SKETCH_ROWS_LIMIT];
    hash_rows(rows, sketch, block, count);
    if (sketch->rows == GW_SKETCH_ROWS) {
        estimate_rows_avx2(rows, GW_SKETCH_ROWS, count, estimates); /* unrolled */
    } else {
        estimate_rows_avx2(rows, sketch->rows, count, estimates);
    }
}

static const struct gw_sketch_loops avx2 = {
    .name = "avx2",
    .add = add_avx2,
    .estimate = estimate_avx2,
};

#endif

const struct gw_sketch_loops *const gw_sketch_loops[] = {
#if defined(__x86_64__)
    &avx512, &avx2,
#endif
    &portable, NULL};
