/* Prints advice on training a network on a cluster. */
#include "report/report.h"

#include <math.h>
#include <string.h>

#include "study/axes.h"

const char *gw_advice_name(const struct gw_advice *advice, size_t place,
                           char out[GW_ADVICE_NAME_SIZE]) {
    const struct gw_result *result = &advice->ranking.results[place];
    bool own = result->policy == NULL;
    (void)snprintf(out, GW_ADVICE_NAME_SIZE, "%.20s%s%.20s%s", result->algorithm, own ? "" : " (",
                   own ? "" : result->policy, own ? "" : ")");
    return out;
}

/* Writes "5 networks", or where some were trained with several optimizers "5 networks in 7 setups".
 * Returns `out`. */
enum { SETUPS_SIZE = 48 };
static const char *name_setups(const struct gw_iterations_factor *iterations,
                               char out[SETUPS_SIZE]) {
    bool is_more = iterations->setups > iterations->networks;
    (void)snprintf(out, SETUPS_SIZE, "%s%s%s", GW_COUNTED(iterations->networks, "network"),
                   is_more ? " in " : "", is_more ? GW_COUNTED(iterations->setups, "setup") : "");
    return out;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Prints "trainings of 5 networks in 7 setups needed 1.7 times as many iterations in the median
 * (1.3 to 2.5), and 1 of 15 runs never got there". */
static void print_needed(const struct gw_advice *advice, const struct gw_recommendation *one) {
    const struct gw_iterations_factor *iterations = &one->iterations;
    const double low = iterations->low, high = iterations->high, median = iterations->median;
    char setups[SETUPS_SIZE], times[96], never[64] = "";
    if (iterations->is_beyond) {
        gw_print_paragraph(
            "    ",
            "no training kept as little as density %g: iterations are known for density %g and "
            "above",
            advice->scenario->density, iterations->density);
        return;
    }
    if (iterations->runs == 0) {
        gw_print("    nobody trained so\n");
        return;
    }
    name_setups(iterations, setups);
    if (iterations->failed == iterations->runs) {
        gw_print_paragraph("    ", "in trainings of %s none of %s got there", setups,
                           GW_COUNTED(iterations->runs, "run"));
        return;
    }
    if (iterations->failed > 0) {
        (void)snprintf(never, sizeof never, ", and %zu of %zu runs never got there",
                       iterations->failed, iterations->runs);
    }
    if (high == 1) {
        (void)snprintf(times, sizeof times, "as many iterations");
    } else if (low == high) {
        (void)snprintf(times, sizeof times, "%.2g times as many iterations", low);
    } else if (isinf(median)) {
        (void)snprintf(times, sizeof times, "%.2g to %.2g times as many iterations", low, high);
    } else if (median == 1) {
        (void)snprintf(times, sizeof times, "as many iterations in the median (%.2g to %.2g times)",
                       low, high);
    } else {
        (void)snprintf(times, sizeof times,
                       "%.2g times as many iterations in the median (%.2g to %.2g)", median, low,
                       high);
    }
    gw_print_paragraph("    ", "trainings of %s needed %s%s", setups, times, never);
}

static bool has_better_buckets(const struct gw_advice *advice) {
    return advice->buckets_hold || advice->cap_mib > 0;
}

/* Whether DistributedDataParallel without compression is recommended, with whatever buckets. */
static bool is_plain_ddp_chosen(const struct gw_advice *advice) {
    return strcmp(advice->chosen->result->algorithm, "ddp") == 0;
}

/* Prints, after `first`, the DDP buckets that are faster than the defaults anywhere in the curves'
 * intervals, and how much they save. */
static void print_buckets(const struct gw_advice *advice, const char *first) {
    const char *by_default = GW_SECONDS(advice->default_iteration_s);
    double set_s = advice->buckets_hold ? advice->buckets_iteration_s : advice->cap_iteration_s;
    gw_print("%s\n", first);
    if (advice->buckets_hold) {
        enum { BUCKETS_A_LINE = 10 };
        gw_print("    with bucket_cap_mb_list=[");
        for (size_t g = 0; g < advice->buckets.group_count; g++) {
            char bucket[GW_BUCKET_TEXT_SIZE];
            bool is_new_line = g > 0 && g % BUCKETS_A_LINE == 0;
            gw_print("%s%s",
                     g == 0        ? ""
                     : is_new_line ? ",\n        "
                                   : ", ",
                     gw_advice_bucket_text(advice, g, bucket));
        }
        /* With find_unused_parameters=True DDP keeps its first buckets, which it fills from the
         * first tensor on. */
        gw_print("]\n    (in reverse if find_unused_parameters=True):\n    ");
    } else if (advice->cap_mib > 0) {
        gw_print("    with bucket_cap_mb=%g: ", advice->cap_mib);
    }
    if (has_better_buckets(advice)) {
        gw_print("%s, %.1f%% less than with its default buckets (%s)\n", GW_SECONDS(set_s),
                 100 * (1 - set_s / advice->default_iteration_s), by_default);
    } else {
        gw_print("    its buckets left as they are (%s): no others are 1%% faster throughout the "
                 "interval\n",
                 by_default);
    }
    if (advice->buckets_hold && advice->cap_mib > 0) {
        gw_print("    with bucket_cap_mb=%g: %s\n", advice->cap_mib,
                 GW_SECONDS(advice->cap_iteration_s));
    }
    gw_print("    these times count %s for each bucket besides its exchange; the table does not\n",
             GW_SECONDS(gw_bucket_besides_s));
}

static void print_recommendation(const struct gw_advice *advice) {
    const struct gw_recommendation *chosen = advice->chosen;
    const struct gw_result *result = chosen->result;
    char name[GW_ADVICE_NAME_SIZE];
    if (is_plain_ddp_chosen(advice)) {
        gw_print("No compression shortens training by 2%% or more throughout the interval.\n");
        print_buckets(advice, "Recommended: DistributedDataParallel (DDP) without compression");
        gw_print("\n");
        return;
    }
    gw_print("Recommended: %s, %s\n    model = gradweave.torch.distribute(model, \"%s\"",
             gw_advice_name(advice, chosen->place, name), GW_COUNTED(result->groups, "group"),
             result->algorithm);
    if (gw_algorithm_selects(gw_advice_algorithm(advice, chosen->place))) {
        gw_print(", density=%g", advice->scenario->density);
    }
    gw_print(")\n");
    const struct gw_recommendation *soonest = &advice->tiers[GW_SOONEST_COMPRESSED];
    if (soonest->iterations.failed > 0 && soonest->expected_s < chosen->expected_s) {
        gw_print("    all trainings by it reached their goals, and %s may not be sooner\n",
                 gw_advice_name(advice, soonest->place, name));
    }
    gw_print("\n");
}

/* Prints how fast iterations of a tier are, and in how many of them trainings learnt as much. */
static void print_tier(const struct gw_advice *advice, enum gw_tier tier) {
    static const char *const words[] = {[GW_COSTS_NOTHING] = "Costs nothing",
                                        [GW_SOONEST_COMPRESSED] = "Soonest with compression",
                                        [GW_FASTEST_ITERATION] =
                                            "Fastest iteration with compression"};
    const struct gw_recommendation *one = &advice->tiers[tier];
    char name[GW_ADVICE_NAME_SIZE];
    if (one->result == NULL) {
        return;
    }
    const struct gw_estimate *speedup = &one->speedup;
    gw_print("%s: %s, %s", words[tier], gw_advice_name(advice, one->place, name),
             GW_SECONDS(one->result->iteration_s));
    if (one->place == advice->dense) {
        gw_print(" without compression\n");
        return;
    }
    gw_print("\n    iterations are %.2f times as fast as %s's", speedup->value,
             gw_advice_name(advice, advice->dense, name));
    if (isnan(speedup->low)) {
        gw_print(" (how far off that may be is not known)");
    } else {
        gw_print(" (%.2f to %.2f in 95%% of cases)", speedup->low, speedup->high);
    }
    gw_print("\n");
    if (speedup->value >= 1.005 && tier != GW_COSTS_NOTHING) { /* not printed as 1.00 */
        gw_print("    it pays if training needs fewer than %.2f times as many iterations\n",
                 speedup->value);
    }
    print_needed(advice, one);
    if (!one->holds && tier != GW_FASTEST_ITERATION) {
        gw_print("    within these ranges it may gain nothing\n");
    }
}

static void print_tiers(const struct gw_advice *advice) {
    print_tier(advice, GW_COSTS_NOTHING);
    if (has_better_buckets(advice) && !is_plain_ddp_chosen(advice)) {
        print_buckets(advice, "Costs nothing: DistributedDataParallel (DDP)");
    }
    if (advice->accumulated >= 1.02) {
        gw_print("Gradient accumulation over %zu micro-batches, in batches four times as large:\n"
                 "    DistributedDataParallel trains %.2f times as many samples a second\n",
                 advice->micro_batches, advice->accumulated);
    }
    const struct gw_recommendation *soonest = &advice->tiers[GW_SOONEST_COMPRESSED];
    bool is_fastest =
        soonest->result != NULL && soonest->place == advice->tiers[GW_FASTEST_ITERATION].place;
    if (!is_fastest || !advice->by_iteration) {
        print_tier(advice, GW_SOONEST_COMPRESSED);
    }
    if (!is_fastest || advice->by_iteration) {
        print_tier(advice, GW_FASTEST_ITERATION);
    }
    print_recommendation(advice);
}

enum { MOST_ROWS = 6, MOST_OTHERS = 3 };

/* Adds the objection to the pipeline, or the factor on dense pipelines' number of iterations, and
 * how many of its runs never got there: "1.7 (1.3 to 2.5)", "1 of 11". */
static void add_iterations(struct gw_table *table, enum gw_objection objection,
                           const struct gw_iterations_factor *iterations) {
    if (iterations->failed > 0) {
        gw_table_cells(table, "%zu of %zu", iterations->failed, iterations->runs);
    } else {
        gw_table_cells(table, "%s", "");
    }
    if (objection == GW_LITTLE_ENERGY) {
        gw_table_cells(table, "too little energy");
    } else if (isnan(iterations->median)) {
        gw_table_cells(table, "not trained");
    } else if (isinf(iterations->median)) {
        gw_table_cells(table, "too few runs learnt");
    } else if (iterations->low == iterations->high) {
        gw_table_cells(table, "%.2g", iterations->low);
    } else {
        gw_table_cells(table, "%.2g (%.2g to %.2g)", iterations->median, iterations->low,
                       iterations->high);
    }
}

/* Whether the advice speaks of the pipeline. */
static bool is_needed(const struct gw_advice *advice, size_t place) {
    bool is_ddp = strcmp(advice->ranking.results[place].algorithm, "ddp") == 0;
    bool is_tier = false;
    for (int tier = 0; tier < GW_TIERS; tier++) {
        is_tier =
            is_tier || (advice->tiers[tier].result != NULL && advice->tiers[tier].place == place);
    }
    return is_ddp || is_tier || place == advice->chosen->place || place == advice->dense ||
           place == advice->compressed;
}

static void add_place(struct gw_table *table, const struct gw_advice *advice, size_t place,
                      struct gw_counts_note *counts) {
    const struct gw_result *result = &advice->ranking.results[place];
    enum gw_objection objection = gw_advice_objection(advice, place);
    bool is_chosen = place == advice->chosen->place;
    char name[GW_ADVICE_NAME_SIZE];
    gw_table_cells(table, "%s\t%s\t%s",
                   is_chosen                      ? "*"
                   : objection == GW_NO_OBJECTION ? ""
                                                  : "-",
                   gw_advice_name(advice, place, name), GW_SECONDS(result->iteration_s));
    if (result->uncertainty_count == 0) {
        gw_table_cells(table, "%s", "");
    } else {
        gw_table_interval(table, gw_result_is_unknown(result) ? NAN : result->iteration_low_s,
                          result->iteration_high_s);
    }
    if (isnan(advice->energy[place])) {
        gw_table_cells(table, "%s", "unknown");
    } else {
        gw_table_cells(table, "%.1f%%", 100 * advice->energy[place]);
    }
    gw_table_cells(table, "%s", GW_BYTES(result->bytes_per_worker));
    add_iterations(table, objection, &advice->iterations[place]);
    gw_counts_note_add(counts, advice->ranking.comparison, result->algorithm);
}

/* Prints those that may be recommended, the soonest first, then the fastest others. */
static void print_pipelines(const struct gw_advice *advice) {
    struct gw_table *table =
        gw_table_open("llrrrrrl", "\tpipeline\titeration\t95%% interval\tenergy\tsent\tnever\t"
                                  "iterations needed");
    struct gw_counts_note counts = {{0}};
    for (size_t i = 0; i < advice->recommendation_count; i++) {
        const struct gw_recommendation *one = &advice->recommendations[i];
        if (i < MOST_ROWS || is_needed(advice, one->place)) {
            add_place(table, advice, one->place, &counts);
        }
    }
    size_t rows = 0;
    for (size_t i = 0; i < advice->ranking.count; i++) {
        bool is_listed = gw_advice_objection(advice, i) == GW_NO_OBJECTION;
        if (!is_listed && (rows < MOST_OTHERS || is_needed(advice, i))) {
            add_place(table, advice, i, &counts);
            rows++;
        }
    }
    gw_table_print_and_close(table);
    const struct gw_iterations_factor *trained = &advice->iterations[advice->compressed];
    char setups[SETUPS_SIZE];
    char usual[GW_ADVICE_NAME_SIZE];
    gw_print("*  recommended    -  not recommended\n");
    gw_print_paragraph("energy: ", "share of a bell-shaped gradient's that one worker sends in one "
                                   "iteration; the rest comes later");
    if (advice->learning.count == 0) {
        gw_print_paragraph("iterations needed: ",
                           "not known, as no trainings ship with this data; only pipelines that "
                           "learn as without compression are recommended");
    } else {
        gw_print_paragraph("iterations needed: ",
                           "times as many as without compression, in the median (and the range) of "
                           "trainings of %s%s at density %g; never: runs that did not learn enough",
                           name_setups(trained, setups),
                           trained->setups > trained->networks ? " (each with its optimizer)" : "",
                           trained->density);
    }
    if (advice->learning.count > 0 && !advice->by_iteration) {
        gw_print_paragraph("order: ",
                           "by the expected time of training, which is an iteration's time x the "
                           "median of iterations needed, plus a training by %s for the share of "
                           "runs that never got there",
                           gw_advice_name(advice, advice->usual, usual));
    }
    gw_counts_note_print(&counts, advice->ranking.comparison);
    gw_print("\n");
}

static void print_even(const struct gw_advice *advice) {
    double even = advice->even_bandwidth;
    bool leads = advice->speedup.value > 1;
    char dense[GW_ADVICE_NAME_SIZE];
    (void)gw_advice_name(advice, advice->dense, dense);
    if (isnan(even)) {
        gw_print("%s stays the faster one %s of this bandwidth.\n",
                 leads ? advice->ranking.results[advice->compressed].algorithm : dense,
                 leads ? "up to a thousand times" : "down to a thousandth");
    } else {
        gw_print("At %.3g times this bandwidth %s and %s take equally long.\n", even, dense,
                 advice->ranking.results[advice->compressed].algorithm);
    }
}

static void print_widest(const struct gw_advice *advice) {
    const struct gw_result_uncertainty *widest = advice->widest;
    if (widest == NULL) {
        return;
    }
    const char *command = gw_uncertainty_command(widest, advice->scenario->cluster);
    char off[GW_UNITS_SIZE];
    if (isnan(widest->relative)) {
        gw_print("The error of %s is not known; to measure it:\n    %s\n", widest->name, command);
    } else {
        gw_print("To narrow the interval most, measure %s (%s):\n    %s\n", widest->name,
                 gw_format_uncertainty(widest, 0, off), command);
    }
}

static const double bits_per_gb = 8e9;

/* Prints the GPU, precision and batch of the model's times, and the bandwidth of the cluster. */
static void print_basis(const struct gw_scenario *scenario, const char *gpu) {
    const struct gw_model *model = scenario->model;
    const char *reach = gw_cluster_source(scenario->cluster, GW_CLUSTER_NETWORK_REACH);
    const char *within = gw_cluster_source(scenario->cluster, "within");
    struct gw_axis_values own;
    if (model->device != NULL) {
        gw_print("A worker: %s", model->device);
    } else {
        gw_print("A worker: %s%sa device that the model does not name", gpu == NULL ? "" : gpu,
                 gpu == NULL ? "" : " for compression; times of ");
    }
    if (model->precision != NULL) {
        gw_print(" in %s", model->precision);
    }
    if (model->batch_size > 0) {
        double samples =
            model->batch_size * (model->micro_batches > 1 ? (double)model->micro_batches : 1);
        gw_print(", %g %s an iteration", samples, samples == 1 ? "sample" : "samples");
    }
    gw_print(".\n");
    if (within != NULL) {
        gw_print("Within a node: %s.\n", within);
    }
    if (reach != NULL) {
        gw_print_paragraph("Network: ", "%s.", reach);
    } else if (within == NULL &&
               gw_axis_find_own_bandwidth(scenario->cluster, &own, NULL) == GW_OK) {
        bool is_one = scenario->workers <= scenario->cluster->workers_per_node;
        gw_print_paragraph(is_one ? "Within the node: " : "Network: ", "%.3g GB/s, %s.",
                           own.own_bit_per_s / bits_per_gb, own.derivation);
    }
    gw_print("\n");
}

/* Prints why the first pipeline that would cost nothing cannot be predicted, if there is one. */
static void print_infeasible(const struct gw_advice *advice) {
    const struct gw_algorithm *known = NULL;
    for (size_t i = 0; i < advice->ranking.infeasible_count; i++) {
        const struct gw_infeasible *one = &advice->ranking.infeasible[i];
        if (gw_algorithm_find(one->algorithm, &known, NULL) == GW_OK &&
            gw_learns_as_dense(known->compressor)) {
            gw_print_note("note: ", "%s costs nothing, but %s", one->algorithm, one->why.message);
            return;
        }
    }
}

static void print_text(const struct gw_advice *advice, double price) {
    if (advice->warning[0] != '\0') {
        gw_print_paragraph("", "%s.", advice->warning);
        gw_print("\n");
    }
    gw_print_heading(advice->scenario, NULL, NULL);
    print_basis(advice->scenario, advice->gpu);
    print_tiers(advice);
    print_pipelines(advice);
    print_even(advice);
    const struct gw_explanation *explanation = &advice->explanation;
    const struct gw_model *model = advice->scenario->model;
    size_t first = gw_advice_first_exposed(advice);
    const struct gw_group *group = &explanation->plan->groups[first];
    const struct gw_group *last = &explanation->plan->groups[explanation->plan->group_count - 1];
    const char *earliest =
        model->tensors[group->first < group->last ? group->last : group->first].name;
    const char *latest = model->tensors[last->first < last->last ? last->first : last->last].name;
    if (explanation->exposed_comm_s > 0) {
        bool is_one = earliest == latest;
        gw_print_paragraph("Exposed: ", "%s after the backward pass, of tensor%s %s%s%s.",
                           GW_SECONDS(explanation->exposed_comm_s), is_one ? "" : "s", earliest,
                           is_one ? "" : " to ", is_one ? "" : latest);
    }
    if (!is_plain_ddp_chosen(advice) && !has_better_buckets(advice)) {
        print_buckets(advice, "Without compression: DistributedDataParallel (DDP)");
    }
    print_widest(advice);
    if (price > 0) {
        char dense[GW_ADVICE_NAME_SIZE];
        gw_print("A million iterations cost %.4g with %s, %.4g with %s.\n",
                 gw_advice_cost(advice, &advice->ranking.results[advice->compressed], price),
                 advice->ranking.results[advice->compressed].algorithm,
                 gw_advice_cost(advice, &advice->ranking.results[advice->dense], price),
                 gw_advice_name(advice, advice->dense, dense));
    }
    const char *cluster = gw_cluster_origin(advice->scenario->cluster);
    const char *compressors = gw_advice_compressors_origin(advice);
    bool differs = strcmp(cluster, compressors) != 0;
    char assumed[GW_ASSUMED_SIZE];
    gw_cluster_name_assumed(advice->scenario->cluster, assumed);
    gw_print_paragraph("Rests on: ", "times of the model %s, costs of the cluster %s%s%s%s%s%s.",
                       gw_origin(advice->scenario->model->kind), cluster,
                       assumed[0] == '\0' ? "" : " (", assumed, assumed[0] == '\0' ? "" : ")",
                       differs ? ", of its compressors " : "", differs ? compressors : "");
    print_infeasible(advice);
    struct gw_result all = advice->ranking.notes;
    gw_result_collect(&all, advice->chosen->result);
    gw_result_collect(&all, &advice->ranking.results[advice->dense]);
    gw_result_collect(&all, &advice->ranking.results[advice->compressed]);
    gw_print_collected_notes(&all);
}

enum gw_status gw_print_advice(const struct gw_advice *advice, double price, bool json,
                               struct gw_error *error) {
    if (json) {
        struct gw_json_writer writer;
        gw_writer_begin(&writer);
        gw_advice_write(advice, price, &writer);
        return gw_print_written(&writer, error);
    }
    print_text(advice, price);
    return GW_OK;
}
