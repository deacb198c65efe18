/* Groups of PowerSGD's factors in either memory, and as a compressor's state. */
#include "kernels/low_rank.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/arithmetic.h"
#include "kernels/compressors.h"

/* ---- groups -------------------------------------------------------------------------------- */

enum gw_status gw_low_rank_open(const size_t *sizes, const size_t *rows, size_t tensors,
                                size_t rank, uint64_t seed, const struct gw_memory *memory,
                                struct gw_low_rank *out, struct gw_error *error) {
    struct gw_low_rank_matrix next = {0};
    *out = (struct gw_low_rank){.rank = rank, .seed = seed};
    out->matrices = calloc(tensors + 1, sizeof *out->matrices);
    if (out->matrices == NULL) {
        return gw_fail_memory(error, "opening PowerSGD");
    }
    for (size_t i = 0; i < tensors; i++) {
        size_t columns = rows[i] < 2 ? 0 : sizes[i] / rows[i];
        if (gw_low_rank_compresses(rows[i], columns, rank)) {
            size_t across = gw_low_rank_tiles(columns, GW_LOW_RANK_COLUMNS);
            size_t down = gw_low_rank_tiles(rows[i], GW_LOW_RANK_ROWS);
            next.rows = rows[i];
            next.columns = columns;
            out->matrices[out->matrix_count++] = next;
            next.p += rank * rows[i];
            next.q += rank * columns;
            next.tile += across * down;
            next.p_sums += across * rank * rows[i];
            next.q_sums += down * rank * columns;
        } else {
            next.raw += sizes[i];
        }
        next.first += sizes[i];
    }
    out->matrices[out->matrix_count] = next;
    out->elements = next.first;
    out->raw_count = next.raw;
    out->p_count = next.p;
    out->q_count = next.q;
    bool on_gpu = memory != NULL && memory->stream != NULL;
    size_t sums = next.p_sums > next.q_sums ? next.p_sums : next.q_sums;
    size_t scratch = next.p * sizeof(double);
    size_t partial = on_gpu ? sums * sizeof(float) : 0;
    const size_t bytes[] = {next.raw * sizeof(float), next.p * sizeof(float),
                            next.q * sizeof(float), scratch > partial ? scratch : partial,
                            on_gpu ? (out->matrix_count + 1) * sizeof next : 0};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        /* one more: nothing may be compressed, or all of it */
        GW_TRY(gw_buffer_reserve(&out->buffers[i], memory, bytes[i] + sizeof(double), error));
    }
    out->raw = out->buffers[0].memory;
    out->p = out->buffers[1].memory;
    out->q = out->buffers[2].memory;
    out->scratch = out->buffers[3].memory;
    out->found = out->buffers[4].memory;
    return on_gpu
               ? memory->does->write(memory, out->buffers[4].memory, out->matrices, bytes[4], error)
               : GW_OK;
}

void gw_low_rank_close(struct gw_low_rank *group) {
    free(group->matrices);
    for (size_t i = 0; i < sizeof group->buffers / sizeof *group->buffers; i++) {
        gw_buffer_free(&group->buffers[i]);
    }
    *group = (struct gw_low_rank){0};
}

/* ---- as a compressor's state ---------------------------------------------------------------- */

/* A task without rows is a matrix as square as can be, and a rest. */
static enum gw_status open_group(const struct gw_task *task, void **state, struct gw_error *error) {
    size_t rows = (size_t)sqrt((double)task->n);
    const size_t sizes[2] = {rows * (task->n / rows), task->n % rows};
    const size_t square_rows[2] = {rows, 0};
    bool square = task->rows == NULL;
    *state = calloc(1, sizeof(struct gw_low_rank));
    return *state == NULL
               ? gw_fail_memory(error, "opening PowerSGD")
               : gw_low_rank_open(square ? sizes : task->layers, square ? square_rows : task->rows,
                                  square ? 2 : task->layer_count, task->rank, task->seed,
                                  task->memory, *state, error);
}

static void close_group(void *state) {
    gw_low_rank_close(state);
    free(state);
}

static struct gw_kept find_warm_start(void *state) {
    const struct gw_low_rank *group = state;
    return (struct gw_kept){.memory = group->buffers[0].space,
                            .bytes = group->q_count * sizeof *group->q,
                            .at = group->q};
}

const struct gw_kernel gw_kernel_powersgd = {
    .open = open_group, .close = close_group, .kept = find_warm_start};
