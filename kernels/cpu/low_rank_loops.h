/*
 * Products with tall, narrow factors (kernels/low_rank.h), which read the matrix once for each four
 * of a factor's columns: plain C with vectors of 8 lanes, in the order of kernels/arithmetic.h.
 * avx2.c, avx512.c and portable.c include this text and say, as TARGET, for which instruction set.
 */

typedef float eight __attribute__((vector_size(32)));
typedef float eight_in_memory __attribute__((vector_size(32), aligned(4), may_alias));

enum { TILE_ROWS = 2, BLOCK_ROWS = 8 };

/* Eight floats in memory, to read or to write. */
#define EIGHT_OF(floats) (*(const eight_in_memory *)(const void *)(floats))
#define EIGHT_AT(floats) (*(eight_in_memory *)(void *)(floats))

/* `rows` <= TILE_ROWS rows of m by `width` <= 4 columns of the factor; both must be constants. */
TARGET GW_INLINE void multiply_tile(const float *m, size_t rows, size_t columns, const float *q,
                                    size_t width, float *p, size_t p_rows) {
    for (size_t first = 0; first < columns; first += GW_LOW_RANK_COLUMNS) {
        size_t left = columns - first;
        size_t end = left < GW_LOW_RANK_COLUMNS ? columns : first + GW_LOW_RANK_COLUMNS;
        eight sums[TILE_ROWS][4] = {{{0}}};
        size_t j = first;
        for (; j + GW_LOW_RANK_LANES <= end; j += GW_LOW_RANK_LANES) {
            for (size_t w = 0; w < width; w++) {
                eight factor = EIGHT_OF(q + w * columns + j);
                for (size_t row = 0; row < rows; row++) {
                    sums[row][w] += EIGHT_OF(m + row * columns + j) * factor;
                }
            }
        }
        for (size_t w = 0; w < width; w++) {
            for (size_t row = 0; row < rows; row++) {
                eight s = sums[row][w];
                for (size_t rest = j; rest < end; rest++) {
                    s[rest - j] += m[row * columns + rest] * q[w * columns + rest];
                }
                float sum = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
                p[w * p_rows + row] = first == 0 ? sum : p[w * p_rows + row] + sum;
            }
        }
    }
}

/* The same by all columns of the factor; `rows` must be a constant. */
TARGET GW_INLINE void multiply_rows(const float *m, size_t rows, size_t columns, const float *q,
                                    size_t rank, float *p, size_t p_rows) {
    size_t w = 0;
    for (; w + 4 <= rank; w += 4) {
        multiply_tile(m, rows, columns, q + w * columns, 4, p + w * p_rows, p_rows);
    }
    for (; w + 2 <= rank; w += 2) {
        multiply_tile(m, rows, columns, q + w * columns, 2, p + w * p_rows, p_rows);
    }
    if (w < rank) {
        multiply_tile(m, rows, columns, q + w * columns, 1, p + w * p_rows, p_rows);
    }
}

TARGET static void multiply(const float *m, size_t rows, size_t columns, const float *q,
                            size_t rank, float *p, size_t p_rows) {
    size_t row = 0;
    for (; row + TILE_ROWS <= rows; row += TILE_ROWS) {
        multiply_rows(m + row * columns, TILE_ROWS, columns, q, rank, p + row, p_rows);
    }
    if (row < rows) {
        multiply_rows(m + row * columns, 1, columns, q, rank, p + row, p_rows);
    }
}

/* Adds `height` <= BLOCK_ROWS rows of m, each times an element of each of `width` columns of p. */
TARGET GW_INLINE void add_rows(const float *m, size_t height, size_t columns, size_t count,
                               const float *p, size_t p_rows, size_t width, float *totals) {
    size_t j = 0;
    for (; j + 8 <= count; j += 8) {
        eight sums[4];
        for (size_t w = 0; w < width; w++) {
            sums[w] = EIGHT_OF(totals + w * GW_LOW_RANK_COLUMNS + j);
        }
        for (size_t row = 0; row < height; row++) {
            eight values = EIGHT_OF(m + row * columns + j);
            for (size_t w = 0; w < width; w++) {
                sums[w] += values * p[w * p_rows + row];
            }
        }
        for (size_t w = 0; w < width; w++) {
            EIGHT_AT(totals + w * GW_LOW_RANK_COLUMNS + j) = sums[w];
        }
    }
    for (; j < count; j++) {
        for (size_t w = 0; w < width; w++) {
            for (size_t row = 0; row < height; row++) {
                totals[w * GW_LOW_RANK_COLUMNS + j] += m[row * columns + j] * p[w * p_rows + row];
            }
        }
    }
}

