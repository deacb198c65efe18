#include "cli/cli.h"

struct options {
    struct gw_output_options output;
    enum gw_list what;
};

static const struct gw_option option_table[] = {
    {NULL, 0, "WHAT", GW_CHOICE, offsetof(struct options, what), .help = "What to list",
     .otherwise = "everything", .choices = gw_list_names,
     .expected = "expected one of algorithms, compressors, exchanges, policies, collectives, "
                 "networks, gpus, links, models, clusters, tables; got"},
    {.kind = GW_INCLUDE, .offset = offsetof(struct options, output), .table = gw_reading_table},
    {0},
};

static enum gw_status answer_list(void *values, struct gw_error *error) {
    const struct options *options = values;
    return gw_print_list(options->what, options->output.json, error);
}

static struct options options = {.what = GW_LISTS};

const struct gw_verb gw_verb_list = {
    .name = "list",
    .title = "algorithms, compressors, exchanges, policies, collectives, networks, gpus, links, "
             "models, clusters, tables",
    .usage = "[algorithms|compressors|exchanges|policies|collectives|networks|gpus|links|models|"
             "clusters|tables]",
    .about = "Lists what there is.",
    .options = option_table,
    .surplus = "expected one of algorithms, compressors, exchanges, policies, collectives, "
               "networks, gpus, links, models, clusters, tables; got",
    .values = &options,
    .answer = answer_list,
};
