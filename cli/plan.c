#include <string.h>

#include "cli/cli.h"
#include "cli/making.h"
#include "report/pictures.h"
#include "report/sweep.h"

struct options {
    struct gw_output_options output;
    struct gw_scenario_options scenario;
    struct gw_making_options made;
    const char *policy, *compressor, *exchange, *out, *sweep;
    struct gw_mixed_request mixed;
    bool explain;
};

#define IN(member) offsetof(struct options, member)

static const char *const parameters[] = {"density", "workers", "bandwidth", NULL};

static const struct gw_option option_table[] = {
    {.kind = GW_INCLUDE, .offset = IN(scenario), .table = gw_any_model_table},
    {.kind = GW_INCLUDE, .offset = IN(scenario), .table = gw_cluster_table},
    {.kind = GW_INCLUDE, .offset = IN(scenario), .table = gw_workers_table},
    {.kind = GW_INCLUDE, .offset = IN(made), .table = gw_making_table},
    {.kind = GW_INCLUDE, .offset = IN(scenario.micro_batches), .table = gw_accumulate_table},
    {"policy", 'p', "POLICY", GW_TEXT, IN(policy),
     .help = "Merge policy, or all to rank them (see gradweave list policies)", .value = "all",
     .names = GW_NAMES_POLICIES},
    {"compressor", 'c', "C", GW_TEXT, IN(compressor),
     .help = "Compressor, or none for dense exchange", .value = "topk",
     .names = GW_NAMES_COMPRESSORS_OR_NONE},
    {"exchange", 0, "E", GW_TEXT, IN(exchange),
     .help = "Exchange of the compressor's output (see gradweave list exchanges)",
     .otherwise = "the compressor's own", .names = GW_NAMES_EXCHANGES},
    {"choices", 0, "A,B,..", GW_TEXT, IN(mixed.choices),
     .help =
         "Ways to travel of which the optimal plan gives each group one: dense, and compressors, "
         "those that select with a density or that of --density, factors with a rank, such as "
         "dense,topk:0.01,topk,powersgd:8"},
    {"keep", 0, "SHARE", GW_POSITIVE, IN(mixed.keep), .maximum = 1,
     .help = "With --choices: keep at least that share of the gradient's energy, the sum of its "
             "squares",
     .otherwise = "any"},
    {"gradients", 0, "FILE", GW_TEXT, IN(mixed.gradients),
     .help = "With --choices: the energy of each tensor by the recorded gradients in FILE",
     .otherwise = "bell-shaped ones", .names = GW_NAMES_FILES},
    {"explain", 0, NULL, GW_FLAG, IN(explain),
     .help = "Say when each group of the (best) plan is ready and exchanged, and who waits"},
    {"out", 'o', "FILE", GW_TEXT, IN(out),
     .help = "Write the (best) plan to a .json file, or draw it as a .png, .svg or .pdf; "
             "with --sweep write a .csv or .json, or draw a .png, .svg or .pdf",
     .names = GW_NAMES_FILES, .writes = true},
    {"sweep", 0, "PARAMETER=VALUES", GW_TEXT, IN(sweep),
     .help = "Plan at many values of density, workers or bandwidth, sparse and dense, such as "
             "density=1e-4:1e-1:log20, workers=2:64 or bandwidth=1gbit:100gbit",
     .choices = parameters},
    {.kind = GW_INCLUDE, .offset = IN(scenario.interference), .table = gw_interference_table},
    {.kind = GW_INCLUDE, .offset = IN(output), .table = gw_writing_table},
    {0},
};

static const struct gw_option_rule rules[] = {
    GW_NEEDS_MODEL("MODEL"),
    GW_NEEDS_ANY_CLUSTER("cluster nodes"),
    GW_MAKING_RULES(" network"),
    {"choices", GW_EXCLUDES, "compressor exchange sweep",
     "--choices: expected none of --compressor, --exchange and --sweep beside it"},
    {"choices", GW_NEEDS, "policy=optimal", "--choices: expected --policy optimal with it"},
    {"keep", GW_NEEDS, "choices", "--keep: expected --choices with it"},
    {"gradients", GW_NEEDS, "choices", "--gradients: expected --choices with it"},
    {"sweep", GW_EXCLUDES, "explain",
     "--sweep: expected no --explain beside it, which is for one plan"},
    {0},
};

