#include "cli/plan_sweep.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"

/* ---- what can be swept --------------------------------------------------------------------- */

static enum gw_status set_density(struct gw_question *question, double value,
                                  struct gw_error *error) {
    (void)error;
    question->density = value;
    return GW_OK;
}

static enum gw_status set_workers(struct gw_question *question, double value,
                                  struct gw_error *error) {
    (void)error;
    question->workers = (size_t)value;
    return GW_OK;
}

static const struct gw_sweep_parameter parameters[] = {
    {.name = "density",
     .axis = "density",
     .rule = &gw_density_rule,
     .set = set_density,
     .sparse_only = true},
    {.name = "workers", .axis = "workers", .rule = &gw_workers_rule, .set = set_workers},
    {.name = "bandwidth",
     .axis = "bandwidth as a factor of what was measured",
     .rule = &gw_bandwidth_rule,
     .set = gw_question_set_bandwidth},
};

/* The digits, at least four, with which no two neighbouring values look the same. */
static int choose_digits(const struct gw_sweep *sweep) {
    enum { fewest = 4, most = 17 };
    int digits = fewest;
    for (size_t v = 1; v < sweep->value_count; v++) {
        char texts[2][GW_UNITS_SIZE];
        do {
            snprintf(texts[0], sizeof texts[0], "%.*g", digits, sweep->values[v - 1]);
            snprintf(texts[1], sizeof texts[1], "%.*g", digits, sweep->values[v]);
        } while (strcmp(texts[0], texts[1]) == 0 && digits++ < most);
    }
    return digits;
}

static enum gw_status check_given(const struct gw_sweep_options *options, const char *name,
                                  struct gw_error *error) {
    bool twice = (strcmp(name, "density") == 0 && options->given->density > 0) ||
                 (strcmp(name, "workers") == 0 && options->given->workers > 0);
    return twice
               ? gw_fail(error, GW_BAD_INPUT, "--sweep %s: expected no --%s beside it", name, name)
               : GW_OK;
}

/* PARAMETER=VALUES */
static enum gw_status parse_text(const struct gw_sweep_options *options, struct gw_sweep *sweep,
                                 struct gw_error *error) {
    const char *text = options->text;
    size_t length = strcspn(text, "=");
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
        if (strncmp(parameters[i].name, text, length) == 0 && parameters[i].name[length] == '\0') {
            sweep->parameter = &parameters[i];
        }
    }
    if (sweep->parameter == NULL || text[length] == '\0') {
        return gw_fail(error, GW_BAD_INPUT,
                       "--sweep: expected density=, workers= or bandwidth= and values, such as "
                       "density=1e-4:1e-1:log20, got \"%.60s\"",
                       text);
    }
    const struct gw_sweep_parameter *parameter = sweep->parameter;
    GW_TRY(check_given(options, parameter->name, error));
    enum gw_status status = gw_values_parse(text + length + 1, parameter->rule, &sweep->values,
                                            &sweep->value_count, error);
    if (status != GW_OK) {
        char place[32];
        snprintf(place, sizeof place, "--sweep %s", parameter->name);
        gw_error_prefix(error, place);
        return status;
    }
    sweep->digits = choose_digits(sweep);
    return GW_OK;
}

/* The question at a value; gw_question_end_bandwidth frees what it has. */
static enum gw_status open_question(const struct gw_sweep *sweep, size_t value,
                                    struct gw_question *out, struct gw_error *error) {
    *out = *sweep->question;
    return sweep->parameter->set(out, sweep->values[value], error);
}

/* ---- notes --------------------------------------------------------------------------------- */

static enum gw_status add_note(struct gw_sweep *sweep, const char *text, size_t value,
                               const struct gw_sweep_cell *row, struct gw_error *error) {
    struct gw_sweep_note *notes =
        gw_grow(sweep->notes, sweep->note_count + 1, &sweep->note_capacity, sizeof *sweep->notes);
    char *copy = strdup(text);
    if (notes != NULL) {
        sweep->notes = notes;
    }
    if (notes == NULL || copy == NULL) {
        free(copy);
        return gw_fail_memory(error, "noting something in a sweep");
    }
    notes[sweep->note_count++] = (struct gw_sweep_note){.text = copy, .first = value, .row = row};
    return GW_OK;
}

