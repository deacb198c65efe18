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

struct gw_validation_pair {
    struct gw_pipeline pipeline;
    struct gw_result predicted, measured;
    double error; /* (predicted - measured) / measured */
    /* Where counts depend on gradients: */
    bool counts_depend_on_data;
    struct gw_warmed_up settled;
    struct gw_counts recorded; /* of the measured iterations */
    uint64_t *extents;         /* [groups], of the last of them */
};

/* One of all algorithms that cannot be run, or predicted. */
struct gw_left_out {
    const char *algorithm;
    struct gw_error reason;
};

struct gw_validation {
    const struct gw_validate_options *options;
    struct gw_question question;
    size_t ranks; /* of the job: the workers, and perhaps one more */
    struct gw_executor_options executor;
    struct {
        struct gw_gpu described; /* this rank's */
        size_t ranks_on_one;     /* the most that share one */
    } gpu;
    struct gw_algorithm *algorithms; /* with changed choices, of all that were asked for */
    size_t count;
    struct gw_validation_pair *comparisons;
    size_t left_out_count;
    struct gw_left_out *left_out;
    struct gw_progress progress;
    size_t done; /* iterations of all algorithms */
};

/*
 * Runs all pipelines on the ranks that they need (validate_run.c). From here on ranks wait for each
 * other, so one that fails ends the job.
 */
void gw_validation_measure(struct gw_validation *validation, struct gw_communicator *job,
                           struct gw_error *error);

/*
 * Of counts (validate_counts.c): refuses what does not go with what was asked for; whatever is
 * opened is safe to close in any case.
 */
enum gw_status gw_validation_check_counts(const struct gw_validation *validation,
                                          struct gw_error *error);
enum gw_status gw_validation_pair_open_counts(const struct gw_validation *validation,
                                              struct gw_validation_pair *comparison,
                                              struct gw_error *error);
void gw_validation_pair_close_counts(struct gw_validation_pair *comparison);

/* Keeps those of the executor's last iteration. */
enum gw_status gw_validation_pair_record(struct gw_validation_pair *comparison,
                                         const struct gw_executor *executor,
                                         struct gw_error *error);

/* Of the measured iterations together: selected elements to those asked for. */
double gw_validation_pair_selected_ratio(const struct gw_validation_pair *comparison);

/* Once all is measured: predicts again where counts are others than asked for, finds the errors,
 * and writes recorded counts. */
enum gw_status gw_validation_compare(struct gw_validation *validation, struct gw_error *error);

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
enum gw_status gw_validation_open_gpu(struct gw_validation *validation,
                                      struct gw_communicator *communicator, struct gw_error *error);

/* What the report says of them. */
void gw_validation_print_gpu(const struct gw_validation *validation);
enum gw_status gw_validation_put_gpu(const struct gw_validation *validation, cJSON *document,
                                     struct gw_error *error);

/* Writes and prints what was asked for (validate_report.c). */
enum gw_status gw_validation_present(const struct gw_validation *validation,
                                     struct gw_error *error);
double gw_validation_largest_error(const struct gw_validation *validation);

#endif
