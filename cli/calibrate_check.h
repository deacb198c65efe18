/* calibrate --check: whether a cluster file still describes its cluster. */
#ifndef GW_CLI_CALIBRATE_CHECK_H
#define GW_CLI_CALIBRATE_CHECK_H

#include "cli/calibrate_options.h"

/* On every rank; *verdict becomes 1 if some curve has moved. */
enum gw_status gw_calibrate_recheck(struct gw_communicator *communicator,
                                    const struct gw_calibrate_options *options, int *verdict,
                                    struct gw_error *error);

/* GW_BAD_INPUT unless the cluster was measured on what the options say: CPUs or GPUs. */
enum gw_status gw_calibrate_require_device(const struct gw_cluster *cluster,
                                           const struct gw_calibrate_options *options,
                                           struct gw_error *error);

#endif
