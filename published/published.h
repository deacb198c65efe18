/*
 * What is known without measuring: networks by their shapes, GPUs and links by published figures,
 * and the models and clusters that are made of them. All of it says how far off it may be.
 */
#ifndef GW_PUBLISHED_PUBLISHED_H
#define GW_PUBLISHED_PUBLISHED_H

#include "core/core.h"
#include "traces/traces.h"

/* A published figure that comes with a range in which measurements of it lie. */
struct gw_range {
    double low, typical, high;
};

/* Whether a text names a thing by its name or one of its others, which NULL ends. */
static inline bool gw_name_is_one_of(const char *text, const char *name,
                                     const char *const *aliases) {
    bool agrees = gw_names_agree(name, text);
    for (size_t i = 0; !agrees && aliases[i] != NULL; i++) {
        agrees = gw_names_agree(aliases[i], text);
    }
    return agrees;
}

/* ---- architectures --------------------------------------------------------------------------- */

/*
 * A parameter, with the work of one sample's forward pass from the operation that uses it first up
 * to that of the next parameter: what has no parameters of its own (activations, attention's
 * products) counts with what stands before it.
 */
struct gw_tensor_shape {
    const char *name; /* as PyTorch names it: "layer1.0.conv1.weight" */
    uint64_t elements;
    double multiply_adds; /* in convolutions and products of matrices */
    double moved;         /* elements read and written by all else: norms, activations, additions,
                             softmax, embeddings; in a training forward pass */
};

/* Tensors in forward order, so that the gradient of the last is ready first. */
struct gw_tensor_shapes {
    size_t count;
    struct gw_tensor_shape *list;
};

struct gw_architecture {
    const char *name;  /* "resnet50" */
    const char *title; /* "ResNet-50, images of 224 x 224" */
    const char *paper;
    double batch_size; /* of one GPU, as is usual */
    uint64_t parameters;
    /* The list is the arena's, and so are its names. */
    enum gw_status (*build)(const struct gw_architecture *self, struct gw_arena *arena,
                            struct gw_tensor_shapes *out, struct gw_error *error);
    const void *details; /* of a family's member, for `build` */
};

/* Ended by one without a name. */
extern const struct gw_architecture gw_architectures[];

/* Fails with the known names if there is none of that name. */
enum gw_status gw_architecture_find(const char *name, const struct gw_architecture **out,
                                    struct gw_error *error);

/* ---- GPUs ------------------------------------------------------------------------------------ */

enum gw_precision { GW_FP32, GW_TF32, GW_FP16, GW_BF16, GW_PRECISIONS };
extern const char *const gw_precision_names[]; /* ended by NULL: "fp32", "tf32", "fp16", "bf16" */

enum { GW_MOST_ALIASES = 8 };

struct gw_published_gpu {
    const char *name; /* "a100" */
    /* Others that name it, ended by NULL, as nvidia-smi does behind the maker: "A100-SXM4-80GB". */
    const char *aliases[GW_MOST_ALIASES];
    const char *title;           /* "NVIDIA A100 SXM 80 GB" */
    double flops[GW_PRECISIONS]; /* published peak, without sparsity; 0: has no such units. A
                                    multiply-add is two */
    double bytes_per_s;          /* published peak of its memory */
    double memory_bytes;         /* how much of it there is */
    /* What training reaches of both peaks. */
    struct gw_range compute_efficiency[GW_PRECISIONS], memory_efficiency;
    const char *within; /* the link between the GPUs of the servers that it usually is in; NULL:
                           none is usual */
    const char *source; /* of the peaks; of the efficiencies; and of that link */
};
extern const struct gw_published_gpu gw_published_gpus[]; /* ended by one without a name */

/*
 * Finds a GPU by its name or another, whatever its case, hyphens and spaces, also behind the maker
 * and the brand: "NVIDIA A100-SXM4-40GB", "Tesla V100-SXM2-16GB", "GeForce RTX 3090".
 */
