#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/plan_explain.h"
#include "cli/plan_sweep.h"
#include "plots/plots.h"

struct options {
    struct gw_output_options output;
    struct gw_question_options question;
    const char *policy, *compressor, *exchange, *out, *sweep;
    bool explain;
};

#define IN(member) offsetof(struct options, member)

static const struct gw_option option_table[] = {
    {.kind = GW_INCLUDE, .offset = IN(question), .table = gw_question_table},
    {"policy", 'p', "POLICY", GW_TEXT, IN(policy),
     .help = "Merge policy, or all to rank them (see gradweave list policies)", .value = "all",
     .names = GW_NAMES_POLICIES},
    {"compressor", 'c', "C", GW_TEXT, IN(compressor),
     .help = "Compressor, or none for dense exchange", .value = "topk",
     .names = GW_NAMES_COMPRESSORS},
    {"exchange", 0, "E", GW_TEXT, IN(exchange),
     .help = "How what the compressor leaves travels (see gradweave list exchanges)",
     .otherwise = "the compressor's own", .names = GW_NAMES_EXCHANGES},
    {"explain", 0, NULL, GW_FLAG, IN(explain),
     .help = "Say when each group of the (best) plan is ready and exchanged, and who waits"},
    {"out", 'o', "FILE", GW_TEXT, IN(out),
     .help = "Write the (best) plan to a file, or draw it if the name ends in .png, .svg or .pdf; "
             "with --sweep write a .csv or .json, or draw a .png, .svg or .pdf",
     .names = GW_NAMES_FILES},
    {"sweep", 0, "PARAMETER=VALUES", GW_TEXT, IN(sweep),
     .help = "Plan at many values of density, workers or bandwidth, sparse and dense, such as "
             "density=1e-4:1e-1:log20, workers=2,4,8 or bandwidth=0.1x:10x:log20"},
    {.kind = GW_INCLUDE, .offset = IN(output), .table = gw_output_table},
    {0},
};

static const struct gw_option_rule rules[] = {
    GW_NEEDS_MODEL("MODEL"),
    GW_NEEDS_CLUSTER("cluster"),
    {"sweep", GW_EXCLUDES, "explain",
     "--sweep: expected no --explain beside it, which is for one plan"},
    {0},
};

/* ---- answering ----------------------------------------------------------------------------- */

/* Of two plans that take as long, the one with fewer groups is better. */
static bool is_better(const struct gw_plan *a, const struct gw_plan *b) {
    return a->iteration_s != b->iteration_s ? a->iteration_s < b->iteration_s
                                            : a->group_count < b->group_count;
}

/* Inserts a plan behind those that are better or as good, which keeps equals in their order. */
static void insert(struct gw_plan plan, struct gw_plan *plans, size_t count) {
    size_t place = count;
    for (; place > 0 && is_better(&plan, &plans[place - 1]); place--) {
        plans[place] = plans[place - 1];
    }
    plans[place] = plan;
}

/* Room for a plan by every policy, and for one in any case. */
static size_t count_plans(void) {
    size_t count = 1;
    while (gw_policies[count - 1].name != NULL) {
        count++;
    }
    return count;
}

static enum gw_status plan_all(const struct gw_costs *costs, struct gw_plan *plans, size_t *count,
                               struct gw_error *error) {
    for (*count = 0; gw_policies[*count].name != NULL; (*count)++) {
        const struct gw_policy *policy = &gw_policies[*count];
        struct gw_plan plan;
        char text[GW_POLICY_TEXT_SIZE];
        gw_policy_text(policy, policy->default_argument, text);
        GW_TRY(gw_costs_plan(costs, text, &plan, error));
        insert(plan, plans, *count);
    }
    return GW_OK;
}

/* The plan of the policy asked for, or those of all, best first; each bounded by the optimum. */
static enum gw_status make_plans(const struct options *options, const struct gw_question *question,
                                 bool ranking, struct gw_plan *plans, size_t *count,
                                 struct gw_error *error) {
    struct gw_costs costs;
    GW_TRY(gw_costs_open(question, options->compressor, options->exchange, &costs, error));
    enum gw_status status = gw_costs_find_optimum(&costs, error);
    if (status == GW_OK) {
        status = ranking ? plan_all(&costs, plans, count, error)
                         : gw_costs_plan(&costs, options->policy, &plans[0], error);
    }
    gw_costs_close(&costs);
    return status;
}

/* The plan's document, the caller's, with its explanation if there is one. */
static enum gw_status make_document(const struct gw_plan *plan,
                                    const struct gw_explanation *explanation, cJSON **out,
                                    struct gw_error *error) {
    GW_TRY(gw_plan_document(plan, out, error));
    enum gw_status status =
        explanation == NULL ? GW_OK : gw_explanation_put(explanation, *out, error);
    if (status != GW_OK) {
        cJSON_Delete(*out);
    }
    return status;
}

static enum gw_status print_json(const struct gw_plan *plans, size_t count, bool ranking,
                                 const struct gw_explanation *explanation, struct gw_error *error) {
    cJSON *document = NULL;
    if (!ranking) {
        GW_TRY(make_document(&plans[0], explanation, &document, error));
        return gw_print_document(document, error);
    }
    document = cJSON_CreateObject();
    cJSON *list = cJSON_CreateArray();
    enum gw_status status = gw_json_put_text(document, "schema", "gradweave/plans@1", error);
    if (gw_json_put(document, "plans", list, error) != GW_OK) {
        status = GW_FAILED;
    }
    for (size_t i = 0; i < count && status == GW_OK; i++) {
        cJSON *plan = NULL;
        status = make_document(&plans[i], i == 0 ? explanation : NULL, &plan, error);
        if (status == GW_OK) {
            status = gw_json_append(list, plan, error);
        }
    }
    if (status != GW_OK) {
        cJSON_Delete(document);
        return status;
    }
    return gw_print_document(document, error);
}

