#include "kernels/low_rank.h"

#include <stdlib.h>

#include "core/system.h"
#include "kernels/cpu/collect.h"
#include "kernels/cpu/scan.h"

enum { PIECE_ELEMENTS = 1 << 16 /* of a matrix, that a thread multiplies at a time, about */ };

/* ---- work that threads share ---------------------------------------------------------------- */

struct work {
    struct gw_low_rank *group;
    const struct gw_task *task;
    float times, *out;
    size_t (*pieces)(const struct gw_low_rank_matrix *matrix);
};

static size_t rows_of_piece(const struct gw_low_rank_matrix *matrix) {
    size_t rows = PIECE_ELEMENTS / matrix->columns + 1;
    return rows + rows % 2; /* whole pairs, which are multiplied together */
}

static size_t row_pieces(const struct gw_low_rank_matrix *matrix) {
    return (matrix->rows - 1) / rows_of_piece(matrix) + 1;
}

static size_t column_pieces(const struct gw_low_rank_matrix *matrix) {
    return gw_low_rank_tiles(matrix->columns, GW_LOW_RANK_COLUMNS);
}

static size_t whole_matrix(const struct gw_low_rank_matrix *matrix) {
    return matrix->columns > 0 ? 1 : 0;
}

static void share(struct work *work, void (*run)(size_t part, void *context)) {
    size_t count = 0;
    for (size_t i = 0; i < work->group->matrix_count; i++) {
        count += work->pieces(&work->group->matrices[i]);
    }
    gw_parallel(count, work->task->threads, run, work);
}

/* The matrix of a part, and the number of the piece in it. */
static const struct gw_low_rank_matrix *find_piece(const struct work *work, size_t part,
                                                   size_t *piece) {
    const struct gw_low_rank_matrix *matrix = work->group->matrices;
    for (; part >= work->pieces(matrix); matrix++) {
        part -= work->pieces(matrix);
    }
    *piece = part;
    return matrix;
}

/* ---- the first product ---------------------------------------------------------------------- */

/* Fills columns of q that are zero. */
static void begin_columns(size_t part, void *context) {
    const struct work *work = context;
    size_t piece = 0;
    const struct gw_low_rank_matrix *matrix = find_piece(work, part, &piece);
    uint64_t key = gw_mix_pair(work->group->seed, work->task->iteration);
    for (size_t w = 0; w < work->group->rank; w++) {
        float *column = work->group->q + matrix->q + w * matrix->columns;
        if (gw_scan()->largest(column, matrix->columns) > 0) {
            continue;
        }
        for (size_t j = 0; j < matrix->columns; j++) {
            column[j] = gw_draw_normal(key, matrix->q + w * matrix->columns + j);
        }
    }
}

static void multiply_piece(size_t part, void *context) {
    const struct work *work = context;
    const struct gw_low_rank *group = work->group;
    size_t piece = 0;
    const struct gw_low_rank_matrix *matrix = find_piece(work, part, &piece);
    size_t first = piece * rows_of_piece(matrix);
    size_t left = matrix->rows - first;
    gw_scan()->low_rank.multiply(work->task->u + matrix->first + first * matrix->columns,
                                 left < rows_of_piece(matrix) ? left : rows_of_piece(matrix),
                                 matrix->columns, group->q + matrix->q, group->rank,
                                 group->p + matrix->p + first, matrix->rows);
}

/* Copies the elements between the matrices, one range after the other: from u to raw, or back to
 * `out`, where u becomes 0. */
static void copy_raw(struct gw_low_rank *group, float *u, float *out) {
    size_t done = 0;
    size_t from = 0;
    for (size_t i = 0; i <= group->matrix_count; i++) {
        const struct gw_low_rank_matrix *matrix = &group->matrices[i];
        size_t end = i < group->matrix_count ? matrix->first : group->elements;
        size_t bytes = (end - from) * sizeof *u;
        if (out == NULL) {
            memcpy(group->raw + done, u + from, bytes);
        } else {
            memcpy(out + from, group->raw + done, bytes);
            memset(u + from, 0, bytes);
        }
        done += end - from;
        from = i < group->matrix_count ? end + matrix->rows * matrix->columns : end;
    }
}

enum gw_status gw_low_rank_project(struct gw_low_rank *group, const struct gw_task *task,
                                   struct gw_error *error) {
    struct work work = {.group = group, .task = task, .pieces = whole_matrix};
    GW_TRY(gw_accumulate(task, 0, task->n, error));
    share(&work, begin_columns);
    work.pieces = row_pieces;
    share(&work, multiply_piece);
    copy_raw(group, task->u, NULL);
    /* a product with a NaN or an infinity is not finite either */
    if (gw_scan()->largest(group->p, group->p_count) < GW_INFINITE &&
        gw_scan()->largest(group->raw, group->raw_count) < GW_INFINITE) {
        return GW_OK;
    }
    size_t first = 0;
    while (first < task->n && gw_magnitude(task->u[first]) < GW_INFINITE) {
        first++;
    }
    return gw_fail_unfactored(group, first, error);
}

