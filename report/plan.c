/* Prints plans as a table or a document, and explains the best one's iteration time. */
#include <math.h>
#include <string.h>

#include "report/charts.h"
#include "report/report.h"

/* ---- an explanation for a person ---------------------------------------------------------- */

/* Width of the names' column: the others take almost 90 of the table's 120 characters. */
enum { NAMES_SIZE = 33 };

/* Adds the name, or its last parts if it is too long: "..branch1.0.conv.weight". */
static void put_name(struct gw_table *table, const char *name, const char *more) {
    size_t length = strlen(name);
    size_t room = NAMES_SIZE - 1 - strlen(more);
    if (length <= room) {
        gw_table_cells(table, "%s%s", name, more);
        return;
    }
    const char *rest = name + length - (room - 2);
    const char *dot = strchr(rest - 1, '.');
    rest = dot == NULL || dot[1] == '\0' ? rest : dot + 1;
    while (((unsigned char)rest[0] & 0xC0) == 0x80) {
        rest++; /* not into a character of several bytes */
    }
    gw_table_cells(table, "..%s%s", rest, more);
}

/* Returns the length of the module's name: "layer4.2.conv3" in "layer4.2.conv3.weight". */
static int module_length(const char *name) {
    const char *dot = strrchr(name, '.');
    return (int)(dot == NULL ? strlen(name) : (size_t)(dot - name));
}

/* Joins the first and the last name, or their modules' names. Returns whether the text fits. */
static bool fit_names(const char *first, const char *last, char out[NAMES_SIZE]) {
    int lengths[2] = {module_length(first), module_length(last)};
    bool same_module = lengths[0] == lengths[1] && strncmp(first, last, (size_t)lengths[0]) == 0;
    if (snprintf(out, NAMES_SIZE, "%s .. %s", first, last) < NAMES_SIZE) {
        return true;
    }
    int length = same_module ? snprintf(out, NAMES_SIZE, "%.*s", lengths[0], first)
                             : snprintf(out, NAMES_SIZE, "%.*s .. %.*s", lengths[0], first,
                                        lengths[1], last);
    return length < NAMES_SIZE;
}

static void put_names(struct gw_table *table, const struct gw_model *model,
                      const struct gw_group *group) {
    const char *first = model->tensors[group->first].name;
    const char *last = model->tensors[group->last].name;
    char text[NAMES_SIZE];
    if (group->first == group->last) {
        put_name(table, first, "");
    } else if (fit_names(first, last, text)) {
        gw_table_cells(table, "%s", text);
    } else {
        put_name(table, first, " ..");
    }
}

static void put_wait(struct gw_table *table, const struct gw_explanation *explanation, size_t g) {
    double gradients_s = gw_explanation_gradients_wait_s(explanation, g);
    double network_s = gw_explanation_network_wait_s(explanation, g);
    if (gradients_s > 0) {
        gw_table_cells(table, "gradients %s", GW_SECONDS(gradients_s));
    } else if (network_s > 0) {
        gw_table_cells(table, "network %s", GW_SECONDS(network_s));
    } else {
        gw_table_cells(table, "none");
    }
}

static void print_groups(const struct gw_explanation *explanation) {
    const struct gw_model *model = explanation->scenario->model;
    const struct gw_plan_way *ways = explanation->plan->ways;
    struct gw_table *table =
        ways == NULL
            ? gw_table_open("rlrrrrrll",
                            "group\ttensors\telements\tready\tcompress\texchange\tuntil"
                            "\twaiting\tnames")
            : gw_table_open("rlrrrrrlll", "group\ttensors\telements\tready\tcompress\texchange\t"
                                          "until\twaiting\tchoice\tnames");
    for (size_t g = 0; g < explanation->plan->group_count; g++) {
        const struct gw_group *group = &explanation->plan->groups[g];
        const struct gw_group_times *times = &explanation->groups[g];
        double compress_s = times->compressed_s - times->ready_s;
        gw_table_cells(table, "%zu", g);
        if (group->first == group->last) {
            gw_table_cells(table, "%zu", group->first);
        } else {
            gw_table_cells(table, "%zu..%zu", group->first, group->last);
        }
        gw_table_cells(table, "%s\t%s\t%s\t%s\t%s", GW_NUMBER(gw_group_elements(group, model)),
                       GW_SECONDS(times->ready_s), GW_SECONDS(compress_s),
                       GW_SECONDS(times->exchange_start_s), GW_SECONDS(times->exchange_end_s));
        put_wait(table, explanation, g);
        if (ways != NULL) {
            gw_table_cells(table, "%s", ways[g].choice);
        }
        put_names(table, model, group);
    }
    gw_table_print_and_close(table);
}

