#include "traces/validation.h"

static enum gw_status check_iteration(const struct gw_json *place, void *out,
                                      struct gw_error *error) {
    struct gw_validated_iteration *iteration = out;
    struct gw_breakdown *parts = &iteration->breakdown;
    (void)place;
    (void)error;
    parts->other_s = iteration->iteration_s - parts->forward_s - parts->backward_s -
                     parts->compress_s - parts->exposed_comm_s;
    return GW_OK;
}

static const struct gw_field breakdown_rows[] = {
    {"forward_s", GW_AS_NOT_NEGATIVE, .at = offsetof(struct gw_breakdown, forward_s)},
    {"backward_s", GW_AS_NOT_NEGATIVE, .at = offsetof(struct gw_breakdown, backward_s)},
    {"compress_s", GW_AS_NOT_NEGATIVE, .at = offsetof(struct gw_breakdown, compress_s)},
    {"exposed_comm_s", GW_AS_NOT_NEGATIVE, .at = offsetof(struct gw_breakdown, exposed_comm_s)},
    {0}};

static const struct gw_fields breakdown_fields = {
    sizeof(struct gw_breakdown), .rows = breakdown_rows, .unread = GW_KEYS("other_s")};

static const struct gw_field iteration_rows[] = {
    {"iteration_s", GW_AS_NOT_NEGATIVE, .at = offsetof(struct gw_validated_iteration, iteration_s)},
    {"breakdown", GW_AS_OBJECT, .at = offsetof(struct gw_validated_iteration, breakdown),
     .of = &breakdown_fields},
    {0}};

static const struct gw_fields iteration_fields = {
    sizeof(struct gw_validated_iteration), .rows = iteration_rows, .check = check_iteration,
    .unread = GW_KEYS("comm_s", "iteration_sd_s", "bytes_per_worker", "counts", "actual_density",
                      "padding", "selected_ratio", "iteration_min_s", "iteration_max_s",
                      "iteration_percentiles_s", "iteration_mean_ci95_s", "uncertainty",
                      "iteration_low_s", "iteration_high_s", "disturbance")};

static const struct gw_field change_rows[] = {
    {"policy", GW_AS_TEXT, .at = offsetof(struct gw_validated, policy), .optional = true},
    {"compressor", GW_AS_TEXT, .at = offsetof(struct gw_validated, compressor), .optional = true},
    {"exchange", GW_AS_TEXT, .at = offsetof(struct gw_validated, exchange), .optional = true},
    {0}};

static const struct gw_fields change_fields = {sizeof(struct gw_validated), .rows = change_rows,
                                               .others = true};

/* Fields below an explanation, for pictures (report/pictures.c). */
static const struct gw_fields parameter_fields = {
    .unread = GW_KEYS("parameter", "operations", "contribution_s")};

static const struct gw_fields shown_fields = {
    .unread = GW_KEYS("iteration", "worker", "predicted_s", "measured_s")};

static const struct gw_fields operation_fields = {
    .unread = GW_KEYS("stream", "activity", "label", "group", "parameter", "detail", "worst_worker",
                      "predicted_s", "measured_s", "predicted_wait_s", "measured_wait_s", "on_path",
                      "contribution_s", "shown_predicted_s", "shown_measured_s",
                      "on_predicted_path", "on_measured_path")};

static const struct gw_field explanation_rows[] = {{"parameters", .of = &parameter_fields},
                                                   {"shown", .of = &shown_fields},
                                                   {"operations", .of = &operation_fields},
                                                   {0}};

static const struct gw_fields explanation_fields = {
    .rows = explanation_rows,
    .unread = GW_KEYS("path", "difference_s", "waited_s", "elsewhere_s", "largest")};

static const struct gw_field result_rows[] = {
    {"changed", GW_AS_OBJECT, .optional = true, .of = &change_fields},
    {"algorithm", GW_AS_TEXT, .at = offsetof(struct gw_validated, algorithm)},
    {"predicted", GW_AS_OBJECT, .at = offsetof(struct gw_validated, predicted),
     .of = &iteration_fields},
    {"measured", GW_AS_OBJECT, .at = offsetof(struct gw_validated, measured),
     .of = &iteration_fields},
    {"explanation", .of = &explanation_fields},
    {0}};

static const struct gw_fields result_fields = {
    sizeof(struct gw_validated), .rows = result_rows,
    .unread = GW_KEYS("groups", "iterations", "error", "settling")};

static const struct gw_fields infeasible_fields = {.unread = GW_KEYS("algorithm", "reason")};

static const struct gw_fields unpredicted_fields = {
    .unread = GW_KEYS("name", "iteration_s", "iteration_percentiles_s")};

static const struct gw_field rows[] = {
    {"model", GW_AS_TEXT, .at = offsetof(struct gw_validation_document, model)},
    {"density", GW_AS_NOT_NEGATIVE, .at = offsetof(struct gw_validation_document, density),
     .optional = true},
    {"cluster", GW_AS_TEXT, .at = offsetof(struct gw_validation_document, cluster),
     .optional = true},
    {"workers", GW_AS_COUNT, .at = offsetof(struct gw_validation_document, workers)},
    {"results", GW_AS_LIST, .at = offsetof(struct gw_validation_document, results),
     .count_at = offsetof(struct gw_validation_document, count), .of = &result_fields},
    {"infeasible", .of = &infeasible_fields},
    {"unpredicted", .of = &unpredicted_fields},
    {0}};

const struct gw_fields gw_validation_document_fields = {
    sizeof(struct gw_validation_document), .rows = rows, .schema = "gradweave/validation@1",
    .unread = GW_KEYS("iterations", "complete", "mean_error", "largest_error", "tolerance",
                      "beyond_tolerance", "device", "compression", "notes", "noise_iterations")};
