/*
 * The result of an iteration of any exchange on all workers, computed by definition, one worker
 * after the other, from their gradients: dense vectors, compressors' reference versions, and no
 * part of exec.
 */
#ifndef GW_TESTS_EXEC_REFERENCE_H
#define GW_TESTS_EXEC_REFERENCE_H

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/halves.h"
#include "kernels/codes.h"
#include "kernels/kernels.h"
#include "kernels/low_rank.h"
#include "methods/schedule.h"
#include "tests/exec/exec_scene.h"
#include "tests/kernels/references.h"

enum { MOST_GROUPS = 8 };

struct reference {
    const struct gw_schedule *schedule;
    size_t workers, elements;
    uint64_t seed, iteration;
    const double *thresholds; /* [groups] that are given; NULL: of normal gradients */
    const float *gradients;   /* [workers * elements], of this iteration */
    float *residuals;         /* the same */
    float aggregate[MOST_ELEMENTS];
    void *states[MOST_WORKERS][MOST_GROUPS];
    size_t selected[MOST_GROUPS][MOST_WORKERS];
    size_t all[MOST_GROUPS];                      /* elements whose values travelled together */
    struct gw_selection selections[MOST_WORKERS]; /* of one group */
    struct gw_workspace workspace;
    /* of sums that owners of parts encode */
    float residuals_of_sums[MOST_WORKERS][MOST_GROUPS][MOST_ELEMENTS];
};

static inline const struct gw_compressor *compressor_of(const struct reference *reference,
                                                        uint32_t group) {
    return reference->schedule->groups[group].way->compressor;
}

static inline float *residual_of(struct reference *reference, size_t worker, uint32_t group) {
    return reference->residuals + worker * reference->elements +
           reference->schedule->groups[group].first;
}

static inline const float *gradient_of(const struct reference *reference, size_t worker,
                                       uint32_t group) {
    return reference->gradients + worker * reference->elements +
           reference->schedule->groups[group].first;
}

/* ---- selections ---------------------------------------------------------------------------- */

/* Executors promise this: hash functions and draws follow from the seed and the group alone. */
static inline uint64_t seed_of(const struct reference *reference, uint32_t group) {
    return gw_random_mix(reference->seed) + group;
}

static inline struct gw_task task_of(struct reference *reference, size_t worker, uint32_t group) {
    const struct gw_slice *slice = &reference->schedule->groups[group];
    double tail = (double)slice->kept / (2 * (double)slice->size.elements);
    return (struct gw_task){
        .u = residual_of(reference, worker, group),
        .gradient = reference->gradients == NULL ? NULL : gradient_of(reference, worker, group),
        .n = slice->size.elements,
        .k = slice->kept,
        .worker = worker,
        .workers = reference->workers,
        .seed = seed_of(reference, group),
        .iteration = reference->iteration,
        .threshold = reference->thresholds == NULL ? 1e-3 * gsl_cdf_ugaussian_Qinv(tail)
                                                   : reference->thresholds[group],
        .layers = reference->schedule->layers + slice->first_layer,
        .rows = reference->schedule->rows + slice->first_layer,
        .layer_count = slice->size.tensors,
        .state = reference->states[worker][group],
        .workspace = &reference->workspace};
}

/* Into selections[worker]; the residual still has the values. */
static inline void select_by_definition(struct reference *reference, size_t worker,
                                        uint32_t group) {
    struct gw_task task = task_of(reference, worker, group);
    struct gw_selection *selection = &reference->selections[worker];
    if (gw_reference_of(compressor_of(reference, group))(&task, selection, NULL) != GW_OK) {
        abort();
    }
    reference->selected[group][worker] = selection->count;
}

static inline void accumulate_only(struct reference *reference, size_t worker, uint32_t group) {
    float *u = residual_of(reference, worker, group);
    const float *gradient = gradient_of(reference, worker, group);
    for (size_t i = 0; i < reference->schedule->groups[group].size.elements; i++) {
        u[i] += gradient[i];
    }
}

/* ---- sums ---------------------------------------------------------------------------------- */

