#include <stdlib.h>
#include <string.h>

#include "cli/plot.h"

/*
 * A bar for each algorithm. Those that nobody asked for by name are left out, and that is said,
 * where they are not possible; fails if none of them is.
 */
static enum gw_status predict_bars(const struct gw_question *question,
                                   const struct gw_algorithm *const *algorithms, size_t count,
                                   bool named, struct gw_bar *bars, size_t *bar_count,
                                   struct gw_error *error) {
    const struct gw_prediction_options once = {.iterations = 1};
    *bar_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct gw_result result;
        enum gw_status status = gw_predict(question, algorithms[i], &once, &result, error);
        bool last = i + 1 == count;
        if (status == GW_BAD_INPUT && !named && (*bar_count > 0 || !last)) {
            gw_log(GW_LOG_NORMAL, "%s is left out: %s", algorithms[i]->name, error->message);
            continue;
        }
        GW_TRY(status);
        bars[(*bar_count)++] =
            (struct gw_bar){.label = algorithms[i]->name, .breakdown = result.breakdown};
    }
    return GW_OK;
}

static enum gw_status draw_prediction(const struct gw_plot_options *options,
                                      const struct gw_question *question, struct gw_error *error) {
    const struct gw_algorithm **algorithms = NULL;
    size_t count = 0;
    size_t bar_count = 0;
    bool named = strcmp(options->algorithms, "all") != 0;
    GW_TRY(gw_algorithms_parse(options->algorithms, &algorithms, &count, error));
    struct gw_bar *bars = calloc(count, sizeof *bars);
    enum gw_status status =
        bars == NULL ? gw_fail_memory(error, "plotting")
                     : predict_bars(question, algorithms, count, named, bars, &bar_count, error);
    if (status == GW_OK) {
        char title[256];
        snprintf(title, sizeof title, "%s on %s, %zu workers, density %g: predicted",
                 question->model.name, question->cluster.name, question->workers,
                 question->density);
        status = gw_plot_breakdown(bars, bar_count, title, options->out, options->data, error);
    }
    free(bars);
    free(algorithms);
    return status;
}

enum gw_status gw_plot_kind_breakdown(const struct gw_plot_options *options,
                                      struct gw_error *error) {
    struct gw_question_options asked = options->question;
    struct gw_question question;
    asked.model = options->subject;
    if (asked.cluster == NULL) {
        return gw_fail(error, GW_BAD_INPUT, "plot breakdown: expected --cluster CLUSTER");
    }
    GW_TRY(gw_question_open(&asked, &question, error));
    enum gw_status status = draw_prediction(options, &question, error);
    gw_question_close(&question);
    return status;
}
