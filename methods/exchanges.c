/* The table of exchanges, and their legs. Code that runs legs is in exec/. */
#include <string.h>

#include "methods/methods.h"

/* ---- selections that exchanges carry ------------------------------------------------------- */

static bool is_dense(const struct gw_compressor *compressor) {
    return compressor == &gw_compressor_none;
}

static bool is_sparse(const struct gw_compressor *compressor) {
    return gw_compressor_selects(compressor);
}

static bool is_code(const struct gw_compressor *compressor) {
    return compressor->code.bits > 0;
}

static bool is_half(const struct gw_compressor *compressor) {
    return compressor->code.bits == 16;
}

static bool is_of_rank(const struct gw_compressor *compressor) {
    return compressor->rank > 0;
}

static bool is_exact(const struct gw_compressor *compressor) {
    return is_sparse(compressor) && compressor->exact;
}

static bool is_common(const struct gw_compressor *compressor) {
    return compressor->common;
}

static bool is_joint(const struct gw_compressor *compressor) {
    return compressor->joint;
}

static bool is_layered(const struct gw_compressor *compressor) {
    return compressor->layered;
}

static bool is_sketched(const struct gw_compressor *compressor) {
    return compressor->sketched;
}

static bool is_exact_alone(const struct gw_compressor *compressor) {
    return is_exact(compressor) && !compressor->common;
}

static bool is_exact_alone_without_state(const struct gw_compressor *compressor) {
    return is_exact_alone(compressor) && !compressor->stateful;
}

/* ---- aggregation ----------------------------------------------------------------------------- */

const char *const gw_aggregator_names[] = {[GW_SCATTER_ADD] = "scatter-add",
                                           [GW_MERGE] = "merge",
                                           [GW_GIVE_BACK] = "give-back",
                                           [GW_TAKE_AND_PUT] = "take-and-put",
                                           [GW_SUM] = "sum",
                                           [GW_HEAVYMIX] = "heavymix",
                                           [GW_DECODE] = "decode",
                                           [GW_DECODE_ADD] = "decode-add",
                                           [GW_FACTOR] = "factor",
                                           [GW_EXPAND] = "expand"};

/* Whether the leg brings a worker codes of its part only, from each worker, or of all parts. */
static bool is_divided(const struct gw_leg *leg) {
    return leg->payload == GW_CODES_PART || strcmp(leg->collective, "alltoall") == 0;
}

uint64_t gw_aggregation_elements(const struct gw_leg *leg, enum gw_aggregator by,
                                 const struct gw_extent *extent) {
    if (by == GW_HEAVYMIX) {
        return extent->size.elements;
    }
    switch (leg->payload) {
    case GW_DENSE:
        return extent->size.elements;
    case GW_SKETCH:
        return extent->sketch_cells;
    case GW_VALUES:
    case GW_ALL_LAYERS:
        return extent->selected.all;
    case GW_SPARSE:
    case GW_PADDED:
    case GW_INDICES:
        return extent->selected.most;
    case GW_LAYERS:
        return extent->selected.mean;
    case GW_CODES:
    case GW_CODES_PART:
        return is_divided(leg) ? gw_part_elements(extent->size.elements, extent->workers)
                               : extent->size.elements;
    case GW_FACTOR_P:
    case GW_FACTOR_Q:
        return extent->size.elements - extent->size.raw;
    case GW_RAW:
    case GW_COUNTS:
        break;
    }
    return 0;
}

#define ADD_ENTRIES_OF_ALL                                                                         \
    { .by = GW_SCATTER_ADD, .recurrence = GW_FOR_EACH_WORKER, .where = GW_EVERYWHERE }
#define ADD_ENTRIES                                                                                \
    { .by = GW_SCATTER_ADD, .recurrence = GW_ONCE, .where = GW_EVERYWHERE }
#define TAKE_AND_PUT                                                                               \
    { .by = GW_TAKE_AND_PUT, .recurrence = GW_ONCE, .where = GW_EVERYWHERE }
#define SUM_AT_SERVER                                                                              \
    { .by = GW_SUM, .recurrence = GW_FOR_EACH_WORKER, .where = GW_AT_SERVER }
#define SUM_UP_TREE                                                                                \
    { .by = GW_SUM, .recurrence = GW_IN_EACH_ROUND }
#define GIVE_BACK                                                                                  \
    { .by = GW_GIVE_BACK, .recurrence = GW_ONCE, .where = GW_EVERYWHERE }
