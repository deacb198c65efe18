/*
 * Times of PowerSGD's steps (kernels/low_rank.h) for matrices of given shapes, on one processor, to
 * lay beside those of a BLAS library's two products of the same shapes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kernels/low_rank.h"
#include "process.h"

static const char *const usage = "usage: low_rank RANK ROWS COLUMNS [ROWS COLUMNS]...\n"
                                 "\n"
                                 "Prints for each shape the least of 15 times: of P = M Q, of "
                                 "making its columns orthonormal and\n"
                                 "Q = M^T P, and of decompression; and of a pass over M.\n";

enum { REPEATS = 15 };

static double least(double before, double began_s) {
    double took_s = gw_clock_now_s() - began_s;
    return before == 0 || took_s < before ? took_s : before;
}

static void measure_shape(size_t rank, size_t rows, size_t columns) {
    size_t n = rows * columns;
    double seconds[4] = {0};
    struct gw_low_rank group;
    struct gw_workspace workspace = {0};
    struct gw_error error = {0};
    float *u = calloc(2 * n, sizeof *u);
    struct gw_task task = {.u = u, .n = n, .workspace = &workspace};
    if (u == NULL || gw_low_rank_open(&n, &rows, 1, rank, 1, NULL, &group, &error) != GW_OK ||
        gw_gradient_fill(u, n, 1, 1, 1, &error) != GW_OK) {
        bench_give_up("low_rank", error.message);
    }
    for (int i = 0; i < REPEATS; i++, task.iteration++) {
        double began_s = gw_clock_now_s();
        volatile float sum = gw_read_pass(u, n);
        (void)sum;
        seconds[0] = least(seconds[0], began_s);
        began_s = gw_clock_now_s();
        if (gw_low_rank_project(&group, &task, &error) != GW_OK) {
            bench_give_up("low_rank", error.message);
        }
        seconds[1] = least(seconds[1], began_s);
        began_s = gw_clock_now_s();
        gw_low_rank_factor(&group, &task);
        seconds[2] = least(seconds[2], began_s);
        began_s = gw_clock_now_s();
        gw_low_rank_expand(&group, &task, 1, u + n);
        seconds[3] = least(seconds[3], began_s);
    }
    printf("%zu x %zu: pass %.3f ms, P = M Q %.3f ms, Q = M^T P %.3f ms, P Q^T %.3f ms\n", rows,
           columns, 1e3 * seconds[0], 1e3 * seconds[1], 1e3 * seconds[2], 1e3 * seconds[3]);
    gw_low_rank_close(&group);
    gw_workspace_free(&workspace);
    free(u);
}

int main(int count, char **arguments) {
    if (count < 4 || count % 2 != 0) {
        (void)fputs(usage, stderr);
        return 2;
    }
    for (int i = 2; i + 1 < count; i += 2) {
        measure_shape(strtoul(arguments[1], NULL, 10), strtoul(arguments[i], NULL, 10),
                      strtoul(arguments[i + 1], NULL, 10));
    }
    return 0;
}