/* ---- plans --------------------------------------------------------------------------------- */

static enum gw_status plan(const struct options *options, const struct gw_scenario *scenario,
                           struct gw_plans *plans, struct gw_error *error) {
    bool ranking = strcmp(options->policy, "all") == 0;
    struct gw_mixed_request mixed = options->mixed;
    struct gw_explanation best;
    const char *dot = options->out == NULL ? NULL : strrchr(options->out, '.');
    bool has_ending = dot != NULL && strchr(dot, '/') == NULL; /* a device's name, say, has none */
    if (has_ending && strcmp(dot, ".json") != 0 && !gw_plot_is_picture(options->out)) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: expected the name of a plan (.json) or picture (.png, .svg or .pdf)",
                       options->out);
    }
    if (options->mixed.choices != NULL) {
        mixed.has_density = options->scenario.density > 0;
        GW_TRY(gw_plans_make_mixed(scenario, &mixed, plans, error));
    } else {
        GW_TRY(gw_plans_make(scenario, options->compressor, options->exchange, options->policy,
                             plans, error));
    }
    GW_TRY(gw_explain(scenario, &plans->plans[0], options->exchange, &plans->arena, &best, error));
    if (options->out != NULL) {
        GW_TRY(gw_plot_is_picture(options->out) ? gw_draw_explanation(&best, options->out, error)
                                                : gw_plan_write(best.plan, options->out, error));
    }
    return gw_print_plans(scenario, plans, ranking, options->exchange,
                          options->explain ? &best : NULL, options->output.json, error);
}

static enum gw_status answer_plan_sweep(const struct options *options,
                                        const struct gw_scenario *scenario,
                                        struct gw_error *error) {
    const struct gw_plan_sweep_request request = {.text = options->sweep,
                                                  .policy = options->policy,
                                                  .compressor = options->compressor,
                                                  .exchange = options->exchange,
                                                  .has_density = options->scenario.density > 0,
                                                  .has_workers = options->scenario.workers > 0};
    struct gw_plan_sweep found;
    enum gw_status status = gw_plan_sweep_open(&request, scenario, &found, error);
    if (status == GW_OK && options->out != NULL) {
        status = gw_plan_sweep_check_out(options->out, error);
    }
    status = status == GW_OK ? gw_plan_sweep_plan(&request, &found, error) : status;
    if (status == GW_OK && options->out != NULL) {
        status = gw_plan_sweep_write(&found, options->out, error);
    }
    status = status == GW_OK ? gw_plan_sweep_print(&found, options->output.json, error) : status;
    gw_plan_sweep_close(&found);
    return status;
}

static enum gw_status answer_plan(void *values, struct gw_error *error) {
    const struct options *options = values;
    struct gw_scenario scenario;
    struct gw_plans plans = {0};
    const struct gw_exchange_kind *exchange = NULL;
    GW_TRY(gw_exchange_choose(options->compressor, options->exchange, &exchange, error));
    GW_TRY(gw_scenario_make(&options->scenario, &options->made, &scenario, error));
    enum gw_status status = options->sweep != NULL ? answer_plan_sweep(options, &scenario, error)
                                                   : plan(options, &scenario, &plans, error);
    gw_plans_free(&plans);
    gw_scenario_close(&scenario);
    return status;
}

static struct options options = {.made = GW_MAKING_NOTHING};

const struct gw_verb gw_verb_plan = {
    .name = "plan",
    .title = "finds which neighbouring tensors to exchange together",
    .usage = "MODEL --cluster CLUSTER\nNETWORK --gpu GPU --nodes N --network LINK",
    .about =
        "Says which neighbouring tensors of a model should be exchanged together on a cluster, "
        "the time of an iteration then, and a lower bound of all plans.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected one MODEL, got also",
    .values = &options,
    .answer = answer_plan,
};