static void print_waits(const struct gw_explanation *explanation) {
    size_t count = explanation->plan->group_count;
    size_t waiting = 0;
    size_t longest = 0;
    double pauses_s = 0;
    for (size_t g = 0; g < count; g++) {
        double wait_s = gw_explanation_gradients_wait_s(explanation, g);
        waiting += wait_s > 0;
        longest = wait_s > gw_explanation_gradients_wait_s(explanation, longest) ? g : longest;
        pauses_s += g == 0 ? 0 : gw_explanation_network_wait_s(explanation, g);
    }
    if (waiting == 0) {
        gw_print("No gradients wait for the network.\n");
    } else {
        gw_print("Gradients of %zu of %zu groups wait for the network, those of group %zu longest, "
                 "%s.\n",
                 waiting, count, longest,
                 GW_SECONDS(gw_explanation_gradients_wait_s(explanation, longest)));
    }
    gw_print("The network waits %s for the first group and %s between groups.\n",
             GW_SECONDS(gw_explanation_network_wait_s(explanation, 0)), GW_SECONDS(pauses_s));
}

static void print_critical_path(const struct gw_explanation *explanation) {
    size_t critical = explanation->critical_group;
    size_t last = explanation->plan->group_count - 1;
    double compute_s = explanation->groups[critical].compressed_s;
    double exchange_s = explanation->groups[last].exchange_end_s - compute_s;
    double update_s = explanation->update_s;
    gw_print("%s is the bottleneck: %s of compute until group %zu can travel, then %s of exchange",
             explanation->bottleneck == GW_STREAM_COMPUTE ? "Compute" : "The network",
             GW_SECONDS(compute_s), critical, GW_SECONDS(exchange_s));
    if (critical < last) {
        gw_print(" without a pause");
    }
    if (update_s > 0) {
        gw_print(", then %s of update", GW_SECONDS(update_s));
    }
    gw_print(".\n");
}

static void print_explanation(const struct gw_explanation *explanation) {
    size_t count = explanation->plan->group_count;
    gw_print("\n%s, %s:\n\n", explanation->plan->policy, GW_COUNTED(count, "group"));
    print_groups(explanation);
    double hidden_s = fmax(0, explanation->comm_s - explanation->exposed_comm_s);
    double share = explanation->comm_s > 0 ? hidden_s / explanation->comm_s : 0;
    gw_print("\nExchanges take %s: %s (%.1f%%) hidden behind compute, %s exposed at the end.\n",
             GW_SECONDS(explanation->comm_s), GW_SECONDS(hidden_s), 100 * share,
             GW_SECONDS(explanation->exposed_comm_s));
    print_waits(explanation);
    print_critical_path(explanation);
}

/* ---- an explanation as a picture ---------------------------------------------------------- */

enum gw_status gw_draw_explanation(const struct gw_explanation *explanation, const char *path,
                                   struct gw_error *error) {
    const struct gw_scenario *scenario = explanation->scenario;
    const struct gw_plan *plan = explanation->plan;
    char exchange[96];
    char title[384];
    if (strcmp(plan->compressor, "none") == 0 || plan->ways != NULL) {
        snprintf(exchange, sizeof exchange, plan->ways != NULL ? "mixed" : "dense");
    } else {
        snprintf(exchange, sizeof exchange, "%s, density %g", plan->compressor, plan->density);
    }
    snprintf(title, sizeof title, "%s on %s, %s, %s: policy %s, %s", plan->model,
             scenario->cluster->name, GW_COUNTED(scenario->workers, "worker"), exchange,
             plan->policy, GW_COUNTED(plan->group_count, "group"));
    return gw_chart_streams(explanation, plan->lower_bound_s, title, path, NULL, error);
}

