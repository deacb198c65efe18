#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "library/library.h"

struct gradweave_compressor {
    const struct gw_compressor *compressor;
    struct gw_task task;
    struct gw_workspace workspace;
    struct gw_selection selection;
    size_t *layers;
    struct gradweave_entry *entries; /* [capacity] */
    size_t capacity;
};

const char *gradweave_compressor_name(size_t i) {
    for (size_t known = 0; gw_compressors[known] != NULL; known++) {
        if (gw_compressor_selects(gw_compressors[known]) && i-- == 0) {
            return gw_compressors[known]->name;
        }
    }
    return NULL;
}

static enum gw_status check_compression(const struct gradweave_compression *compression,
                                        const struct gw_compressor **compressor,
                                        struct gw_error *error) {
    size_t n = compression->elements;
    size_t k = compression->kept;
    const char *name = compression->compressor == NULL ? "" : compression->compressor;
    *compressor = gw_compressor_find(name);
    if (*compressor == NULL || !gw_compressor_selects(*compressor)) {
        char names[256] = "";
        const char *known = NULL;
        for (size_t i = 0, used = 0;
             (known = gradweave_compressor_name(i)) != NULL && used < sizeof names; i++) {
            used += (size_t)snprintf(names + used, sizeof names - used, "%s\"%s\"",
                                     i == 0 ? "" : " or ", known);
        }
        return gw_fail(error, GW_BAD_INPUT, "compressor: expected %s, got \"%s\"", names, name);
    }
    if (n == 0 || n > UINT32_MAX || k == 0 || k > n) {
        return gw_fail(error, GW_BAD_INPUT,
                       "elements, kept: expected 1 <= kept <= elements < 2^32, got %zu and %zu", n,
                       k);
    }
    if (compression->workers > UINT32_MAX) {
        return gw_fail(error, GW_BAD_INPUT, "workers: expected less than 2^32, got %zu",
                       compression->workers);
    }
    if (compression->worker > 0 && compression->worker >= compression->workers) {
        size_t workers = compression->workers > 0 ? compression->workers : 1;
        return gw_fail(error, GW_BAD_INPUT, "worker: expected one below %zu, got %zu", workers,
                       compression->worker);
    }
    if (!(compression->threshold >= 0)) {
        return gw_fail(error, GW_BAD_INPUT, "threshold: expected at least 0, got %g",
                       compression->threshold);
    }
    size_t sum = 0;
    for (size_t i = 0; i < compression->layer_count && compression->layers != NULL; i++) {
        size_t left = compression->elements - sum;
        if (compression->layers[i] == 0 || compression->layers[i] > left) {
            return gw_fail(error, GW_BAD_INPUT, "layers[%zu]: expected 1 to %zu elements, got %zu",
                           i, left, compression->layers[i]);
        }
        sum += compression->layers[i];
    }
    if (compression->layers != NULL && sum != compression->elements) {
        return gw_fail(error, GW_BAD_INPUT, "layers: expected %zu elements in all, got %zu",
                       compression->elements, sum);
    }
    return GW_OK;
}

static enum gw_status open_compressor(const struct gradweave_compression *compression,
                                      const struct gw_compressor *compressor,
                                      struct gradweave_compressor *opened, struct gw_error *error) {
    opened->compressor = compressor;
    opened->task = (struct gw_task){.n = compression->elements,
                                    .k = compression->kept,
                                    .worker = compression->worker,
                                    .workers = compression->workers,
                                    .seed = compression->seed,
                                    .threshold = compression->threshold,
                                    .threads = compression->threads,
                                    .workspace = &opened->workspace};
    if (compression->layers != NULL) {
        size_t bytes = compression->layer_count * sizeof *opened->layers;
        opened->layers = malloc(bytes);
        if (opened->layers == NULL) {
            return gw_fail_memory(error, "opening a compressor");
        }
        memcpy(opened->layers, compression->layers, bytes);
        opened->task.layers = opened->layers;
        opened->task.layer_count = compression->layer_count;
    }
    return gw_state_open(opened->compressor, &opened->task, &opened->task.state, error);
}

enum gradweave_status gradweave_compressor_open(const struct gradweave_compression *compression,
                                                struct gradweave_compressor **out,
                                                struct gradweave_error *error) {
    struct gw_error failure = {0};
    struct gradweave_compressor *opened = NULL;
    const struct gw_compressor *compressor = NULL;
    enum gw_status status = check_compression(compression, &compressor, &failure);
    if (status == GW_OK) {
        opened = calloc(1, sizeof *opened);
        status = opened == NULL ? gw_fail_memory(&failure, "opening a compressor")
                                : open_compressor(compression, compressor, opened, &failure);
    }
    if (status != GW_OK) {
        gradweave_compressor_close(opened);
        opened = NULL;
    }
    *out = opened;
    return gw_library_finish(status, &failure, error);
}

void gradweave_compressor_close(struct gradweave_compressor *compressor) {
    if (compressor == NULL) {
        return;
    }
    gw_state_close(compressor->compressor, compressor->task.state);
    gw_workspace_free(&compressor->workspace);
    gw_selection_free(&compressor->selection);
    free(compressor->layers);
    free(compressor->entries);
    free(compressor);
}

void gradweave_compressor_observe(struct gradweave_compressor *compressor, const size_t *counts) {
    gw_state_observe(compressor->compressor, compressor->task.state, counts);
}

static enum gw_status compress_gradient(struct gradweave_compressor *compressor,
                                        struct gw_error *error) {
    const struct gw_selection *selection = &compressor->selection;
    GW_TRY(gw_compress(compressor->compressor, &compressor->task, &compressor->selection, error));
    if (selection->count > compressor->capacity) {
        free(compressor->entries);
        compressor->capacity = 0;
        compressor->entries = malloc(selection->count * sizeof *compressor->entries);
        if (compressor->entries == NULL) {
            gw_scatter_add(selection->entries, selection->count, compressor->task.u);
            return gw_fail_memory(error, "compressing");
        }
        compressor->capacity = selection->count;
    }
    for (size_t i = 0; i < selection->count; i++) {
        compressor->entries[i] = (struct gradweave_entry){.value = selection->entries[i].value,
                                                          .index = selection->entries[i].index};
    }
    return GW_OK;
}

enum gradweave_status gradweave_compress(struct gradweave_compressor *compressor,
                                         const float *gradient, float *residual,
                                         const struct gradweave_entry **entries, size_t *count,
                                         struct gradweave_error *error) {
    struct gw_error failure = {0};
    compressor->task.u = residual;
    compressor->task.gradient = gradient;
    enum gw_status status = compress_gradient(compressor, &failure);
    if (status == GW_OK) {
        *entries = compressor->entries;
        *count = compressor->selection.count;
        compressor->task.iteration++;
    }
    return gw_library_finish(status, &failure, error);
}
