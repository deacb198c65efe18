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
     .help = "Also show in how many iterations pipelines learnt, by such a file of trainings",
     .names = GW_NAMES_FILES},
    {"out", 'o', "PAGE.html", GW_TEXT, IN(out), .help = "Where to write the page",
     .names = GW_NAMES_FILES},
    {.kind = GW_INCLUDE, .table = gw_strict_table},
    {.kind = GW_INCLUDE, .table = gw_force_table},
    {.kind = GW_INCLUDE, .offset = IN(output), .table = gw_output_table},
    {0},
};

static const struct gw_option_rule rules[] = {
    GW_ASKING_RULES, {NULL, GW_NEEDS, "out json", "expected --out PAGE.html"}, {0}};

/* ---- commands that repeat the page ----------------------------------------------------------- */

/* Prints a word for a shell, in quotes unless all its characters are harmless. */
static void print_word(const char *word, FILE *stream) {
    bool is_plain =
        word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                          "-_./:=,+@%")] == '\0';
    (void)fputs(is_plain ? "" : "'", stream);
    for (const char *c = word; *c != '\0'; c++) {
        (void)(*c == '\'' ? fputs("'\\''", stream) : fputc(*c, stream));
    }
    (void)fputs(is_plain ? "" : "'", stream);
}

static void print_text_option(const char *name, const char *value, FILE *stream) {
    if (gw_option_is_given(name)) {
        (void)fprintf(stream, " --%s ", name);
        print_word(value, stream);
    }
}

static void print_number_option(const char *name, double value, const char *unit, FILE *stream) {
    if (gw_option_is_given(name)) {
        (void)fprintf(stream, " --%s %.9g%s", name, value, unit);
    }
}

/* Prints the question's options as given: "resnet50 --gpu a100 --nodes 4 --network 10gbit". */
static void print_asked(const struct gw_asking_options *asked, FILE *stream) {
    const struct gw_model_request *model = &asked->made.model;
    const struct gw_cluster_request *cluster = &asked->made.cluster;
    print_word(asked->question.model, stream);
    print_text_option("gpu", model->gpu, stream);
    if (gw_option_is_given("precision")) {
        (void)fprintf(stream, " --precision %s", gw_precision_names[model->precision]);
    }
    print_number_option("batch", model->batch_size, "", stream);
    print_number_option("backward", model->backward_s, "s", stream);
    print_number_option("forward", model->forward_s, "s", stream);
    print_number_option("nodes", (double)cluster->nodes, "", stream);
    print_number_option("gpus-per-node", (double)cluster->gpus_per_node, "", stream);
    print_text_option("network", cluster->network, stream);
    print_number_option("cards", (double)cluster->cards, "", stream);
    print_text_option("intra", cluster->within, stream);
    print_text_option("cluster", asked->question.cluster, stream);
    print_number_option("density", asked->question.density, "", stream);
    print_number_option("accumulate", (double)asked->question.micro_batches, "", stream);
    if (asked->question.interference == GW_INTERFERENCE_NONE) {
        (void)fprintf(stream, " --no-interference");
    }
}

/* Prints commands that repeat the page and its parts, one per line. */
static void print_commands(const struct options *options, const struct gw_result *recommended,
                           FILE *stream) {
    (void)fprintf(stream, "gradweave report ");
    print_asked(&options->asking, stream);
    print_number_option("price", options->asking.price, "", stream);
    print_text_option("validation", options->validation, stream);
    print_text_option("accuracy", options->accuracy, stream);
    (void)fprintf(stream, " --out ");
    print_word(options->out == NULL ? "report.html" : options->out, stream);
    (void)fprintf(stream, "\ngradweave advise ");
    print_asked(&options->asking, stream);
    print_number_option("price", options->asking.price, "", stream);
    (void)fprintf(stream, "\ngradweave compare ");
    print_asked(&options->asking, stream);
    (void)fprintf(stream, "\ngradweave simulate ");
    print_asked(&options->asking, stream);
    (void)fprintf(stream, " --algo %s", recommended->algorithm);
    if (recommended->policy != NULL) {
        (void)fprintf(stream, " --policy %s", recommended->policy);
    }
    (void)fprintf(stream, " --trace trace.json");
}

/* ---- the page -------------------------------------------------------------------------------- */

/* Splits the text into at most most - 1 lines. */
static void cut_lines(char *text, const char **lines, size_t most) {
    size_t count = 0;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL && count + 1 < most;
         line = strtok_r(NULL, "\n", &rest)) {
        lines[count++] = line;
    }
    lines[count] = NULL;
}

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
    const char *lines[8];
    struct gw_text text;
    FILE *stream = gw_text_open(&text);
    if (stream != NULL) {
        print_commands(options, advice->chosen->result, stream);
    }
    GW_TRY(gw_text_close(&text, "writing a page", error));
    cut_lines(text.text, lines, sizeof lines / sizeof *lines);
    page.commands = lines;
    enum gw_status status = write_page(options, &page, error);
    free(text.text);
    return status;
}

/* Writes the page; `page` has its parts beside the survey, `measured` (or NULL) measurements. */
static enum gw_status survey(const struct options *options, struct gw_page page,
                             const struct gw_validation_document *measured,
                             struct gw_error *error) {
    struct gw_question question;
    struct gw_advice advice;
    struct gw_survey found;
    GW_TRY(gw_asking_open(&options->asking, &question, &advice, error));
    if (measured != NULL) {
        gw_advice_keep_measured(&advice, measured);
        page.measured = gw_advice_is_measured_by(&advice, measured) ? measured : NULL;
    }
    enum gw_status status = gw_survey_make(&advice, &found, error);
    page.survey = &found;
    status = status == GW_OK ? write_survey(options, page, error) : status;
    gw_survey_free(&found);
    gw_advice_free(&advice);
    gw_question_close(&question);
    return status;
}

/* Reads the document, and decodes the fields that the page's readers use. */
static enum gw_status read_validation(const char *path, cJSON **out,
                                      struct gw_validation_document *read, struct gw_error *error) {
    GW_TRY(gw_json_read(path, out, error));
    return gw_fields_decode(&gw_validation_document_fields, *out, path, read, error);
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
        status = read_validation(options->validation, &validation, &measured, error);
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
    .title = "one page to look at: advice, ranking, timelines, what if",
    .usage = "NETWORK --gpu GPU --nodes N --network LINK --out PAGE.html\nMODEL --cluster CLUSTER "
             "--out PAGE.html",
    .about = "Writes one page of HTML, which needs no network, about a network on a cluster: what "
             "it rests on, what is recommended and why, all pipelines with their intervals, how an "
             "iteration passes, which tensors travel together, how it scales, and where another "
             "pipeline is the fastest.\v"
             "It asks as gradweave advise does, whose numbers it has.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected one NETWORK, got also",
    .values = &options,
    .answer = answer_report,
};
