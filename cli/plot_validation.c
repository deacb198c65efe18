#include <stdlib.h>

#include "cli/plot.h"

static enum gw_status read_bar(const struct gw_json *result, bool measured, struct gw_bar *bar,
                               struct gw_error *error) {
    static const char *const keys[] = {"forward_s", "backward_s", "compress_s", "exposed_comm_s"};
    struct gw_json name = gw_json_member(result, "algorithm");
    struct gw_json side = gw_json_member(result, measured ? "measured" : "predicted");
    struct gw_json iteration = gw_json_member(&side, "iteration_s");
    struct gw_json breakdown = gw_json_member(&side, "breakdown");
    double *const parts[] = {&bar->breakdown.forward_s, &bar->breakdown.backward_s,
                             &bar->breakdown.compress_s, &bar->breakdown.exposed_comm_s};
    double rest = 0;
    bar->measured = measured;
    GW_TRY(gw_json_text(&name, &bar->label, error));
    GW_TRY(gw_json_not_negative(&iteration, &rest, error));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct gw_json part = gw_json_member(&breakdown, keys[i]);
        GW_TRY(gw_json_not_negative(&part, parts[i], error));
        rest -= *parts[i];
    }
    bar->breakdown.other_s = rest;
    return GW_OK;
}

static enum gw_status draw_validation(const struct gw_plot_options *options, const cJSON *document,
                                      struct gw_error *error) {
    struct gw_json root;
    GW_TRY(gw_json_root(document, options->subject, "gradweave/validation@1", &root, error));
    struct gw_json results = gw_json_member(&root, "results");
    GW_TRY(gw_json_array(&results, error));
    if (cJSON_GetArraySize(results.node) == 0) {
        return gw_json_expected(&results, "at least one result", error);
    }
    struct gw_bar *bars = calloc(2 * (size_t)cJSON_GetArraySize(results.node) + 1, sizeof *bars);
    if (bars == NULL) {
        return gw_fail_memory(error, "plotting");
    }
    enum gw_status status = GW_OK;
    size_t count = 0;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, results.node) {
        struct gw_json result = gw_json_item(&results, node, count / 2);
        for (int measured = 0; measured < 2 && status == GW_OK; measured++) {
            status = read_bar(&result, measured, &bars[count++], error);
        }
    }
    if (status == GW_OK) {
        const cJSON *model = cJSON_GetObjectItemCaseSensitive(document, "model");
        const cJSON *workers = cJSON_GetObjectItemCaseSensitive(document, "workers");
        char title[256];
        snprintf(title, sizeof title, "%s, %g workers: predicted (p) and measured (m)",
                 cJSON_IsString(model) ? model->valuestring : "", cJSON_GetNumberValue(workers));
        status = gw_plot_breakdown(bars, count, title, options->out, options->data, error);
    }
    free(bars);
    return status;
}

enum gw_status gw_plot_kind_validation(const struct gw_plot_options *options,
                                       struct gw_error *error) {
    cJSON *document = NULL;
    GW_TRY(gw_json_read(options->subject, &document, error));
    enum gw_status status = draw_validation(options, document, error);
    cJSON_Delete(document);
    return status;
}