/* values[r * count ..] of P ranks, summed into the first: in the order of ranks, or in pairs. */
static inline void sum_in_order(float *values, size_t ranks, size_t count) {
    for (size_t r = 1; r < ranks; r++) {
        for (size_t i = 0; i < count; i++) {
            values[i] += values[r * count + i];
        }
    }
}

static inline void sum_in_pairs(float *values, size_t ranks, size_t count) {
    for (size_t apart = 1; apart < ranks; apart *= 2) {
        for (size_t r = 0; r + apart < ranks; r += 2 * apart) {
            for (size_t i = 0; i < count; i++) {
                values[r * count + i] += values[(r + apart) * count + i];
            }
        }
    }
}

/* Takes the values of `count` indices from all residuals, and leaves their sums. */
static inline void sum_values(struct reference *reference, uint32_t group, const uint32_t *indices,
                              size_t count, void (*sum)(float *, size_t, size_t)) {
    float *out = reference->aggregate + reference->schedule->groups[group].first;
    float *values = calloc(reference->workers * count + 1, sizeof *values);
    for (size_t w = 0; w < reference->workers; w++) {
        float *u = residual_of(reference, w, group);
        for (size_t i = 0; i < count; i++) {
            values[w * count + i] = u[indices[i]];
            u[indices[i]] = 0;
        }
    }
    sum(values, reference->workers, count);
    for (size_t i = 0; i < count; i++) {
        out[indices[i]] = values[i];
    }
    free(values);
    reference->all[group] = count;
}

/* ---- exchanges ----------------------------------------------------------------------------- */

static inline void send_everything(struct reference *reference, uint32_t group) {
    const struct gw_slice *slice = &reference->schedule->groups[group];
    float *out = reference->aggregate + slice->first;
    for (size_t w = 0; w < reference->workers; w++) {
        reference->selected[group][w] = slice->size.elements;
        for (size_t i = 0; i < slice->size.elements; i++) {
            out[i] += gradient_of(reference, w, group)[i];
        }
    }
}

/* Entries, padded or not; and layers, which are many entries. */
static inline void send_entries(struct reference *reference, uint32_t group) {
    const struct gw_slice *slice = &reference->schedule->groups[group];
    float *out = reference->aggregate + slice->first;
    bool *any = calloc(slice->size.elements, sizeof *any);
    for (size_t w = 0; w < reference->workers; w++) {
        select_by_definition(reference, w, group);
        for (size_t e = 0; e < reference->selections[w].count; e++) {
            struct gw_entry entry = reference->selections[w].entries[e];
            out[entry.index] += entry.value;
            any[entry.index] = true;
            residual_of(reference, w, group)[entry.index] = 0;
        }
    }
    reference->all[group] = 0;
    for (size_t i = 0; i < slice->size.elements; i++) {
        reference->all[group] += any[i];
    }
    free(any);
}

/* All workers send the elements that one worker or several selected. */
static inline void send_common(struct reference *reference, uint32_t group, size_t first,
                               size_t last) {
    const struct gw_slice *slice = &reference->schedule->groups[group];
    uint32_t *indices = calloc(slice->size.elements, sizeof *indices);
    size_t count = 0;
    for (size_t w = 0; w < reference->workers; w++) {
        if (w < first || w > last) {
            accumulate_only(reference, w, group);
            reference->selected[group][w] = slice->kept;
            continue;
        }
        select_by_definition(reference, w, group);
        for (size_t e = 0; e < reference->selections[w].count; e++) {
            indices[count++] = reference->selections[w].entries[e].index;
        }
    }
    sum_values(reference, group, indices, count, sum_in_order);
    free(indices);
}

