/* On what a verb runs: --device. */
#ifndef GW_CLI_DEVICE_H
#define GW_CLI_DEVICE_H

#include "cli/options.h"
#include "device/device.h"
#include "kernels/kernels.h"

struct gw_device_choice {
    bool cuda;   /* or this machine's processors */
    bool chosen; /* `ordinal` was given */
    size_t ordinal;
};

/* Reads "cpu", "cuda" or "cuda:N" into a struct gw_device_choice. */
void gw_read_device(char *argument, void *target, struct argp_state *state);

/*
 * Opens the GPU chosen: without a number that of this rank, `local_rank` among those of its
 * machine, which go round if there are fewer GPUs. *described (or NULL) is what it is.
 */
enum gw_status gw_device_choice_open(const struct gw_device_choice *choice, size_t local_rank,
                                     struct gw_device **out, struct gw_gpu *described,
                                     struct gw_error *error);

/*
 * Leaves of a list that NULL ends those compressors that there are for GPUs. GW_BAD_INPUT for one
 * that there is not, if they were `named`.
 */
enum gw_status gw_keep_compressors_for_gpus(const struct gw_compressor **list, bool named,
                                            struct gw_error *error);

#endif
