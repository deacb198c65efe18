/* The memory of error feedback, and the scratch memory that selections share. */
#include "kernels/kernels.h"
#include "kernels/workspace.h"

#include <stdlib.h>

static void accumulate(float *restrict residual, const float *restrict gradient, size_t n) {
    for (size_t i = 0; i < n; i++) {
        residual[i] += gradient[i];
    }
}

enum gw_status gw_compress(const struct gw_compressor *compressor, const float *gradient,
                           float *residual, size_t n, size_t k, struct gw_workspace *workspace,
                           struct gw_entry *entries, struct gw_error *error) {
    accumulate(residual, gradient, n);
    GW_TRY(compressor->select(residual, n, k, workspace, entries, error));
    for (size_t i = 0; i < k; i++) {
        residual[entries[i].index] = 0;
    }
    return GW_OK;
}

void gw_scatter_add(const struct gw_entry *entries, size_t count, float *dense) {
    for (size_t i = 0; i < count; i++) {
        dense[entries[i].index] += entries[i].value;
    }
}

enum gw_status gw_workspace_reserve(struct gw_workspace *workspace, size_t bytes,
                                    struct gw_error *error) {
    if (bytes <= workspace->capacity) {
        return GW_OK;
    }
    gw_workspace_free(workspace);
    workspace->memory = malloc(bytes);
    if (workspace->memory == NULL) {
        return gw_fail_memory(error, "making room for a selection");
    }
    workspace->capacity = bytes;
    return GW_OK;
}

void gw_workspace_free(struct gw_workspace *workspace) {
    free(workspace->memory);
    *workspace = (struct gw_workspace){0};
}