/* Adds a plan's note, or counts it with one like it; what several policies have counts once. */
static enum gw_status note(struct gw_sweep *sweep, const char *text, size_t value,
                           const struct gw_sweep_cell *row, struct gw_error *error) {
    for (size_t i = 0; i < sweep->note_count; i++) {
        struct gw_sweep_note *known = &sweep->notes[i];
        if (gw_notes_are_alike(known->text, text)) {
            known->others += known->row == row;
            known->differs = known->differs || strcmp(known->text, text) != 0;
            return GW_OK;
        }
    }
    return add_note(sweep, text, value, row, error);
}

enum gw_status gw_sweep_note_text(const struct gw_sweep *sweep, const struct gw_sweep_note *note,
                                  char **text, struct gw_error *error) {
    bool everywhere =
        note->row == NULL || (note->others + 1 == sweep->value_count && !note->differs);
    char place[GW_UNITS_SIZE + 32] = "";
    char others[64] = "";
    if (!everywhere) {
        char value[GW_UNITS_SIZE];
        snprintf(place, sizeof place, "%s %s: ", sweep->parameter->name,
                 gw_sweep_value(sweep, note->first, value));
    }
    if (!everywhere && note->others > 0) {
        snprintf(others, sizeof others, "; likewise at %zu other value%s", note->others,
                 note->others == 1 ? "" : "s");
    }
    if (asprintf(text, "%s%s%s", place, note->text, others) < 0) {
        *text = NULL;
        return gw_fail_memory(error, "noting something in a sweep");
    }
    return GW_OK;
}

/* ---- exchanges ----------------------------------------------------------------------------- */

/* Whether the cluster has what an exchange needs, and if not, why. */
static enum gw_status check_exchange(const struct gw_question *question, const char *compressor,
                                     const char *exchange, struct gw_error *error) {
    struct gw_costs costs;
    GW_TRY(gw_costs_open(question, compressor, exchange, &costs, error));
    gw_costs_close(&costs);
    return GW_OK;
}

static enum gw_status note_left_out(struct gw_sweep *sweep, const char *compressor,
                                    const struct gw_error *why, struct gw_error *error) {
    char text[sizeof why->message + 64];
    snprintf(text, sizeof text, "%s exchange is left out: %s",
             strcmp(compressor, "none") == 0 ? "dense" : compressor, why->message);
    return add_note(sweep, text, 0, NULL, error);
}

/* Those that can be planned at `question`; the others become notes. */
static enum gw_status find_exchanges_at(const struct gw_question *question, const char *compressor,
                                        const char *exchange, struct gw_sweep *sweep,
                                        struct gw_error *error) {
    const char *const wanted[] = {compressor, "none"};
    const char *const exchanges[] = {exchange, NULL};
    size_t count = strcmp(compressor, "none") == 0 ? 1 : 2;
    for (size_t i = 0; i < count; i++) {
        struct gw_error why = {0};
        enum gw_status status = check_exchange(question, wanted[i], exchanges[i], &why);
        bool known = i > 0 || gw_compressor_find(wanted[i]) != NULL;
        if (status == GW_OK) {
            sweep->exchanges[sweep->exchange_count] = exchanges[i];
            sweep->compressors[sweep->exchange_count++] = wanted[i];
        } else if (status != GW_BAD_INPUT || count == 1 || !known) {
            return gw_fail(error, status, "%s", why.message);
        } else {
            GW_TRY(note_left_out(sweep, wanted[i], &why, error));
        }
    }
    return sweep->exchange_count > 0
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "%s: expected measured curves of collectives.allgather and "
                         "compressors.%s, or of collectives.allreduce, got neither "
                         "(gradweave calibrate --only allgather,%s --add measures the former, "
                         "--only allreduce --add the latter)",
                         question->cluster.path, compressor, compressor);
}

/* What the largest value needs, smaller ones do not need more than. */
static enum gw_status find_exchanges(const char *compressor, const char *exchange,
                                     struct gw_sweep *sweep, struct gw_error *error) {
    struct gw_question question;
    GW_TRY(open_question(sweep, sweep->value_count - 1, &question, error));
    enum gw_status status = find_exchanges_at(&question, compressor, exchange, sweep, error);
    gw_question_end_bandwidth(&question, sweep->question);
    return status;
}

/* ---- policies ------------------------------------------------------------------------------ */

