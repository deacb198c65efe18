/*
 * Layer dropping: means of layers, and the choice of the layers that are sent (kernels/layers.h).
 */
#include "kernels/layers.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/arithmetic.h"

/* ---- means --------------------------------------------------------------------------------- */

enum gw_status gw_layers_means(const float *u, const size_t *sizes, size_t layers, double *means,
                               struct gw_error *error) {
    for (size_t layer = 0; layer < layers; layer++) {
        double sum = gw_sum_magnitudes(u, sizes[layer]);
        if (isnan(sum)) {
            size_t i = 0;
            while (!isnan(u[i])) {
                i++;
            }
            return gw_fail(error, GW_BAD_INPUT,
                           "element %zu of layer %zu: expected a number or an infinity, got NaN", i,
                           layer);
        }
        means[layer] = sum / (double)sizes[layer];
        u += sizes[layer];
    }
    return GW_OK;
}

/* ---- threshold ----------------------------------------------------------------------------- */

struct layer {
    double mean;
    size_t size;
};

static int by_mean(const void *left, const void *right) {
    double a = ((const struct layer *)left)->mean;
    double b = ((const struct layer *)right)->mean;
    return (a > b) - (a < b);
}

enum gw_status gw_layers_threshold(const double *means, const size_t *sizes, size_t layers,
                                   double ratio, double *threshold, struct gw_error *error) {
    if (!(ratio >= 0 && ratio <= 1)) {
        return gw_fail(error, GW_BAD_INPUT, "ratio to drop: expected 0 to 1, got %g", ratio);
    }
    struct layer *sorted = malloc(layers * sizeof *sorted);
    if (sorted == NULL) {
        return gw_fail_memory(error, "sorting layers");
    }
    size_t total = 0;
    for (size_t i = 0; i < layers; i++) {
        sorted[i] = (struct layer){.mean = means[i], .size = sizes[i]};
        total += sizes[i];
    }
    qsort(sorted, layers, sizeof *sorted, by_mean);
    size_t i = 0;
    size_t dropped = sorted[0].size;
    while (i + 1 < layers && (double)dropped <= ratio * (double)total) {
        dropped += sorted[++i].size;
    }
    *threshold = sorted[i].mean;
    free(sorted);
    return GW_OK;
}

size_t gw_layers_choose(const double *means, const size_t *sizes, size_t layers, double threshold,
                        bool *sent) {
    size_t elements = 0;
    for (size_t i = 0; i < layers; i++) {
        sent[i] = means[i] >= threshold;
        elements += sent[i] ? sizes[i] : 1;
    }
    return elements;
}
