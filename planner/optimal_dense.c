/*
 * Dense exchange on a straight curve. Let T(q) be the earliest time at which everything before
 * position q can have been exchanged, R(q) the time at which it is ready and N(q) its elements:
 *
 *     T(q) = alpha + beta N(q) + min over p < q of max(T(p), R(q)) - beta N(p).
 *
 * T and R never fall. Where T(p) <= R(q), the last such p is best; beyond it the least of
 * T(p) - beta N(p) is that of a window whose ends only move on, so that a queue of candidates finds
 * it. Then, of all plans that take T(L), the one with the fewest groups: from the last tensor back,
 * each group as long as it can be (docs/optimal-merging.md). Times are whole numbers of steps, so
 * that sums are exact in any order.
 */
#include "planner/optimal_dense.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

struct positions {
    size_t tensors;
    double step_s; /* the unit of all times here */
    double alpha;
    double *ready;    /* [tensors + 1]: R */
    double *transfer; /* [tensors + 1]: beta N */
    double *end;      /* [tensors + 1]: T */
    size_t *queue;    /* [tensors + 1] */
};

bool gw_optimal_is_dense(const struct gw_planning *planning) {
    return planning->compress == NULL && planning->legs == NULL &&
           planning->exchange->point_count == 0 && planning->exchange->per_nlog2n_s == 0;
}

static double earliest_end(struct positions *x) {
    size_t ready = 0; /* the last position whose exchange ends before the next one is ready */
    size_t head = 0;
    size_t tail = 0;
    for (size_t q = 1; q <= x->tensors; q++) {
        while (ready + 1 < q && x->end[ready + 1] <= x->ready[q]) {
            ready++;
        }
        while (head < tail && x->queue[head] <= ready) {
            head++;
        }
        double best = x->ready[q] - x->transfer[ready];
        if (head < tail) {
            size_t p = x->queue[head];
            best = fmin(best, x->end[p] - x->transfer[p]);
        }
        x->end[q] = x->alpha + x->transfer[q] + best;
        double left = x->end[q] - x->transfer[q];
        while (head < tail &&
               x->end[x->queue[tail - 1]] - x->transfer[x->queue[tail - 1]] >= left) {
            tail--;
        }
        x->queue[tail++] = q;
    }
    return x->end[x->tensors];
}

static void mark_fewest(const struct positions *x, double end, bool *ends) {
    double limit =
        end + (double)x->tensors; /* plans that are equal but for the rounding of alpha */
    double after = 0;             /* of the exchanges behind the group */
    for (size_t q = x->tensors; q > 0;) {
        size_t p = q - 1;
        double latest = limit - x->ready[q] - x->alpha - after;
        while (p > 0 && x->transfer[q] - x->transfer[p - 1] <= latest) {
            p--;
        }
        ends[x->tensors - q] = true;
        after += x->alpha + x->transfer[q] - x->transfer[p];
        q = p;
    }
}

static void measure(const struct gw_planning *planning, struct positions *x) {
    const struct gw_model *model = planning->model;
    uint64_t elements = 0;
    x->ready[0] = model->forward_s;
    for (size_t p = 0; p < x->tensors; p++) {
        const struct gw_tensor *tensor = &model->tensors[x->tensors - 1 - p];
        elements += tensor->elements;
        x->ready[p + 1] = x->ready[p] + tensor->backward_s;
        x->transfer[p + 1] =
            planning->exchange->per_unit_s * (double)gw_planning_bytes(planning, elements);
    }
    /* One group, which takes less than twice as long as the best plan, is less than 2^53 steps. */
    double single_s = x->ready[x->tensors] + planning->exchange->fixed_s + x->transfer[x->tensors];
    int exponent = 0;
    (void)frexp(fmin(single_s, DBL_MAX), &exponent);
    x->step_s = ldexp(1, exponent > -900 ? exponent - 53 : -953);
    x->alpha = ceil(planning->exchange->fixed_s / x->step_s);
    for (size_t p = 0; p <= x->tensors; p++) {
        x->ready[p] = ceil(x->ready[p] / x->step_s);
        x->transfer[p] = ceil(x->transfer[p] / x->step_s);
    }
}

enum gw_status gw_optimal_dense(const struct gw_planning *planning, bool *ends, double *least_s,
                                struct gw_error *error) {
    size_t count = planning->model->tensor_count;
    struct positions x = {.tensors = count,
                          .ready = calloc(count + 1, sizeof *x.ready),
                          .transfer = calloc(count + 1, sizeof *x.transfer),
                          .end = calloc(count + 1, sizeof *x.end),
                          .queue = calloc(count + 1, sizeof *x.queue)};
    enum gw_status status = GW_OK;
    if (x.ready == NULL || x.transfer == NULL || x.end == NULL || x.queue == NULL) {
        status = gw_fail_memory(error, "planning");
    } else {
        measure(planning, &x);
        double end = earliest_end(&x);
        mark_fewest(&x, end, ends);
        *least_s = (end - (double)count - 4) * x.step_s;
    }
    free(x.ready);
    free(x.transfer);
    free(x.end);
    free(x.queue);
    return status;
}
