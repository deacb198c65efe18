/* Options that several verbs have, and the names that values of theirs are. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static void set_quiet(char *argument, void *target, struct argp_state *state) {
    (void)argument, (void)target, (void)state;
    gw_log_set_level(GW_LOG_QUIET);
}

static void set_verbose(char *argument, void *target, struct argp_state *state) {
    (void)argument, (void)target, (void)state;
    gw_log_set_level(GW_LOG_VERBOSE);
}

const struct gw_option gw_output_table[] = {
    {"json", 0, NULL, GW_FLAG, offsetof(struct gw_output_options, json),
     .help = "Print one JSON document instead of text"},
    {"quiet", 'q', NULL, GW_CUSTOM, 0, .help = "Print no progress", .read = set_quiet},
    {"verbose", 'v', NULL, GW_CUSTOM, 0, .help = "Print what is being done", .read = set_verbose},
    {0},
};

const struct gw_option gw_model_table[] = {
    {NULL, 0, "MODEL", GW_TEXT, offsetof(struct gw_question_options, model),
     .help = "Model file, or the name of one that ships", .names = GW_NAMES_MODELS},
    {0},
};

const struct gw_option gw_cluster_table[] = {
    {"cluster", 0, "CLUSTER", GW_TEXT, offsetof(struct gw_question_options, cluster),
     .help = "Cluster file, or the name of one that ships", .names = GW_NAMES_CLUSTERS},
    {"density", 0, "R", GW_POSITIVE, offsetof(struct gw_question_options, density),
     .help = "Share of elements that compressors keep", .maximum = 1, .otherwise = "0.001"},
    {0},
};

const struct gw_option gw_workers_table[] = {
    {"workers", 0, "P", GW_COUNT, offsetof(struct gw_question_options, workers),
     .help = "Number of workers", .otherwise = "the cluster's"},
    {0},
};

const struct gw_option gw_question_table[] = {
    {.kind = GW_INCLUDE, .table = gw_model_table},
    {.kind = GW_INCLUDE, .table = gw_cluster_table},
    {.kind = GW_INCLUDE, .table = gw_workers_table},
    {0},
};

enum gw_status gw_question_open(const struct gw_question_options *options, struct gw_question *out,
                                struct gw_error *error) {
    return gw_question_read(options->model, options->cluster, options->workers, options->density,
                            out, error);
}

const struct gw_option gw_changes_table[] = {
    {"policy", 'p', "POLICY", GW_TEXT, offsetof(struct gw_choice_changes, policy),
     .help = "Merge policy instead of the algorithm's own; several groups overlap with the "
             "backward pass",
     .names = GW_NAMES_POLICIES},
    {"compressor", 'c', "C", GW_TEXT, offsetof(struct gw_choice_changes, compressor),
     .help = "Compressor instead of the algorithm's own, or none; it brings its exchange where the "
             "algorithm's cannot carry what it leaves",
     .names = GW_NAMES_COMPRESSORS},
    {"exchange", 0, "E", GW_TEXT, offsetof(struct gw_choice_changes, exchange),
     .help = "Exchange instead of the algorithm's own (see gradweave list exchanges)",
     .names = GW_NAMES_EXCHANGES},
    {0},
};

/* ---- names --------------------------------------------------------------------------------- */

static bool is_chosen(const struct gw_compressor *compressor,
                      const struct gw_compressor *const *chosen, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (chosen[i] == compressor) {
            return true;
        }
    }
    return false;
}

enum gw_status gw_compressors_parse(const char *text, const struct gw_compressor **out,
                                    struct gw_error *error) {
    size_t count = 0;
    if (strcmp(text, "all") == 0) {
        for (; gw_compressors[count] != NULL; count++) {
            out[count] = gw_compressors[count];
        }
        text = NULL;
    }
    while (text != NULL) {
        char name[64];
        size_t length = strcspn(text, ",");
        snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), text);
        const struct gw_compressor *found = gw_compressor_find(name);
        if (found == NULL || is_chosen(found, out, count)) {
            return gw_fail(error, GW_BAD_INPUT,
                           "--compressor: expected some of those that gradweave list compressors "
                           "shows, each once, got \"%s\"",
                           name);
        }
        out[count++] = found;
        text = text[length] == ',' ? text + length + 1 : NULL;
    }
    out[count] = NULL;
    return GW_OK;
}