/* ---- documents ---------------------------------------------------------------------------- */

static void write_group(struct gw_json_writer *writer, const struct gw_explanation *explanation,
                        size_t g) {
    const struct gw_group_times *times = &explanation->groups[g];
    uint64_t elements =
        gw_group_elements(&explanation->plan->groups[g], explanation->scenario->model);
    gw_writer_object(writer, NULL);
    gw_writer_number(writer, "elements", (double)elements);
    gw_writer_number(writer, "ready_s", times->ready_s);
    gw_writer_number(writer, "compress_s", times->compressed_s - times->ready_s);
    gw_writer_number(writer, "exchange_start_s", times->exchange_start_s);
    gw_writer_number(writer, "exchange_end_s", times->exchange_end_s);
    gw_writer_number(writer, "gradients_wait_s", gw_explanation_gradients_wait_s(explanation, g));
    gw_writer_number(writer, "network_wait_s", gw_explanation_network_wait_s(explanation, g));
    gw_writer_end(writer);
}

static void write_explanation(struct gw_json_writer *writer,
                              const struct gw_explanation *explanation) {
    if (explanation == NULL) {
        return;
    }
    gw_writer_object(writer, "explanation");
    gw_writer_text(writer, "bottleneck", gw_stream_name(explanation->bottleneck));
    gw_writer_number(writer, "critical_group", (double)explanation->critical_group);
    gw_writer_number(writer, "comm_s", explanation->comm_s);
    gw_writer_number(writer, "exposed_comm_s", explanation->exposed_comm_s);
    gw_writer_array(writer, "groups");
    for (size_t g = 0; g < explanation->plan->group_count; g++) {
        write_group(writer, explanation, g);
    }
    gw_writer_end(writer);
    gw_writer_end(writer);
}

/* Writes what a plan's own document does not have. */
static void write_beside(struct gw_json_writer *writer, const struct gw_plans *plans, size_t i) {
    if (plans->plans[i].ways != NULL) {
        gw_writer_number(writer, "energy_kept", plans->energy_kept);
    }
    if (plans->interfered_s != NULL) {
        gw_writer_number(writer, "interfered_iteration_s", plans->interfered_s[i]);
    }
}

/* Prints all plans, or (not `ranking`) the first; `best` (or NULL) explains the first. */
static enum gw_status print_plans_document(const struct gw_plans *plans, bool ranking,
                                           const struct gw_explanation *best,
                                           struct gw_error *error) {
    struct gw_json_writer writer;
    cJSON *plan = NULL;
    GW_TRY(gw_plan_document(&plans->plans[0], &plan, error));
    if (!ranking) {
        gw_writer_begin_with(&writer, plan);
        write_beside(&writer, plans, 0);
        write_explanation(&writer, best);
        return gw_print_written(&writer, error);
    }
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", "gradweave/plans@1");
    gw_writer_array(&writer, "plans");
    gw_writer_open(&writer, NULL, plan);
    write_beside(&writer, plans, 0);
    write_explanation(&writer, best);
    gw_writer_end(&writer);
    for (size_t i = 1; i < plans->count; i++) {
        plan = NULL;
        (void)gw_plan_document(&plans->plans[i], &plan, error);
        gw_writer_open(&writer, NULL, plan);
        write_beside(&writer, plans, i);
        gw_writer_end(&writer);
    }
    gw_writer_end(&writer);
    return gw_print_written(&writer, error);
}

/* ---- plans -------------------------------------------------------------------------------- */

