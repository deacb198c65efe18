#include "methods/presets.h"

const struct gw_algorithm gw_algorithm_ddp = {
    .name = "ddp",
    .title = "buckets as PyTorch's DDP makes them, one allreduce each, overlapped",
    .paper = "DistributedDataParallel (Li et al., VLDB 2020)",
    .policy = "ddp",
    .compressor = "none",
    .exchange = "allreduce",
    .overlap = true,
};
