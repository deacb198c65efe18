#include <math.h>
#include <stdlib.h>

#include "planning.h"

static double between(struct gw_random *random, double low, double high) {
    return low + (high - low) * gw_random_uniform(random);
}

static double power_between(struct gw_random *random, double low, double high) {
    return low * pow(high / low, gw_random_uniform(random));
}

static void set_tensor(struct gw_tensor *tensor, double elements, double backward_s) {
    tensor->elements = elements < 1 ? 1 : (uint64_t)elements;
    tensor->backward_s = backward_s;
}

/* ---- such as people train ------------------------------------------------------------------ */

/* Each tensor with noise, so that no two are equal. */
static enum gw_status draw_from_shipped(const char *name, const struct bench_draft *x,
                                        struct gw_error *error) {
    struct gw_model shipped;
    GW_TRY(gw_data_open(GW_DATA_MODELS, name, &shipped, error));
    for (size_t i = 0; i < x->count; i++) {
        const struct gw_tensor *drawn =
            &shipped.tensors[gw_random_below(x->random, shipped.tensor_count)];
        set_tensor(&x->tensors[i], (double)drawn->elements * gw_random_noise(x->random, 0.3),
                   drawn->backward_s * gw_random_noise(x->random, 0.3));
    }
    gw_model_free(&shipped);
    return GW_OK;
}

/* Equal blocks, weights with their biases: attention, two dense layers, a norm after each half. */
static void fill_transformer(const struct bench_draft *x) {
    static const double inputs[] = {1, 1, 0, 1, 4, 0}; /* in widths; 0: a norm */
    static const double outputs[] = {3, 1, 1, 4, 1, 1};
    double width = 64 * (double)(2 + gw_random_below(x->random, 15));
    for (size_t i = 0; i < x->count; i++) {
        size_t layer = i / 2 % 6;
        double weights = inputs[layer] * outputs[layer] * width * width;
        if (i % 2 == 1 || weights == 0) {
            set_tensor(&x->tensors[i], outputs[layer] * width, 1e-6);
        } else {
            set_tensor(&x->tensors[i], weights, 2.5e-9 * weights);
        }
    }
}

/* Many small tensors that take next to no time, and a few that carry the weight. */
static void fill_synthetic(const struct bench_draft *x) {
    for (size_t i = 0; i < x->count; i++) {
        if (gw_random_below(x->random, 3) > 0) {
            set_tensor(&x->tensors[i], 64 * ldexp(1, (int)gw_random_below(x->random, 6)),
                       between(x->random, 0, 9e-5));
        } else {
            set_tensor(&x->tensors[i], power_between(x->random, 64, 2.4e6),
                       between(x->random, 0, 4.3e-3));
        }
    }
}

/* ---- such as are hard to plan for ---------------------------------------------------------- */

static void fill_equal(const struct bench_draft *x) {
    double elements = power_between(x->random, 64, 2.4e6);
    double backward_s = power_between(x->random, 1e-5, 1e-2);
    for (size_t i = 0; i < x->count; i++) {
        set_tensor(&x->tensors[i], elements, backward_s);
    }
}

static void fill_no_times(const struct bench_draft *x) {
    fill_synthetic(x);
    for (size_t i = 0; i < x->count; i++) {
        x->tensors[i].backward_s = 0;
    }
}

static void fill_one_huge(const struct bench_draft *x) {
    for (size_t i = 0; i < x->count; i++) {
        set_tensor(&x->tensors[i], between(x->random, 64, 4096), between(x->random, 1e-6, 1e-4));
    }
    set_tensor(&x->tensors[gw_random_below(x->random, x->count)], 1e9, 1);
}

static void fill_tiny(const struct bench_draft *x) {
    for (size_t i = 0; i < x->count; i++) {
        set_tensor(&x->tensors[i], between(x->random, 1, 9), between(x->random, 0, 1e-6));
    }
}

static void fill_alternating(const struct bench_draft *x) {
    for (size_t i = 0; i < x->count; i++) {
        if (i % 2 == 0) {
            set_tensor(&x->tensors[i], 8, 1e-7);
        } else {
            set_tensor(&x->tensors[i], between(x->random, 2e6, 2e7),
                       between(x->random, 1e-3, 1e-2));
        }
    }
}

/* A gap just shorter than a startup, then one just longer: each decision turns the last one. */
static void fill_flipping(const struct bench_draft *x) {
    double startup_s = fmax(x->startup_s, 1e-6);
    for (size_t i = 0; i < x->count; i++) {
        double gap = i % 2 == 0 ? between(x->random, 0.9, 1) : between(x->random, 1, 1.1);
        set_tensor(&x->tensors[i], between(x->random, 64, 4096), gap * startup_s);
    }
}

/* Powers of two, whose sums are all different within a period. */
static void fill_doubling(const struct bench_draft *x) {
    size_t shift = gw_random_below(x->random, 24);
    for (size_t i = 0; i < x->count; i++) {
        set_tensor(&x->tensors[i], ldexp(1, (int)((i + shift) % 24)), ldexp(1e-3, -(int)(i % 12)));
    }
}

/* `from` to `to` elements in the order in which tensors become ready. */
static void fill_slope(const struct bench_draft *x, double from, double to) {
    for (size_t i = 0; i < x->count; i++) {
        double elements = to * pow(from / to, (double)i / (double)x->count);
        set_tensor(&x->tensors[i], elements * gw_random_noise(x->random, 0.1), 2e-9 * elements);
    }
}

static void fill_growing(const struct bench_draft *x) {
    fill_slope(x, 64, 4e6);
}

static void fill_shrinking(const struct bench_draft *x) {
    fill_slope(x, 4e6, 64);
}

/* Compute, compression and exchange of each tensor take about equally long. */
static void fill_contended(const struct bench_draft *x) {
    for (size_t i = 0; i < x->count; i++) {
        set_tensor(&x->tensors[i], power_between(x->random, 1e5, 4e6),
                   between(x->random, 0, x->startup_s));
    }
}

/* Fifty tensors at once, then none for twenty startups. */
static void fill_bursts(const struct bench_draft *x) {
    for (size_t i = 0; i < x->count; i++) {
        bool last = gw_random_below(x->random, 50) == 0;
        set_tensor(&x->tensors[i], power_between(x->random, 64, 2.4e6),
                   last ? 20 * x->startup_s : 0);
    }
}

const struct bench_family bench_families[] = {{"resnet50", NULL},
                                              {"vgg16-cifar10", NULL},
                                              {"inception-v4", NULL},
                                              {"lstm-ptb", NULL},
                                              {"transformer", fill_transformer},
                                              {"synthetic", fill_synthetic},
                                              {"equal", fill_equal},
                                              {"no-times", fill_no_times},
                                              {"one-huge", fill_one_huge},
                                              {"tiny", fill_tiny},
                                              {"alternating", fill_alternating},
                                              {"flipping", fill_flipping},
                                              {"doubling", fill_doubling},
                                              {"growing", fill_growing},
                                              {"shrinking", fill_shrinking},
                                              {"contended", fill_contended},
                                              {"bursts", fill_bursts},
                                              {NULL, NULL}};

enum gw_status bench_fill(const struct bench_family *family, const struct bench_draft *draft,
                          struct gw_error *error) {
    if (family->fill == NULL) {
        return draw_from_shipped(family->name, draft, error);
    }
    family->fill(draft);
    return GW_OK;
}
