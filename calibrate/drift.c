/* Drift: whether a cluster still is as its file says, for the curves that a job uses. */
#include <math.h>
#include <string.h>

#include "calibrate/calibrate.h"

static const double tolerance = 0.1;

static char *describe_drift(const struct gw_check *check, const struct gw_cluster *cluster,
                            struct gw_arena *arena) {
    const struct gw_check_row *worst = check->rows; /* of sizes that have moved */
    for (size_t i = 1; i < check->count; i++) {
        const struct gw_check_row *row = &check->rows[i];
        if (row->moved && (!worst->moved || fabs(row->change) > fabs(worst->change))) {
            worst = row;
        }
    }
    char size[GW_UNITS_SIZE];
    (void)(worst->is_compressor ? gw_format_count(worst->size, size)
                                : gw_format_bytes(worst->size, size));
    return gw_arena_format(arena,
                           "%s does not describe this cluster any more: %zu of %zu times have "
                           "moved by more than %g%%, most of all %s at %s, %+.0f%%; the resulting "
                           "differences are no error of predictions (calibrate --check says "
                           "more, calibrate anew mends it)",
                           cluster->path, check->moved, check->count, 100 * tolerance, worst->name,
                           size, 100 * worst->change);
}

enum gw_status gw_calibration_find_drift(struct gw_communicator *communicator,
                                         const struct gw_cluster *cluster, const char *const *names,
                                         double time_s, const struct gw_clock *clock,
                                         struct gw_arena *arena, char **out,
                                         struct gw_error *error) {
    struct gw_calibration_choice choice;
    struct gw_calibration calibration = gw_calibration_defaults();
    struct gw_check check;
    const char *calibrated[GW_MAX_CALIBRATED];
    const char *text = gw_arena_text(arena, "");
    gw_calibrated_names(calibrated);
    *out = NULL;
    for (size_t i = 0; names[i] != NULL && text != NULL; i++) { /* "allgather,topk" */
        size_t c = 0; /* files may have curves that calibrate does not measure itself */
        while (calibrated[c] != NULL && strcmp(calibrated[c], names[i]) != 0) {
            c++;
        }
        if (calibrated[c] != NULL) {
            text = gw_arena_format(arena, "%s%s%s", text, text[0] == '\0' ? "" : ",", names[i]);
        }
    }
    calibration.time_s = time_s;
    calibration.clock = clock;
    calibration.max_bytes = calibration.max_elements = 4 << 20;
    GW_TRY(gw_agree(communicator, gw_arena_check(arena, "looking for drift", error), error));
    if (text == NULL || text[0] == '\0') {
        return GW_OK;
    }
    GW_TRY(gw_calibration_choose(text, &choice, &calibration, error));
    enum gw_status status =
        gw_calibration_check(communicator, &calibration, cluster, tolerance, &check, error);
    if (status == GW_BAD_INPUT) { /* all ranks know that no curve can be measured again */
        return GW_OK;
    }
    if (status == GW_OK && communicator->rank == 0 && !check.describes) {
        *out = describe_drift(&check, cluster, arena);
        status = gw_arena_check(arena, "looking for drift", error);
    }
    if (status == GW_OK) {
        gw_check_free(&check);
    }
    return status;
}