static enum gw_status list_policies(const char *policy, struct gw_sweep *sweep,
                                    struct gw_error *error) {
    bool all = strcmp(policy, "all") == 0;
    const struct gw_policy *found = NULL;
    uint64_t argument = 0;
    size_t count = 1;
    if (!all) {
        GW_TRY(gw_policy_parse(policy, &found, &argument, error));
    }
    while (all && gw_policies[count].name != NULL) {
        count++;
    }
    sweep->policies = calloc(count, sizeof *sweep->policies);
    if (sweep->policies == NULL) {
        return gw_fail_memory(error, "planning");
    }
    sweep->policy_count = count;
    for (size_t p = 0; p < count; p++) {
        const struct gw_policy *listed = all ? &gw_policies[p] : found;
        gw_policy_text(listed, all ? listed->default_argument : argument, sweep->policies[p]);
    }
    return GW_OK;
}

/* ---- planning ------------------------------------------------------------------------------ */

static enum gw_status keep(struct gw_sweep *sweep, struct gw_sweep_cell *row, size_t value,
                           const struct gw_plan *plan, struct gw_error *error) {
    row[value] = (struct gw_sweep_cell){.groups = plan->group_count,
                                        .iteration_s = plan->iteration_s,
                                        .lower_bound_s = plan->lower_bound_s};
    for (size_t i = 0; i < plan->note_count; i++) {
        GW_TRY(note(sweep, plan->notes[i], value, row, error));
    }
    return GW_OK;
}

/* Every policy's plan at one value of one exchange, bounded by the same optimum. */
static enum gw_status plan_policies(struct gw_sweep *sweep, size_t exchange, size_t value,
                                    struct gw_costs *costs, struct gw_error *error) {
    GW_TRY(gw_costs_find_optimum(costs, error));
    for (size_t p = 0; p < sweep->policy_count; p++) {
        struct gw_plan plan;
        GW_TRY(gw_costs_plan(costs, sweep->policies[p], &plan, error));
        enum gw_status status = keep(sweep, gw_sweep_row(sweep, exchange, p), value, &plan, error);
        gw_plan_free(&plan);
        GW_TRY(status);
    }
    return GW_OK;
}

static enum gw_status plan_value(struct gw_sweep *sweep, size_t exchange, size_t value,
                                 struct gw_error *error) {
    struct gw_question question;
    struct gw_costs costs;
    const char *compressor = sweep->compressors[exchange];
    GW_TRY(open_question(sweep, value, &question, error));
    enum gw_status status =
        gw_costs_open(&question, compressor, sweep->exchanges[exchange], &costs, error);
    if (status == GW_OK) {
        status = plan_policies(sweep, exchange, value, &costs, error);
        gw_costs_close(&costs);
    }
    gw_question_end_bandwidth(&question, sweep->question);
    if (status != GW_OK) {
        char text[GW_UNITS_SIZE];
        char place[GW_UNITS_SIZE + 32];
        snprintf(place, sizeof place, "%s %s", sweep->parameter->name,
                 gw_sweep_value(sweep, value, text));
        gw_error_prefix(error, place);
    }
    return status;
}

/* One plan is enough for all values if they make no difference. */
static void repeat_first(struct gw_sweep *sweep, size_t exchange) {
    for (size_t p = 0; p < sweep->policy_count; p++) {
        struct gw_sweep_cell *row = gw_sweep_row(sweep, exchange, p);
        for (size_t v = 1; v < sweep->value_count; v++) {
            row[v] = row[0];
        }
        for (size_t i = 0; i < sweep->note_count; i++) {
            if (sweep->notes[i].row == row) {
                sweep->notes[i].others = sweep->value_count - 1;
            }
        }
    }
}

static enum gw_status plan_exchange(struct gw_sweep *sweep, size_t exchange,
                                    struct gw_progress *progress, struct gw_error *error) {
    bool same = gw_sweep_is_constant(sweep, exchange);
    size_t count = same ? 1 : sweep->value_count;
    for (size_t v = 0; v < count; v++) {
        double share = (double)exchange + (double)v / (double)count;
        gw_progress_update(progress, share / (double)sweep->exchange_count,
                           sweep->compressors[exchange]);
        GW_TRY(plan_value(sweep, exchange, v, error));
    }
    if (same) {
        repeat_first(sweep, exchange);
    }
    return GW_OK;
}

