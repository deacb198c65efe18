/* Lists the names that options' values may have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/calibrate.h"
#include "cli/cli.h"
#include "published/published.h"

enum { MOST_NAMES = 256 };

static void add_name(const char **names, const char *name) {
    size_t count = 0;
    while (names[count] != NULL && strcmp(names[count], name) != 0) {
        count++;
    }
    if (count + 1 < MOST_NAMES) {
        names[count] = name;
    }
}

static void add_data(const char **names, enum gw_data_kind kind) {
    struct gw_error error;
    char **found = NULL;
    size_t count = 0;
    if (gw_data_list(kind, &found, &count, &error) != GW_OK) {
        gw_print_lost(error.message);
    }
    for (size_t i = 0; i < count; i++) {
        add_name(names, found[i]);
    }
    free(found);
}

static void add_collectives(const char **names) {
    for (size_t i = 0; gw_collectives[i] != NULL; i++) {
        char *text = NULL;
        if (asprintf(&text, "%s=%s", gw_collectives[i]->operation, gw_collectives[i]->name) >= 0) {
            add_name(names, text);
        } else {
            gw_print_lost(NULL);
        }
    }
}

/* Adds the names of a table whose rows begin with them, up to one without. */
static void add_table(const char **names, const void *table, size_t row_size) {
    const char *const *name = table;
    while (*name != NULL) {
        add_name(names, *name);
        name = (const void *)((const char *)name + row_size);
    }
}

static void add_names(const char **names, enum gw_names kind) {
    const char *calibrated[GW_MAX_CALIBRATED];
    switch (kind) {
    case GW_NAMES_ALGORITHMS:
        add_table(names, gw_algorithms, sizeof *gw_algorithms);
        break;
    case GW_NAMES_COMPRESSORS:
        for (size_t i = 0; gw_compressors[i] != NULL; i++) {
            add_name(names, gw_compressors[i]->name);
        }
        break;
    case GW_NAMES_COMPRESSORS_OR_NONE:
        add_names(names, GW_NAMES_COMPRESSORS);
        add_name(names, "none");
        break;
    case GW_NAMES_CALIBRATED:
        gw_calibrated_names(calibrated);
        add_table(names, calibrated, sizeof *calibrated);
        break;
    case GW_NAMES_EXCHANGES:
        for (size_t i = 0; gw_exchange_kinds[i] != NULL; i++) {
            add_name(names, gw_exchange_kinds[i]->name);
        }
        break;
    case GW_NAMES_POLICIES:
        add_table(names, gw_policies, sizeof *gw_policies);
        break;
    case GW_NAMES_COLLECTIVES:
        add_collectives(names);
        break;
    case GW_NAMES_SHAPES:
        for (size_t i = 0; i < GW_SHAPES; i++) {
            add_name(names, gw_shape_names[i]);
        }
        break;
    case GW_NAMES_MODELS:
        add_data(names, GW_DATA_MODELS);
        break;
    case GW_NAMES_TABLES:
        add_data(names, GW_DATA_TABLES);
        add_name(names, "all");
        break;
    case GW_NAMES_CLUSTERS:
        add_data(names, GW_DATA_CLUSTERS);
        break;
    case GW_NAMES_DATA:
        add_data(names, GW_DATA_MODELS);
        add_data(names, GW_DATA_CLUSTERS);
        break;
    case GW_NAMES_NETWORKS:
        add_table(names, gw_architectures, sizeof *gw_architectures);
        add_data(names, GW_DATA_MODELS);
        break;
    case GW_NAMES_GPUS:
        add_table(names, gw_published_gpus, sizeof *gw_published_gpus);
        break;
    case GW_NAMES_LINKS:
        add_table(names, gw_links, sizeof *gw_links);
        break;
    case GW_NAMES_LEVELS_OR_LINKS:
        add_name(names, "curves");
        add_name(names, "messages");
        add_names(names, GW_NAMES_LINKS);
        break;
    case GW_NAMES_MEASURED_COUNTS:
        add_name(names, "recorded");
        add_names(names, GW_NAMES_COUNTS);
        break;
    case GW_NAMES_COUNTS:
        add_name(names, "asked");
        add_name(names, "trained");
        break;
    default:
        break;
    }
}

const char *const *gw_option_names(const struct gw_option *option) {
    static const char *kept[GW_NAMES_KINDS][MOST_NAMES];
    const char **names = kept[option->names];
    if (option->choices != NULL) {
        return option->choices;
    }
    if (names[0] == NULL) {
        add_names(names, option->names);
    }
    return names[0] == NULL ? NULL : names;
}
