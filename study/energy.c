#include "study/energy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/codes.h"
#include "kernels/gradients/emulation.h"
#include "kernels/kernels.h"
#include "kernels/low_rank.h"
#include "study/counts.h"
#include "traces/traces.h"

/* Size of a generated gradient, iterations for compressors to adapt, and recorded samples that
 * count of each tensor. */
enum { GENERATED = 1 << 16, ADAPTING = 60, MOST_RECORDED = 8 };

/* A gradient, and room to select from it. */
struct gradient_sample {
    float *gradient, *u; /* [count] */
    size_t count;
    double energy;
    struct gw_workspace workspace;
    struct gw_selection found;
    struct gw_task task;
};

static double energy_of(const struct gw_selection *found) {
    double sum = 0;
    for (size_t i = 0; i < found->count; i++) {
        double value = found->entries[i].value;
        sum += value * value;
    }
    return sum;
}

/* Selects from the sample; compressors that adapt get it ADAPTING times. */
static enum gw_status select_settled(struct gradient_sample *sample,
                                     const struct gw_compressor *compressor,
                                     struct gw_error *error) {
    int times = gw_counts_depend_on_data(compressor) ? ADAPTING : 1;
    sample->task.iteration = 0;
    enum gw_status status = gw_state_open(compressor, &sample->task, &sample->task.state, error);
    for (int i = 0; i < times && status == GW_OK; i++) {
        memset(sample->u, 0, sample->count * sizeof *sample->u);
        status = gw_compress(compressor, &sample->task, &sample->found, error);
        if (status == GW_OK) {
            gw_state_observe(compressor, sample->task.state, &sample->found.count);
            sample->task.iteration++;
        }
    }
    gw_state_close(compressor, sample->task.state);
    sample->task.state = NULL;
    return status;
}

/* Energy of what all elements of the sample are short of or beyond once they are decoded. */
static enum gw_status find_code_error(struct gradient_sample *sample,
                                      const struct gw_compressor *compressor, double *energy,
                                      struct gw_error *error) {
    struct gw_codes codes = {.compressor = compressor, .payloads = 1, .elements = sample->count};
    codes.bytes = calloc(gw_code_bytes(compressor, sample->count), 1);
    if (codes.bytes == NULL) {
        return gw_fail_memory(error, "sampling a gradient");
    }
    memset(sample->u, 0, sample->count * sizeof *sample->u);
    enum gw_status status = gw_encode(&sample->task, false, &codes, error);
    *energy = 0;
    if (status == GW_OK) {
        gw_decode(&codes, sample->count, 1, sample->u);
        for (size_t i = 0; i < sample->count; i++) {
            double missed = (double)sample->gradient[i] - sample->u[i];
            *energy += missed * missed;
        }
    }
    free(codes.bytes);
    return status;
}

/* Finds the share of the sample's energy that a worker sends; gradients of 0 count as sent. */
static enum gw_status keep_sample(struct gradient_sample *sample,
                                  const struct gw_compressor *compressor, double density,
                                  double *share, struct gw_error *error) {
    sample->energy = 0;
    for (size_t i = 0; i < sample->count; i++) {
        sample->energy += (double)sample->gradient[i] * sample->gradient[i];
    }
    bool is_whole = compressor->rank == 0 && compressor != &gw_compressor_layer_drop;
    *share = is_whole ? 1 : NAN; /* others depend on the model's tensors */
    if (compressor == &gw_compressor_none || !is_whole || sample->energy == 0) {
        return GW_OK;
    }
    sample->task = (struct gw_task){.u = sample->u,
                                    .gradient = sample->gradient,
                                    .n = sample->count,
                                    .k = (size_t)gw_elements_kept(sample->count, density),
                                    .workers = 1,
                                    .seed = 1,
                                    .workspace = &sample->workspace};
    GW_TRY(select_settled(sample, &gw_compressor_topk, error));
    sample->task.threshold = INFINITY;
    for (size_t i = 0; i < sample->found.count; i++) {
        double magnitude = fabs((double)sample->found.entries[i].value);
        sample->task.threshold = fmin(sample->task.threshold, magnitude);
    }
    if (compressor->code.bits > 0) {
        double missed = 0;
        GW_TRY(find_code_error(sample, compressor, &missed, error));
        *share = fmax(0, 1 - missed / sample->energy);
        return GW_OK;
    }
    GW_TRY(select_settled(sample, compressor, error));
    *share = energy_of(&sample->found) / sample->energy;
    return GW_OK;
}

/*
 * The same of factors of samples that are all elements of a matrix, one of each after the other:
 * each worker's factors begin where they ended, as often as thresholds adapt. Columns of P are
 * orthonormal: P Q^T has the energy of Q.
 */
static enum gw_status factor_whole(struct gradient_sample *sample,
                                   const struct gw_compressor *compressor,
                                   const struct gw_tensor *tensor, double *share,
                                   struct gw_error *error) {
    size_t n = (size_t)tensor->elements;
    size_t rows = (size_t)tensor->shape[0];
    double kept = 0;
    enum gw_status status = GW_OK;
    for (size_t first = 0; first < sample->count && status == GW_OK; first += n) {
        struct gw_task task = {.u = sample->gradient + first,
                               .n = n,
                               .layers = &n,
                               .rows = &rows,
                               .layer_count = 1,
                               .seed = 1,
                               .workspace = &sample->workspace};
        status = gw_state_open(compressor, &task, &task.state, error);
        for (int i = 0; i < ADAPTING && status == GW_OK; i++, task.iteration++) {
            status = gw_low_rank_project(task.state, &task, error);
            if (status == GW_OK) {
                gw_low_rank_factor(task.state, &task);
            }
        }
        const struct gw_low_rank *factors = task.state;
        kept += status == GW_OK ? gw_sum_squares(factors->q, factors->q_count) : 0;
        gw_state_close(compressor, task.state);
    }
    *share = sample->energy > 0 ? fmin(1, kept / sample->energy) : 1;
    return status;
}