static inline void send_sketches(struct reference *reference, uint32_t group,
                                 void (*sum)(float *, size_t, size_t)) {
    const struct gw_slice *slice = &reference->schedule->groups[group];
    size_t columns = gw_sketch_columns(slice->size.elements, slice->kept);
    size_t cells = GW_SKETCH_ROWS * columns;
    float *tables = calloc(reference->workers * cells, sizeof *tables);
    uint32_t *indices = calloc(slice->kept, sizeof *indices);
    struct gw_sketch sketch;
    size_t heavy;
    (void)gw_sketch_open(&sketch, GW_SKETCH_ROWS, columns, seed_of(reference, group), NULL);
    for (size_t w = 0; w < reference->workers; w++) {
        accumulate_only(reference, w, group);
        gw_sketch_clear(&sketch);
        (void)gw_sketch_encode_reference(&sketch, residual_of(reference, w, group), 0,
                                         slice->size.elements, NULL);
        memcpy(tables + w * cells, sketch.table, cells * sizeof *tables);
        reference->selected[group][w] = slice->kept;
    }
    sum(tables, reference->workers, cells);
    memcpy(sketch.table, tables, cells * sizeof *tables);
    (void)gw_sketch_heavymix_reference(&sketch, slice->size.elements, slice->kept,
                                       reference->iteration, indices, &heavy, NULL);
    sum_values(reference, group, indices, slice->kept, sum);
    gw_sketch_free(&sketch);
    free(indices);
    free(tables);
}

/* ---- gTop-k, on dense vectors -------------------------------------------------------------- */

enum { LEVELS = 3 }; /* of pairs among 5 workers */

struct pairs_merge {
    size_t n, k;
    float *values; /* [workers * n] */
    bool *has;     /* the same */
    float *pruned; /* the same for each of LEVELS rounds: sums that the worker pruned in it */
};

static const float *sorted_values; /* what by_magnitude looks at; on one thread */

static inline int by_magnitude(const void *left, const void *right) {
    size_t a = *(const size_t *)left;
    size_t b = *(const size_t *)right;
    float x = fabsf(sorted_values[a]);
    float y = fabsf(sorted_values[b]);
    return x != y ? (x < y) - (x > y) : (a > b) - (a < b);
}

static inline void merge_pair(struct pairs_merge *merge, float *pruned, size_t to, size_t from) {
    float *values = merge->values + to * merge->n;
    bool *has = merge->has + to * merge->n;
    size_t *order = calloc(merge->n, sizeof *order);
    size_t count = 0;
    for (size_t i = 0; i < merge->n; i++) {
        if (merge->has[from * merge->n + i]) {
            values[i] = has[i] ? values[i] + merge->values[from * merge->n + i]
                               : merge->values[from * merge->n + i];
            has[i] = true;
        }
        if (has[i]) {
            order[count++] = i;
        }
    }
    sorted_values = values;
    qsort(order, count, sizeof *order, by_magnitude);
    for (size_t i = merge->k; i < count; i++) {
        pruned[to * merge->n + order[i]] = values[order[i]];
        has[order[i]] = false;
    }
    free(order);
}

