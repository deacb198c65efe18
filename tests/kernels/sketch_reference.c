/* Count sketch and HEAVYMIX as one would define them: one element at a time, everything stored. */
#include "kernels/arithmetic.h"
#include "kernels/sketch/loops.h"
#include "tests/kernels/references.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the sketch ---------------------------------------------------------------------------- */

static float *cell_of(const struct gw_sketch *sketch, size_t row, size_t i) {
    uint32_t place = gw_sketch_place(gw_sketch_hash_of(sketch->seed, row),
                                     gw_sketch_column_bits(sketch), (uint32_t)(i / 16));
    return sketch->table + row * sketch->columns + (place ^ (i % 16));
}

static bool is_negative(const struct gw_sketch *sketch, size_t row, size_t i) {
    uint32_t signs = gw_sketch_signs(gw_sketch_hash_of(sketch->seed, row), (uint32_t)(i / 16));
    return (signs >> i % 16 & 1) != 0;
}

enum gw_status gw_sketch_encode_reference(struct gw_sketch *sketch, const float *u, size_t first,
                                          size_t n, struct gw_error *error) {
    for (size_t i = 0; i < n; i++) {
        if (isnan(u[i])) {
            return gw_sketch_fail_nan(first + i, error);
        }
        for (size_t row = 0; row < sketch->rows; row++) {
            *cell_of(sketch, row, first + i) += is_negative(sketch, row, first + i) ? -u[i] : u[i];
        }
    }
    return GW_OK;
}

/* Compares by value: -0 before 0, NaNs beyond the infinity of their sign. */
static int by_order(const void *left, const void *right) {
    int32_t a;
    int32_t b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    int64_t x = a < 0 ? INT32_MIN - (int64_t)a - 1 : a;
    int64_t y = b < 0 ? INT32_MIN - (int64_t)b - 1 : b;
    return (x > y) - (x < y);
}

void gw_sketch_estimate_reference(const struct gw_sketch *sketch, size_t first, size_t n,
                                  float *estimates) {
    for (size_t i = 0; i < n; i++) {
        float values[GW_SKETCH_ROWS_LIMIT];
        for (size_t row = 0; row < sketch->rows; row++) {
            float value = *cell_of(sketch, row, first + i);
            values[row] = is_negative(sketch, row, first + i) ? -value : value;
        }
        qsort(values, sketch->rows, sizeof *values, by_order);
        estimates[i] = values[sketch->rows / 2];
    }
}

/* ---- HEAVYMIX ------------------------------------------------------------------------------ */

static int by_index(const void *left, const void *right) {
    uint32_t a = ((const struct gw_entry *)left)->index;
    uint32_t b = ((const struct gw_entry *)right)->index;
    return (a > b) - (a < b);
}

static int by_value(const void *left, const void *right) {
    float a = ((const struct gw_entry *)left)->value;
    float b = ((const struct gw_entry *)right)->value;
    return a != b ? (a < b) - (a > b) : by_index(left, right);
}

/* The heavy hitters into `entries`, largest first; how many. */
static size_t find_heavy(const struct gw_sketch *sketch, size_t n, size_t k,
                         struct gw_entry *entries) {
    double least = gw_sketch_norm2(sketch) / (double)k;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        float estimate;
        gw_sketch_estimate_reference(sketch, i, 1, &estimate);
        float value = isnan(estimate) ? INFINITY : fabsf(estimate);
        if (value > 0 && (double)value * (double)value >= least) {
            entries[count++] = (struct gw_entry){.value = value, .index = (uint32_t)i};
        }
    }
    qsort(entries, count, sizeof *entries, by_value);
    return count < k ? count : k;
}

/* Marks `count` of those that are not chosen, by the same draws as the fast version. */
static void choose_others(bool *chosen, size_t n, size_t heavy, size_t count, uint64_t key,
                          bool *taken) {
    struct gw_permutation permutation = gw_permutation_of(n - heavy, key);
    for (size_t place = 0; place < count; place++) {
        taken[gw_permutation_at(&permutation, place)] = true;
    }
    for (size_t i = 0, rank = 0; i < n; i++) {
        if (!chosen[i]) {
            chosen[i] = taken[rank++];
        }
    }
}

enum gw_status gw_sketch_heavymix_reference(const struct gw_sketch *sketch, size_t n, size_t k,
                                            uint64_t iteration, uint32_t *indices, size_t *heavy,
                                            struct gw_error *error) {
    struct gw_entry *entries = malloc(n * sizeof *entries);
    bool *marks = calloc(2 * n, sizeof *marks);
    enum gw_status status = GW_OK;
    if (entries == NULL || marks == NULL) {
        status = gw_fail_memory(error, "choosing elements");
    } else {
        *heavy = find_heavy(sketch, n, k, entries);
        for (size_t i = 0; i < *heavy; i++) {
            marks[entries[i].index] = true;
        }
        choose_others(marks, n, *heavy, k - *heavy, gw_mix_pair(sketch->seed, iteration),
                      marks + n);
        for (size_t i = 0, count = 0; i < n; i++) {
            if (marks[i]) {
                indices[count++] = (uint32_t)i;
            }
        }
    }
    free(entries);
    free(marks);
    return status;
}
