#include "methods/presets.h"

const struct gw_algorithm gw_algorithm_p_sgd = {
    .name = "p-sgd",
    .title = "wait-free backpropagation: one allreduce per tensor, overlapped",
    .paper = "Poseidon, S-Caffe (OMGS paper: P-SGD)",
    .policy = "per-tensor",
    .compressor = "none",
    .exchange = "allreduce",
    .overlap = true,
};
