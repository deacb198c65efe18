/* What the files of `validate` share. */
#ifndef GW_CLI_VALIDATE_H
#define GW_CLI_VALIDATE_H

#include "cli/job.h"
#include "cli/simulate_counts.h"
#include "exec/exec.h"

/* How much is selected, where that depends on gradients. */
struct gw_validate_counts {
    struct gw_settling settling;
    const char *source; /* "recorded", "asked", "trained" or a file */
    const char *out;    /* NULL: recorded counts are not kept */
};
extern const struct argp gw_validate_counts_argp; /* its input: struct gw_validate_counts */

struct gw_validate_options {
    struct gw_output_options output;
    struct gw_job_options job;
    struct gw_question_options question;
    struct gw_choice_changes changes;
    struct gw_validate_counts counts;
    const char *algorithms, *trace, *out;
    size_t iterations, warm_up;
    double tolerance;
    uint64_t seed;
    bool interference;
};

struct gw_comparison {
    struct gw_pipeline pipeline;
    struct gw_result predicted, measured;
    double error; /* (predicted - measured) / measured */
    /* Where counts depend on gradients: */
    bool counts_depend_on_data;
    struct gw_settled settled;
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
    size_t ranks;                    /* of the job: the workers, and perhaps one more */
    struct gw_algorithm *algorithms; /* with changed choices, of all that were asked for */
    size_t count;
    struct gw_comparison *comparisons;
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
enum gw_status gw_comparison_open_counts(const struct gw_validation *validation,
                                         struct gw_comparison *comparison, struct gw_error *error);
void gw_comparison_close_counts(struct gw_comparison *comparison);

/* Keeps those of the executor's last iteration. */
enum gw_status gw_comparison_record(struct gw_comparison *comparison,
                                    const struct gw_executor *executor, struct gw_error *error);

/* Of the measured iterations together: selected elements to those asked for. */
double gw_comparison_selected_ratio(const struct gw_comparison *comparison);

/* Once all is measured: predicts again where counts are others than asked for, finds the errors,
 * and writes recorded counts. */
enum gw_status gw_validation_compare(struct gw_validation *validation, struct gw_error *error);

/* Writes and prints what was asked for (validate_report.c). */
enum gw_status gw_validation_present(const struct gw_validation *validation,
                                     struct gw_error *error);
double gw_validation_largest_error(const struct gw_validation *validation);

#endif
