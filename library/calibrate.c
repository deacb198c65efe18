/* Calibrates the ranks of a trainer from inside its job. */
#include "calibrate/calibrate.h"

#include <stdlib.h>

#include "core/names.h"
#include "library/library.h"
#include "library/ranks.h"

/* ---- options ------------------------------------------------------------------------------- */

static enum gw_status check_share(const char *name, double value, struct gw_error *error) {
    return value >= 0 && value <= 1
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "%s: expected a number in (0, 1], or 0, got %g", name,
                         value);
}

static enum gw_status check_size(const char *name, size_t value, size_t most,
                                 struct gw_error *error) {
    const size_t least = 4096;
    return value == 0 || (value >= least && value <= most)
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "%s: expected %zu to %zu, or 0, got %zu", name, least,
                         most, value);
}

static enum gw_status check_numbers(const struct gradweave_calibration *asked,
                                    struct gw_error *error) {
    const double longest_s = 1e7;
    const double longest_session_s = 1e6;
    GW_TRY(check_share("density", asked->density, error));
    GW_TRY(check_share("precision", asked->precision, error));
    GW_TRY(check_size("max_bytes", asked->max_bytes, 1 << 27, error));
    GW_TRY(check_size("max_elements", asked->max_elements, 1 << 28, error));
    GW_TRY(asked->session_s >= 0 && asked->session_s <= longest_session_s
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "session_s: expected 0 to %g seconds, got %g",
                         longest_session_s, asked->session_s));
    GW_TRY(asked->session_s == 0 || asked->session_elements > 0
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "session_elements: expected those of the session that takes session_s, "
                         "got 0"));
    return asked->time_s >= 0 && asked->time_s <= longest_s
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "time_s: expected 0 to %g seconds, got %g", longest_s,
                         asked->time_s);
}

static enum gw_status choose_measurements(const struct gradweave_calibration *asked,
                                          struct gw_calibration_choice *choice,
                                          struct gw_calibration *out, struct gw_error *error) {
    if (asked->only != NULL && asked->compressor != NULL) {
        return gw_fail(error, GW_BAD_INPUT,
                       "only: expected no compressor with it, as it lists everything to measure");
    }
    if (asked->only != NULL) {
        return gw_calibration_choose(asked->only, choice, out, error);
    }
    if (asked->compressor != NULL) {
        GW_TRY(gw_compressors_parse(asked->compressor, choice->compressors, error));
        out->compressors = choice->compressors;
    }
    return GW_OK;
}

void gradweave_pass_gradient(struct gradweave_pass *pass) {
    gw_pass_gradient((struct gw_pass *)pass);
}

static enum gw_status run_backward(void *context, struct gw_pass *pass, struct gw_error *error) {
    const struct gradweave_calibration *asked = context;
    return asked->backward(asked->backward_context, (struct gradweave_pass *)pass) == 0
               ? GW_OK
               : gw_fail(error, GW_FAILED, "backward: it failed");
}

static enum gw_status read_request(const struct gradweave_calibration *asked,
                                   const struct gw_communicator *ranks,
                                   struct gw_calibration_choice *choice, struct gw_calibration *out,
                                   struct gw_error *error) {
    *out = gw_calibration_defaults();
    out->version = GW_VERSION;
    out->command = asked->command == NULL ? "" : asked->command;
    GW_TRY(check_numbers(asked, error));
    GW_TRY(choose_measurements(asked, choice, out, error));
    out->density = asked->density > 0 ? asked->density : out->density;
    out->time_s = asked->time_s > 0 ? asked->time_s : out->time_s;
    out->precision = asked->precision > 0 ? asked->precision : out->precision;
    out->max_bytes = asked->max_bytes > 0 ? asked->max_bytes : out->max_bytes;
    out->max_elements = asked->max_elements > 0 ? asked->max_elements : out->max_elements;
    if (asked->backward != NULL && !out->overlap) {
        return gw_fail(error, GW_BAD_INPUT,
                       "only: expected overlap in it, as there is a backward pass");
    }
    if (asked->backward != NULL) {
        out->backward = run_backward;
        out->backward_context = (void *)(uintptr_t)asked;
        out->session_s = asked->session_s;
        out->session_elements = asked->session_elements;
    }
    if (ranks->rank == 0) {
        out->on_progress = asked->progress;
        out->progress_context = asked->progress_context;
    }
    return ranks->size > 1 || !gw_calibration_exchanges(out)
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "calibrate: expected at least 2 ranks, as one rank has no exchange");
}

/* Checks on rank 0, before long work, that `path` may be written. */
static enum gw_status check_path(const struct gradweave_calibration *asked, const char *path,
                                 struct gw_error *error) {
    GW_TRY(gw_file_check_target(path, GW_CLUSTER_START, error));
    return asked->replace ? GW_OK : gw_file_check_kind(path, GW_CLUSTER_START, "force", error);
}

/* ---- measuring ----------------------------------------------------------------------------- */

static enum gw_status measure_cluster(struct gw_communicator *ranks,
                                      const struct gw_calibration *calibration, const char *path,
                                      struct gw_error *error) {
    struct gw_cluster cluster = {0};
    GW_TRY(gw_calibrate(ranks, calibration, &cluster, error));
    enum gw_status status = ranks->rank == 0 ? gw_cluster_write(&cluster, path, error) : GW_OK;
    gw_cluster_free(&cluster);
    return gw_agree(ranks, status, error);
}

static enum gw_status measure_more(struct gw_communicator *ranks,
                                   const struct gw_calibration *calibration, const char *path,
                                   struct gw_error *error) {
    struct gw_cluster older;
    struct gw_calibration more = *calibration;
    enum gw_status status = gw_calibration_read_older(ranks, path, false, &older, error);
    if (status == GW_OK) {
        more.older = &older;
        status = measure_cluster(ranks, &more, path, error);
    }
    gw_cluster_free(&older);
    return status;
}

static enum gw_status calibrate_ranks(const struct gradweave_calibration *asked,
                                      struct gw_communicator *ranks, const char *path,
                                      struct gw_error *error) {
    struct gw_calibration_choice choice;
    struct gw_calibration calibration;
    char *name = gw_name_after(path);
    enum gw_status status = name == NULL ? gw_fail_memory(error, "calibrating")
                                         : read_request(asked, ranks, &choice, &calibration, error);
    if (status == GW_OK && ranks->rank == 0) {
        status = check_path(asked, path, error);
    }
    status = gw_agree(ranks, status, error);
    if (status == GW_OK) {
        calibration.name = asked->name == NULL ? name : asked->name;
        status = asked->add ? measure_more(ranks, &calibration, path, error)
                            : measure_cluster(ranks, &calibration, path, error);
    }
    free(name);
    return status;
}

enum gradweave_status gradweave_calibrate(const struct gradweave_calibration *calibration,
                                          struct gradweave_ranks *ranks, const char *path,
                                          struct gradweave_error *error) {
    struct gw_error failure = {0};
    enum gw_status status = calibrate_ranks(calibration, &ranks->communicator, path, &failure);
    return gw_library_finish(status, &failure, error);
}