/* The share that factors of a tensor of independent numbers of one distribution keep: none of its
 * singular values is above the standard deviation times sqrt(rows) + sqrt(columns), about (Bai and
 * Yin, 1993). Gradients keep more, as theirs fall off; a tensor that is not compressed keeps all.
 */
static double share_of_factors(const struct gw_compressor *compressor,
                               const struct gw_tensor *tensor) {
    struct gw_size size = {0};
    gw_size_add(&size, tensor, compressor);
    double side = sqrt((double)size.rows) + sqrt((double)size.columns);
    return size.rows == 0 ? 1 : fmin(1, compressor->rank * side * side / (double)size.elements);
}

static enum gw_status open_sample(struct gradient_sample *sample, size_t most,
                                  struct gw_error *error) {
    *sample = (struct gradient_sample){.gradient = calloc(most, sizeof *sample->gradient),
                                       .u = calloc(most, sizeof *sample->u)};
    return sample->gradient == NULL || sample->u == NULL
               ? gw_fail_memory(error, "sampling a gradient")
               : GW_OK;
}

static void close_sample(struct gradient_sample *sample) {
    free(sample->gradient);
    free(sample->u);
    gw_selection_free(&sample->found);
    gw_workspace_free(&sample->workspace);
}

enum gw_status gw_energy_kept(const struct gw_compressor *compressor, double density, double *share,
                              struct gw_error *error) {
    struct gradient_sample sample;
    enum gw_status status = open_sample(&sample, GENERATED, error);
    if (status == GW_OK) {
        /* A gradient of norm 1, for which ExDyna's first threshold is made. */
        sample.count = GENERATED;
        status = gw_gradient_fill(sample.gradient, GENERATED, 1 / sqrt(GENERATED), 1, 0, error);
    }
    status = status == GW_OK ? keep_sample(&sample, compressor, density, share, error) : status;
    close_sample(&sample);
    return status;
}

/* ---- recorded gradients -------------------------------------------------------------------- */

/* Fills in the samples of a tensor by all workers in the last iterations, at most MOST_RECORDED;
 * returns how much energy the tensor has for each that the sample has. */
static double fill_recorded(const struct gw_recorded_gradients *recorded, size_t tensor,
                            struct gradient_sample *sample) {
    size_t lists = recorded->workers * recorded->iteration_count;
    size_t count = lists < MOST_RECORDED ? lists : MOST_RECORDED;
    const struct gw_recorded_tensor *of = &recorded->tensors[tensor];
    sample->count = count * of->sampled;
    for (size_t i = 0; i < count; i++) {
        size_t list = lists - 1 - i;
        gw_recorded_gradients_fill(recorded, list / recorded->workers, list % recorded->workers,
                                   tensor, sample->gradient + i * of->sampled);
    }
    return (double)of->elements / (double)of->sampled;
}

static enum gw_status lose_recorded(const struct gw_recorded_gradients *recorded,
                                    const struct gw_model *model, const struct gw_way *way,
                                    const size_t *tensors, struct gradient_sample *sample,
                                    double *lost, struct gw_error *error) {
    size_t count = model->tensor_count;
    double whole = 0;
    for (size_t i = 0; i < count; i++) {
        double share = 0;
        double times = fill_recorded(recorded, tensors[count - 1 - i], sample);
        GW_TRY(keep_sample(sample, way->compressor, gw_way_sent_density(way), &share, error));
        double of_factors = share_of_factors(way->compressor, &model->tensors[i]);
        if (of_factors < 1 && times == 1) {
            GW_TRY(factor_whole(sample, way->compressor, &model->tensors[i], &of_factors, error));
        }
        share = fmin(share, of_factors);
        lost[i] = fmax(0, 1 - share) * times * sample->energy;
        whole += times * sample->energy;
    }
    for (size_t i = 0; i < count && whole > 0; i++) {
        lost[i] /= whole;
    }
    return GW_OK;
}

enum gw_status gw_energy_lost(const struct gw_model *model, const struct gw_way *way,
                              const struct gw_recorded_gradients *recorded, double *lost,
                              struct gw_error *error) {
    if (recorded == NULL) {
        double elements = (double)gw_model_elements(model);
        double kept = 1;
        GW_TRY(gw_energy_kept(way->compressor, gw_way_sent_density(way), &kept, error));
        for (size_t i = 0; i < model->tensor_count; i++) {
            const struct gw_tensor *tensor = &model->tensors[i];
            double share = fmin(kept, share_of_factors(way->compressor, tensor));
            lost[i] = fmax(0, 1 - share) * (double)tensor->elements / elements;
        }
        return GW_OK;
    }
    struct gradient_sample sample = {0};
    size_t *tensors = calloc(model->tensor_count, sizeof *tensors);
    enum gw_status status = tensors == NULL
                                ? gw_fail_memory(error, "sampling a gradient")
                                : gw_recorded_gradients_match(recorded, model, tensors, error);
    status =
        status == GW_OK ? open_sample(&sample, MOST_RECORDED * recorded->sample, error) : status;
    status = status == GW_OK ? lose_recorded(recorded, model, way, tensors, &sample, lost, error)
                             : status;
    close_sample(&sample);
    free(tensors);
    return status;
}
