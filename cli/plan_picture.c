#include <stdio.h>
#include <string.h>

#include "cli/plan_explain.h"
#include "plots/plots.h"

static enum gw_status add(struct gw_timeline *timeline, enum gw_activity activity, uint32_t group,
                          double start_s, double end_s, struct gw_error *error) {
    struct gw_span span = {.stream = activity == GW_EXCHANGE ? GW_STREAM_COMMUNICATION
                                                             : GW_STREAM_COMPUTE,
                           .activity = activity,
                           .group = group,
                           .label = "",
                           .start_s = start_s,
                           .end_s = end_s};
    return gw_timeline_add(timeline, span, error);
}

static enum gw_status add_group(struct gw_timeline *timeline, uint32_t group,
                                const struct gw_group_times *times, struct gw_error *error) {
    GW_TRY(add(timeline, GW_BACKWARD, group, times->backward_start_s, times->ready_s, error));
    GW_TRY(add(timeline, GW_COMPRESS, group, times->ready_s, times->compressed_s, error));
    return add(timeline, GW_EXCHANGE, group, times->exchange_start_s, times->exchange_end_s, error);
}

static enum gw_status fill_timeline(const struct gw_explanation *explanation,
                                    struct gw_timeline *timeline, struct gw_error *error) {
    const struct gw_model *model = &explanation->question->model;
    size_t count = explanation->plan->group_count;
    GW_TRY(add(timeline, GW_FORWARD, GW_NO_GROUP, 0, model->forward_s, error));
    for (size_t g = 0; g < count; g++) {
        GW_TRY(add_group(timeline, (uint32_t)g, &explanation->groups[g], error));
    }
    double exchanged_s = explanation->groups[count - 1].exchange_end_s;
    double end_s = exchanged_s + explanation->update_s;
    GW_TRY(add(timeline, GW_UPDATE, GW_NO_GROUP, exchanged_s, end_s, error));
    return gw_timeline_add_iteration(timeline, 0, end_s, error);
}

static enum gw_status draw(const struct gw_explanation *explanation,
                           const struct gw_timeline *timeline, const char *path,
                           struct gw_error *error) {
    const struct gw_question *question = explanation->question;
    const struct gw_plan *plan = explanation->plan;
    char exchange[96];
    char title[384];
    if (strcmp(plan->compressor, "none") == 0) {
        snprintf(exchange, sizeof exchange, "dense");
    } else {
        snprintf(exchange, sizeof exchange, "%s, density %g", plan->compressor, plan->density);
    }
    snprintf(title, sizeof title, "%s on %s, %zu worker%s, %s: policy %s, %zu group%s", plan->model,
             question->cluster.name, question->workers, question->workers == 1 ? "" : "s", exchange,
             plan->policy, plan->group_count, plan->group_count == 1 ? "" : "s");
    return gw_plot_streams(timeline, plan->lower_bound_s, title, path, error);
}

enum gw_status gw_explanation_draw(const struct gw_explanation *explanation, const char *path,
                                   struct gw_error *error) {
    struct gw_timeline timeline;
    GW_TRY(gw_timeline_create(&timeline, 1, error));
    enum gw_status status = fill_timeline(explanation, &timeline, error);
    if (status == GW_OK) {
        status = draw(explanation, &timeline, path, error);
    }
    gw_timeline_free(&timeline);
    return status;
}
