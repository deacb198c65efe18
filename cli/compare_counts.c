/* How many elements pipelines select that are compared. */
#include <string.h>

#include "cli/compare.h"
#include "cli/simulate_counts.h"

/* Iterations of trained counts: as many predictions have the mean. */
enum { TRAINED = 100 };

static enum gw_status predict_trained(const struct gw_contest *contest,
                                      struct gw_pipeline *pipeline, struct gw_result *out,
                                      struct gw_error *error) {
    const struct gw_counts_options options = {.source = "trained"};
    struct gw_simulation simulation = {.workers = contest->question->workers,
                                       .interference = contest->interference,
                                       .seed = 1,
                                       .threads = 1};
    struct gw_counted counted;
    GW_TRY(gw_counted_open(&options, contest->question, pipeline, TRAINED, &simulation, &counted,
                           error));
    enum gw_status status =
        gw_pipeline_predict(contest->question, pipeline, &simulation, TRAINED, NULL, out, error);
    if (status == GW_OK) {
        gw_counted_tell(&counted, pipeline, out);
    }
    gw_counted_close(&counted);
    return status;
}

enum gw_status gw_contest_predict_one(const struct gw_contest *contest,
                                      const struct gw_algorithm *algorithm, struct gw_result *out,
                                      struct gw_error *error) {
    if (!contest->trained || !gw_counts_depend_on_data(algorithm->compressor)) {
        return gw_predict(contest->question, algorithm, contest->interference, out, error);
    }
    struct gw_pipeline pipeline;
    GW_TRY(gw_pipeline_open(contest->question, algorithm, NULL, &pipeline, error));
    enum gw_status status = predict_trained(contest, &pipeline, out, error);
    gw_pipeline_close(&pipeline);
    return status;
}

/* ---- what is said of them ------------------------------------------------------------------ */

void gw_counts_note_add(struct gw_counts_note *note, const struct gw_contest *contest,
                        const char *algorithm) {
    const struct gw_algorithm *preset = NULL;
    struct gw_algorithm changed;
    struct gw_error error;
    if (gw_algorithm_find(algorithm, &preset, &error) != GW_OK ||
        gw_algorithm_change(preset, &contest->changes, &changed, &error) != GW_OK ||
        !gw_counts_depend_on_data(changed.compressor)) {
        return;
    }
    size_t used = strlen(note->names);
    (void)snprintf(note->names + used, sizeof note->names - used, "%s%s", used == 0 ? "" : ", ",
                   algorithm);
}

void gw_counts_note_print(const struct gw_counts_note *note, const struct gw_contest *contest) {
    if (note->names[0] == '\0') {
        return;
    }
    if (contest->trained) {
        printf("\nnote: counts of %s are trained on generated gradients, means over %d "
               "iterations\n",
               note->names, TRAINED);
    } else {
        printf("\nnote: counts as asked of %s; what they select depends on the gradients: "
               "--counts trained\n",
               note->names);
    }
}
