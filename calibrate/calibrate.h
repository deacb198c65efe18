/*
 * Calibration: what the cluster's collectives and this machine's compressors cost, measured through
 * the very functions that exec calls, and fitted with curves that the planner and the simulator
 * use.
 */
#ifndef GW_CALIBRATE_CALIBRATE_H
#define GW_CALIBRATE_CALIBRATE_H

#include "core/core.h"
#include "kernels/kernels.h"
#include "traces/traces.h"
#include "transport/transport.h"

struct gw_calibration {
    const char *name;                               /* of the cluster */
    const char *command;                            /* for the provenance */
    const char *version;                            /* of gradweave */
    size_t max_bytes;                               /* collectives: 1 KiB, 2 KiB, ... up to this */
    size_t max_elements;                            /* compressors: 2^10, 2^11, ... up to this */
    double density;                                 /* of compression */
    const struct gw_compressor *const *compressors; /* ended by NULL */
    bool network;                                   /* whether to measure LogGP parameters */
    double precision;       /* repeat until the median is known to this, relative ... */
    double max_s_per_point; /* ... or this much time has been measured, in seconds */
};

/* All but names and command. */
struct gw_calibration gw_calibration_defaults(void);

/*
 * All ranks call it with the same settings and get the same
 * curves; rank 0 knows its own provenance.
 */
enum gw_status gw_calibrate(struct gw_communicator *communicator,
                            const struct gw_calibration *calibration, struct gw_cluster *out,
                            struct gw_error *error);

#endif
