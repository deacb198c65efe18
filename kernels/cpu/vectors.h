/*
 * Passes over memory and the inner loops of sketches by vectors, for each instruction set: avx2.c
 * and avx512.c define vectors of LANES floats and operations on them, then include this text.
 * Elements after the last whole vectors are those of portable C.
 */

TARGET static inline ints magnitudes_of(floats values) {
    return (ints)values & INT32_MAX;
}

TARGET static int32_t largest_of(ints magnitudes) {
    int32_t largest = 0;
    for (int lane = 0; lane < LANES; lane++) {
        largest = magnitudes[lane] > largest ? magnitudes[lane] : largest;
    }
    return largest;
}

/* Loads elements of u, and adds the gradient to them first. */
TARGET static inline floats load_sum(float *u, const float *gradient, size_t i) {
    floats values = load_floats(u + i);
    gw_scan_ask(u + i);
    if (gradient != NULL) {
        gw_scan_ask(gradient + i);
        values += load_floats(gradient + i);
        store_floats(u + i, values);
    }
    return values;
}

TARGET static inline const float *gradient_at(const float *gradient, size_t i) {
    return gradient == NULL ? NULL : gradient + i;
}

/* Vectors of floats and of doubles in GW_SCAN_LANES elements. */
enum { VECTORS = GW_SCAN_LANES / LANES, HALVES = 2 * VECTORS };

/* ---- passes -------------------------------------------------------------------------------- */

TARGET static float read_vectors(const float *u, size_t n) {
    floats sums[4] = {{0}};
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        for (size_t j = 0; j < 4; j++) {
            if (j * LANES % 16 == 0) { /* a cache line */
                gw_scan_ask(u + i + j * LANES);
            }
            sums[j] += (floats)magnitudes_of(load_floats(u + i + j * LANES));
        }
    }
    floats lanes = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    float sum = gw_scan_portable.read(u + i, n - i);
    for (int lane = 0; lane < LANES; lane++) {
        sum += lanes[lane];
    }
    return sum;
}

TARGET static int32_t add_vectors(float *u, const float *gradient, size_t n) {
    ints magnitudes = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        magnitudes = max_ints(magnitudes, magnitudes_of(load_sum(u, gradient, i)));
    }
    int32_t largest = largest_of(magnitudes);
    int32_t rest = gw_scan_portable.add(u + i, gradient + i, n - i);
    return rest > largest ? rest : largest;
}

TARGET static double sum_vectors(const float *u, size_t n) {
    double lanes[GW_SUM_LANES];
    doubles sums[HALVES] = {{0}};
    size_t i = 0;
    for (; i + GW_SUM_LANES <= n; i += GW_SUM_LANES) {
        for (size_t half = 0; half < HALVES; half++) {
            sums[half] += magnitudes_of_doubles(load_as_doubles(u + i + half * LANES / 2));
        }
    }
    for (size_t half = 0; half < HALVES; half++) {
        store_doubles(lanes + half * LANES / 2, sums[half]);
    }
    for (size_t lane = 0; i < n; i++, lane++) {
        lanes[lane] += __builtin_fabs((double)u[i]);
    }
    return gw_add_in_halves(lanes, GW_SUM_LANES);
}

TARGET static inline void add_to_lanes(double *lanes, const doubles *sums) {
    for (int half = 0; half < HALVES; half++) {
        double *some = lanes + half * LANES / 2;
        store_doubles(some, load_doubles(some) + sums[half]);
    }
}

/* Squares of floats are exact in double precision, so fused multiply-adds do not change sums. */
TARGET static void moments_vectors(float *u, const float *gradient, size_t n,
                                   struct gw_moments *out) {
    struct gw_moments rest = {.largest = 0}; /* of the last run, unless it is whole */
    ints largest = (ints){0} + out->largest;
    size_t whole = n - n % GW_SCAN_LANES;
    for (size_t begin = 0, end; begin < whole; begin = end) {
        doubles sum[HALVES] = {{0}};
        doubles squares[HALVES] = {{0}};
        end = whole - begin < GW_SCAN_RUN ? whole : begin + GW_SCAN_RUN;
        for (size_t i = begin; i < end; i += GW_SCAN_LANES) {
            for (size_t j = 0; j < VECTORS; j++) {
                largest = max_ints(largest, magnitudes_of(load_sum(u, gradient, i + j * LANES)));
            }
            for (size_t half = 0; half < HALVES; half++) {
                doubles some = load_as_doubles(u + i + half * LANES / 2);
                sum[half] += some;
                squares[half] = multiply_add(some, some, squares[half]);
            }
        }
        struct gw_moments *moments = end - begin == GW_SCAN_RUN ? out : &rest;
        add_to_lanes(moments->sum, sum);
        add_to_lanes(moments->squares, squares);
    }
    rest.largest = largest_of(largest);
    gw_scan_portable.moments(u + whole, gradient_at(gradient, whole), n - whole, &rest);
    gw_scan_add_lanes(out->sum, rest.sum);
    gw_scan_add_lanes(out->squares, rest.squares);
    out->largest = rest.largest;
}

