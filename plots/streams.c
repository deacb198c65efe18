#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "plots/gnuplot.h"
#include "plots/plots.h"

struct chart {
    const struct gw_timeline *timeline;
    double bound_s;
    /* When groups can be exchanged: */
    double *group_s; /* [group]: the end of its last compute */
    double all_s;    /* the end of all compute but the update */
};

static bool is_drawn(const struct gw_span *span) {
    return span->lane == 0;
}

static enum gw_status find_computed(struct chart *chart, struct gw_error *error) {
    const struct gw_timeline *timeline = chart->timeline;
    size_t group_count = 1;
    for (size_t i = 0; i < timeline->span_count; i++) {
        uint32_t group = timeline->spans[i].group;
        group_count = group != GW_NO_GROUP && group >= group_count ? group + 1U : group_count;
    }
    chart->group_s = calloc(group_count, sizeof *chart->group_s);
    if (chart->group_s == NULL) {
        return gw_fail_memory(error, "plotting");
    }
    for (size_t i = 0; i < timeline->span_count; i++) {
        const struct gw_span *span = &timeline->spans[i];
        if (!is_drawn(span) || span->stream != GW_STREAM_COMPUTE || span->activity == GW_UPDATE) {
            continue;
        }
        chart->all_s = fmax(chart->all_s, span->end_s);
        if (span->group != GW_NO_GROUP) {
            chart->group_s[span->group] = fmax(chart->group_s[span->group], span->end_s);
        }
    }
    return GW_OK;
}

/* Prints one row per span; -1 in the column of groups: the span serves no group. */
static void print_streams_table(const void *subject, FILE *stream) {
    const struct chart *chart = subject;
    (void)fprintf(stream, "#stream,activity,group,start_s,end_s,ready_s\n");
    for (size_t i = 0; i < chart->timeline->span_count; i++) {
        const struct gw_span *span = &chart->timeline->spans[i];
        bool grouped = span->group != GW_NO_GROUP;
        if (is_drawn(span)) {
            (void)fprintf(stream, "%s,%s,%lld,%.9g,%.9g,%.9g\n", gw_stream_name(span->stream),
                          gw_activity_name(span->activity), grouped ? (long long)span->group : -1,
                          span->start_s, span->end_s,
                          grouped ? chart->group_s[span->group] : span->start_s);
        }
    }
}

static void print_settings(const void *subject, FILE *stream) {
    const struct chart *chart = subject;
    (void)fprintf(stream, "end_s=%.9e; computed_s=%.9e; bound_s=%.9e",
                  chart->timeline->iterations[0].end_s, chart->all_s, chart->bound_s);
}

enum gw_status gw_plot_streams(const struct gw_timeline *timeline, double bound_s,
                               const char *title, const char *path, const char *data_path,
                               struct gw_error *error) {
    struct chart chart = {.timeline = timeline, .bound_s = bound_s};
    struct gw_drawing drawing = {.script = "streams.gp",
                                 .title = title,
                                 .subject = &chart,
                                 .print_table = print_streams_table,
                                 .print_settings = print_settings};
    GW_TRY(find_computed(&chart, error));
    enum gw_status status = gw_draw(&drawing, path, data_path, error);
    free(chart.group_s);
    return status;
}
