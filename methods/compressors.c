/* The table of compressors and their properties. Kernels are in kernels/, attached to its rows. */
#include <math.h>
#include <string.h>

#include "methods/methods.h"

/* ---- the table ----------------------------------------------------------------------------- */

const struct gw_compressor gw_compressor_none = {
    .name = "none", .title = "dense exchange", .exact = true};

const struct gw_compressor gw_compressor_topk = {
    .name = "topk",
    .title = "exact top-k: the k elements of largest magnitude",
    .paper = "Aji and Heafield, Sparse Communication for Distributed Gradient Descent, 2017",
    .exact = true,
};

const struct gw_compressor gw_compressor_randk = {
    .name = "randk",
    .title = "random-k: k elements by lot, the same on all workers",
    .paper = "Stich et al., Sparsified SGD with Memory, 2018",
    .exact = true,
    .common = true,
};

const struct gw_compressor gw_compressor_dgc = {
    .name = "dgc",
    .title =
        "DGC: a threshold from a sample of 1%, and exact top-k where far too many elements pass it",
    .paper = "Lin et al., Deep Gradient Compression, 2018",
    .steady = true,
};

const struct gw_compressor gw_compressor_redsync = {
    .name = "redsync",
    .title = "trimmed top-k: a threshold between mean and maximum, by bisection",
    .paper = "Fang et al., RedSync: Reducing synchronization bandwidth, 2019",
};

const struct gw_compressor gw_compressor_gaussiank = {
    .name = "gaussiank",
    .title = "Gaussian_k: the normal quantile as a threshold, adjusted up to four times",
    .paper = "Shi et al., Understanding Top-k Sparsification in Distributed Deep Learning, 2019",
};

const struct gw_compressor gw_compressor_count_sketch = {
    .name = "count-sketch",
    .title = "count sketch of 5 rows, and HEAVYMIX: heavy hitters and, to make k, others by lot",
    .paper = "Ivkin et al., Communication-efficient Distributed SGD with Sketching, 2019",
    .exact = true,
    .sketched = true,
    .stateful = true,
};

const struct gw_compressor gw_compressor_layer_drop = {
    .name = "layer-drop",
    .title = "layer dropping: whole layers whose mean magnitude reaches a threshold",
    .paper = "Lee et al., Communication Optimization Schemes for Distributed Deep Learning, 2020",
    .layered = true,
    .stateful = true,
};

const struct gw_compressor gw_compressor_hard_threshold = {
    .name = "hard-threshold",
    .title = "elements above a threshold that is given once",
    .paper = "Sahu et al., Rethinking gradient sparsification as total error minimization, 2021",
    .thresholded = true,
};

const struct gw_compressor gw_compressor_sidco = {
    .name = "sidco",
    .title = "SIDCo: a threshold from exponential fits, in stages that adapt",
    .paper = "Abdelmoniem et al., An Efficient Statistical-based Gradient Compression, 2021",
    .stateful = true,
    .steady = true,
};

const struct gw_compressor gw_compressor_exdyna = {
    .name = "exdyna",
    .title = "ExDyna: elements above a shared threshold in the worker's own partition",
    .paper = "Yoon and Oh, Preserving Near-Optimal Gradient Sparsification Cost, 2024",
    .joint = true,
    .stateful = true,
    .thresholded = true,
};

const struct gw_compressor gw_compressor_exdyna_trend = {
    .name = "exdyna-trend",
    .title = "ExDyna, with a threshold that follows the trend of scales",
    .paper = "this project, after Yoon and Oh, 2024",
    .joint = true,
    .stateful = true,
    .thresholded = true,
};

const struct gw_compressor gw_compressor_exdyna_static = {
    .name = "exdyna-static",
    .title = "ExDyna with partitions that stay equal",
    .paper = "Yoon and Oh, 2024, as the paper compares with in its Fig. 9",
    .joint = true,
    .stateful = true,
    .thresholded = true,
};

const struct gw_compressor gw_compressor_bf16 = {
    .name = "bf16",
    .title = "bfloat16: 8 bits of exponent and 7 of mantissa",
    .paper = "Kalamkar et al., A Study of BFLOAT16 for Deep Learning Training, 2019",
    .exact = true,
    .code = {.bits = 16},
};

const struct gw_compressor gw_compressor_fp16 = {
    .name = "fp16",
    .title = "IEEE 754 half precision: 5 bits of exponent and 10 of mantissa",
    .paper = "Micikevicius et al., Mixed Precision Training, 2018",
    .exact = true,
    .code = {.bits = 16},
};

const struct gw_compressor gw_compressor_int8 = {
    .name = "int8",
    .title = "8-bit integers: blocks of 256 elements, in 127ths of the largest magnitude",
    .paper = "Dettmers, 8-Bit Approximations for Parallelism in Deep Learning, 2016",
    .exact = true,
    .code = {.bits = 8, .block = 256, .scale_bytes = 4, .residual = true},
};

const struct gw_compressor gw_compressor_fp8 = {
    .name = "fp8",
    .title = "8-bit floats (e4m3): blocks of 256 elements, the largest magnitude as 448",
    .paper = "Micikevicius et al., FP8 Formats for Deep Learning, 2022",
    .exact = true,
    .code = {.bits = 8, .block = 256, .scale_bytes = 4, .residual = true},
};

