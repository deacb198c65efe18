/* What calibrate is asked for. */
#ifndef GW_CLI_CALIBRATE_OPTIONS_H
#define GW_CLI_CALIBRATE_OPTIONS_H

#include "calibrate/calibrate.h"
#include "cli/gpu_job.h"
#include "cli/job.h"

enum { GW_MOST_COLLECTIVES = 16 };

struct gw_calibrate_options {
    struct gw_output_options output;
    struct gw_job_options job;
    struct gw_calibration calibration; /* complete but for name, command and journal */
    const char *name;                  /* NULL: after the file */
    const char *out;                   /* NULL with `check` */
    const char *check;                 /* the cluster to look at again, or NULL */
    double tolerance;                  /* of the check */
    bool add;                          /* to the cluster that `out` has */
    struct gw_device_choice device;
    enum gw_transport_choice transport;

    /* What `calibration` points to. */
    const char *collectives[GW_MOST_COLLECTIVES];
    const struct gw_compressor *compressors[GW_MOST_COMPRESSORS];
    /* As given; what is 0 or NULL was not. */
    double time_s, precision, max_s_per_point;
    size_t max_bytes, max_elements;
    const char *only, *compressor;
    bool quick, thorough, no_network;
};

extern const struct gw_option gw_calibrate_table[]; /* for struct gw_calibrate_options */
extern const struct gw_option_rule gw_calibrate_rules[];

/* Completes the calibration, or ends the program if the options make no sense together. */
void gw_calibrate_settle(void *options, struct argp_state *state);

#endif