#define MERGE_UP_TREE                                                                              \
    { .by = GW_MERGE, .recurrence = GW_IN_EACH_ROUND }
#define FIND_AT_SERVER                                                                             \
    { .by = GW_HEAVYMIX, .recurrence = GW_ONCE, .where = GW_AT_SERVER }
#define DECODE_ADD_OF_ALL                                                                          \
    { .by = GW_DECODE_ADD, .recurrence = GW_FOR_EACH_WORKER, .where = GW_EVERYWHERE }
#define ENCODE                                                                                     \
    { .by = GW_ENCODE, .recurrence = GW_ONCE, .where = GW_EVERYWHERE }
#define DECODE                                                                                     \
    { .by = GW_DECODE, .recurrence = GW_ONCE, .where = GW_EVERYWHERE }
#define DECODE_OF_ALL                                                                              \
    { .by = GW_DECODE, .recurrence = GW_FOR_EACH_WORKER, .where = GW_EVERYWHERE }
#define FACTOR                                                                                     \
    { .by = GW_FACTOR, .recurrence = GW_ONCE, .where = GW_EVERYWHERE }
#define EXPAND                                                                                     \
    { .by = GW_EXPAND, .recurrence = GW_ONCE, .where = GW_EVERYWHERE }
#define FIND                                                                                       \
    { .by = GW_HEAVYMIX, .recurrence = GW_ONCE, .where = GW_EVERYWHERE }

/* ---- the table ----------------------------------------------------------------------------- */

const struct gw_exchange_kind gw_exchange_allreduce = {
    .name = "allreduce",
    .title = "everything, summed by one allreduce",
    .source = "every framework",
    .needed = "no compressor",
    .carries = is_dense,
    .leg_count = 1,
    .legs = {{.collective = "allreduce", .payload = GW_DENSE}},
};

const struct gw_exchange_kind gw_exchange_common_values = {
    .name = "common-values",
    .title = "the values of elements that all workers choose alike, summed by one allreduce",
    .source = "random-k with a shared seed, as the GaussianK paper describes it (Shi et al., 2019)",
    .needed = "a compressor that selects the same elements on all workers",
    .carries = is_common,
    .leg_count = 1,
    .legs = {{.collective = "allreduce", .payload = GW_VALUES, .aggregations = {TAKE_AND_PUT}}},
};

const struct gw_exchange_kind gw_exchange_union = {
    .name = "union",
    .title = "each worker's indices by a padded allgather, then the values of all of them by an "
             "allreduce",
    .source = "Yoon and Oh, Preserving Near-Optimal Gradient Sparsification Cost (ExDyna, 2024), "
              "Algorithm 1",
    .needed = "a compressor whose workers share out the elements",
    .carries = is_joint,
    .leg_count = 3,
    .legs = {{.collective = "allgather", .payload = GW_COUNTS},
             {.collective = "allgather", .payload = GW_INDICES},
             {.collective = "allreduce", .payload = GW_VALUES, .aggregations = {TAKE_AND_PUT}}},
};

const struct gw_exchange_kind gw_exchange_sketch_tree = {
    .name = "sketch-tree",
    .title = "sketches summed along a tree; then the exact values at the places that the sum finds",
    .source = "Dai et al., gs-SGD, 2022, Algorithms 1 and 2, Fig. 1",
    .needed = "a compressor that sketches",
    .carries = is_sketched,
    .leg_count = 2,
    .legs = {{.collective = "sketch", .payload = GW_SKETCH, .aggregations = {SUM_UP_TREE, FIND}},
             {.collective = "sketch",
              .payload = GW_VALUES,
              .aggregations = {SUM_UP_TREE, TAKE_AND_PUT}}},
};

const struct gw_exchange_kind gw_exchange_layer_server = {
    .name = "layer-server",
    .title = "whole layers to a server and back; a layer that is not chosen is one element",
    .source = "Lee et al., Communication Optimization Schemes (layer dropping), 2020, Algorithm 1",
    .needed = "a compressor that chooses whole layers",
    .carries = is_layered,
    .server = true,
    .leg_count = 2,
    .legs = {{.collective = "push", .payload = GW_LAYERS, .aggregations = {SUM_AT_SERVER}},
             {.collective = "pull", .payload = GW_ALL_LAYERS, .updates = true}},
};