/* How far a plan is above the optimum, as far as that is proven; also if both are nothing. */
static double gap(const struct gw_plan *plan) {
    return plan->iteration_s > plan->lower_bound_s ? plan->iteration_s / plan->lower_bound_s - 1
                                                   : 0;
}

static void print_text(const struct gw_question *question, const struct options *options,
                       const struct gw_plan *plans, size_t count) {
    static const char *const headings[] = {"policy", "groups", "iteration", "above optimum"};
    gw_print_heading(question);
    struct gw_table *table = gw_table_open(headings, "lrrr");
    for (size_t i = 0; i < count; i++) {
        char time[GW_UNITS_SIZE];
        char above[GW_UNITS_SIZE];
        const struct gw_plan *plan = &plans[i];
        gw_table_cell(table, "%s", plan->policy);
        gw_table_cell(table, "%zu", plan->group_count);
        gw_table_cell(table, "%s", gw_format_seconds(plan->iteration_s, time));
        gw_table_cell(table, "%s", gw_format_percent(gap(plan), above));
    }
    gw_table_print_and_close(table);
    char bound[GW_UNITS_SIZE];
    printf("\n%s exchange%s%s; no plan takes less than %s\n",
           strcmp(options->compressor, "none") == 0 ? "dense" : options->compressor,
           options->exchange == NULL ? "" : " by ",
           options->exchange == NULL ? "" : options->exchange,
           gw_format_seconds(plans[0].lower_bound_s, bound));
    gw_print_notes((const char *const *)plans[0].notes, plans[0].note_count);
}

/* `best` explains the first plan. */
static enum gw_status print_plans(const struct options *options, const struct gw_question *question,
                                  const struct gw_plan *plans, size_t count, bool ranking,
                                  const struct gw_explanation *best, struct gw_error *error) {
    const struct gw_explanation *explanation = options->explain ? best : NULL;
    if (options->output.json) {
        return print_json(plans, count, ranking, explanation, error);
    }
    print_text(question, options, plans, count);
    if (explanation != NULL) {
        gw_explanation_print(explanation);
    }
    return GW_OK;
}

static enum gw_status write_best(const struct gw_explanation *best, const char *path,
                                 struct gw_error *error) {
    return gw_plot_is_picture(path) ? gw_explanation_draw(best, path, error)
                                    : gw_plan_write(best->plan, path, error);
}

static enum gw_status answer(const struct options *options, const struct gw_question *question,
                             struct gw_plan *plans, struct gw_error *error) {
    bool ranking = strcmp(options->policy, "all") == 0;
    size_t count = 1;
    GW_TRY(make_plans(options, question, ranking, plans, &count, error));
    struct gw_explanation best;
    GW_TRY(gw_explanation_open(question, &plans[0], options->exchange, &best, error));
    enum gw_status status = options->out == NULL ? GW_OK : write_best(&best, options->out, error);
    if (status == GW_OK) {
        status = print_plans(options, question, plans, count, ranking, &best, error);
    }
    gw_explanation_close(&best);
    return status;
}

static enum gw_status answer_and_free(const struct options *options,
                                      const struct gw_question *question, struct gw_error *error) {
    size_t capacity = count_plans();
    struct gw_plan *plans = calloc(capacity, sizeof *plans);
    if (plans == NULL) {
        return gw_fail_memory(error, "planning");
    }
    enum gw_status status = answer(options, question, plans, error);
    for (size_t i = 0; i < capacity; i++) {
        gw_plan_free(&plans[i]);
    }
    free(plans);
    return status;
}

static enum gw_status sweep(const struct options *options, const struct gw_question *question,
                            struct gw_error *error) {
    struct gw_sweep_options sweep_options = {.text = options->sweep,
                                             .policy = options->policy,
                                             .compressor = options->compressor,
                                             .exchange = options->exchange,
                                             .out = options->out,
                                             .json = options->output.json,
                                             .given = &options->question};
    return gw_plan_sweep(&sweep_options, question, error);
}

static int run(int argc, char **argv) {
    struct options options = {0};
    struct gw_error error = {0};
    struct gw_question question;
    const struct gw_exchange_kind *exchange = NULL;
    gw_parse_options(&gw_verb_plan, argc, argv, &options);
    enum gw_status status =
        gw_exchange_choose(options.compressor, options.exchange, &exchange, &error);
    if (status == GW_OK) {
        status = gw_question_open(&options.question, &question, &error);
    }
    if (status == GW_OK) {
        status = options.sweep != NULL ? sweep(&options, &question, &error)
                                       : answer_and_free(&options, &question, &error);
        gw_question_close(&question);
    }
    return status == GW_OK ? GW_OK : gw_cli_fail(&error);
}

const struct gw_verb gw_verb_plan = {
    .name = "plan",
    .title = "which neighbouring tensors to exchange together",
    .usage = "MODEL --cluster CLUSTER",
    .about =
        "Says which neighbouring tensors of a model should be exchanged together on a cluster, "
        "what an iteration then takes, and a bound below which no plan can go.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected one MODEL, got also",
    .run = run,
};
