/*
 * Exact top-k in little more than one pass over u. A sample gives a threshold that somewhat more
 * than k elements should reach; the pass collects those in index order; a radix selection among
 * them takes the best k. No input can break this, only slow it down by a constant factor. If the
 * sample is too low, too many are collected; then the best k stay, and the threshold rises above
 * the worst of them: as many must come again before that work is repeated. If the sample is too
 * high, fewer than k are collected; then the pass is repeated with threshold 0.
 */
#include "kernels/cpu/topk.h"

#include "kernels/cpu/collect.h"
#include "kernels/cpu/sample.h"

static enum gw_status select_topk(const struct gw_task *task, struct gw_selection *out,
                                  struct gw_error *error) {
    struct gw_collection pass = {.key = 0};
    struct gw_sample whole = {.end = task->n, .adding = true};
    GW_TRY(gw_sample_magnitude(task, &whole, &pass.magnitude, error));
    GW_TRY(gw_collect_best(task, &pass, task->k, out, error));
    (void)gw_keep_largest(out, task->k);
    return GW_OK;
}

const struct gw_kernel gw_kernel_topk = {
    .select = select_topk,
    .reference = gw_topk_reference,
};