const struct gw_exchange_kind gw_exchange_allgather = {
    .name = "allgather",
    .title = "as many entries of each worker, by one allgather",
    .source = "Lin et al., Deep Gradient Compression, 2018",
    .needed = "a compressor that selects exactly the asked number of elements",
    .carries = is_exact,
    .leg_count = 1,
    .legs = {{.collective = "allgather",
              .payload = GW_SPARSE,
              .aggregations = {ADD_ENTRIES_OF_ALL}}},
};

const struct gw_exchange_kind gw_exchange_allgather_padded = {
    .name = "allgather-padded",
    .title = "counts by an allgather, then each worker's entries, padded to the most, by another",
    .source = "Shi et al., Understanding Top-k Sparsification (GaussianK), 2019",
    .needed = "a compressor",
    .carries = is_sparse,
    .leg_count = 2,
    .legs = {{.collective = "allgather", .payload = GW_COUNTS},
             {.collective = "allgather",
              .payload = GW_PADDED,
              .aggregations = {ADD_ENTRIES_OF_ALL}}},
};

const struct gw_exchange_kind gw_exchange_gtopk = {
    .name = "gtopk",
    .title = "entries merged two by two along a tree, of which the k largest sums go on; then a "
             "broadcast",
    .source = "Shi et al., A Distributed Synchronous SGD Algorithm with Global Top-k "
              "Sparsification, 2019",
    .needed =
        "a compressor that selects exactly the asked number of elements, on each worker its own",
    .carries = is_exact_alone,
    .leg_count = 1,
    .legs = {{.collective = "gtopk",
              .payload = GW_SPARSE,
              .aggregations = {MERGE_UP_TREE, ADD_ENTRIES, GIVE_BACK}}},
};

const struct gw_exchange_kind gw_exchange_sketch_server = {
    .name = "sketch-server",
    .title =
        "sketches to a server, which asks for the exact values at the places that their sum finds",
    .source = "Ivkin et al., Communication-efficient Distributed SGD with Sketching, 2019",
    .needed = "a compressor that sketches",
    .carries = is_sketched,
    .server = true,
    .leg_count = 4,
    .legs = {{.collective = "push",
              .payload = GW_SKETCH,
              .aggregations = {SUM_AT_SERVER, FIND_AT_SERVER}},
             {.collective = "pull", .payload = GW_INDICES},
             {.collective = "push", .payload = GW_VALUES, .aggregations = {SUM_AT_SERVER}},
             {.collective = "pull", .payload = GW_VALUES, .aggregations = {TAKE_AND_PUT}}},
};

const struct gw_exchange_kind gw_exchange_server = {
    .name = "server",
    .title = "everything to a server, which updates, and back",
    .source = "Li et al., Scaling Distributed Machine Learning with the Parameter Server, 2014",
    .needed = "no compressor",
    .carries = is_dense,
    .server = true,
    .leg_count = 2,
    .legs = {{.collective = "push", .payload = GW_DENSE, .aggregations = {SUM_AT_SERVER}},
             {.collective = "pull", .payload = GW_DENSE, .updates = true}},
};

const struct gw_exchange_kind gw_exchange_leader = {
    .name = "leader",
    .title = "one worker in turn broadcasts its indices; then the values of all workers by an "
             "allreduce",
    .source = "Chen et al., ScaleCom (CLT-k), 2020",
    .needed = "a compressor without a state that selects exactly the asked number of elements",
    .carries = is_exact_alone_without_state,
    .led = true,
    .leg_count = 2,
    .legs = {{.collective = "broadcast", .payload = GW_INDICES},
             {.collective = "allreduce", .payload = GW_VALUES, .aggregations = {TAKE_AND_PUT}}},
};

const struct gw_exchange_kind gw_exchange_halves = {
    .name = "halves",
    .title = "numbers of 16 bits, summed by one allreduce, which rounds each sum",
    .source = "PyTorch's bf16_compress_hook and fp16_compress_hook (torch.distributed.algorithms."
              "ddp_comm_hooks.default_hooks)",
    .needed = "numbers of 16 bits, bf16 or fp16",
    .carries = is_half,
    .leg_count = 1,
    .legs = {{.collective = "allreduce", .payload = GW_CODES, .aggregations = {DECODE}}},
};

const struct gw_exchange_kind gw_exchange_two_phase = {
    .name = "two-phase",
    .title = "codes of each part to its owner, who sums floats, and codes of the sums to all",
    .source = "Tang et al., 1-bit Adam, 2021, Fig. 3; for bytes, ZeRO++ (Wang et al., 2024), qgZ",
    .needed = "a compressor that codes all elements",
    .carries = is_code,
    .leg_count = 2,
    .legs = {{.collective = "alltoall",
              .payload = GW_CODES,
              .aggregations = {DECODE_ADD_OF_ALL, ENCODE}},
             {.collective = "allgather",
              .payload = GW_CODES_PART,
              .aggregations = {DECODE_OF_ALL}}},
};

