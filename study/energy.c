#include "study/energy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/codes.h"
#include "kernels/gradients/emulation.h"
#include "kernels/kernels.h"
#include "traces/traces.h"

/* Size of the sampled gradient, and iterations for compressors to adapt. */
enum { SAMPLE = 1 << 16, ADAPTING = 60 };

/* A gradient of norm 1, for which ExDyna's first threshold is made, and room to select from it. */
struct gradient_sample {
    float *gradient, *u; /* [SAMPLE] */
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
        memset(sample->u, 0, SAMPLE * sizeof *sample->u);
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
    struct gw_codes codes = {.compressor = compressor, .payloads = 1, .elements = SAMPLE};
    codes.bytes = calloc(gw_code_bytes(compressor, SAMPLE), 1);
    if (codes.bytes == NULL) {
        return gw_fail_memory(error, "sampling a gradient");
    }
    memset(sample->u, 0, SAMPLE * sizeof *sample->u);
    enum gw_status status = gw_encode(&sample->task, false, &codes, error);
    *energy = 0;
    if (status == GW_OK) {
        gw_decode(&codes, SAMPLE, 1, sample->u);
        for (size_t i = 0; i < SAMPLE; i++) {
            double missed = (double)sample->gradient[i] - sample->u[i];
            *energy += missed * missed;
        }
    }
    free(codes.bytes);
    return status;
}

static enum gw_status keep_sample(struct gradient_sample *sample,
                                  const struct gw_compressor *compressor, double density,
                                  double *share, struct gw_error *error) {
    double whole = 0;
    GW_TRY(gw_gradient_fill(sample->gradient, SAMPLE, 1 / sqrt(SAMPLE), 1, 0, error));
    sample->task = (struct gw_task){.u = sample->u,
                                    .gradient = sample->gradient,
                                    .n = SAMPLE,
                                    .k = (size_t)gw_elements_kept(SAMPLE, density),
                                    .workers = 1,
                                    .seed = 1,
                                    .workspace = &sample->workspace};
    GW_TRY(select_settled(sample, &gw_compressor_topk, error));
    sample->task.threshold = INFINITY;
    for (size_t i = 0; i < sample->found.count; i++) {
        double magnitude = fabs((double)sample->found.entries[i].value);
        sample->task.threshold = fmin(sample->task.threshold, magnitude);
    }
    for (size_t i = 0; i < SAMPLE; i++) {
        whole += (double)sample->gradient[i] * sample->gradient[i];
    }
    if (compressor->code.bits > 0) {
        double missed = 0;
        GW_TRY(find_code_error(sample, compressor, &missed, error));
        *share = fmax(0, 1 - missed / whole);
        return GW_OK;
    }
    GW_TRY(select_settled(sample, compressor, error));
    *share = energy_of(&sample->found) / whole;
    return GW_OK;
}

enum gw_status gw_energy_kept(const struct gw_compressor *compressor, double density, double *share,
                              struct gw_error *error) {
    struct gradient_sample sample = {.gradient = calloc(SAMPLE, sizeof *sample.gradient),
                                     .u = calloc(SAMPLE, sizeof *sample.u)};
    *share = 1;
    enum gw_status status = compressor == &gw_compressor_none ? GW_OK
                            : sample.gradient == NULL || sample.u == NULL
                                ? gw_fail_memory(error, "sampling a gradient")
                                : keep_sample(&sample, compressor, density, share, error);
    free(sample.gradient);
    free(sample.u);
    gw_selection_free(&sample.found);
    gw_workspace_free(&sample.workspace);
    return status;
}