const struct gw_compressor gw_compressor_onebit = {
    .name = "onebit",
    .title = "signs, and the mean magnitude as their scale",
    .paper = "Tang et al., 1-bit Adam: Communication Efficient Large-Scale Training, 2021",
    .exact = true,
    .code = {.bits = 1, .scale_bytes = 4, .residual = true},
};

const struct gw_compressor gw_compressor_qsgd = {
    .name = "qsgd",
    .title = "QSGD: 7 levels and a sign, rounded by lot; blocks of 512 elements",
    .paper = "Alistarh et al., QSGD: Communication-Efficient SGD via Gradient Quantization, 2017",
    .exact = true,
    .code = {.bits = 4, .block = 512, .scale_bytes = 4},
};

/* Rank 4 is this project's choice, from its own trainings (docs/results/convergence.md); PyTorch's
 * hook has 1 unless another is given. */
#define POWERSGD(suffix, of_rank)                                                                  \
    {                                                                                              \
        .name = "powersgd" suffix,                                                                 \
        .title =                                                                                   \
            "PowerSGD: matrices as two factors of rank " #of_rank "; powersgd:1 to powersgd:32",   \
        .paper = "Vogels et al., PowerSGD: Practical Low-Rank Gradient Compression, 2019",         \
        .exact = true, .stateful = true, .rank = of_rank                                           \
    }

const struct gw_compressor gw_compressor_powersgd = POWERSGD("", 4);

/* Other ranks, which have no rows of their own. */
#define RANK(number) POWERSGD(":" #number, number)
static const struct gw_compressor other_ranks[] = {
    RANK(1),  RANK(2),  RANK(3),  RANK(5),  RANK(6),  RANK(7),  RANK(8),  RANK(9),
    RANK(10), RANK(11), RANK(12), RANK(13), RANK(14), RANK(15), RANK(16), RANK(17),
    RANK(18), RANK(19), RANK(20), RANK(21), RANK(22), RANK(23), RANK(24), RANK(25),
    RANK(26), RANK(27), RANK(28), RANK(29), RANK(30), RANK(31), RANK(32)};

const struct gw_compressor *const gw_compressors[] = {
    &gw_compressor_topk,         &gw_compressor_randk,
    &gw_compressor_dgc,          &gw_compressor_redsync,
    &gw_compressor_gaussiank,    &gw_compressor_count_sketch,
    &gw_compressor_layer_drop,   &gw_compressor_hard_threshold,
    &gw_compressor_sidco,        &gw_compressor_exdyna,
    &gw_compressor_exdyna_trend, &gw_compressor_exdyna_static,
    &gw_compressor_bf16,         &gw_compressor_fp16,
    &gw_compressor_int8,         &gw_compressor_fp8,
    &gw_compressor_onebit,       &gw_compressor_qsgd,
    &gw_compressor_powersgd,     NULL,
};

/* ---- one of them --------------------------------------------------------------------------- */

const struct gw_compressor *gw_compressor_find(const char *name) {
    for (size_t i = 0; gw_compressors[i] != NULL; i++) {
        if (strcmp(gw_compressors[i]->name, name) == 0) {
            return gw_compressors[i];
        }
    }
    for (size_t i = 0; i < sizeof other_ranks / sizeof *other_ranks; i++) {
        if (strcmp(other_ranks[i].name, name) == 0) {
            return &other_ranks[i];
        }
    }
    return strcmp(name, "powersgd:4") == 0 ? &gw_compressor_powersgd : NULL;
}

enum gw_status gw_compressor_choose(const char *name, const struct gw_compressor **out,
                                    struct gw_error *error) {
    *out = strcmp(name, "none") == 0 ? &gw_compressor_none : gw_compressor_find(name);
    return *out != NULL ? GW_OK
                        : gw_fail(error, GW_BAD_INPUT,
                                  "compressor: expected none or one of gradweave list compressors, "
                                  "got \"%s\"",
                                  name);
}

enum gw_status gw_model_check_shapes(const struct gw_model *model,
                                     const struct gw_compressor *compressor,
                                     struct gw_error *error) {
    for (size_t i = 0; i < model->tensor_count; i++) {
        if (compressor->rank == 0 || model->tensors[i].shape != NULL) {
            return GW_OK;
        }
    }
    return gw_fail(error, GW_BAD_INPUT,
                   "%s: tensors[0] (%s): expected a shape, of which %s makes factors; no tensor of "
                   "the model has one",
                   model->name, model->tensors[0].name, compressor->name);
}

/* ---- how much is selected ------------------------------------------------------------------ */

static size_t power_of_two_from(double least) {
    size_t power = GW_SKETCH_BLOCK;
    while ((double)power < least) {
        power *= 2;
    }
    return power;
}

size_t gw_sketch_columns(size_t n, size_t k) {
    double needed = 2 * 0.287 * (double)k * log((double)n / (double)k);
    /* k close to n: no fewer columns than k, but as many as there may be */
    return power_of_two_from(fmin(fmax(needed, (double)k), 0x1p31));
}

uint64_t gw_code_bytes(const struct gw_compressor *compressor, uint64_t n) {
    const struct gw_code *code = &compressor->code;
    uint64_t block = code->block == 0 ? n : code->block;
    return n == 0 ? 0 : (n * code->bits + 7) / 8 + code->scale_bytes * ((n + block - 1) / block);
}

uint64_t gw_sketch_cells(const struct gw_compressor *compressor, uint64_t elements, uint64_t kept) {
    return compressor->sketched ? GW_SKETCH_ROWS * gw_sketch_columns(elements, kept) : 0;
}
