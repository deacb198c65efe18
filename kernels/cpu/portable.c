/* Passes over memory in plain C, for every processor. */
#include "kernels/cpu/scan.h"

static bool is_supported_always(void) {
    return true;
}

enum { BLOCK = 64 }; /* elements that are compared together before entries are written */

static float read_portable(const float *u, size_t n) {
    float sums[GW_SCAN_LANES] = {0};
    size_t whole = n - n % GW_SCAN_LANES;
    for (size_t i = 0; i < whole; i += GW_SCAN_LANES) {
        gw_scan_ask(u + i);
        for (size_t lane = 0; lane < GW_SCAN_LANES; lane++) {
            sums[lane] += __builtin_fabsf(u[i + lane]);
        }
    }
    float sum = 0;
    for (size_t i = whole; i < n; i++) {
        sum += __builtin_fabsf(u[i]);
    }
    for (size_t lane = 0; lane < GW_SCAN_LANES; lane++) {
        sum += sums[lane];
    }
    return sum;
}

static int32_t add_portable(float *u, const float *gradient, size_t n) {
    int32_t largest = 0;
    for (size_t i = 0; i < n; i++) {
        u[i] += gradient[i];
        int32_t magnitude = gw_magnitude(u[i]);
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest;
}

static double sum_portable(const float *u, size_t n) {
    double sums[GW_SUM_LANES] = {0};
    size_t whole = n - n % GW_SUM_LANES;
    for (size_t i = 0; i < whole; i += GW_SUM_LANES) {
        for (size_t lane = 0; lane < GW_SUM_LANES; lane++) {
            sums[lane] += (double)__builtin_fabsf(u[i + lane]);
        }
    }
    for (size_t i = whole; i < n; i++) {
        sums[i - whole] += (double)__builtin_fabsf(u[i]);
    }
    return gw_add_in_halves(sums, GW_SUM_LANES);
}

static void moments_portable(float *u, const float *gradient, size_t n,
                             struct gw_moments *moments) {
    if (gradient != NULL) {
        (void)add_portable(u, gradient, n);
    }
    int32_t largest = moments->largest;
    for (size_t begin = 0; begin < n; begin += GW_SCAN_RUN) {
        size_t end = begin + GW_SCAN_RUN < n ? begin + GW_SCAN_RUN : n;
        double sum[GW_SCAN_LANES] = {0};
        double squares[GW_SCAN_LANES] = {0};
        for (size_t i = begin; i < end; i++) {
            double value = u[i];
            size_t lane = i % GW_SCAN_LANES;
            int32_t magnitude = gw_magnitude(u[i]);
            sum[lane] += value;
            squares[lane] += value * value;
            largest = magnitude > largest ? magnitude : largest;
        }
        gw_scan_add_lanes(moments->sum, sum);
        gw_scan_add_lanes(moments->squares, squares);
    }
    moments->largest = largest;
}

static void tail_portable(float *u, const float *gradient, size_t n, int32_t magnitude,
                          struct gw_tail *tail) {
    if (gradient != NULL) {
        (void)add_portable(u, gradient, n);
    }
    int32_t largest = tail->largest;
    for (size_t begin = 0; begin < n; begin += GW_SCAN_RUN) {
        size_t end = begin + GW_SCAN_RUN < n ? begin + GW_SCAN_RUN : n;
        double magnitudes[GW_SCAN_LANES] = {0};
        for (size_t i = begin; i < end; i++) {
            int32_t size = gw_magnitude(u[i]);
            bool reached = size >= magnitude;
            tail->count += reached;
            magnitudes[i % GW_SCAN_LANES] += reached ? __builtin_fabs((double)u[i]) : 0;
            largest = reached && size > largest ? size : largest;
        }
        gw_scan_add_lanes(tail->magnitudes, magnitudes);
    }
    tail->largest = largest;
}

static void count_portable(const float *u, size_t n, const int32_t *magnitudes, size_t count,
                           size_t *counts) {
    enum { CHUNK = 2048 };
    for (size_t begin = 0; begin < n; begin += CHUNK) {
        size_t end = begin + CHUNK < n ? begin + CHUNK : n;
        for (size_t j = 0; j < count; j++) {
            int32_t reached = 0;
            for (size_t i = begin; i < end; i++) {
                reached += gw_magnitude(u[i]) >= magnitudes[j];
            }
            counts[j] += (size_t)reached;
        }
    }
}

static bool any_reaches(const float *block, int32_t magnitude) {
    int32_t hits = 0;
    for (size_t i = 0; i < BLOCK; i++) {
        hits += gw_magnitude(block[i]) >= magnitude;
    }
    return hits > 0;
}

static size_t collect_portable(float *u, const float *gradient, size_t n, uint32_t first,
                               int32_t magnitude, struct gw_entry *entries, int32_t *largest) {
    struct gw_entry *next = entries;
    int32_t most = *largest;
    for (size_t begin = 0; begin < n; begin += BLOCK) {
        size_t end = begin + BLOCK < n ? begin + BLOCK : n;
        if (gradient != NULL) {
            (void)add_portable(u + begin, gradient + begin, end - begin);
        }
        if (end == begin + BLOCK && !any_reaches(u + begin, magnitude)) {
            continue;
        }
        for (size_t i = begin; i < end; i++) {
            int32_t size = gw_magnitude(u[i]);
            *next = (struct gw_entry){.value = u[i], .index = first + (uint32_t)i};
            next += size >= magnitude;
            most = size > most ? size : most;
        }
    }
    *largest = most;
    return (size_t)(next - entries);
}

/* ---- sketches ------------------------------------------------------------------------------ */

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

static bool sketch_add_portable(float *cells, struct gw_sketch_hash hash, unsigned column_bits,
                                const float *u, uint32_t block, size_t count) {
    struct gw_sketch_words words;
    gw_sketch_hash_blocks(&words, hash, column_bits, block, count);
    bool numbers = true;
    for (size_t b = 0; b < count; b++) {
        for (uint32_t lane = 0; lane < GW_SKETCH_BLOCK; lane++) {
            float value = u[b * GW_SKETCH_BLOCK + lane];
            numbers &= !isnan(value);
            cells[words.places[b] ^ lane] +=
                gw_float_of(gw_bits_of(value) ^ sign_bit(words.signs[b], lane));
        }
    }
    return numbers;
}

static void sketch_estimate_portable(const struct gw_sketch *sketch, uint32_t block, size_t count,
                                     float *estimates) {
    struct gw_sketch_row rows[GW_SKETCH_ROWS_LIMIT];
    gw_sketch_hash_rows(rows, sketch, block, count);
    for (size_t i = 0; i < count * GW_SKETCH_BLOCK; i++) {
        int32_t values[GW_SKETCH_ROWS_LIMIT];
        uint32_t lane = i % GW_SKETCH_BLOCK;
        for (size_t r = 0; r < sketch->rows; r++) {
            const struct gw_sketch_words *words = &rows[r].words;
            float value = rows[r].cells[words->places[i / GW_SKETCH_BLOCK] ^ lane];
            values[r] = gw_sketch_ordered(
                (int32_t)(gw_bits_of(value) ^ sign_bit(words->signs[i / GW_SKETCH_BLOCK], lane)));
        }
        /* NOLINTBEGIN(clang-analyzer-core.*): a sketch has at least one row */
        GW_SKETCH_MEDIAN(int32_t, values, sketch->rows, min_int, max_int)
        estimates[i] = gw_float_of((uint32_t)gw_sketch_ordered(values[sketch->rows / 2]));
        /* NOLINTEND(clang-analyzer-core.*) */
    }
}

/* ---- codes --------------------------------------------------------------------------------- */

#define TARGET
#include "kernels/cpu/code_loops.h"
#include "kernels/cpu/low_rank_loops.h"

const struct gw_scan gw_scan_portable = {
    .name = "portable",
    .is_supported = is_supported_always,
    .read = read_portable,
    .add = add_portable,
    .largest = find_largest,
    .sum = sum_portable,
    .moments = moments_portable,
    .tail = tail_portable,
    .count = count_portable,
    .collect = collect_portable,
    .sketch_add = sketch_add_portable,
    .sketch_estimate = sketch_estimate_portable,
    .codes = ALL_CODE_LOOPS,
    .low_rank = LOW_RANK_LOOPS,
};
