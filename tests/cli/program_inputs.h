/* A model and a cluster for tests of the program: what they take is milliseconds. */
#ifndef GW_TESTS_PROGRAM_INPUTS_H
#define GW_TESTS_PROGRAM_INPUTS_H

#include "tests/cli/program.h"
#include "tests/support.h"

/* Four tensors, 73,100 elements; 2 ms forward, 3.6 ms backward. */
static const char tiny_model[] =
    "{'schema': 'gradweave/model@1', 'name': 'tiny', 'forward_s': 0.002, 'tensors': ["
    "{'name': 'conv', 'elements': 20000, 'shape': [100, 200], 'backward_s': 0.001},"
    "{'name': 'norm', 'elements': 3000, 'backward_s': 0.0005},"
    "{'name': 'fc.weight', 'elements': 50000, 'shape': [500, 100], 'backward_s': 0.002},"
    "{'name': 'fc.bias', 'elements': 100, 'backward_s': 0.0001}]}";

/* The compressors of all algorithms, each with `curve`. */
#define EVERY_COMPRESSOR(curve)                                                                    \
    "'topk': " curve ", 'randk': " curve ", 'dgc': " curve ", 'redsync': " curve                   \
    ", 'gaussiank': " curve ", 'count-sketch': " curve ", 'layer-drop': " curve                    \
    ", 'hard-threshold': " curve ", 'sidco': " curve ", 'exdyna': " curve ", 'bf16': " curve       \
    ", 'fp16': " curve ", 'int8': " curve ", 'fp8': " curve ", 'onebit': " curve                   \
    ", 'qsgd': " curve ", 'powersgd': " curve

/* Four workers, and a server if need be, on a network that is worth merging for. */
static const char small_cluster[] =
    "{'schema': 'gradweave/cluster@1', 'name': 'small', 'workers': 4, 'collectives': {"
    "'allgather': [{'workers': 4, 'alpha_s': 0.0005, 'beta_s_per_byte': 3e-8}],"
    "'allreduce': [{'workers': 4, 'alpha_s': 0.0005, 'beta_s_per_byte': 2e-8}],"
    "'alltoall': [{'workers': 4, 'alpha_s': 0.0005, 'beta_s_per_byte': 1e-8}],"
    "'broadcast': [{'workers': 4, 'alpha_s': 0.0004, 'beta_s_per_byte': 2e-8}],"
    "'sendrecv': [{'workers': 2, 'alpha_s': 0.0002, 'beta_s_per_byte': 1e-8}],"
    "'gather': [{'workers': 5, 'alpha_s': 0.0008, 'beta_s_per_byte': 4e-8}],"
    "'scatter': [{'workers': 5, 'alpha_s': 0.0009, 'beta_s_per_byte': 4e-8}]},"
    "'compressors': {" EVERY_COMPRESSOR("{'fixed_s': 1e-5, 'per_element_s': 1e-9}") "}}";

/* A model and a cluster that take no time at all. */
static const char idle_model[] =
    "{'schema': 'gradweave/model@1', 'name': 'it\\u0027s idle', 'forward_s': 0, 'tensors': ["
    "{'name': 'a', 'elements': 10, 'backward_s': 0},"
    "{'name': 'b', 'elements': 20, 'backward_s': 0},"
    "{'name': 'c', 'elements': 30, 'shape': [5, 6], 'backward_s': 0}]}";
static const char idle_cluster[] =
    "{'schema': 'gradweave/cluster@1', 'name': 'idle', 'workers': 2, 'collectives': {"
    "'allgather': [{'workers': 2, 'alpha_s': 0, 'beta_s_per_byte': 0}],"
    "'allreduce': [{'workers': 2, 'alpha_s': 0, 'beta_s_per_byte': 0}],"
    "'broadcast': [{'workers': 2, 'alpha_s': 0, 'beta_s_per_byte': 0}],"
    "'sendrecv': [{'workers': 2, 'alpha_s': 0, 'beta_s_per_byte': 0}],"
    "'gather': [{'workers': 3, 'alpha_s': 0, 'beta_s_per_byte': 0}],"
    "'scatter': [{'workers': 3, 'alpha_s': 0, 'beta_s_per_byte': 0}]},"
    "'compressors': {" EVERY_COMPRESSOR("{'fixed_s': 0}") "}}";

/* Setup of a test: a folder with them, as tiny.json, small.json, idle-model.json and
 * idle-cluster.json. */
static inline int make_inputs(void **state) {
    if (make_folder(state) != 0) {
        return -1;
    }
    write_text(*state, "tiny.json", tiny_model);
    write_text(*state, "small.json", small_cluster);
    write_text(*state, "idle-model.json", idle_model);
    write_text(*state, "idle-cluster.json", idle_cluster);
    return 0;
}

#endif
