/* The published pipelines: each is a row of choices. */
#include <string.h>

#include "methods/methods.h"

/* ---- the table ----------------------------------------------------------------------------- */

const struct gw_algorithm gw_algorithms[] = {
    {.name = "dense",
     .title = "S-SGD: allreduce of all gradients after the backward pass",
     .paper = "baseline of all five papers",
     .policy = "single",
     .compressor = &gw_compressor_none,
     .exchange = &gw_exchange_allreduce},
    {.name = "p-sgd",
     .title = "wait-free backpropagation: one allreduce per tensor, overlapped",
     .paper = "Poseidon, S-Caffe (OMGS paper: P-SGD)",
     .policy = "per-tensor",
     .compressor = &gw_compressor_none,
     .exchange = &gw_exchange_allreduce},
    {.name = "ddp",
     .title = "buckets as PyTorch's DDP makes them, one allreduce each, overlapped",
     .paper = "DistributedDataParallel (Li et al., VLDB 2020)",
     .policy = "ddp",
     .compressor = &gw_compressor_none,
     .exchange = &gw_exchange_allreduce},
    {.name = "mg-wfbp",
     .title = "wait-free backpropagation with greedily merged tensors",
     .paper = "MG-WFBP (Shi et al., INFOCOM 2019)",
     .policy = "mg-wfbp",
     .compressor = &gw_compressor_none,
     .exchange = &gw_exchange_allreduce},
    {.name = "topk",
     .title = "exact top-k of the whole gradient, one allgather",
     .paper = "TopK-SGD (Aji and Heafield, EMNLP 2017; Lin et al., ICLR 2018)",
     .policy = "single",
     .compressor = &gw_compressor_topk,
     .exchange = &gw_exchange_allgather},
    {.name = "lags",
     .title = "exact top-k of every tensor, one allgather each, overlapped",
     .paper = "LAGS-SGD (Shi et al., ECAI 2020)",
     .policy = "per-tensor",
     .compressor = &gw_compressor_topk,
     .exchange = &gw_exchange_allgather},
    {.name = "mgs",
     .title = "top-k of groups of at least 8192 elements, overlapped",
     .paper = "MGS-SGD (OMGS paper, Tables V and VI)",
     .policy = "threshold:8192",
     .compressor = &gw_compressor_topk,
     .exchange = &gw_exchange_allgather},
    {.name = "omgs",
     .title = "top-k of groups that Algorithm 1 merges, overlapped",
     .paper = "OMGS-SGD (Shi et al., INFOCOM 2020)",
     .policy = "omgs",
     .compressor = &gw_compressor_topk,
     .exchange = &gw_exchange_allgather},
    {.name = "omgs-optimal",
     .title = "top-k of merged tensors, merged as well as can be, overlapped",
     .paper = "gradweave: the optimum that OMGS (Shi et al., 2020) approaches",
     .policy = "optimal",
     .compressor = &gw_compressor_topk,
     .exchange = &gw_exchange_allgather},
    {.name = "randk",
     .title = "random k, the same on all workers, one allreduce of their values",
     .paper = "random-k, as the GaussianK paper compares with (Shi et al., 2019)",
     .policy = "single",
     .compressor = &gw_compressor_randk,
     .exchange = &gw_exchange_common_values},
    {.name = "dgc",
     .title = "threshold of a sample, one padded allgather",
     .paper = "Deep Gradient Compression (Lin et al., ICLR 2018)",
     .policy = "single",
     .compressor = &gw_compressor_dgc,
     .exchange = &gw_exchange_allgather_padded},
    {.name = "redsync",
     .title = "trimmed top-k, one padded allgather",
     .paper = "RedSync (Fang et al., 2019)",
     .policy = "single",
     .compressor = &gw_compressor_redsync,
     .exchange = &gw_exchange_allgather_padded},
    {.name = "gaussiank",
     .title = "threshold of a fitted normal distribution, one padded allgather",
     .paper = "GaussianK-SGD (Shi et al., 2019), Algorithm 1",
     .policy = "single",
     .compressor = &gw_compressor_gaussiank,
     .exchange = &gw_exchange_allgather_padded},
    {.name = "gtopk",
     .title = "exact top-k, merged along a tree to the k largest sums",
     .paper = "gTop-k S-SGD (Shi et al., ICDCS 2019)",
     .policy = "single",
     .compressor = &gw_compressor_topk,
     .exchange = &gw_exchange_gtopk},
    {.name = "sketched-sgd",
     .title = "count sketches to a server, then exact values in a second round",
     .paper = "Sketched-SGD (Ivkin et al., NeurIPS 2019)",
     .policy = "single",
     .compressor = &gw_compressor_count_sketch,
     .exchange = &gw_exchange_sketch_server},
    {.name = "gs-sgd",
     .title = "count sketches summed along a tree, then exact values in a second round",
     .paper = "gs-SGD (Dai et al., 2022), Algorithms 1 and 2",
     .policy = "single",
     .compressor = &gw_compressor_count_sketch,
     .exchange = &gw_exchange_sketch_tree},
    {.name = "ps",
     .title = "everything to a parameter server and back",
     .paper = "Parameter Server (Li et al., OSDI 2014), baseline of the layer dropping paper",
     .policy = "single",
     .compressor = &gw_compressor_none,
     .exchange = &gw_exchange_server},
    {.name = "layer-drop",
     .title = "whole layers to a parameter server and back, others dropped",
     .paper = "Lee et al., Communication Optimization Schemes (layer dropping), 2020, Algorithm 1",
     .policy = "single",
     .compressor = &gw_compressor_layer_drop,
     .exchange = &gw_exchange_layer_server},
    {.name = "hard-threshold",
     .title = "elements above a fixed threshold, one padded allgather",
     .paper = "hard threshold (Strom, 2015; Sahu et al., 2021), as the ExDyna paper compares with",
     .policy = "single",
     .compressor = &gw_compressor_hard_threshold,
     .exchange = &gw_exchange_allgather_padded},
    {.name = "sidco",
     .title = "threshold of a fitted exponential distribution, one padded allgather",
     .paper = "SIDCo (Abdelmoniem et al., MLSys 2021)",
     .policy = "single",
     .compressor = &gw_compressor_sidco,
     .exchange = &gw_exchange_allgather_padded},
    {.name = "clt-k",
     .title = "one worker's top-k in turn, values of all workers by one allreduce",
     .paper = "ScaleCom (Chen et al., NeurIPS 2020), CLT-k",
     .policy = "single",
     .compressor = &gw_compressor_topk,
     .exchange = &gw_exchange_leader},
    {.name = "exdyna",
     .title = "each worker a partition of its own, with a threshold that adapts",
     .paper = "ExDyna (Yoon and Oh, 2024), Algorithms 1 to 5",
     .policy = "single",
     .compressor = &gw_compressor_exdyna,
     .exchange = &gw_exchange_union},
    {.name = "bf16",
     .title = "DDP's buckets as bfloat16, one allreduce each, overlapped",
     .paper = "PyTorch's bf16_compress_hook",
     .policy = "ddp",
     .compressor = &gw_compressor_bf16,
     .exchange = &gw_exchange_halves},
    {.name = "fp16",
     .title = "DDP's buckets in half precision, one allreduce each, overlapped",
     .paper = "PyTorch's fp16_compress_hook",
     .policy = "ddp",
     .compressor = &gw_compressor_fp16,
     .exchange = &gw_exchange_halves},
    {.name = "bf16-fp32",
     .title = "DDP's buckets as bfloat16 in two phases, summed as floats, overlapped",
     .paper = "Megatron-LM's reduce-scatter in bfloat16 with sums in float",
     .policy = "ddp",
     .compressor = &gw_compressor_bf16,
     .exchange = &gw_exchange_two_phase},
    {.name = "int8",
     .title = "DDP's buckets as 8-bit integers in two phases, overlapped",
     .paper = "qgZ of ZeRO++ (Wang et al., ICLR 2024), of one level",
     .policy = "ddp",
     .compressor = &gw_compressor_int8,
     .exchange = &gw_exchange_two_phase},
    {.name = "fp8",
     .title = "DDP's buckets as 8-bit floats in two phases, overlapped",
     .paper = "FP8-LM (Peng et al., 2023); torchft's quantised allreduce",
     .policy = "ddp",
     .compressor = &gw_compressor_fp8,
     .exchange = &gw_exchange_two_phase},
    {.name = "onebit",
     .title = "the signs of the whole gradient in two phases, with residuals in both",
     .paper = "1-bit Adam (Tang et al., ICML 2021), its exchange",
     .policy = "single",
     .compressor = &gw_compressor_onebit,
     .exchange = &gw_exchange_two_phase},
    {.name = "qsgd",
     .title = "the whole gradient at 7 levels, one allgather",
     .paper = "QSGD (Alistarh et al., NeurIPS 2017)",
     .policy = "single",
     .compressor = &gw_compressor_qsgd,
     .exchange = &gw_exchange_allgather_codes},
    {.name = "powersgd",
     .title = "factors of rank 4 of DDP's buckets, three allreduces each, overlapped",
     .paper = "PowerSGD (Vogels et al., NeurIPS 2019); PyTorch's powerSGD_hook",
     .policy = "ddp",
     .compressor = &gw_compressor_powersgd,
     .exchange = &gw_exchange_low_rank},
    {.name = NULL},
};