static enum gw_status plan_all(struct gw_sweep *sweep, struct gw_error *error) {
    size_t rows = sweep->exchange_count * sweep->policy_count;
    sweep->cells = calloc(rows * sweep->value_count, sizeof *sweep->cells);
    if (sweep->cells == NULL) {
        return gw_fail_memory(error, "planning");
    }
    struct gw_progress progress = gw_progress_begin("plan", 1);
    enum gw_status status = GW_OK;
    for (size_t e = 0; e < sweep->exchange_count && status == GW_OK; e++) {
        status = plan_exchange(sweep, e, &progress, error);
    }
    gw_progress_end(&progress);
    return status;
}

/* ---- what was planned ---------------------------------------------------------------------- */

struct gw_sweep_cell *gw_sweep_row(const struct gw_sweep *sweep, size_t exchange, size_t policy) {
    return &sweep->cells[(exchange * sweep->policy_count + policy) * sweep->value_count];
}

bool gw_sweep_is_constant(const struct gw_sweep *sweep, size_t exchange) {
    return sweep->parameter->sparse_only && strcmp(sweep->compressors[exchange], "none") == 0;
}

size_t gw_sweep_best(const struct gw_sweep *sweep, size_t exchange, size_t value) {
    size_t best = 0;
    for (size_t p = 1; p < sweep->policy_count; p++) {
        const struct gw_sweep_cell *a = &gw_sweep_row(sweep, exchange, p)[value];
        const struct gw_sweep_cell *b = &gw_sweep_row(sweep, exchange, best)[value];
        if (a->iteration_s < b->iteration_s ||
            (a->iteration_s == b->iteration_s && a->groups < b->groups)) {
            best = p;
        }
    }
    return best;
}

int gw_sweep_compare(const struct gw_sweep *sweep, size_t value) {
    double sparse_s = gw_sweep_row(sweep, 0, gw_sweep_best(sweep, 0, value))[value].iteration_s;
    double dense_s = gw_sweep_row(sweep, 1, gw_sweep_best(sweep, 1, value))[value].iteration_s;
    return (sparse_s > dense_s) - (sparse_s < dense_s);
}

const char *gw_sweep_exchange_name(const struct gw_sweep *sweep, size_t exchange) {
    const char *compressor = sweep->compressors[exchange];
    return strcmp(compressor, "none") == 0 ? "dense" : compressor;
}

const char *gw_sweep_value(const struct gw_sweep *sweep, size_t value, char out[GW_UNITS_SIZE]) {
    const struct gw_values_rule *rule = sweep->parameter->rule;
    snprintf(out, GW_UNITS_SIZE, "%.*g%s", rule->whole ? 17 : sweep->digits, sweep->values[value],
             rule->suffix);
    return out;
}

/* ---- the verb's part ----------------------------------------------------------------------- */

static enum gw_status print_json(const struct gw_sweep *sweep, struct gw_error *error) {
    cJSON *document = NULL;
    GW_TRY(gw_sweep_document(sweep, &document, error));
    return gw_print_document(document, error);
}

static enum gw_status answer(const struct gw_sweep_options *options, struct gw_sweep *sweep,
                             struct gw_error *error) {
    GW_TRY(parse_text(options, sweep, error));
    if (options->out != NULL) {
        GW_TRY(gw_sweep_check_out(options->out, error));
    }
    GW_TRY(list_policies(options->policy, sweep, error));
    GW_TRY(find_exchanges(options->compressor, options->exchange, sweep, error));
    GW_TRY(plan_all(sweep, error));
    if (options->out != NULL) {
        GW_TRY(gw_sweep_write(sweep, options->out, error));
    }
    return options->json ? print_json(sweep, error) : gw_sweep_print(sweep, error);
}

enum gw_status gw_plan_sweep(const struct gw_sweep_options *options,
                             const struct gw_question *question, struct gw_error *error) {
    struct gw_sweep sweep = {.question = question};
    enum gw_status status = answer(options, &sweep, error);
    for (size_t i = 0; i < sweep.note_count; i++) {
        free(sweep.notes[i].text);
    }
    free(sweep.notes);
    free(sweep.cells);
    free(sweep.policies);
    free(sweep.values);
    return status;
}
