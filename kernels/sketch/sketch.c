/* Sketches, and the division of coordinates into runs for the inner loops. */
#include "kernels/sketch.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/arithmetic.h"
#include "kernels/cpu/collect.h"
#include "kernels/cpu/scan.h"
#include "kernels/sketch/loops.h"

/* ---- a sketch's life ----------------------------------------------------------------------- */

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
    size_t bytes = rows * columns * sizeof *out->table;
    out->table = aligned_alloc(GW_SKETCH_BLOCK * sizeof *out->table, bytes); /* a block is in one
                                                                              * line */
    gw_prefer_large_pages(out->table, bytes);
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

/* Adds n coordinates of one block, from `first` on. */
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

/* The number of coordinates from `first` on to handle together: whole blocks, at most as many as
 * stay in the L1 cache while all rows read them; or the rest of one block. */
static size_t next_run(size_t first, size_t n) {
    size_t lane = first % GW_SKETCH_BLOCK;
    if (lane != 0 || n < GW_SKETCH_BLOCK) {
        size_t rest = GW_SKETCH_BLOCK - lane;
        return rest < n ? rest : n;
    }
    size_t limit = (size_t)GW_SKETCH_TILE * GW_SKETCH_BLOCK;
    return n < limit ? n - n % GW_SKETCH_BLOCK : limit;
}

/* Adds one run of next_run() to one row. */
static bool add_row(const struct gw_scan *scan, struct gw_sketch *sketch, size_t row,
                    const float *u, size_t first, size_t run) {
    float *cells = sketch->table + row * sketch->columns;
    struct gw_sketch_hash hash = gw_sketch_hash_of(sketch->seed, row);
    unsigned column_bits = gw_sketch_column_bits(sketch);
    if (run % GW_SKETCH_BLOCK != 0) {
        return add_part(cells, hash, column_bits, u, first, run);
    }
    uint32_t block = (uint32_t)(first / GW_SKETCH_BLOCK);
    return scan->sketch_add(cells, hash, column_bits, u, block, run / GW_SKETCH_BLOCK);
}

enum gw_status gw_sketch_encode(struct gw_sketch *sketch, const float *u, size_t first, size_t n,
                                struct gw_error *error) {
    const struct gw_scan *scan = gw_scan();
    for (size_t i = 0, run; i < n; i += run) {
        run = next_run(first + i, n - i);
        for (size_t row = 0; row < sketch->rows; row++) {
            if (!add_row(scan, sketch, row, u + i, first + i, run)) {
                while (!isnan(u[i])) {
                    i++;
                }
                return gw_sketch_fail_nan(first + i, error);
            }
        }
    }
    return GW_OK;
}

/* ---- queries ------------------------------------------------------------------------------- */

void gw_sketch_estimate(const struct gw_sketch *sketch, size_t first, size_t n, float *estimates) {
    const struct gw_scan *scan = gw_scan();
    for (size_t i = 0, run; i < n; i += run) {
        run = next_run(first + i, n - i);
        uint32_t block = (uint32_t)((first + i) / GW_SKETCH_BLOCK);
        if (run % GW_SKETCH_BLOCK == 0) {
            scan->sketch_estimate(sketch, block, run / GW_SKETCH_BLOCK, estimates + i);
        } else {
            float whole[GW_SKETCH_BLOCK];
            scan->sketch_estimate(sketch, block, 1, whole);
            memcpy(estimates + i, whole + (first + i) % GW_SKETCH_BLOCK, run * sizeof *whole);
        }
    }
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

double gw_sketch_norm2(const struct gw_sketch *sketch) {
    double sums[GW_SKETCH_ROWS_LIMIT] = {0};
    for (size_t r = 0; r < sketch->rows; r++) {
        double sum = gw_sum_squares(sketch->table + r * sketch->columns, sketch->columns);
        sums[r] = sum <= DBL_MAX ? sum : (double)INFINITY; /* a NaN becomes infinite too */
    }
    qsort(sums, sketch->rows, sizeof *sums, by_value);
    return sums[sketch->rows / 2];
}