enum gw_status gw_fail_unfactored(const struct gw_low_rank *group, uint64_t first,
                                  struct gw_error *error) {
    return gw_fail(error, GW_BAD_INPUT,
                   first < group->elements
                       ? "element %llu: expected a number, got NaN or an infinity"
                       : "%llu elements: expected smaller ones, got an infinite product",
                   (unsigned long long)first);
}

/* ---- orthonormal columns, and the second product -------------------------------------------- */

static double dot(const double *a, const double *b, size_t n) {
    double sums[GW_LOW_RANK_SUMS] = {0};
    for (size_t first = 0; first < n; first += GW_LOW_RANK_SUMS) {
        size_t count = n - first < GW_LOW_RANK_SUMS ? n - first : GW_LOW_RANK_SUMS;
        for (size_t i = 0; i < count; i++) {
            sums[i] += a[first + i] * b[first + i];
        }
    }
    return gw_add_in_halves(sums, GW_LOW_RANK_SUMS);
}

static void subtract(double *a, const double *b, double factor, size_t n) {
    for (size_t i = 0; i < n; i++) {
        a[i] -= factor * b[i];
    }
}

/* Modified Gram-Schmidt, twice for each column, which is enough in double precision; a column of
 * which no more than rounding is left becomes 0. */
static void orthogonalise(size_t part, void *context) {
    const struct work *work = context;
    size_t piece = 0;
    const struct gw_low_rank_matrix *matrix = find_piece(work, part, &piece);
    size_t rows = matrix->rows;
    float *p = work->group->p + matrix->p;
    double *all = (double *)work->group->scratch + matrix->p;
    for (size_t w = 0; w < work->group->rank; w++) {
        double *column = all + w * rows;
        for (size_t i = 0; i < rows; i++) {
            column[i] = (double)p[w * rows + i];
        }
        double before = sqrt(dot(column, column, rows));
        for (size_t other = 0; other < 2 * w; other++) {
            const double *earlier = all + other % w * rows;
            subtract(column, earlier, dot(column, earlier, rows), rows);
        }
        double norm = sqrt(dot(column, column, rows));
        double scale = norm > 1e-6 * before ? 1 / norm : 0;
        for (size_t i = 0; i < rows; i++) {
            column[i] *= scale;
            p[w * rows + i] = (float)column[i];
        }
    }
}

static void sum_piece(size_t part, void *context) {
    const struct work *work = context;
    const struct gw_low_rank *group = work->group;
    size_t piece = 0;
    const struct gw_low_rank_matrix *matrix = find_piece(work, part, &piece);
    size_t first = piece * GW_LOW_RANK_COLUMNS;
    size_t left = matrix->columns - first;
    gw_scan()->low_rank.multiply_transposed(
        work->task->u + matrix->first + first, matrix->rows, matrix->columns,
        left < GW_LOW_RANK_COLUMNS ? left : GW_LOW_RANK_COLUMNS, group->p + matrix->p, group->rank,
        group->q + matrix->q + first);
}

void gw_low_rank_factor(struct gw_low_rank *group, const struct gw_task *task) {
    struct work work = {.group = group, .task = task, .pieces = whole_matrix};
    share(&work, orthogonalise);
    work.pieces = column_pieces;
    share(&work, sum_piece);
}

/* ---- decompression -------------------------------------------------------------------------- */

static void subtract_piece(size_t part, void *context) {
    const struct work *work = context;
    const struct gw_low_rank *group = work->group;
    size_t piece = 0;
    const struct gw_low_rank_matrix *matrix = find_piece(work, part, &piece);
    size_t first = piece * rows_of_piece(matrix);
    size_t left = matrix->rows - first;
    size_t at = matrix->first + first * matrix->columns;
    gw_scan()->low_rank.subtract_product(
        work->task->u + at, left < rows_of_piece(matrix) ? left : rows_of_piece(matrix),
        matrix->columns, group->p + matrix->p + first, matrix->rows, group->q + matrix->q,
        group->rank, work->times, work->out + at);
}

void gw_low_rank_expand(struct gw_low_rank *group, const struct gw_task *task, float times,
                        float *out) {
    struct work work = {
        .group = group, .task = task, .times = times, .out = out, .pieces = row_pieces};
    share(&work, subtract_piece);
    copy_raw(group, task->u, out);
}
