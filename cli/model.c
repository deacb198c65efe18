/* Models without profiling: made from networks' shapes; and what a model is, shown. */
#include "cli/making.h"

#include "cli/cli.h"
#include "report/made.h"

enum action { MAKE, SHOW };

struct options {
    struct gw_output_options output;
    enum action action;
    const char *name, *out;
    struct gw_model_request request;
};

static const char *const actions[] = {[MAKE] = "make", [SHOW] = "show", NULL};

#define IN(member) offsetof(struct options, member)

static const struct gw_option option_table[] = {
    {NULL, 0, "ACTION", GW_CHOICE, IN(action), .help = "What to do", .choices = actions,
     .expected = "expected make NETWORK or show MODEL, got"},
    {NULL, 0, "NETWORK", GW_TEXT, IN(name),
     .help = "A network (see gradweave list networks); of show a model file, or the name of one "
             "that ships",
     .names = GW_NAMES_NETWORKS},
    {.kind = GW_INCLUDE, .offset = IN(request), .table = gw_model_making_table},
    {"out", 'o', "MODEL.json", GW_TEXT, IN(out), .help = "Where to write the model",
     .names = GW_NAMES_FILES},
    {.kind = GW_INCLUDE, .table = gw_strict_table},
    {.kind = GW_INCLUDE, .table = gw_force_table},
    {.kind = GW_INCLUDE, .offset = IN(output), .table = gw_output_table},
    {0},
};

static const struct gw_option_rule rules[] = {
    {NULL, GW_NEEDS, "ACTION", "expected make NETWORK or show MODEL"},
    {"ACTION=make", GW_NEEDS, "NETWORK", "make: expected a NETWORK (gradweave list networks)"},
    {"ACTION=make", GW_NEEDS, "gpu backward",
     "make: expected --gpu GPU, or what the backward pass takes: --backward TIME"},
    {"ACTION=make", GW_NEEDS, "out json", "make: expected --out MODEL.json"},
    {"forward", GW_NEEDS, "backward", "--forward: expected --backward with it"},
    {"ACTION=show", GW_NEEDS, "NETWORK", "show: expected a MODEL: a file, or one that ships"},
    {"ACTION=show", GW_EXCLUDES, "gpu precision batch backward forward out",
     "show: expected no option by which models are made"},
    {0},
};

static enum gw_status make(const struct options *options, struct gw_error *error) {
    struct gw_model_request request = options->request;
    cJSON *document = NULL;
    request.architecture = options->name;
    GW_TRY(options->out == NULL
               ? GW_OK
               : gw_file_check_target(options->out, "{\"schema\": \"gradweave/model@1\"", error));
    GW_TRY(gw_model_make(&request, &document, error));
    enum gw_status status =
        options->out == NULL ? GW_OK : gw_json_write(document, options->out, error);
    if (status == GW_OK && options->output.json) {
        return gw_print_document(document, error);
    }
    struct gw_model model = {0};
    status = status == GW_OK ? gw_model_take(document, options->name, &model, error)
                             : (cJSON_Delete(document), status);
    if (status == GW_OK) {
        gw_print_model(&model);
    }
    gw_model_free(&model);
    return status;
}

static enum gw_status show(const struct options *options, struct gw_error *error) {
    struct gw_model model;
    GW_TRY(gw_model_open(options->name, &model, error));
    enum gw_status status = GW_OK;
    if (options->output.json) {
        status = gw_print_model_document(&model, error);
    } else {
        gw_print_model(&model);
    }
    gw_model_free(&model);
    return status;
}

static enum gw_status answer(void *values, struct gw_error *error) {
    const struct options *options = values;
    return options->action == MAKE ? make(options, error) : show(options, error);
}

static struct options options = {.request.precision = GW_PRECISIONS};

const struct gw_verb gw_verb_model = {
    .name = "model",
    .title = "a network's model made from its shapes, or shown",
    .usage = "make NETWORK --gpu GPU --out MODEL.json\nmake NETWORK --backward TIME --out "
             "MODEL.json\nshow MODEL",
    .about = "Makes a model of a network without profiling it: its tensors are exact, its times "
             "follow from a GPU's published figures or from the backward pass that is given.\v"
             "A model that was recorded in the job itself (python -m gradweave.torch record) is "
             "known better: what is made says how far off it may be, and predictions count that.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected one NETWORK, got also",
    .values = &options,
    .answer = answer,
};