/* ---- one of them --------------------------------------------------------------------------- */

enum gw_status gw_algorithm_find(const char *name, const struct gw_algorithm **out,
                                 struct gw_error *error) {
    char names[512] = "";
    for (const struct gw_algorithm *row = gw_algorithms; row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0) {
            *out = row;
            return GW_OK;
        }
    }
    for (const struct gw_algorithm *row = gw_algorithms; row->name != NULL && error != NULL;
         row++) {
        gw_list_name(names, sizeof names, row->name);
    }
    return gw_fail(error, GW_BAD_INPUT, "algorithm: expected one of %s; got \"%s\"", names, name);
}

struct gw_algorithm gw_algorithm_mixed(const struct gw_plan *plan) {
    const struct gw_compressor *compressor = NULL;
    for (size_t g = 0; g < plan->way_count && compressor == NULL; g++) {
        compressor = gw_compressor_find(plan->ways[g].compressor);
    }
    compressor = compressor == NULL ? &gw_compressor_none : compressor;
    return (struct gw_algorithm){.name = GW_MIXED,
                                 .title = "each group as its plan says",
                                 .paper = "gradweave",
                                 .policy = plan->policy,
                                 .compressor = compressor,
                                 .exchange = gw_exchange_for(compressor)};
}

bool gw_algorithm_overlaps(const struct gw_algorithm *algorithm) {
    return strcmp(algorithm->policy, "single") != 0;
}

