/* Memory of selections and workspaces. */
#include <stdlib.h>

#include "kernels/cpu/collect.h"
#include "kernels/kernels.h"

enum gw_status gw_selection_reserve(struct gw_selection *selection, size_t capacity,
                                    struct gw_error *error) {
    if (capacity <= selection->capacity) {
        return GW_OK;
    }
    struct gw_entry *entries = realloc(selection->entries, capacity * sizeof *entries);
    if (entries == NULL) {
        return gw_fail_memory(error, "making room for a selection");
    }
    selection->entries = entries;
    selection->capacity = capacity;
    return GW_OK;
}

void gw_selection_free(struct gw_selection *selection) {
    free(selection->entries);
    *selection = (struct gw_selection){0};
}

/* Replaces a block of memory that is too small. Loses its contents. */
static enum gw_status reserve_scratch(void **memory, size_t *capacity, size_t count, size_t size,
                                      struct gw_error *error) {
    if (count <= *capacity) {
        return GW_OK;
    }
    free(*memory);
    *capacity = 0;
    *memory = malloc(count * size);
    if (*memory == NULL) {
        return gw_fail_memory(error, "making room for a selection");
    }
    *capacity = count;
    return GW_OK;
}

enum gw_status gw_workspace_reserve(struct gw_workspace *workspace, size_t bytes,
                                    struct gw_error *error) {
    return reserve_scratch(&workspace->memory, &workspace->capacity, bytes, 1, error);
}

enum gw_status gw_workspace_reserve_sample(struct gw_workspace *workspace, size_t count,
                                           struct gw_error *error) {
    void *sample = workspace->sample;
    enum gw_status status =
        reserve_scratch(&sample, &workspace->sample_capacity, count, sizeof(float), error);
    workspace->sample = sample;
    return status;
}

enum gw_status gw_workspace_reserve_parts(struct gw_workspace *workspace, size_t count,
                                          struct gw_error *error) {
    if (count <= workspace->part_count) {
        return GW_OK;
    }
    struct gw_selection *parts = realloc(workspace->parts, count * sizeof *parts);
    if (parts == NULL) {
        return gw_fail_memory(error, "sharing a selection among threads");
    }
    workspace->parts = parts;
    while (workspace->part_count < count) {
        parts[workspace->part_count++] = (struct gw_selection){0};
    }
    return GW_OK;
}

void gw_workspace_free(struct gw_workspace *workspace) {
    for (size_t i = 0; i < workspace->part_count; i++) {
        gw_selection_free(&workspace->parts[i]);
    }
    free(workspace->parts);
    free(workspace->sample);
    free(workspace->memory);
    *workspace = (struct gw_workspace){0};
}

void gw_scatter_add(const struct gw_entry *entries, size_t count, float *dense) {
    for (size_t i = 0; i < count; i++) {
        dense[entries[i].index] += entries[i].value;
    }
}