TARGET static void tail_vectors(float *u, const float *gradient, size_t n, int32_t magnitude,
                                struct gw_tail *out) {
    struct gw_tail rest = {.count = 0}; /* of the last run, unless it is whole */
    ints below = (ints){0} + (magnitude - 1);
    ints largest = (ints){0} + out->largest;
    size_t whole = n - n % GW_SCAN_LANES;
    for (size_t begin = 0, end; begin < whole; begin = end) {
        doubles sizes[HALVES] = {{0}};
        end = whole - begin < GW_SCAN_RUN ? whole : begin + GW_SCAN_RUN;
        for (size_t i = begin; i < end; i += GW_SCAN_LANES) {
            for (size_t j = 0; j < VECTORS; j++) {
                ints all = magnitudes_of(load_sum(u, gradient, i + j * LANES));
                marks reached = mark_larger(all, below);
                largest = max_marked(largest, all, reached);
                rest.count += (size_t)_mm_popcnt_u32(marks_as_bits(reached));
                add_marked(sizes + 2 * j, u + i + j * LANES, reached);
            }
        }
        add_to_lanes(end - begin == GW_SCAN_RUN ? out->magnitudes : rest.magnitudes, sizes);
    }
    rest.largest = largest_of(largest);
    gw_scan_portable.tail(u + whole, gradient_at(gradient, whole), n - whole, magnitude, &rest);
    gw_scan_add_lanes(out->magnitudes, rest.magnitudes);
    out->count += rest.count;
    out->largest = rest.largest;
}

/* Keeps counters in registers, so that 10 thresholds cost one pass; `width` must be a constant. */
TARGET GW_INLINE void count_thresholds(const float *u, size_t n, const int32_t *magnitudes,
                                       size_t *counts, int width) {
    ints below[10];
    ints reached[10];
    for (int j = 0; j < width; j++) {
        below[j] = (ints){0} + (magnitudes[j] - 1);
        reached[j] = (ints){0};
    }
    size_t whole = n - n % LANES;
    for (size_t i = 0; i < whole; i += LANES) {
        gw_scan_ask(u + i);
        ints sizes = magnitudes_of(load_floats(u + i));
        for (int j = 0; j < width; j++) {
            reached[j] = count_marked(reached[j], mark_larger(sizes, below[j]));
        }
    }
    for (int j = 0; j < width; j++) {
        for (int lane = 0; lane < LANES; lane++) {
            counts[j] += (size_t)reached[j][lane];
        }
    }
    gw_scan_portable.count(u + whole, n - whole, magnitudes, (size_t)width, counts);
}

TARGET static void count_vectors(const float *u, size_t n, const int32_t *magnitudes, size_t wanted,
                                 size_t *counts) {
    size_t done = 0;
    for (; wanted - done >= 10; done += 10) {
        count_thresholds(u, n, magnitudes + done, counts + done, 10);
    }
    for (; wanted - done >= 7; done += 7) {
        count_thresholds(u, n, magnitudes + done, counts + done, 7);
    }
    for (; done < wanted; done++) {
        count_thresholds(u, n, magnitudes + done, counts + done, 1);
    }
}

TARGET static size_t collect_vectors(float *u, const float *gradient, size_t n, uint32_t first,
                                     int32_t magnitude, struct gw_entry *entries,
                                     int32_t *largest) {
    struct gw_entry *next = entries;
    ints below = (ints){0} + (magnitude - 1);
    ints most = (ints){0} + *largest;
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        marks reached[4];
        for (size_t j = 0; j < 4; j++) {
            floats values = load_sum(u, gradient, i + j * LANES);
            reached[j] = mark_larger(magnitudes_of(values), below);
        }
        if (marks_as_bits(reached[0] | reached[1] | reached[2] | reached[3]) == 0) {
            continue;
        }
        for (size_t j = 0; j < 4; j++) {
            most = max_ints(most, magnitudes_of(load_floats(u + i + j * LANES)));
        }
        next = write_marked(next, u + i, first + (uint32_t)i, reached);
    }
    *largest = largest_of(most);
    next += gw_scan_portable.collect(u + i, gradient_at(gradient, i), n - i, first + (uint32_t)i,
                                     magnitude, next, largest);
    return (size_t)(next - entries);
}

