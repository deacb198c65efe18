/*
 * A lower bound on the iteration time over all 2^(L-1) plans, from two relaxations. Write a plan's
 * groups as g = 1..m, with compression c_g, exchange e_g, and R_g the time at which backward has
 * come to the end of group g if nothing were compressed. The communication clock ends no earlier
 * than the later of two times:
 *
 *     A:  R_m + (c_1 + ... + c_m) + e_m   the last exchange follows all compute and compression;
 *     B:  R_1 + c_1 + (e_1 + ... + e_m)   the stream is serial, and waits for the first group.
 *
 * Each is minimised exactly over all plans by dynamic programming over prefixes (A) or suffixes (B)
 * of the tensors in ready order; the larger of two minima bounds the minimum of the larger. No
 * property of the curves is used beyond their being >= 0.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "planner/planner.h"

struct prefixes {
    size_t count;       /* tensors; position p has p of them ready */
    uint64_t *elements; /* count + 1 sums */
    double *ready_s;    /* count + 1: R */
    double *least_s;    /* count + 1: of compression before, or of exchange after, a position */
};

static enum gw_status prefixes_create(const struct gw_model *model, struct prefixes *out,
                                      struct gw_error *error) {
    size_t count = model->tensor_count;
    *out = (struct prefixes){.count = count,
                             .elements = calloc(count + 1, sizeof *out->elements),
                             .ready_s = calloc(count + 1, sizeof *out->ready_s),
                             .least_s = calloc(count + 1, sizeof *out->least_s)};
    if (out->elements == NULL || out->ready_s == NULL || out->least_s == NULL) {
        return gw_fail_memory(error, "bounding plans");
    }
    out->ready_s[0] = model->forward_s;
    for (size_t p = 0; p < count; p++) {
        const struct gw_tensor *tensor = &model->tensors[count - 1 - p];
        out->elements[p + 1] = out->elements[p] + tensor->elements;
        out->ready_s[p + 1] = out->ready_s[p] + tensor->backward_s;
    }
    return GW_OK;
}

static double minimum_a(const struct gw_planning *planning, const struct prefixes *x) {
    double best = INFINITY;
    x->least_s[0] = 0;
    for (size_t end = 1; end <= x->count; end++) {
        x->least_s[end] = INFINITY;
        for (size_t start = 0; start < end; start++) {
            uint64_t n = x->elements[end] - x->elements[start];
            double compressed = x->least_s[start] + gw_planning_compress_s(planning, n);
            x->least_s[end] = fmin(x->least_s[end], compressed);
            if (end == x->count) {
                best = fmin(best, compressed + gw_planning_exchange_s(planning, n));
            }
        }
    }
    return x->ready_s[x->count] + best;
}

static double minimum_b(const struct gw_planning *planning, const struct prefixes *x) {
    double best = INFINITY;
    x->least_s[x->count] = 0;
    for (size_t start = x->count; start-- > 0;) {
        x->least_s[start] = INFINITY;
        for (size_t end = start + 1; end <= x->count; end++) {
            uint64_t n = x->elements[end] - x->elements[start];
            double exchanged = gw_planning_exchange_s(planning, n) + x->least_s[end];
            x->least_s[start] = fmin(x->least_s[start], exchanged);
            if (start == 0) {
                best =
                    fmin(best, x->ready_s[end] + gw_planning_compress_s(planning, n) + exchanged);
            }
        }
    }
    return best;
}

enum gw_status gw_planning_lower_bound_s(const struct gw_planning *planning, double *out,
                                         struct gw_error *error) {
    struct prefixes x;
    enum gw_status status = prefixes_create(planning->model, &x, error);
    if (status == GW_OK) {
        double bound = fmax(minimum_a(planning, &x), minimum_b(planning, &x));
        /* The sums above and the arithmetic's round in different orders. */
        double slack = 4 * (double)(x.count + 2) * DBL_EPSILON;
        *out = (bound + planning->model->update_s) * (1 - slack);
    }
    free(x.elements);
    free(x.ready_s);
    free(x.least_s);
    return status;
}