static inline void send_to_merge(struct reference *reference, uint32_t group) {
    const struct gw_slice *slice = &reference->schedule->groups[group];
    size_t n = slice->size.elements;
    struct pairs_merge merge = {.n = n, .k = slice->kept};
    merge.values = calloc(reference->workers * n, sizeof *merge.values);
    merge.has = calloc(reference->workers * n, sizeof *merge.has);
    merge.pruned = calloc(LEVELS * reference->workers * n, sizeof *merge.pruned);
    for (size_t w = 0; w < reference->workers; w++) {
        select_by_definition(reference, w, group);
        for (size_t e = 0; e < reference->selections[w].count; e++) {
            struct gw_entry entry = reference->selections[w].entries[e];
            merge.values[w * n + entry.index] = entry.value;
            merge.has[w * n + entry.index] = true;
            residual_of(reference, w, group)[entry.index] = 0;
        }
    }
    float *pruned = merge.pruned;
    for (size_t apart = 1; apart < reference->workers; apart *= 2) {
        for (size_t r = 0; r + apart < reference->workers; r += 2 * apart) {
            merge_pair(&merge, pruned, r, r + apart);
        }
        pruned += reference->workers * n;
    }
    for (size_t w = 0; w < reference->workers; w++) {
        float *u = residual_of(reference, w, group);
        for (size_t e = 0; e < reference->selections[w].count; e++) {
            struct gw_entry entry = reference->selections[w].entries[e];
            u[entry.index] += merge.has[entry.index] ? 0 : entry.value;
        }
        for (size_t i = 0; i < n; i++) {
            for (size_t level = 0; level < LEVELS && merge.has[i]; level++) {
                u[i] += merge.pruned[(level * reference->workers + w) * n + i];
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        reference->aggregate[slice->first + i] = merge.has[i] ? merge.values[i] : 0;
    }
    free(merge.values);
    free(merge.has);
    free(merge.pruned);
}

/* ---- codes --------------------------------------------------------------------------------- */

/* Replaces the vector of a task by what its codes in `payloads` parts stand for. */
static inline void code_and_decode(const struct gw_compressor *compressor, struct gw_task task,
                                   size_t payloads, size_t elements, float *out) {
    struct gw_codes codes = {.compressor = compressor, .payloads = payloads, .elements = elements};
    codes.bytes = calloc(payloads + 1, (size_t)gw_code_bytes(compressor, elements) + 4);
    if (gw_encode(&task, true, &codes, NULL) != GW_OK) {
        abort();
    }
    gw_decode(&codes, task.n, 1, out);
    free(codes.bytes);
}

static inline float round_to_half(const struct gw_compressor *compressor, float value) {
    return compressor == &gw_compressor_bf16 ? gw_bf16_value(gw_bf16_of(value))
                                             : gw_fp16_value(gw_fp16_of(value));
}

static inline void send_codes(struct reference *reference, uint32_t group, const char *exchange) {
    const struct gw_slice *slice = &reference->schedule->groups[group];
    const struct gw_compressor *compressor = slice->way->compressor;
    size_t n = slice->size.elements;
    bool divided = strcmp(exchange, "two-phase") == 0;
    bool rounded = strcmp(exchange, "halves") == 0;
    size_t parts = divided ? reference->workers : 1;
    size_t part = (n + parts - 1) / parts;
    float *out = reference->aggregate + slice->first;
    float *decoded = calloc(n, sizeof *decoded);
    for (size_t w = 0; w < reference->workers; w++) {
        code_and_decode(compressor, task_of(reference, w, group), parts, part, decoded);
        reference->selected[group][w] = n;
        for (size_t i = 0; i < n; i++) {
            float sum = out[i] + decoded[i];
            out[i] = rounded && w > 0 ? round_to_half(compressor, sum) : sum;
        }
    }
    for (size_t owner = 0; owner < parts && divided; owner++) {
        size_t first = owner * part;
        struct gw_task task = task_of(reference, owner, group);
        task.n = first >= n ? 0 : n - first < part ? n - first : part;
        task.u = reference->residuals_of_sums[owner][group];
        task.gradient = out + first;
        task.seed = gw_random_mix(task.seed);
        if (task.n > 0) {
            memcpy(decoded, task.gradient, task.n * sizeof *decoded);
            task.gradient = decoded;
            code_and_decode(compressor, task, 1, part, out + first);
        }
    }
    free(decoded);
}

/* ---- factors ------------------------------------------------------------------------------- */

/* Sums a vector of each worker's factors in the order of ranks, times a number, for all of them. */
static inline void sum_factors(struct reference *reference, uint32_t group, size_t at, size_t count,
                               float times) {
    for (size_t i = 0; i < count; i++) {
        float sum = 0;
        for (size_t w = 0; w < reference->workers; w++) {
            float *const *vector = (void *)((char *)reference->states[w][group] + at);
            sum = w == 0 ? (*vector)[i] : sum + (*vector)[i];
        }
        for (size_t w = 0; w < reference->workers; w++) {
            float *const *vector = (void *)((char *)reference->states[w][group] + at);
            (*vector)[i] = times * sum;
        }
    }
}

/* PowerSGD, Algorithm 1, each of its lines on one worker after the other. */
static inline void send_factors(struct reference *reference, uint32_t group) {
    const struct gw_slice *slice = &reference->schedule->groups[group];
    struct gw_low_rank *first = reference->states[0][group];
    float mean = 1 / (float)reference->workers;
    for (size_t w = 0; w < reference->workers; w++) {
        struct gw_task task = task_of(reference, w, group);
        reference->selected[group][w] = slice->size.elements;
        if (gw_low_rank_project(reference->states[w][group], &task, NULL) != GW_OK) {
            abort();
        }
    }
    sum_factors(reference, group, offsetof(struct gw_low_rank, raw), first->raw_count, 1);
    sum_factors(reference, group, offsetof(struct gw_low_rank, p), first->p_count, 1);
    for (size_t w = 0; w < reference->workers; w++) {
        struct gw_task task = task_of(reference, w, group);
        gw_low_rank_factor(reference->states[w][group], &task);
    }
    sum_factors(reference, group, offsetof(struct gw_low_rank, q), first->q_count, mean);
    for (size_t w = 0; w < reference->workers; w++) {
        struct gw_task task = task_of(reference, w, group);
        gw_low_rank_expand(reference->states[w][group], &task, (float)reference->workers,
                           reference->aggregate + slice->first);
    }
}

/* ---- an iteration -------------------------------------------------------------------------- */

static inline void exchange_by_definition(struct reference *reference, uint32_t group) {
    const char *exchange = reference->schedule->groups[group].way->exchange->name;
    size_t workers = reference->workers;
    if (strcmp(exchange, "allreduce") == 0 || strcmp(exchange, "server") == 0) {
        send_everything(reference, group);
    } else if (strcmp(exchange, "common-values") == 0) {
        send_common(reference, group, 0, 0); /* the others would have selected the same */
    } else if (strcmp(exchange, "union") == 0) {
        send_common(reference, group, 0, workers - 1);
    } else if (strcmp(exchange, "leader") == 0) {
        size_t leader = reference->iteration % workers;
        send_common(reference, group, leader, leader);
    } else if (strcmp(exchange, "gtopk") == 0) {
        send_to_merge(reference, group);
    } else if (strcmp(exchange, "sketch-tree") == 0) {
        send_sketches(reference, group, sum_in_pairs);
    } else if (strcmp(exchange, "sketch-server") == 0) {
        send_sketches(reference, group, sum_in_order);
    } else if (compressor_of(reference, group)->code.bits > 0) {
        send_codes(reference, group, exchange);
    } else if (compressor_of(reference, group)->rank > 0) {
        send_factors(reference, group);
    } else {
        send_entries(reference, group);
    }
}

static inline void reference_open(struct reference *reference) {
    reference->residuals =
        calloc(reference->workers * reference->elements, sizeof *reference->residuals);
    for (size_t w = 0; w < reference->workers; w++) {
        for (uint32_t g = 0; g < reference->schedule->group_count; g++) {
            struct gw_task task = task_of(reference, w, g);
            (void)gw_state_open(compressor_of(reference, g), &task, &reference->states[w][g], NULL);
        }
    }
}

/* With other thresholds. */
static inline void reference_reopen(struct reference *reference) {
    for (size_t w = 0; w < reference->workers; w++) {
        for (uint32_t g = 0; g < reference->schedule->group_count; g++) {
            struct gw_task task = task_of(reference, w, g);
            gw_state_close(compressor_of(reference, g), reference->states[w][g]);
            reference->states[w][g] = NULL;
            (void)gw_state_open(compressor_of(reference, g), &task, &reference->states[w][g], NULL);
        }
    }
}

static inline void reference_close(struct reference *reference) {
    for (size_t w = 0; w < reference->workers; w++) {
        for (uint32_t g = 0; g < reference->schedule->group_count; g++) {
            gw_state_close(compressor_of(reference, g), reference->states[w][g]);
        }
        gw_selection_free(&reference->selections[w]);
    }
    gw_workspace_free(&reference->workspace);
    free(reference->residuals);
}

static inline void reference_iterate(struct reference *reference, const float *gradients) {
    reference->gradients = gradients;
    memset(reference->aggregate, 0, sizeof reference->aggregate);
    for (uint32_t g = 0; g < reference->schedule->group_count; g++) {
        reference->all[g] = reference->schedule->groups[g].kept;
        exchange_by_definition(reference, g);
        for (size_t w = 0; w < reference->workers; w++) {
            gw_state_observe(compressor_of(reference, g), reference->states[w][g],
                             reference->selected[g]);
        }
    }
    reference->iteration++;
}

#endif