/* ---- sketches ------------------------------------------------------------------------------ */

static const ints lane_numbers = {LANE_NUMBERS};

/* The sign bits of LANES lanes. */
TARGET GW_INLINE ints sign_bits_of(uint32_t signs) {
    return (ints)(((words)lane_numbers * 0 + signs) << (words)(31 - lane_numbers)) & INT32_MIN;
}

/* Lane l of the result is lane l xor place of `line`, both modulo LANES. */
TARGET GW_INLINE floats exchange_lanes(floats line, uint32_t place) {
    return permute_floats(line, lane_numbers ^ (int32_t)place);
}

/* A block is one vector, or two that `place` may exchange. */
TARGET static bool add_blocks(float *cells, struct gw_sketch_hash hash, unsigned column_bits,
                              const float *u, uint32_t block, size_t count) {
    struct gw_sketch_words hashes;
    gw_sketch_hash_blocks(&hashes, hash, column_bits, block, count);
    marks nan = {0};
    for (size_t b = 0; b < count; b++) {
        for (uint32_t lane = 0; lane < GW_SKETCH_BLOCK; lane += LANES) {
            uint32_t place = hashes.places[b] ^ lane;
            float *line = cells + place / LANES * LANES;
            floats values = load_floats(u + b * GW_SKETCH_BLOCK + lane);
            nan |= mark_nans(values);
            values = (floats)((ints)values ^ sign_bits_of(hashes.signs[b] >> lane));
            store_floats(line, load_floats(line) + exchange_lanes(values, place));
        }
    }
    return marks_as_bits(nan) == 0;
}

TARGET GW_INLINE ints order_bits(ints bits) {
    return bits ^ (ints)((words)(bits >> 31) >> 1);
}

TARGET GW_INLINE void estimate_rows(const struct gw_sketch_row *rows, size_t row_count,
                                    size_t count, float *estimates) {
    for (size_t i = 0; i < count * GW_SKETCH_BLOCK; i += LANES) {
        ints values[GW_SKETCH_ROWS_LIMIT];
        uint32_t lane = i % GW_SKETCH_BLOCK;
        for (size_t r = 0; r < row_count; r++) {
            uint32_t place = rows[r].words.places[i / GW_SKETCH_BLOCK] ^ lane;
            floats line = load_floats(rows[r].cells + place / LANES * LANES);
            ints signs = sign_bits_of(rows[r].words.signs[i / GW_SKETCH_BLOCK] >> lane);
            values[r] = order_bits((ints)exchange_lanes(line, place) ^ signs);
        }
        GW_SKETCH_MEDIAN(ints, values, row_count, min_ints, max_ints)
        store_floats(estimates + i, (floats)order_bits(values[row_count / 2]));
    }
}

TARGET static void estimate_blocks(const struct gw_sketch *sketch, uint32_t block, size_t count,
                                   float *estimates) {
    struct gw_sketch_row rows[GW_SKETCH_ROWS_LIMIT];
    gw_sketch_hash_rows(rows, sketch, block, count);
    if (sketch->rows == GW_SKETCH_ROWS) {
        estimate_rows(rows, GW_SKETCH_ROWS, count, estimates); /* unrolled */
    } else {
        estimate_rows(rows, sketch->rows, count, estimates);
    }
}

/* ---- codes --------------------------------------------------------------------------------- */

#include "kernels/cpu/code_loops.h"
#include "kernels/cpu/low_rank_loops.h"

const struct gw_scan SCAN = {
    .name = NAME,
    .is_supported = is_supported,
    .read = read_vectors,
    .add = add_vectors,
    .largest = find_largest,
    .sum = sum_vectors,
    .moments = moments_vectors,
    .tail = tail_vectors,
    .count = count_vectors,
    .collect = collect_vectors,
    .sketch_add = add_blocks,
    .sketch_estimate = estimate_blocks,
    .codes = ALL_CODE_LOOPS,
    .low_rank = LOW_RANK_LOOPS,
};
