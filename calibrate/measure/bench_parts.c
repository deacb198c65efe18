#include "calibrate/measure/bench_parts.h"

#include <math.h>

size_t gw_bench_count(const struct gw_bench *bench) {
    size_t count = 0;
    while (bench->compressors[count] != NULL) {
        count++;
    }
    return count;
}

double gw_bench_energy(const struct gw_selection *selection) {
    double sum = 0;
    for (size_t i = 0; i < selection->count; i++) {
        double value = selection->entries[i].value;
        sum += value * value;
    }
    return sum;
}

enum gw_status gw_bench_find_topk(struct gw_task *task, struct gw_selection *out, double *energy,
                                  struct gw_error *error) {
    GW_TRY(gw_kernel_of(&gw_compressor_topk)->select(task, out, error));
    double least = INFINITY;
    for (size_t i = 0; i < out->count; i++) {
        least = fmin(least, fabs((double)out->entries[i].value));
    }
    task->threshold = least;
    *energy = gw_bench_energy(out);
    return GW_OK;
}

void gw_bench_lay_out(struct gw_task *task, size_t *layers) {
    size_t count = task->n / task->k;
    for (size_t i = 0; i < count; i++) {
        layers[i] = task->n / count + (i + 1 == count ? task->n % count : 0);
    }
    task->layers = layers;
    task->layer_count = count;
}
