/*
 * GPUs: their makers' figures, and the shares of them that training reaches.
 *
 * Efficiencies are derived from published throughputs of training on one GPU. The time of
 * memory-bound operations (norms, activations, additions) was subtracted first, as counted by
 * published/architectures.c: in the forward pass 70 million elements of an image by ResNet-50, 245
 * million of 384 tokens by BERT-large; three times that with the backward pass; of 4 bytes, or 2 in
 * mixed precision; at 0.8 of the memory's bandwidth. The rest is the time of 4.1 and of 123 billion
 * multiply-adds, again times three. The two networks' efficiencies differ by up to a factor of 2.
 * Values above 1 in fp32 are due to Winograd convolutions, which multiply less often than is
 * counted. GPUs with TF32 were measured with it; their efficiencies in fp32 are assumed.
 */
#include <string.h>
#include <strings.h>

#include "published/published.h"

const char *const gw_precision_names[] = {
    [GW_FP32] = "fp32", [GW_TF32] = "tf32", [GW_FP16] = "fp16", [GW_BF16] = "bf16", NULL};

/* Source of most GPUs' throughputs. */
#define LAMBDA                                                                                     \
    "efficiencies: Lambda, deeplearning-benchmark, PyTorch training of ResNet-50 and BERT-large "  \
    "(github.com/lambdal/deeplearning-benchmark)"

#define V100                                                                                       \
    "peaks: NVIDIA V100 data sheet; " LAMBDA                                                       \
    "; NVIDIA DeepLearningExamples, ResNet-50 v1.5 on DGX-1; link: SXM2 boards as in a DGX-1 and " \
    "a DGX-2"

/* ---- the table ------------------------------------------------------------------------------- */