static void note_interference(const struct gw_plans *made) {
    size_t least = 0;
    for (size_t i = 1; i < made->count; i++) {
        least = made->interfered_s[i] < made->interfered_s[least] ? i : least;
    }
    gw_print_note("note: ",
                  "\"iteration\" and \"above optimum\" leave out how operations that run at once "
                  "slow each other, as the proof of the optimum does; \"with interference\" counts "
                  "it: %s takes %s",
                  made->plans[least].policy, GW_SECONDS(made->interfered_s[least]));
}

/* Prints how many groups and elements travel by each choice, in the order of their first groups. */
static void print_ways(const struct gw_model *model, const struct gw_plans *made) {
    const struct gw_plan *plan = &made->plans[0];
    double whole = (double)gw_model_elements(model);
    gw_print("\n");
    struct gw_table *table = gw_table_open("lrrr", "choice\tgroups\telements\tshare");
    for (size_t g = 0; g < plan->group_count; g++) {
        size_t first = 0;
        size_t groups = 0;
        uint64_t elements = 0;
        while (strcmp(plan->ways[first].choice, plan->ways[g].choice) != 0) {
            first++;
        }
        for (size_t k = g; k < plan->group_count && first == g; k++) {
            bool same = strcmp(plan->ways[k].choice, plan->ways[g].choice) == 0;
            groups += same;
            elements += same ? gw_group_elements(&plan->groups[k], model) : 0;
        }
        if (first == g) {
            gw_table_cells(table, "%s\t%zu\t%s\t%.1f%%", plan->ways[g].choice, groups,
                           GW_NUMBER(elements), 100 * (double)elements / whole);
        }
    }
    gw_table_print_and_close(table);
    gw_print("\n%.4g%% of %s energy is kept\n", 100 * made->energy_kept,
             made->energy_generated ? "a bell-shaped gradient's" : "the recorded gradients'");
}

static void print_table(const struct gw_scenario *scenario, const struct gw_plans *made,
                        const char *exchange) {
    const struct gw_plan *plans = made->plans;
    bool interferes = made->interfered_s != NULL;
    gw_print_heading(scenario,
                     plans[0].ways != NULL                      ? GW_MIXED
                     : strcmp(plans[0].compressor, "none") == 0 ? "dense"
                                                                : NULL,
                     NULL);
    struct gw_table *table =
        interferes
            ? gw_table_open("lrrrr", "policy\tgroups\titeration\tabove optimum\twith interference")
            : gw_table_open("lrrr", "policy\tgroups\titeration\tabove optimum");
    for (size_t i = 0; i < made->count; i++) {
        const struct gw_plan *plan = &plans[i];
        double gap = plan->iteration_s > plan->lower_bound_s
                         ? plan->iteration_s / plan->lower_bound_s - 1
                         : 0; /* both may be 0 */
        gw_table_cells(table, "%s\t%zu\t%s\t%s", plan->policy, plan->group_count,
                       GW_SECONDS(plan->iteration_s), GW_PERCENT(gap));
        if (interferes) {
            gw_table_cells(table, "%s", GW_SECONDS(made->interfered_s[i]));
        }
    }
    gw_table_print_and_close(table);
    if (plans[0].ways != NULL) {
        print_ways(scenario->model, made);
    }
    gw_print("\n%s exchange%s%s; %sno plan takes less than %s\n",
             strcmp(plans[0].compressor, "none") == 0 ? "dense" : plans[0].compressor,
             exchange == NULL ? "" : " by ", exchange == NULL ? "" : exchange,
             interferes ? "without interference " : "", GW_SECONDS(plans[0].lower_bound_s));
    if (interferes) {
        note_interference(made);
    }
    gw_print_notes((const char *const *)plans[0].notes, plans[0].note_count);
}

enum gw_status gw_print_plans(const struct gw_scenario *scenario, const struct gw_plans *plans,
                              bool ranking, const char *exchange, const struct gw_explanation *best,
                              bool json, struct gw_error *error) {
    if (json) {
        return print_plans_document(plans, ranking, best, error);
    }
    print_table(scenario, plans, exchange);
    if (best != NULL) {
        print_explanation(best);
    }
    return GW_OK;
}