/* The same for up to GW_LOW_RANK_ROWS rows. */
TARGET GW_INLINE void add_row_blocks(const float *m, size_t height, size_t columns, size_t count,
                                     const float *p, size_t p_rows, size_t width, float *totals) {
    for (size_t row = 0; row < height; row += BLOCK_ROWS) {
        const float *at = m + row * columns;
        if (height - row >= BLOCK_ROWS) {
            add_rows(at, BLOCK_ROWS, columns, count, p + row, p_rows, width, totals);
        } else {
            add_rows(at, height - row, columns, count, p + row, p_rows, width, totals);
        }
    }
}

TARGET static void multiply_transposed(const float *m, size_t rows, size_t columns, size_t count,
                                       const float *p, size_t rank, float *q) {
    float totals[4 * GW_LOW_RANK_COLUMNS];
    for (size_t row = 0; row < rows; row += GW_LOW_RANK_ROWS) {
        const float *at = m + row * columns;
        size_t height = rows - row < GW_LOW_RANK_ROWS ? rows - row : GW_LOW_RANK_ROWS;
        for (size_t w = 0; w < rank;) {
            size_t width = rank - w >= 4 ? 4 : rank - w >= 2 ? 2 : 1;
            memset(totals, 0, width * GW_LOW_RANK_COLUMNS * sizeof *totals);
            if (width == 4) {
                add_row_blocks(at, height, columns, count, p + w * rows + row, rows, 4, totals);
            } else if (width == 2) {
                add_row_blocks(at, height, columns, count, p + w * rows + row, rows, 2, totals);
            } else {
                add_row_blocks(at, height, columns, count, p + w * rows + row, rows, 1, totals);
            }
            for (size_t i = 0; i < width; i++, w++) {
                const float *from = totals + i * GW_LOW_RANK_COLUMNS;
                float *to = q + w * columns;
                for (size_t j = 0; j < count; j++) {
                    to[j] = row == 0 ? from[j] : to[j] + from[j];
                }
            }
        }
    }
}

/*
 * out = times p q^T, and u -= p q^T, of `rows` rows; p begins at the first of them. Copies what it
 * needs of both factors side by side: where they stand, their columns can be a power of two apart,
 * and a cache holds few such lines.
 */
TARGET static void subtract_product(float *u, size_t rows, size_t columns, const float *p,
                                    size_t p_rows, const float *q, size_t rank, float times,
                                    float *out) {
    enum { NEAR = 4096 }; /* half of a first-level cache */
    float of_row[GW_LOW_RANK_MOST];
    float near[NEAR];
    const size_t span = NEAR / rank / 8 * 8;
    for (size_t first = 0; first < columns; first += span) {
        size_t count = columns - first < span ? columns - first : span;
        for (size_t w = 0; w < rank; w++) {
            memcpy(near + w * span, q + w * columns + first, count * sizeof *q);
        }
        for (size_t row = 0; row < rows; row++) {
            float *from = u + row * columns + first;
            float *to = out + row * columns + first;
            for (size_t w = 0; w < rank; w++) {
                of_row[w] = p[w * p_rows + row];
            }
            size_t j = 0;
            for (; j + 8 <= count; j += 8) {
                eight sum = EIGHT_OF(near + j) * of_row[0];
                for (size_t w = 1; w < rank; w++) {
                    sum += EIGHT_OF(near + w * span + j) * of_row[w];
                }
                EIGHT_AT(to + j) = sum * times;
                EIGHT_AT(from + j) = EIGHT_OF(from + j) - sum;
            }
            for (; j < count; j++) {
                float sum = near[j] * of_row[0];
                for (size_t w = 1; w < rank; w++) {
                    sum += near[w * span + j] * of_row[w];
                }
                to[j] = sum * times;
                from[j] -= sum;
            }
        }
    }
}

#define LOW_RANK_LOOPS                                                                             \
    { multiply, multiply_transposed, subtract_product }