enum gw_status gw_algorithm_change(const struct gw_algorithm *preset,
                                   const struct gw_choice_changes *changes,
                                   struct gw_algorithm *out, struct gw_error *error) {
    *out = *preset;
    if (changes->compressor != NULL) {
        GW_TRY(gw_compressor_choose(changes->compressor, &out->compressor, error));
    }
    if (changes->policy != NULL) {
        out->policy = changes->policy;
    }
    if (changes->exchange != NULL) {
        GW_TRY(gw_exchange_find(changes->exchange, &out->exchange, error));
    } else if (!out->exchange->carries(out->compressor)) {
        out->exchange = gw_exchange_for(out->compressor);
    }
    return out->exchange->carries(out->compressor)
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "exchange %s: expected %s, got %s",
                         out->exchange->name, out->exchange->needed, out->compressor->name);
}

enum gw_status gw_algorithm_choose(const char *name, const struct gw_choice_changes *changes,
                                   const struct gw_plan *plan, struct gw_algorithm *out,
                                   struct gw_error *error) {
    const struct gw_algorithm *preset = NULL;
    if (gw_plan_is_mixed(plan)) {
        *out = gw_algorithm_mixed(plan);
        return GW_OK;
    }
    GW_TRY(gw_algorithm_find(name, &preset, error));
    return gw_algorithm_change(preset, changes, out, error);
}