/* A P102-100 has no link: it is a card for mining, on four lanes of PCIe 1.0. */
const struct gw_published_gpu gw_published_gpus[] = {
    {.name = "p100",
     .aliases = {"p100-sxm2", "p100-sxm2-16gb"},
     .title = "NVIDIA P100 SXM2 16 GB",
     .flops = {[GW_FP32] = 10.6e12},
     .bytes_per_s = 732e9,
     .memory_bytes = 16e9,
     .compute_efficiency = {[GW_FP32] = {0.65, 0.82, 1.1}},
     .memory_efficiency = {0.6, 0.75, 0.9},
     .within = "nvlink1",
     .source =
         "peaks: NVIDIA Tesla P100 data sheet; efficiencies: Horovod's README of 2017, "
         "Inception V3, ResNet-101 and VGG-16 on one Pascal GPU; link: SXM2 boards as in a DGX-1"},
    {.name = "p102-100",
     .title = "NVIDIA P102-100 5 GB",
     .flops = {[GW_FP32] = 10.77e12},
     .bytes_per_s = 440.3e9,
     .memory_bytes = 5e9,
     .compute_efficiency = {[GW_FP32] = {0.26, 0.5, 0.8}},
     .memory_efficiency = {0.6, 0.75, 0.9},
     .source = "peaks: sysrqmts.com and llmperf.net, by its clocks, as no data sheet is public; "
               "efficiencies: ResNet-50 in the OMGS paper (Shi et al., 2020) and on a GTX 1080 Ti, "
               "which has the same chip (Lambda, deeplearning-benchmark)"},
    {.name = "v100",
     .aliases = {"v100-sxm", "v100-sxm2", "v100-16gb", "v100-sxm2-16gb"},
     .title = "NVIDIA V100 SXM2 16 GB",
     .flops = {[GW_FP32] = 15.7e12, [GW_FP16] = 125e12},
     .bytes_per_s = 900e9,
     .memory_bytes = 16e9,
     .compute_efficiency = {[GW_FP32] = {0.6, 0.8, 1.05}, [GW_FP16] = {0.3, 0.42, 0.75}},
     .memory_efficiency = {0.6, 0.8, 0.9},
     .within = "nvlink2",
     .source = V100},
    {.name = "v100-32gb",
     .aliases = {"v100-sxm2-32gb", "v100-sxm3-32gb"},
     .title = "NVIDIA V100 SXM2 32 GB",
     .flops = {[GW_FP32] = 15.7e12, [GW_FP16] = 125e12},
     .bytes_per_s = 900e9,
     .memory_bytes = 32e9,
     .compute_efficiency = {[GW_FP32] = {0.6, 0.8, 1.05}, [GW_FP16] = {0.3, 0.42, 0.75}},
     .memory_efficiency = {0.6, 0.8, 0.9},
     .within = "nvlink2",
     .source = V100},
    {.name = "t4",
     .title = "NVIDIA T4 16 GB",
     .flops = {[GW_FP32] = 8.1e12, [GW_FP16] = 65e12},
     .bytes_per_s = 320e9,
     .memory_bytes = 16e9,
     .compute_efficiency = {[GW_FP32] = {0.4, 0.55, 0.75}, [GW_FP16] = {0.18, 0.3, 0.45}},
     .memory_efficiency = {0.6, 0.75, 0.88},
     .within = "pcie3",
     .source = "peaks: NVIDIA T4 data sheet; efficiencies: NVIDIA DeepLearningExamples, inference "
               "with ResNet-50 v1.5 on a T4, as its 70 W bound training too; link: its data sheet, "
               "PCIe 3.0 x16"},
    {.name = "rtx3090",
     .title = "NVIDIA GeForce RTX 3090 24 GB",
     .flops = {[GW_FP32] = 35.6e12, [GW_TF32] = 35.6e12, [GW_FP16] = 71e12, [GW_BF16] = 71e12},
     .bytes_per_s = 936e9,
     .memory_bytes = 24e9,
     .compute_efficiency = {[GW_FP32] = {0.4, 0.6, 0.85},
                            [GW_TF32] = {0.5, 0.65, 0.85},
                            [GW_FP16] = {0.5, 0.6, 0.75},
                            [GW_BF16] = {0.5, 0.6, 0.75}},
     .memory_efficiency = {0.6, 0.8, 0.9},
     .within = "pcie4",
     .source = "peaks: NVIDIA Ampere GA102 GPU Architecture whitepaper; " LAMBDA
               "; link: PCIe 4.0 x16; NVLink bridges join two of them at most"},
    {.name = "a10",
     .title = "NVIDIA A10 24 GB",
     .flops = {[GW_FP32] = 31.2e12, [GW_TF32] = 62.5e12, [GW_FP16] = 125e12, [GW_BF16] = 125e12},
     .bytes_per_s = 600e9,
     .memory_bytes = 24e9,
     .compute_efficiency = {[GW_FP32] = {0.4, 0.55, 0.75},
                            [GW_TF32] = {0.22, 0.3, 0.42},
                            [GW_FP16] = {0.2, 0.28, 0.4},
                            [GW_BF16] = {0.2, 0.28, 0.4}},
     .memory_efficiency = {0.6, 0.8, 0.9},
     .within = "pcie4",
     .source = "peaks: NVIDIA A10 data sheet; " LAMBDA "; link: its data sheet, PCIe 4.0 x16"},
    {.name = "a100-40gb",
     .aliases = {"a100-sxm-40gb", "a100-sxm4-40gb"},
     .title = "NVIDIA A100 SXM 40 GB",
     .flops = {[GW_FP32] = 19.5e12, [GW_TF32] = 156e12, [GW_FP16] = 312e12, [GW_BF16] = 312e12},
     .bytes_per_s = 1555e9,
     .memory_bytes = 40e9,
     .compute_efficiency = {[GW_FP32] = {0.6, 0.8, 1.0},
                            [GW_TF32] = {0.25, 0.35, 0.52},
                            [GW_FP16] = {0.18, 0.31, 0.5},
                            [GW_BF16] = {0.18, 0.31, 0.5}},
     .memory_efficiency = {0.65, 0.8, 0.92},
     .within = "nvlink3",
     .source = "peaks: NVIDIA A100 data sheet; " LAMBDA
               ", of the PCIe card; link: SXM boards as in a DGX A100"},
    {.name = "a100",
     .aliases = {"a100-sxm", "a100-sxm4", "a100-80gb", "a100-sxm-80gb", "a100-sxm4-80gb"},
     .title = "NVIDIA A100 SXM 80 GB",
     .flops = {[GW_FP32] = 19.5e12, [GW_TF32] = 156e12, [GW_FP16] = 312e12, [GW_BF16] = 312e12},
     .bytes_per_s = 2039e9,
     .memory_bytes = 80e9,
     .compute_efficiency = {[GW_FP32] = {0.6, 0.8, 1.0},
                            [GW_TF32] = {0.28, 0.4, 0.55},
                            [GW_FP16] = {0.2, 0.36, 0.55},
                            [GW_BF16] = {0.2, 0.36, 0.55}},
     .memory_efficiency = {0.65, 0.8, 0.92},
     .within = "nvlink3",
     .source = "peaks: NVIDIA A100 data sheet; " LAMBDA
               "; NVIDIA DeepLearningExamples, ResNet-50 v1.5 and BERT on DGX A100; link: SXM "
               "boards as in a DGX A100"},
    {.name = "rtx4090",
     .title = "NVIDIA GeForce RTX 4090 24 GB",
     .flops =
         {[GW_FP32] = 82.6e12, [GW_TF32] = 82.6e12, [GW_FP16] = 165.2e12, [GW_BF16] = 165.2e12},
     .bytes_per_s = 1008e9,
     .memory_bytes = 24e9,
     .compute_efficiency = {[GW_FP32] = {0.4, 0.6, 0.85},
                            [GW_TF32] = {0.44, 0.62, 0.88},
                            [GW_FP16] = {0.42, 0.53, 0.7},
                            [GW_BF16] = {0.42, 0.53, 0.7}},
     .memory_efficiency = {0.6, 0.8, 0.9},
     .within = "pcie4",
     .source = "peaks: NVIDIA Ada GPU Architecture whitepaper; " LAMBDA
               "; link: PCIe 4.0 x16, as it has no NVLink"},
    {.name = "l4",
     .title = "NVIDIA L4 24 GB",
     .flops = {[GW_FP32] = 30.3e12, [GW_TF32] = 60e12, [GW_FP16] = 121e12, [GW_BF16] = 121e12},
     .bytes_per_s = 300e9,
     .memory_bytes = 24e9,
     .compute_efficiency = {[GW_FP32] = {0.3, 0.5, 0.7},
                            [GW_TF32] = {0.18, 0.3, 0.5},
                            [GW_FP16] = {0.15, 0.27, 0.45},
                            [GW_BF16] = {0.15, 0.27, 0.45}},
     .memory_efficiency = {0.6, 0.78, 0.9},
     .within = "pcie4",
     .source = "peaks: NVIDIA L4 data sheet, half of those with sparsity; efficiencies: assumed "
               "from the T4 and the A10, which its 72 W lie close to; no throughput was found; "
               "link: its data sheet, PCIe 4.0 x16"},
    {.name = "l40s",
     .title = "NVIDIA L40S 48 GB",
     .flops = {[GW_FP32] = 91.6e12, [GW_TF32] = 183e12, [GW_FP16] = 362e12, [GW_BF16] = 362e12},
     .bytes_per_s = 864e9,
     .memory_bytes = 48e9,
     .compute_efficiency = {[GW_FP32] = {0.35, 0.55, 0.8},
                            [GW_TF32] = {0.18, 0.3, 0.45},
                            [GW_FP16] = {0.14, 0.25, 0.4},
                            [GW_BF16] = {0.14, 0.25, 0.4}},
     .memory_efficiency = {0.6, 0.8, 0.9},
     .within = "pcie4",
     .source = "peaks: NVIDIA L40S data sheet, half of those with sparsity; efficiencies: assumed "
               "from the RTX 4090, which has the same chip; no throughput was found; link: its "
               "data sheet, PCIe 4.0 x16"},
    {.name = "h100",
     .aliases = {"h100-sxm", "h100-sxm5", "h100-80gb", "h100-sxm-80gb", "h100-sxm5-80gb",
                 "h100-80gb-hbm3"},
     .title = "NVIDIA H100 SXM 80 GB",
     .flops = {[GW_FP32] = 67e12, [GW_TF32] = 494.7e12, [GW_FP16] = 989.4e12, [GW_BF16] = 989.4e12},
     .bytes_per_s = 3350e9,
     .memory_bytes = 80e9,
     .compute_efficiency = {[GW_FP32] = {0.45, 0.65, 0.85},
                            [GW_TF32] = {0.2, 0.26, 0.38},
                            [GW_FP16] = {0.12, 0.22, 0.38},
                            [GW_BF16] = {0.12, 0.22, 0.38}},
     .memory_efficiency = {0.65, 0.8, 0.92},
     .within = "nvlink4",
     .source = "peaks: NVIDIA H100 data sheet, half of those with sparsity; " LAMBDA
               "; link: SXM boards as in a DGX H100"},
    {.name = "h100-pcie",
     .aliases = {"h100-80gb-pcie", "h100-pcie-80gb"},
     .title = "NVIDIA H100 PCIe 80 GB",
     .flops = {[GW_FP32] = 51e12, [GW_TF32] = 378e12, [GW_FP16] = 756e12, [GW_BF16] = 756e12},
     .bytes_per_s = 2000e9,
     .memory_bytes = 80e9,
     .compute_efficiency = {[GW_FP32] = {0.4, 0.65, 0.85},
                            [GW_TF32] = {0.15, 0.26, 0.38},
                            [GW_FP16] = {0.1, 0.22, 0.38},
                            [GW_BF16] = {0.1, 0.22, 0.38}},
     .memory_efficiency = {0.65, 0.8, 0.92},
     .within = "pcie5",
     .source = "peaks: NVIDIA H100 data sheet, half of those with sparsity; efficiencies: assumed "
               "from the SXM card, at worst lower as its 350 W bound it; link: its data sheet, "
               "PCIe 5.0 x16; NVLink bridges join two of them at most"},
    {.name = "h200",
     .aliases = {"h200-sxm", "h200-141gb"},
     .title = "NVIDIA H200 SXM 141 GB",
     .flops = {[GW_FP32] = 67e12, [GW_TF32] = 494.7e12, [GW_FP16] = 989.4e12, [GW_BF16] = 989.4e12},
     .bytes_per_s = 4800e9,
     .memory_bytes = 141e9,
     .compute_efficiency = {[GW_FP32] = {0.45, 0.65, 0.85},
                            [GW_TF32] = {0.17, 0.27, 0.38},
                            [GW_FP16] = {0.12, 0.23, 0.36},
                            [GW_BF16] = {0.12, 0.23, 0.36}},
     .memory_efficiency = {0.65, 0.8, 0.92},
     .within = "nvlink4",
     .source = "peaks: NVIDIA H200 data sheet, half of those with sparsity; " LAMBDA
               "; gradweave's ResNet-50, VGG-16 and BERT-large on an H200 with TF32; link: SXM "
               "boards as in a DGX H200"},
    {.name = "b200",
     .aliases = {"b200-sxm"},
     .title = "NVIDIA B200 SXM 180 GB",
     .flops = {[GW_FP32] = 75e12, [GW_TF32] = 1.12e15, [GW_FP16] = 2.25e15, [GW_BF16] = 2.25e15},
     .bytes_per_s = 7700e9,
     .memory_bytes = 180e9,
     .compute_efficiency = {[GW_FP32] = {0.4, 0.65, 0.85},
                            [GW_TF32] = {0.12, 0.22, 0.36},
                            [GW_FP16] = {0.08, 0.18, 0.34},
                            [GW_BF16] = {0.08, 0.18, 0.34}},
     .memory_efficiency = {0.6, 0.78, 0.92},
     .within = "nvlink5",
     .source = "peaks: NVIDIA DGX B200 data sheet, of one of its eight GPUs, half of those with "
               "sparsity; efficiencies: assumed from the H200, lower as its peak is higher; no "
               "throughput was found; link: SXM boards as in a DGX B200"},
    {.name = NULL},
};

/* ---- finding a GPU --------------------------------------------------------------------------- */

enum gw_status gw_published_gpu_find(const char *name, const struct gw_published_gpu **out,
                                     struct gw_error *error) {
    char names[256] = "";
    /* Take the maker and the brand off a name: "NVIDIA GeForce RTX 3090" is "RTX 3090". */
    static const char *const before[] = {"NVIDIA", "Tesla", "GeForce"};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        size_t length = strlen(before[i]);
        size_t gap = strncasecmp(name, before[i], length) == 0 ? strspn(name + length, "-_ ") : 0;
        name += gap > 0 ? length + gap : 0;
    }
    for (const struct gw_published_gpu *row = gw_published_gpus; row->name != NULL; row++) {
        if (gw_name_is_one_of(name, row->name, row->aliases)) {
            *out = row;
            return GW_OK;
        }
        gw_list_name(names, sizeof names, row->name);
    }
    return gw_fail(error, GW_BAD_INPUT, "GPU: expected one of %s; got \"%s\"", names, name);
}