const struct gw_exchange_kind gw_exchange_allgather_codes = {
    .name = "allgather-codes",
    .title = "codes of all elements by an allgather, which every worker sums as floats",
    .source = "Alistarh et al., QSGD, 2017, Algorithm 1",
    .needed = "a compressor that codes all elements",
    .carries = is_code,
    .leg_count = 1,
    .legs = {{.collective = "allgather", .payload = GW_CODES, .aggregations = {DECODE_ADD_OF_ALL}}},
};

const struct gw_exchange_kind gw_exchange_low_rank = {
    .name = "low-rank",
    .title = "small tensors as they are, then the two factors of each matrix, by three allreduces",
    .source = "Vogels et al., PowerSGD, 2019, Algorithm 1; PyTorch's powerSGD_hook",
    .needed = "a compressor with a rank",
    .carries = is_of_rank,
    .leg_count = 3,
    .legs = {{.collective = "allreduce", .payload = GW_RAW},
             {.collective = "allreduce", .payload = GW_FACTOR_P, .aggregations = {FACTOR}},
             {.collective = "allreduce", .payload = GW_FACTOR_Q, .aggregations = {EXPAND}}},
};

const struct gw_exchange_kind *const gw_exchange_kinds[] = {
    &gw_exchange_allreduce,
    &gw_exchange_common_values,
    &gw_exchange_union,
    &gw_exchange_sketch_tree,
    &gw_exchange_layer_server,
    &gw_exchange_allgather,
    &gw_exchange_allgather_padded,
    &gw_exchange_gtopk,
    &gw_exchange_sketch_server,
    &gw_exchange_server,
    &gw_exchange_leader,
    &gw_exchange_halves,
    &gw_exchange_two_phase,
    &gw_exchange_allgather_codes,
    &gw_exchange_low_rank,
    NULL,
};

/* ---- one of them --------------------------------------------------------------------------- */

enum gw_status gw_exchange_find(const char *name, const struct gw_exchange_kind **out,
                                struct gw_error *error) {
    char names[256] = "";
    for (size_t i = 0; gw_exchange_kinds[i] != NULL; i++) {
        if (strcmp(gw_exchange_kinds[i]->name, name) == 0) {
            *out = gw_exchange_kinds[i];
            return GW_OK;
        }
        gw_list_name(names, sizeof names, gw_exchange_kinds[i]->name);
    }
    return gw_fail(error, GW_BAD_INPUT, "exchange: expected one of %s; got \"%s\"", names, name);
}

const struct gw_exchange_kind *gw_exchange_for(const struct gw_compressor *compressor) {
    size_t i = 0;
    while (gw_exchange_kinds[i] != NULL && !gw_exchange_kinds[i]->carries(compressor)) {
        i++;
    }
    return gw_exchange_kinds[i];
}

/* ---- bytes --------------------------------------------------------------------------------- */

uint64_t gw_payload_bytes(enum gw_payload payload, const struct gw_extent *extent) {
    const uint64_t number = GW_NUMBER_BYTES;
    const uint64_t entry = GW_ENTRY_BYTES;
    switch (payload) {
    case GW_DENSE:
        return extent->size.elements * extent->bytes_per_element;
    case GW_SPARSE:
    case GW_PADDED:
        return entry * extent->selected.most;
    case GW_COUNTS:
        return number;
    case GW_INDICES:
        return number * extent->selected.most;
    case GW_VALUES:
        return number * extent->selected.all;
    case GW_SKETCH:
        return number * extent->sketch_cells;
    case GW_LAYERS:
        return number * (extent->selected.mean + extent->size.tensors);
    case GW_ALL_LAYERS:
        return number * (extent->selected.all + extent->size.tensors);
    case GW_CODES:
        return gw_code_bytes(extent->compressor, extent->size.elements);
    case GW_CODES_PART:
        return gw_code_bytes(extent->compressor,
                             gw_part_elements(extent->size.elements, extent->workers));
    case GW_RAW:
        return number * extent->size.raw;
    case GW_FACTOR_P:
        return number * extent->compressor->rank * extent->size.rows;
    case GW_FACTOR_Q:
        return number * extent->compressor->rank * extent->size.columns;
    }
    return 0;
}
