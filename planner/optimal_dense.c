/*
 * Dense exchange on a straight curve. Let T(q) be the earliest time at which everything before
 * position q can have been exchanged, R(q) the time at which it is ready and N(q) its elements:
 *
 *     T(q) = alpha + beta N(q) + min over p < q of max(T(p), R(q)) - beta N(p).
 *
 * T and R never fall. Where T(p) <= R(q), the last such p is best; beyond it the least of
 * T(p) - beta N(p) is that of a window whose ends only move on, so that a queue of candidates finds
 * it. Then, of all plans that take T(L), the one with the fewest groups: from the last tensor back,
 * each group as long as it can be (docs/optimal-merging.md).
 */
#include "planner/optimal_dense.h"

#include <math.h>
#include <stdlib.h>

/* Sums of the same times in another order differ in their last digits. */
static const double rounding = 1e-12;

struct positions {
    size_t tensors;
    double alpha_s;
    double *ready_s;    /* [tensors + 1]: R */
    double *transfer_s; /* [tensors + 1]: beta N */
    double *end_s;      /* [tensors + 1]: T */
    size_t *queue;      /* [tensors + 1] */
};

bool gw_optimal_is_dense(const struct gw_planning *planning) {
    return planning->compress == NULL && planning->exchange->point_count == 0 &&
           planning->exchange->per_nlog2n_s == 0;
}

static double earliest_end_s(struct positions *x) {
    size_t ready = 0; /* the last position whose exchange ends before the next one is ready */
    size_t head = 0;
    size_t tail = 0;
    for (size_t q = 1; q <= x->tensors; q++) {
        while (ready + 1 < q && x->end_s[ready + 1] <= x->ready_s[q]) {
            ready++;
        }
        while (head < tail && x->queue[head] <= ready) {
            head++;
        }
        double best = x->ready_s[q] - x->transfer_s[ready];
        if (head < tail) {
            size_t p = x->queue[head];
            best = fmin(best, x->end_s[p] - x->transfer_s[p]);
        }
        x->end_s[q] = x->alpha_s + x->transfer_s[q] + best;
        double left = x->end_s[q] - x->transfer_s[q];
        while (head < tail &&
               x->end_s[x->queue[tail - 1]] - x->transfer_s[x->queue[tail - 1]] >= left) {
            tail--;
        }
        x->queue[tail++] = q;
    }
    return x->end_s[x->tensors];
}

static void mark_fewest(const struct positions *x, double end_s, bool *ends) {
    double limit_s = end_s * (1 + rounding);
    double after_s = 0; /* of the exchanges behind the group */
    for (size_t q = x->tensors; q > 0;) {
        size_t p = q - 1;
        double latest_s = limit_s - x->ready_s[q] - x->alpha_s - after_s;
        while (p > 0 && x->transfer_s[q] - x->transfer_s[p - 1] <= latest_s) {
            p--;
        }
        ends[x->tensors - q] = true;
        after_s += x->alpha_s + x->transfer_s[q] - x->transfer_s[p];
        q = p;
    }
}

enum gw_status gw_optimal_dense(const struct gw_planning *planning, bool *ends,
                                struct gw_error *error) {
    const struct gw_model *model = planning->model;
    size_t count = model->tensor_count;
    struct positions x = {.tensors = count,
                          .alpha_s = planning->exchange->fixed_s,
                          .ready_s = calloc(count + 1, sizeof *x.ready_s),
                          .transfer_s = calloc(count + 1, sizeof *x.transfer_s),
                          .end_s = calloc(count + 1, sizeof *x.end_s),
                          .queue = calloc(count + 1, sizeof *x.queue)};
    enum gw_status status = GW_OK;
    if (x.ready_s == NULL || x.transfer_s == NULL || x.end_s == NULL || x.queue == NULL) {
        status = gw_fail_memory(error, "planning");
    } else {
        uint64_t elements = 0;
        x.ready_s[0] = model->forward_s;
        for (size_t p = 0; p < count; p++) {
            const struct gw_tensor *tensor = &model->tensors[count - 1 - p];
            elements += tensor->elements;
            x.ready_s[p + 1] = x.ready_s[p] + tensor->backward_s;
            x.transfer_s[p + 1] =
                planning->exchange->per_unit_s * (double)gw_planning_bytes(planning, elements);
        }
        mark_fewest(&x, earliest_end_s(&x), ends);
    }
    free(x.ready_s);
    free(x.transfer_s);
    free(x.end_s);
    free(x.queue);
    return status;
}
