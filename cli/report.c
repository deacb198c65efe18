/* Writes a page about a network on a cluster. */
#include "report/page.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/cli.h"
#include "cli/making.h"

struct options {
    struct gw_output_options output;
    struct gw_asking_options asking;
    const char *out, *validation, *accuracy;
};

#define IN(member) offsetof(struct options, member)

static const struct gw_option option_table[] = {
    {.kind = GW_INCLUDE, .offset = IN(asking), .table = gw_asking_table},
    {"validation", 0, "FILE", GW_TEXT, IN(validation),
     .help = "Also show how far off predictions were, by a document of gradweave validate --json",
     .names = GW_NAMES_FILES},
    {"accuracy", 0, "FILE", GW_TEXT, IN(accuracy),
     .help = "Also show the iterations in which pipelines learnt, from a file of trainings",
     .names = GW_NAMES_FILES},
    {"out", 'o', "PAGE.html", GW_TEXT, IN(out), .help = "Where to write the page",
     .names = GW_NAMES_FILES, .writes = true},
    {.kind = GW_INCLUDE, .offset = IN(output), .table = gw_writing_table},
    {0},
};

static const struct gw_option_rule rules[] = {
    GW_ASKING_RULES, {NULL, GW_NEEDS, "out json", "expected --out PAGE.html"}, {0}};

/* ---- commands that repeat the page ----------------------------------------------------------- */

/* Options that commands do not repeat. */
#define SILENT "out json quiet verbose strict force"

/* Prints commands that repeat the page and its parts, one per line. */
static void print_commands(const struct options *options, const struct gw_advice *advice,
                           FILE *stream) {
    const struct gw_result *recommended = advice->chosen->result;
    char density[32] = "";
    if (options->asking.scenario.density == 0) {
        (void)snprintf(density, sizeof density, " --density %g", advice->scenario->density);
    }
    (void)fprintf(stream, "gradweave report");
    gw_print_given(SILENT, stream);
    (void)fprintf(stream, " --out ");
    gw_print_word(options->out == NULL ? "report.html" : options->out, stream);
    (void)fprintf(stream, "\ngradweave advise");
    gw_print_given(SILENT " validation accuracy", stream);
    (void)fprintf(stream, "\ngradweave compare");
    gw_print_given(SILENT " validation accuracy price", stream);
    (void)fprintf(stream, "%s\ngradweave simulate", density);
    gw_print_given(SILENT " validation accuracy price goal learning", stream);
    (void)fprintf(stream, "%s --algo %s", density, recommended->algorithm);
    if (recommended->policy != NULL) {
        (void)fprintf(stream, " --policy %s", recommended->policy);
    }
    (void)fprintf(stream, " --trace trace.json");
}

/* ---- the page -------------------------------------------------------------------------------- */

static enum gw_status write_page(const struct options *options, const struct gw_page *page,
                                 struct gw_error *error) {
    cJSON *document = NULL;
    if (options->out != NULL) {
        GW_TRY(gw_page_write(page, options->out, error));
    }
    if (!options->output.json) {
        return GW_OK;
    }
    GW_TRY(gw_page_document(page, &document, error));
    return gw_print_document(document, error);
}

static enum gw_status write_survey(const struct options *options, struct gw_page page,
                                   struct gw_error *error) {
    const struct gw_advice *advice = page.survey->advice;
    enum { MAX_LINES = 8 };
    const char *lines[MAX_LINES + 1] = {NULL};
    size_t count = 0;
    char *rest = NULL;
    struct gw_text text;
    FILE *stream = gw_text_open(&text);
    if (stream != NULL) {
        print_commands(options, advice, stream);
    }
    GW_TRY(gw_text_close(&text, "writing a page", error));
    for (char *line = strtok_r(text.text, "\n", &rest); line != NULL && count < MAX_LINES;
         line = strtok_r(NULL, "\n", &rest)) {
        lines[count++] = line;
    }
    page.commands = lines;
    enum gw_status status = write_page(options, &page, error);
    free(text.text);
    return status;
}

/* Writes the page; `page` has its parts beside the survey, `measured` (or NULL) measurements. */
static enum gw_status survey(const struct options *options, struct gw_page page,
                             const struct gw_validation_document *measured,
                             struct gw_error *error) {
    struct gw_scenario scenario;
    struct gw_advice advice;
    struct gw_survey found;
    struct gw_asking_options asking = options->asking;
    if (measured != NULL && asking.scenario.density == 0) {
        asking.scenario.density = measured->density; /* what was measured is beside its like */
    }
    GW_TRY(gw_asking_open(&asking, &scenario, &advice, error));
    if (measured != NULL) {
        gw_advice_keep_measured(&advice, measured);
        page.measured = gw_advice_is_measured_by(&advice, measured) ? measured : NULL;
    }
    enum gw_status status = gw_survey_make(&advice, &found, error);
    page.survey = &found;
    status = status == GW_OK ? write_survey(options, page, error) : status;
    gw_survey_free(&found);
    gw_advice_free(&advice);
    gw_scenario_close(&scenario);
    return status;
}

/* Refuses a name whose ending promises a file other than HTML. */
static enum gw_status check_out(const char *path, struct gw_error *error) {
    static const char *const others[] = {".pdf", ".png", ".svg", ".json", ".csv", ".md", ".txt"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot != NULL && i < sizeof others / sizeof *others; i++) {
        if (strcasecmp(dot, others[i]) == 0) {
            return gw_fail(error, GW_BAD_INPUT,
                           "--out: expected a name of HTML, such as page.html, got \"%s\"", path);
        }
    }
    return gw_file_check_target(path, GW_PAGE_START, error);
}

static enum gw_status answer_report(void *values, struct gw_error *error) {
    const struct options *options = values;
    struct gw_page page = {.price = options->asking.price};
    struct gw_accuracy accuracy = {0};
    struct gw_validation_document measured = {0};
    cJSON *validation = NULL;
    enum gw_status status = options->out == NULL ? GW_OK : check_out(options->out, error);
    if (status == GW_OK && options->validation != NULL) {
        status = gw_json_read(options->validation, &validation, error);
        status = status == GW_OK ? gw_fields_decode(&gw_validation_document_fields, validation,
                                                    options->validation, &measured, error)
                                 : status;
        page.validation = validation;
    }
    if (status == GW_OK && options->accuracy != NULL) {
        status = gw_accuracy_read(options->accuracy, &accuracy, error);
        page.accuracy = &accuracy;
    }
    status = status == GW_OK ? survey(options, page, validation == NULL ? NULL : &measured, error)
                             : status;
    gw_validation_document_free(&measured);
    gw_accuracy_free(&accuracy);
    cJSON_Delete(validation);
    return status;
}

static struct options options = {.asking.made = GW_MAKING_NOTHING};

const struct gw_verb gw_verb_report = {
    .name = "report",
    .title = "writes a page with advice, ranking, timelines, scaling and maps",
    .usage = "NETWORK --gpu GPU --nodes N --network LINK --out PAGE.html\nMODEL --cluster CLUSTER "
             "--out PAGE.html",
    .about =
        "Writes one page of HTML, which needs no network, about a network on a cluster: its "
        "sources, the recommendation and its reasons, all pipelines with their intervals, how an "
        "iteration passes, which tensors travel together, how it scales, and where another "
        "pipeline is the fastest.\v"
        "It asks as gradweave advise does, whose numbers it has.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected one NETWORK, got also",
    .values = &options,
    .answer = answer_report,
};
