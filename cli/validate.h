/* What the files of `validate` share. */
#ifndef GW_CLI_VALIDATE_H
#define GW_CLI_VALIDATE_H

#include "cli/job.h"
#include "exec/exec.h"

/* How much is selected, where that depends on gradients. */
struct gw_validate_counts {
    struct gw_warm_up_limits settling;
    const char *source; /* "recorded", "asked", "trained" or a file */
    const char *out;    /* NULL: recorded counts are not kept */
};

/* Where ranks work. */
struct gw_validate_gpu {
    struct gw_device_choice device;
    enum gw_transport_choice transport;
    enum gw_compute compute;
};

struct gw_validate_options {
    struct gw_output_options output;
    struct gw_job_options job;
    struct gw_question_options question;
    struct gw_choice_changes changes;
    struct gw_validate_counts counts;
    struct gw_validate_gpu gpu;
    const char *algorithms, *trace, *out;
    size_t iterations, warm_up;
    double tolerance;
    uint64_t seed, settle; /* settle: in `counts` if it is given */
    bool interference;
};

struct gw_validation_run {
    const struct gw_validate_options *options;
    struct gw_validation answer; /* whose arrays are in `arena` */
    struct gw_arena arena;
    struct gw_validation_device device;
    size_t ranks; /* of the job: the workers, and perhaps one more */
    struct gw_executor_options executor;
    struct {
        struct gw_gpu described; /* this rank's */
        size_t ranks_on_one;     /* the most that share one */
    } gpu;
    struct gw_progress progress;
    size_t done; /* iterations of all algorithms */
};

/*
 * Runs all pipelines on the ranks that they need (validate_run.c). From here on ranks wait for each
 * other, so one that fails ends the job.
 */
void gw_validation_measure(struct gw_validation_run *run, struct gw_communicator *job,
                           struct gw_error *error);

/*
 * Of GPUs (validate_gpu.c): refuses what there is not, `here` if ranks are to be on this machine,
 * and compressors that there are not for GPUs. On all ranks then, after which all know how they
 * fared: what executors are opened with, the device of which is to be closed in any case.
 */
enum gw_status gw_validate_check_gpu(const struct gw_validate_gpu *options, bool here,
                                     struct gw_error *error);
enum gw_status gw_validate_check_compressor(const struct gw_validate_gpu *options,
                                            const struct gw_algorithm *algorithm,
                                            struct gw_error *error);
enum gw_status gw_validation_open_gpu(struct gw_validation_run *run,
                                      struct gw_communicator *communicator, struct gw_error *error);

#endif
