/*
 * Data that needs no measuring: networks' shapes, published figures of GPUs and links, and the
 * models and clusters made of them, each with its uncertainty.
 */
#ifndef GW_PUBLISHED_PUBLISHED_H
#define GW_PUBLISHED_PUBLISHED_H

#include "core/core.h"
#include "traces/traces.h"

/* A published figure, and the range of measurements of it. */
struct gw_range {
    double low, typical, high;
};

/* Whether a text is the name or one of the aliases, which NULL ends. */
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
 * A parameter, with one sample's forward work from its first operation up to the next parameter's:
 * operations without parameters (activations, attention's products) count for the one before.
 */
struct gw_tensor_shape {
    const char *name; /* PyTorch's name: "layer1.0.conv1.weight" */
    uint64_t elements;
    uint64_t sizes[4];    /* its dimensions, whose product this is, the last ones 0; those of
                             GPT-2's products are exchanged in transformers */
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
    double batch_size; /* usual batch of one GPU */
    uint64_t parameters;
    /* The list is the arena's, and so are its names. */
    enum gw_status (*build)(const struct gw_architecture *self, struct gw_arena *arena,
                            struct gw_tensor_shapes *out, struct gw_error *error);
    const void *details; /* of a family's member, for `build` */
};

/* Known networks, ended by one without a name. */
extern const struct gw_architecture gw_architectures[];

/* Fails with the known names if there is none of that name. */
enum gw_status gw_architecture_find(const char *name, const struct gw_architecture **out,
                                    struct gw_error *error);

/* ---- GPUs ------------------------------------------------------------------------------------ */

enum gw_precision { GW_FP32, GW_TF32, GW_FP16, GW_BF16, GW_PRECISIONS };
extern const char *const gw_precision_names[]; /* ended by NULL: "fp32", "tf32", "fp16", "bf16" */

enum { GW_MAX_ALIASES = 8 };

struct gw_published_gpu {
    const char *name; /* "a100" */
    /* Other names, ended by NULL, as nvidia-smi prints them after the maker: "A100-SXM4-80GB". */
    const char *aliases[GW_MAX_ALIASES];
    const char *title;           /* "NVIDIA A100 SXM 80 GB" */
    double flops[GW_PRECISIONS]; /* published peak, without sparsity; 0: has no such units. A
                                    multiply-add is two */
    double bytes_per_s;          /* published peak of its memory */
    double memory_bytes;         /* size of its memory */
    /* Shares of both peaks that training reaches. */
    struct gw_range compute_efficiency[GW_PRECISIONS], memory_efficiency;
    const char *within; /* usual link between the GPUs of its servers; NULL: none */
    const char *source; /* of the peaks; of the efficiencies; and of that link */
};
extern const struct gw_published_gpu gw_published_gpus[]; /* ended by one without a name */

/*
 * Finds a GPU by its name or an alias, ignoring case, hyphens and spaces, also after the maker and
 * the brand: "NVIDIA A100-SXM4-40GB", "Tesla V100-SXM2-16GB", "GeForce RTX 3090".
 */
enum gw_status gw_published_gpu_find(const char *name, const struct gw_published_gpu **out,
                                     struct gw_error *error);

/* ---- links ----------------------------------------------------------------------------------- */

struct gw_link {
    const char *name;                    /* "25gbit", "hdr", "nvlink4", "pcie4" */
    const char *aliases[GW_MAX_ALIASES]; /* ended by NULL: "ndr200", "200gbit-ib" */
    const char *title;                   /* "25 Gb/s Ethernet, TCP" */
    double bytes_per_s; /* published, each way, of one node (network) or one GPU (within a node) */
    /* Share of it that collectives reach with large messages. */
    struct gw_range efficiency;
    /* Time of a collective's step for the smallest messages. */
    struct gw_range step_s;
    bool within; /* a node */
    const char *source;
};
extern const struct gw_link gw_links[]; /* ended by one without a name */

/*
 * Finds a link by its name or an alias, ignoring case. A network is also found by a rate that
 * gw_rate_unit knows ("2.5gbit", "10Gb/s", "25GbE"): Ethernet with TCP, with RoCE after "-roce", or
 * InfiniBand after "-ib" if the table has that rate. The link is the caller's, its texts are the
 * arena's.
 */
enum gw_status gw_link_find(const char *name, bool within, struct gw_arena *arena,
                            struct gw_link *out, struct gw_error *error);

/*
 * Describes the bandwidth that collectives typically reach with large messages on a link, and on
 * other links of its rate: "100 Gb/s Ethernet, TCP: 12.5 GB/s, of which collectives reach 5 (10 by
 * 100gbit-roce, 11.5 by edr)". The text is the arena's; NULL: no memory.
 */
const char *gw_link_reach(const struct gw_link *link, struct gw_arena *arena);

/* Makes a link between nodes of perftest's one-way bandwidth; texts are the arena's. */
enum gw_status gw_link_measured(double bytes_per_s, struct gw_arena *arena, struct gw_link *out,
                                struct gw_error *error);

/* ---- models and clusters --------------------------------------------------------------------- */

struct gw_model_request {
    const char *architecture;
    const char *gpu;             /* NULL: none, where the backward pass is given */
    enum gw_precision precision; /* GW_PRECISIONS: TF32, and FP32 where there is no TF32 */
    double batch_size;           /* 0: the architecture's own */
    double backward_s;           /* of the whole pass; 0: by the GPU */
    double forward_s;            /* 0: half of that, or by the GPU */
};

/* Makes a document of gradweave/model@1, the caller's, with `uncertainty` and sources. */
enum gw_status gw_model_make(const struct gw_model_request *request, cJSON **out,
                             struct gw_error *error);

struct gw_cluster_request {
    const char *name; /* NULL: composed of the others */
    size_t nodes;
    size_t gpus_per_node; /* 0: one */
    size_t cards; /* network cards of a node, of one link each, which its GPUs share; 0: one */
    /* Links; `network` NULL: none is needed with one node; `within` NULL: the GPU's usual one. */
    const char *network, *within;
    double measured_bytes_per_s; /* of the network, one way, by perftest; 0: by its name */
    const char *gpu;             /* GPU for compressors' costs; NULL: no compressors */
};

/*
 * Makes a cluster, the caller's; each curve has its `uncertainty`. Curves are for the number of
 * workers asked for, and for others up to 256 if they are known to a factor of 10.
 */
enum gw_status gw_cluster_make(const struct gw_cluster_request *request, struct gw_cluster *out,
                               struct gw_error *error);

/*
 * Sets the published margin by which passes take longer among workers than alone, for a cluster on
 * which it was not measured.
 */
enum gw_status gw_cluster_assume_passes(struct gw_cluster *cluster, struct gw_error *error);

/* Adds compressors' times by that GPU's memory to a cluster that has no compressors. */
enum gw_status gw_cluster_assume_compressors(const char *gpu, struct gw_cluster *cluster,
                                             struct gw_error *error);

#endif
