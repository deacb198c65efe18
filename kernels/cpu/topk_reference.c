/* Top-k as one would define it: sort by |u|, take the first k. */
#include "kernels/cpu/topk.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/threshold.h"

static int by_index(const void *left, const void *right) {
    uint32_t a = ((const struct gw_entry *)left)->index;
    uint32_t b = ((const struct gw_entry *)right)->index;
    return (a > b) - (a < b);
}

static int by_magnitude(const void *left, const void *right) {
    float a = fabsf(((const struct gw_entry *)left)->value);
    float b = fabsf(((const struct gw_entry *)right)->value);
    return a != b ? (a < b) - (a > b) : by_index(left, right);
}

void gw_topk_keep_reference(struct gw_selection *selection, size_t k) {
    qsort(selection->entries, selection->count, sizeof *selection->entries, by_magnitude);
    selection->count = k < selection->count ? k : selection->count;
    qsort(selection->entries, selection->count, sizeof *selection->entries, by_index);
}

enum gw_status gw_topk_reference(const struct gw_task *task, struct gw_selection *out,
                                 struct gw_error *error) {
    GW_TRY(gw_threshold_select_reference(task, 0, true, out, error));
    gw_topk_keep_reference(out, task->k);
    return GW_OK;
}
