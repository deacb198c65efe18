/* A sketch's life, and its coordinates in the portions that the inner loops take. */
#include "kernels/sketch.h"
#include "kernels/hash.h"
#include "kernels/sketch/loops.h"
#include "kernels/sums.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct gw_sketch_loops *best_loops(void) {
    const char *name = gw_instruction_set();
    size_t i = 0;
    while (gw_sketch_loops[i + 1] != NULL && strcmp(gw_sketch_loops[i]->name, name) != 0) {
        i++;
    }
    return gw_sketch_loops[i];
}

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

/* ---- a sketch's life ----------------------------------------------------------------------- */

static size_t power_of_two_from(double least) {
    size_t power = GW_SKETCH_BLOCK;
    while ((double)power < least) {
        power *= 2;
    }
    return power;
}

size_t gw_sketch_columns(size_t n, size_t k) {
    double needed = 2 * 0.287 * (double)k * log((double)n / (double)k);
    /* k close to n: no fewer columns than k, but as many as there may be */
    return power_of_two_from(fmin(fmax(needed, (double)k), 0x1p31));
}

enum gw_status gw_sketch_check(size_t rows, size_t columns, struct gw_error *error) {
    if (rows % 2 == 0 || rows > GW_SKETCH_ROWS_LIMIT) {
        return gw_fail(error, GW_BAD_INPUT,
                       "rows of a sketch: expected an odd number up to %d, got %zu",
                       GW_SKETCH_ROWS_LIMIT, rows);
    }
    if (columns < GW_SKETCH_BLOCK || columns > (size_t)1 << 31 || (columns & (columns - 1)) != 0) {
        return gw_fail(error, GW_BAD_INPUT,
                       "columns of a sketch: expected a power of two from %d to 2^31, got %zu",
                       GW_SKETCH_BLOCK, columns);
    }
    return GW_OK;
}

enum gw_status gw_sketch_open(struct gw_sketch *out, size_t rows, size_t columns, uint64_t seed,
                              struct gw_error *error) {
    *out = (struct gw_sketch){.rows = rows, .columns = columns, .seed = seed};
    GW_TRY(gw_sketch_check(rows, columns, error));
    out->table = aligned_alloc(GW_SKETCH_BLOCK * sizeof *out->table, /* a block in a cache line */
                               rows * columns * sizeof *out->table);
    if (out->table == NULL) {
        return gw_fail_memory(error, "making a sketch");
    }
    gw_sketch_clear(out);
    return GW_OK;
}

void gw_sketch_free(struct gw_sketch *sketch) {
    free(sketch->table);
    *sketch = (struct gw_sketch){0};
}

void gw_sketch_clear(struct gw_sketch *sketch) {
    memset(sketch->table, 0, sketch->rows * sketch->columns * sizeof *sketch->table);
}

/* ---- encoding ------------------------------------------------------------------------------ */

enum gw_status gw_sketch_fail_nan(size_t index, struct gw_error *error) {
    return gw_fail(error, GW_BAD_INPUT, "element %zu: expected a number or an infinity, got NaN",
                   index);
}

/* n coordinates of one block, from `first` on. */
static bool add_part(float *cells, struct gw_sketch_hash hash, unsigned column_bits, const float *u,
                     size_t first, size_t n) {
    uint32_t block = (uint32_t)(first / GW_SKETCH_BLOCK);
    uint32_t place = gw_sketch_place(hash, column_bits, block);
    uint32_t signs = gw_sketch_signs(hash, block);
    bool numbers = true;
    for (size_t i = 0; i < n; i++) {
        uint32_t lane = (uint32_t)(first + i) % GW_SKETCH_BLOCK;
        cells[place ^ lane] += signs >> lane & 1 ? -u[i] : u[i];
        numbers &= !isnan(u[i]);
    }
    return numbers;
}

/*
 * How many of n coordinates from `first` on are taken together: whole blocks, but not more than
 * stay in the L1 cache while row after row takes them, or what is left of one block.
 */
static size_t next_run(size_t first, size_t n) {
    size_t lane = first % GW_SKETCH_BLOCK;
    if (lane != 0 || n < GW_SKETCH_BLOCK) {
        size_t rest = GW_SKETCH_BLOCK - lane;
        return rest < n ? rest : n;
    }
    size_t limit = (size_t)GW_SKETCH_TILE * GW_SKETCH_BLOCK;
    return n < limit ? n - n % GW_SKETCH_BLOCK : limit;
}

