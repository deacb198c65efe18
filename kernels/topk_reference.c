/* Top-k as one would define it: sort by |u|, take the first k. */
#include "kernels/topk.h"
#include "kernels/workspace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

enum gw_status gw_topk_reference(const float *u, size_t n, size_t k, struct gw_workspace *workspace,
                                 struct gw_entry *entries, struct gw_error *error) {
    GW_TRY(gw_workspace_reserve(workspace, n * sizeof(struct gw_entry), error));
    struct gw_entry *all = workspace->memory;
    for (size_t i = 0; i < n; i++) {
        if (isnan(u[i])) {
            return gw_topk_fail_nan(i, n, error);
        }
        all[i] = (struct gw_entry){.value = u[i], .index = (uint32_t)i};
    }
    qsort(all, n, sizeof *all, by_magnitude);
    memcpy(entries, all, k * sizeof *all);
    qsort(entries, k, sizeof *entries, by_index);
    return GW_OK;
}
