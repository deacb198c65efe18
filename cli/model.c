/* Makes models without profiling, from networks' shapes or sizes, and shows models. */
#include "cli/making.h"

#include "cli/cli.h"
#include "traces/imports.h"

enum action { MAKE, IMPORT, SHOW };

struct options {
    struct gw_output_options output;
    enum action action;
    const char *operand, *name, *out;
    struct gw_model_request request;
};

static const char *const actions[] = {[MAKE] = "make", [IMPORT] = "import", [SHOW] = "show", NULL};

#define IN(member) offsetof(struct options, member)

static const struct gw_option option_table[] = {
    {NULL, 0, "ACTION", GW_CHOICE, IN(action), .help = "What to do", .choices = actions,
     .expected = "expected make NETWORK, import SIZES or show MODEL, got"},
    {NULL, 0, "NETWORK", GW_TEXT, IN(operand),
     .help = "A network (see gradweave list networks); for import a file with a line for each "
             "parameter, its name and shape; for show a model file, or the name of one that ships",
     .names = GW_NAMES_NETWORKS},
    {.kind = GW_INCLUDE, .offset = IN(request), .table = gw_model_making_table},
    {"name", 0, "NAME", GW_TEXT, IN(name), .help = "Name of the imported model",
     .value = "imported"},
    {"out", 'o', "MODEL.json", GW_TEXT, IN(out), .help = "Where to write the model",
     .names = GW_NAMES_FILES, .writes = true},
    {.kind = GW_INCLUDE, .offset = IN(output), .table = gw_writing_table},
    {0},
};

static const struct gw_option_rule rules[] = {
    {NULL, GW_NEEDS, "ACTION", "expected make NETWORK, import SIZES or show MODEL"},
    {"ACTION=make", GW_NEEDS, "NETWORK", "make: expected a NETWORK (gradweave list networks)"},
    {"ACTION=make", GW_NEEDS, "gpu backward",
     "make: expected --gpu GPU, or the time of the backward pass: --backward TIME"},
    {"ACTION=make", GW_NEEDS, "out json", "make: expected --out MODEL.json"},
    {"ACTION=make", GW_EXCLUDES, "name", "make: expected no --name: a network has its own"},
    {"forward", GW_NEEDS, "backward", "--forward: expected --backward with it"},
    {"ACTION=import", GW_NEEDS, "NETWORK",
     "import: expected SIZES, a file with a line such as 'conv1.weight 64 3 7 7' for each "
     "parameter"},
    {"ACTION=import", GW_NEEDS, "backward",
     "import: expected --backward TIME, the time of the whole backward pass"},
    {"ACTION=import", GW_NEEDS, "out json", "import: expected --out MODEL.json"},
    {"ACTION=import", GW_EXCLUDES, "gpu precision",
     "import: expected no GPU: sizes do not say how much is computed"},
    {"ACTION=show", GW_NEEDS, "NETWORK", "show: expected a MODEL: a file, or one that ships"},
    {"ACTION=show", GW_EXCLUDES, "gpu precision batch backward forward name out",
     "show: expected without options that make a model"},
    {0},
};

/* Writes the document if --out asks for it, and prints it as a model or as JSON. */
static enum gw_status write_and_print(const struct options *options, cJSON *document,
                                      struct gw_error *error) {
    struct gw_model model = {0};
    enum gw_status status =
        options->out == NULL ? GW_OK : gw_json_write(document, options->out, error);
    if (status == GW_OK && options->output.json) {
        return gw_print_document(document, error);
    }
    cJSON *source = cJSON_GetObjectItemCaseSensitive(document, "source");
    cJSON *notes = cJSON_DetachItemFromObjectCaseSensitive(source, "notes");
    status = status == GW_OK ? gw_model_take(document, options->operand, &model, error)
                             : (cJSON_Delete(document), status);
    if (status == GW_OK) {
        const cJSON *note = NULL; /* lines that importing left out */
        gw_print_model(&model);
        cJSON_ArrayForEach(note, notes) {
            if (cJSON_IsString(note)) {
                gw_print_note("note: ", "%s", note->valuestring);
            }
        }
    }
    cJSON_Delete(notes);
    gw_model_free(&model);
    return status;
}

/* Shows all fields of a model's file. */
static enum gw_status show_model(const struct options *options, struct gw_error *error) {
    struct gw_model model;
    cJSON *document = NULL;
    char *path = NULL;
    GW_TRY(gw_model_open(options->operand, &model, error));
    gw_model_free(&model);
    GW_TRY(gw_data_resolve(GW_DATA_MODELS, options->operand, &path, error));
    enum gw_status status = gw_json_read(path, &document, error);
    free(path);
    return status == GW_OK ? write_and_print(options, document, error) : status;
}

static enum gw_status answer_model(void *values, struct gw_error *error) {
    const struct options *options = values;
    cJSON *document = NULL;
    if (options->action == SHOW) {
        return show_model(options, error);
    }
    GW_TRY(options->out == NULL
               ? GW_OK
               : gw_file_check_target(options->out, "{\"schema\": \"gradweave/model@1\"", error));
    if (options->action == MAKE) {
        struct gw_model_request request = options->request;
        request.architecture = options->operand;
        GW_TRY(gw_model_make(&request, &document, error));
    } else {
        const struct gw_sizes_request request = {.name = options->name,
                                                 .backward_s = options->request.backward_s,
                                                 .forward_s = options->request.forward_s,
                                                 .batch_size = options->request.batch_size};
        GW_TRY(gw_import_sizes(options->operand, &request, &document, error));
    }
    return write_and_print(options, document, error);
}

static struct options options = {.request.precision = GW_PRECISIONS};

const struct gw_verb gw_verb_model = {
    .name = "model",
    .title = "makes, imports or shows a model",
    .usage = "make NETWORK --gpu GPU --out MODEL.json\nmake NETWORK --backward TIME --out "
             "MODEL.json\nimport SIZES --backward TIME --out MODEL.json\nshow MODEL",
    .about = "Makes a model of a network without profiling it: its tensors are exact, its times "
             "follow from a GPU's published figures or from the backward pass that is given. Of a "
             "network of your own its parameters' sizes and its backward pass are enough.\v"
             "A model that was recorded in the job itself (python -m gradweave.torch record) is "
             "known better: what is made says how far off it may be, and predictions count that.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected one NETWORK, got also",
    .values = &options,
    .answer = answer_model,
};