/* One run, which next_run has found, into one row. */
static bool add_row(const struct gw_sketch_loops *loops, struct gw_sketch *sketch, size_t row,
                    const float *u, size_t first, size_t run) {
    float *cells = sketch->table + row * sketch->columns;
    struct gw_sketch_hash hash = gw_sketch_hash_of(sketch->seed, row);
    unsigned column_bits = gw_sketch_column_bits(sketch);
    if (run % GW_SKETCH_BLOCK != 0) {
        return add_part(cells, hash, column_bits, u, first, run);
    }
    uint32_t block = (uint32_t)(first / GW_SKETCH_BLOCK);
    return loops->add(cells, hash, column_bits, u, block, run / GW_SKETCH_BLOCK);
}

static size_t first_nan(const float *u) {
    size_t i = 0;
    while (!isnan(u[i])) {
        i++;
    }
    return i;
}

enum gw_status gw_sketch_encode_with(const struct gw_sketch_loops *loops, struct gw_sketch *sketch,
                                     const float *u, size_t first, size_t n,
                                     struct gw_error *error) {
    for (size_t i = 0, run; i < n; i += run) {
        run = next_run(first + i, n - i);
        for (size_t row = 0; row < sketch->rows; row++) {
            if (!add_row(loops, sketch, row, u + i, first + i, run)) {
                return gw_sketch_fail_nan(first + i + first_nan(u + i), error);
            }
        }
    }
    return GW_OK;
}

enum gw_status gw_sketch_encode(struct gw_sketch *sketch, const float *u, size_t first, size_t n,
                                struct gw_error *error) {
    return gw_sketch_encode_with(best_loops(), sketch, u, first, n, error);
}

enum gw_status gw_sketch_check_alike(const struct gw_sketch *a, const struct gw_sketch *b,
                                     struct gw_error *error) {
    if (a->rows == b->rows && a->columns == b->columns && a->seed == b->seed) {
        return GW_OK;
    }
    return gw_fail(error, GW_BAD_INPUT,
                   "sketches to add: expected %zu x %zu, seed %llu, got %zu x %zu, seed %llu",
                   a->rows, a->columns, (unsigned long long)a->seed, b->rows, b->columns,
                   (unsigned long long)b->seed);
}

enum gw_status gw_sketch_merge(struct gw_sketch *sketch, const struct gw_sketch *other,
                               struct gw_error *error) {
    GW_TRY(gw_sketch_check_alike(sketch, other, error));
    for (size_t i = 0; i < sketch->rows * sketch->columns; i++) {
        sketch->table[i] += other->table[i];
    }
    return GW_OK;
}

/* ---- queries ------------------------------------------------------------------------------- */

void gw_sketch_estimate_with(const struct gw_sketch_loops *loops, const struct gw_sketch *sketch,
                             size_t first, size_t n, float *estimates) {
    for (size_t i = 0, run; i < n; i += run) {
        run = next_run(first + i, n - i);
        uint32_t block = (uint32_t)((first + i) / GW_SKETCH_BLOCK);
        if (run % GW_SKETCH_BLOCK == 0) {
            loops->estimate(sketch, block, run / GW_SKETCH_BLOCK, estimates + i);
        } else {
            float whole[GW_SKETCH_BLOCK];
            loops->estimate(sketch, block, 1, whole);
            memcpy(estimates + i, whole + (first + i) % GW_SKETCH_BLOCK, run * sizeof *whole);
        }
    }
}

void gw_sketch_estimate(const struct gw_sketch *sketch, size_t first, size_t n, float *estimates) {
    gw_sketch_estimate_with(best_loops(), sketch, first, n, estimates);
}

static double sum_of_squares(const float *cells, size_t columns) {
    double sum = gw_sum_squares(cells, columns);
    return sum <= DBL_MAX ? sum : (double)INFINITY; /* not even a NaN escapes */
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

double gw_sketch_norm2(const struct gw_sketch *sketch) {
    double sums[GW_SKETCH_ROWS_LIMIT];
    for (size_t r = 0; r < sketch->rows; r++) {
        sums[r] = sum_of_squares(sketch->table + r * sketch->columns, sketch->columns);
    }
    qsort(sums, sketch->rows, sizeof *sums, by_value);
    return sums[sketch->rows / 2];
}