enum gw_status gw_published_gpu_find(const char *name, const struct gw_published_gpu **out,
                                     struct gw_error *error);

/* ---- links ----------------------------------------------------------------------------------- */

struct gw_link {
    const char *name;                     /* "25gbit", "hdr", "nvlink4", "pcie4" */
    const char *aliases[GW_MOST_ALIASES]; /* ended by NULL: "ndr200", "200gbit-ib" */
    const char *title;                    /* "25 Gb/s Ethernet, TCP" */
    double bytes_per_s; /* published, each way, of one node (network) or one GPU (within a node) */
    /* What collectives reach of it with large messages. */
    struct gw_range efficiency;
    /* What a step of a collective takes however few bytes it has. */
    struct gw_range step_s;
    bool within; /* a node */
    const char *source;
};
extern const struct gw_link gw_links[]; /* ended by one without a name */

/*
 * Finds a link by its name or another, whatever its case; a network by any rate too that
 * gw_rate_unit knows ("2.5gbit", "10Gb/s", "25GbE"), which is Ethernet with TCP, or with RoCE where
 * "-roce" stands behind it, or InfiniBand of a rate that is in the table where "-ib" does. The link
 * is the caller's, its texts are the arena's.
 */
enum gw_status gw_link_find(const char *name, bool within, struct gw_arena *arena,
                            struct gw_link *out, struct gw_error *error);

/*
 * Describes the bandwidth that collectives usually reach with large messages on a link, and on
 * others of its rate: "5 GB/s by 100 Gb/s Ethernet, TCP, of 12.5 (it would be 10 GB/s by
 * 100gbit-roce, 11.5 GB/s by edr)". The text is the arena's; NULL: no memory.
 */
const char *gw_link_reach(const struct gw_link *link, struct gw_arena *arena);

/* Between nodes, by what perftest measured of it one way; texts are the arena's. */
enum gw_status gw_link_measured(double bytes_per_s, struct gw_arena *arena, struct gw_link *out,
                                struct gw_error *error);

/* ---- what is made of them -------------------------------------------------------------------- */

struct gw_model_request {
    const char *architecture;
    const char *gpu;             /* NULL: none, where the backward pass is given */
    enum gw_precision precision; /* GW_PRECISIONS: TF32, and FP32 where there is no TF32 */
    double batch_size;           /* 0: the architecture's own */
    double backward_s;           /* 0: by the GPU; else what the backward pass takes in all */
    double forward_s;            /* 0: half of that, or by the GPU */
};

/* A document of gradweave/model@1, the caller's, with `uncertainty` and sources. */
enum gw_status gw_model_make(const struct gw_model_request *request, cJSON **out,
                             struct gw_error *error);

struct gw_cluster_request {
    const char *name; /* NULL: made of the others */
    size_t nodes;
    size_t gpus_per_node; /* 0: one */
    size_t cards; /* network cards of a node, of one link each, which its GPUs share; 0: one */
    /* Links; `network` NULL: none is needed with one node; `within` NULL: the GPU's usual one. */
    const char *network, *within;
    double measured_bytes_per_s; /* of the network, one way, by perftest; 0: by its name */
    const char *gpu;             /* of whose memory compressors' costs are; NULL: no compressors */
};

/*
 * The cluster is the caller's; each curve has its `uncertainty`. Curves are of as many workers as
 * are asked for, and of other numbers, up to 256, where they are known to a factor of ten.
 */
enum gw_status gw_cluster_make(const struct gw_cluster_request *request, struct gw_cluster *out,
                               struct gw_error *error);

/*
 * How much longer forward and backward passes may take among workers than alone, for a cluster that
 * nobody measured it on.
 */
enum gw_status gw_cluster_assume_passes(struct gw_cluster *cluster, struct gw_error *error);

/* What compressors take by that GPU's memory, for a cluster that has none; of others nothing. */
enum gw_status gw_cluster_assume_compressors(const char *gpu, struct gw_cluster *cluster,
                                             struct gw_error *error);

#endif
