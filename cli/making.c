#include "cli/making.h"

static void read_time(const char *option, const char *argument, double *target,
                      struct argp_state *state) {
    if (!gw_parse_seconds(argument, target)) {
        gw_refuse(state, "--%s: expected a time such as 45ms or 0.3s, got \"%s\"", option,
                  argument);
    }
}

static void read_backward(char *argument, void *target, struct argp_state *state) {
    read_time("backward", argument, target, state);
}

static void read_forward(char *argument, void *target, struct argp_state *state) {
    read_time("forward", argument, target, state);
}

const struct gw_option gw_model_making_table[] = {
    {"gpu", 0, "GPU", GW_TEXT, offsetof(struct gw_model_request, gpu),
     .help = "The workers' GPU, such as a100 (see gradweave list gpus)", .names = GW_NAMES_GPUS},
    {"precision", 0, NULL, GW_CHOICE, offsetof(struct gw_model_request, precision),
     .help = "Of products", .otherwise = "tf32, or fp32 where a GPU has no tf32",
     .choices = gw_precision_names},
    {"batch", 0, "SAMPLES", GW_POSITIVE, offsetof(struct gw_model_request, batch_size),
     .help = "Of a worker, in an iteration", .otherwise = "what is usual for the network",
     .maximum = 1e6},
    {"backward", 0, "TIME", GW_CUSTOM, offsetof(struct gw_model_request, backward_s),
     .help = "What the backward pass takes in all, such as 45ms, in place of what a GPU may take",
     .read = read_backward},
    {"forward", 0, "TIME", GW_CUSTOM, offsetof(struct gw_model_request, forward_s),
     .help = "The same of the forward pass", .otherwise = "half of it", .read = read_forward},
    {0},
};

const struct gw_option gw_cluster_making_table[] = {
    {"nodes", 0, "N", GW_COUNT, offsetof(struct gw_cluster_request, nodes),
     .help = "Number of machines", .maximum = 65536},
    {"gpus-per-node", 0, "G", GW_COUNT, offsetof(struct gw_cluster_request, gpus_per_node),
     .help = "In each, a worker for each", .value = "1", .maximum = 256},
    {"network", 0, "LINK", GW_TEXT, offsetof(struct gw_cluster_request, network),
     .help = "Between machines: a rate, such as 25gbit, or a name (see gradweave list links)",
     .otherwise = "none, of a single machine", .names = GW_NAMES_LINKS},
    {"cards", 0, "C", GW_COUNT, offsetof(struct gw_cluster_request, cards),
     .help = "Network cards of a machine, each with such a link, which its GPUs share",
     .value = "1", .maximum = 64},
    {"intra", 0, "LINK", GW_TEXT, offsetof(struct gw_cluster_request, within),
     .help = "Between the GPUs of a machine, such as nvlink3 or pcie4", .names = GW_NAMES_LINKS},
    {0},
};
