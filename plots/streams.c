#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "plots/gnuplot.h"
#include "plots/plots.h"

/* What a group's exchange waits for. */
struct computed {
    double *group_s; /* [group]: the end of its last compute */
    double all_s;    /* the end of all compute but the update */
};

static bool is_drawn(const struct gw_span *span) {
    return span->lane == 0;
}

static enum gw_status find_computed(const struct gw_timeline *timeline, struct computed *out,
                                    struct gw_error *error) {
    size_t group_count = 1;
    for (size_t i = 0; i < timeline->span_count; i++) {
        uint32_t group = timeline->spans[i].group;
        group_count = group != GW_NO_GROUP && group >= group_count ? group + 1U : group_count;
    }
    *out = (struct computed){.group_s = calloc(group_count, sizeof *out->group_s)};
    if (out->group_s == NULL) {
        return gw_fail_memory(error, "plotting");
    }
    for (size_t i = 0; i < timeline->span_count; i++) {
        const struct gw_span *span = &timeline->spans[i];
        if (!is_drawn(span) || span->stream != GW_STREAM_COMPUTE || span->activity == GW_UPDATE) {
            continue;
        }
        out->all_s = fmax(out->all_s, span->end_s);
        if (span->group != GW_NO_GROUP) {
            out->group_s[span->group] = fmax(out->group_s[span->group], span->end_s);
        }
    }
    return GW_OK;
}

/* The table as text, the caller's to free; -1 stands for no group. */
static enum gw_status print_table(const struct gw_timeline *timeline,
                                  const struct computed *computed, char **text, size_t *length,
                                  struct gw_error *error) {
    FILE *stream = open_memstream(text, length);
    if (stream == NULL) {
        return gw_fail_memory(error, "writing a table");
    }
    (void)fprintf(stream, "#stream,activity,group,start_s,end_s,ready_s\n");
    for (size_t i = 0; i < timeline->span_count; i++) {
        const struct gw_span *span = &timeline->spans[i];
        bool grouped = span->group != GW_NO_GROUP;
        if (is_drawn(span)) {
            (void)fprintf(stream, "%s,%s,%lld,%.9g,%.9g,%.9g\n", gw_stream_name(span->stream),
                          gw_activity_name(span->activity), grouped ? (long long)span->group : -1,
                          span->start_s, span->end_s,
                          grouped ? computed->group_s[span->group] : span->start_s);
        }
    }
    if (fclose(stream) != 0) {
        free(*text);
        *text = NULL;
        return gw_fail_memory(error, "writing a table");
    }
    return GW_OK;
}

enum gw_status gw_plot_streams(const struct gw_timeline *timeline, double bound_s,
                               const char *title, const char *path, struct gw_error *error) {
    struct computed computed;
    char *text = NULL;
    size_t length = 0;
    GW_TRY(find_computed(timeline, &computed, error));
    enum gw_status status = print_table(timeline, &computed, &text, &length, error);
    if (status == GW_OK) {
        char settings[128];
        snprintf(settings, sizeof settings, "end_s=%.9e; computed_s=%.9e; bound_s=%.9e",
                 timeline->iterations[0].end_s, computed.all_s, bound_s);
        struct gw_drawing drawing = {.script = "streams.gp",
                                     .title = title,
                                     .settings = settings,
                                     .table = text,
                                     .length = length};
        status = gw_draw(&drawing, path, error);
    }
    free(text);
    free(computed.group_s);
    return status;
}
