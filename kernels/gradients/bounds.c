#include "kernels/bounds.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* tails[i] becomes the sum of the i + 1 smallest squares; small ones first, so that they count. */
static enum gw_status sum_tails(const float *u, size_t n, double *tails, struct gw_error *error) {
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(u[i])) {
            return gw_fail(error, GW_BAD_INPUT,
                           "element %zu of %zu: expected a finite number, got %g", i, n,
                           (double)u[i]);
        }
        tails[i] = (double)u[i] * (double)u[i];
    }
    qsort(tails, n, sizeof *tails, ascending);
    for (size_t i = 1; i < n; i++) {
        tails[i] += tails[i - 1];
    }
    return GW_OK;
}

enum gw_status gw_bounds(const float *u, size_t n, const size_t *ks, size_t count,
                         struct gw_bounds *out, struct gw_error *error) {
    double *tails = malloc(n * sizeof *tails);
    if (tails == NULL) {
        return gw_fail_memory(error, "sorting a gradient");
    }
    enum gw_status status = sum_tails(u, n, tails, error);
    for (size_t i = 0; status == GW_OK && i < count; i++) {
        double total = tails[n - 1];
        double left = ks[i] == n ? 0 : tails[n - ks[i] - 1];
        double random = (double)(n - ks[i]) / (double)n;
        out[i] = (struct gw_bounds){
            .topk = total > 0 ? left / total : 0,
            .random = random,
            .proven = random * random,
        };
    }
    free(tails);
    return status;
}
