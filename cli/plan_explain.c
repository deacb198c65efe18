#include "cli/plan_explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- explaining ---------------------------------------------------------------------------- */

/* Who waits before the exchange of group g: at most one of these is above zero. */
static double gradients_wait_s(const struct gw_explanation *explanation, size_t g) {
    return explanation->groups[g].exchange_start_s - explanation->groups[g].compressed_s;
}

static double network_wait_s(const struct gw_explanation *explanation, size_t g) {
    double free_s = g == 0 ? 0 : explanation->groups[g - 1].exchange_end_s;
    return explanation->groups[g].exchange_start_s - free_s;
}

static const struct gw_group_times *last_group(const struct gw_explanation *explanation) {
    return &explanation->groups[explanation->plan->group_count - 1];
}

static void conclude(struct gw_explanation *explanation) {
    const struct gw_group_times *groups = explanation->groups;
    size_t critical = explanation->plan->group_count - 1;
    while (critical > 0 && gradients_wait_s(explanation, critical) > 0) {
        critical--;
    }
    for (size_t g = 0; g < explanation->plan->group_count; g++) {
        explanation->comm_s += groups[g].exchange_end_s - groups[g].exchange_start_s;
    }
    const struct gw_group_times *last = last_group(explanation);
    double compute_s = groups[critical].compressed_s;
    explanation->exposed_comm_s = last->exchange_end_s - last->compressed_s;
    explanation->critical_group = critical;
    explanation->bottleneck =
        compute_s < last->exchange_end_s - compute_s ? GW_STREAM_COMMUNICATION : GW_STREAM_COMPUTE;
}

enum gw_status gw_explanation_open(const struct gw_question *question, const struct gw_plan *plan,
                                   const char *exchange, struct gw_explanation *out,
                                   struct gw_error *error) {
    struct gw_costs costs;
    *out = (struct gw_explanation){.question = question, .plan = plan};
    GW_TRY(gw_costs_open(question, plan->compressor, exchange, &costs, error));
    out->groups = calloc(plan->group_count, sizeof *out->groups);
    if (out->groups == NULL) {
        gw_costs_close(&costs);
        return gw_fail_memory(error, "explaining a plan");
    }
    for (size_t g = 0; g < plan->group_count; g++) {
        out->groups[g] = gw_planning_group_times(&costs.planning, &plan->groups[g],
                                                 g == 0 ? NULL : &out->groups[g - 1]);
    }
    out->update_s = gw_planning_update_s(&costs.planning);
    gw_costs_close(&costs);
    conclude(out);
    return GW_OK;
}

void gw_explanation_close(struct gw_explanation *explanation) {
    free(explanation->groups);
    explanation->groups = NULL;
}

/* ---- for a person -------------------------------------------------------------------------- */

/* The other columns take almost 90 characters of the 120 that the table should not exceed. */
enum { NAMES_SIZE = 33 };

/* "..branch1.0.conv.weight": of a name that is too long, its last parts. */
static void put_name(struct gw_table *table, const char *name, const char *more) {
    size_t length = strlen(name);
    size_t room = NAMES_SIZE - 1 - strlen(more);
    if (length <= room) {
        gw_table_cell(table, "%s%s", name, more);
        return;
    }
    const char *rest = name + length - (room - 2);
    const char *dot = strchr(rest - 1, '.');
    rest = dot == NULL || dot[1] == '\0' ? rest : dot + 1;
    while (((unsigned char)rest[0] & 0xC0) == 0x80) {
        rest++; /* not into a character of several bytes */
    }
    gw_table_cell(table, "..%s%s", rest, more);
}

/* "layer4.2.conv3" of "layer4.2.conv3.weight". */
static int module_length(const char *name) {
    const char *dot = strrchr(name, '.');
    return (int)(dot == NULL ? strlen(name) : (size_t)(dot - name));
}

/* The first and the last name, or their modules; whether that fits. */
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
        gw_table_cell(table, "%s", text);
    } else {
        put_name(table, first, " ..");
    }
}

static void put_wait(struct gw_table *table, const struct gw_explanation *explanation, size_t g) {
    char text[GW_UNITS_SIZE];
    double gradients_s = gradients_wait_s(explanation, g);
    double network_s = network_wait_s(explanation, g);
    if (gradients_s > 0) {
        gw_table_cell(table, "gradients %s", gw_format_seconds(gradients_s, text));
    } else if (network_s > 0) {
        gw_table_cell(table, "network %s", gw_format_seconds(network_s, text));
    } else {
        gw_table_cell(table, "none");
    }
}

static void print_groups(const struct gw_explanation *explanation) {
    static const char *const headings[] = {"group",    "tensors", "elements", "ready", "compress",
                                           "exchange", "until",   "waiting",  "names"};
    const struct gw_model *model = &explanation->question->model;
    struct gw_table *table = gw_table_open(headings, "rlrrrrrll");
    for (size_t g = 0; g < explanation->plan->group_count; g++) {
        const struct gw_group *group = &explanation->plan->groups[g];
        const struct gw_group_times *times = &explanation->groups[g];
        double compress_s = times->compressed_s - times->ready_s;
        char text[GW_UNITS_SIZE];
        gw_table_cell(table, "%zu", g);
        if (group->first == group->last) {
            gw_table_cell(table, "%zu", group->first);
        } else {
            gw_table_cell(table, "%zu..%zu", group->first, group->last);
        }
        gw_table_cell(table, "%s", gw_format_count((double)gw_group_elements(group, model), text));
        gw_table_cell(table, "%s", gw_format_seconds(times->ready_s, text));
        gw_table_cell(table, "%s", gw_format_seconds(compress_s, text));
        gw_table_cell(table, "%s", gw_format_seconds(times->exchange_start_s, text));
        gw_table_cell(table, "%s", gw_format_seconds(times->exchange_end_s, text));
        put_wait(table, explanation, g);
        put_names(table, model, group);
    }
    gw_table_print_and_close(table);
}

static void print_overlap(const struct gw_explanation *explanation) {
    char all[GW_UNITS_SIZE];
    char hidden[GW_UNITS_SIZE];
    char exposed[GW_UNITS_SIZE];
    double hidden_s = fmax(0, explanation->comm_s - explanation->exposed_comm_s);
    double share = explanation->comm_s > 0 ? hidden_s / explanation->comm_s : 0;
    printf("\nExchanges take %s: %s (%.1f%%) hidden behind compute, %s exposed at the end.\n",
           gw_format_seconds(explanation->comm_s, all), gw_format_seconds(hidden_s, hidden),
           100 * share, gw_format_seconds(explanation->exposed_comm_s, exposed));
}

static void print_waits(const struct gw_explanation *explanation) {
    char text[GW_UNITS_SIZE];
    char between[GW_UNITS_SIZE];
    size_t count = explanation->plan->group_count;
    size_t waiting = 0;
    size_t longest = 0;
    double pauses_s = 0;
    for (size_t g = 0; g < count; g++) {
        double wait_s = gradients_wait_s(explanation, g);
        waiting += wait_s > 0;
        longest = wait_s > gradients_wait_s(explanation, longest) ? g : longest;
        pauses_s += g == 0 ? 0 : network_wait_s(explanation, g);
    }
    if (waiting == 0) {
        printf("No gradients wait for the network.\n");
    } else {
        printf("Gradients of %zu of %zu groups wait for the network, those of group %zu longest, "
               "%s.\n",
               waiting, count, longest,
               gw_format_seconds(gradients_wait_s(explanation, longest), text));
    }
    printf("The network waits %s for the first group and %s between groups.\n",
           gw_format_seconds(network_wait_s(explanation, 0), text),
           gw_format_seconds(pauses_s, between));
}

static void print_critical_path(const struct gw_explanation *explanation) {
    char compute[GW_UNITS_SIZE];
    char exchange[GW_UNITS_SIZE];
    char update[GW_UNITS_SIZE];
    size_t critical = explanation->critical_group;
    size_t last = explanation->plan->group_count - 1;
    double compute_s = explanation->groups[critical].compressed_s;
    double exchange_s = explanation->groups[last].exchange_end_s - compute_s;
    double update_s = explanation->update_s;
    printf("%s is the bottleneck: %s of compute until group %zu can travel, then %s of exchange",
           explanation->bottleneck == GW_STREAM_COMPUTE ? "Compute" : "The network",
           gw_format_seconds(compute_s, compute), critical,
           gw_format_seconds(exchange_s, exchange));
    if (critical < last) {
        printf(" without a pause");
    }
    if (update_s > 0) {
        printf(", then %s of update", gw_format_seconds(update_s, update));
    }
    printf(".\n");
}

void gw_explanation_print(const struct gw_explanation *explanation) {
    size_t count = explanation->plan->group_count;
    printf("\n%s, %zu group%s:\n\n", explanation->plan->policy, count, count == 1 ? "" : "s");
    print_groups(explanation);
    print_overlap(explanation);
    print_waits(explanation);
    print_critical_path(explanation);
}

/* ---- for a program ------------------------------------------------------------------------- */

static enum gw_status put_group(const struct gw_explanation *explanation, size_t g, cJSON *group,
                                struct gw_error *error) {
    const struct gw_group_times *times = &explanation->groups[g];
    uint64_t elements =
        gw_group_elements(&explanation->plan->groups[g], &explanation->question->model);
    double compress_s = times->compressed_s - times->ready_s;
    double gradients_s = gradients_wait_s(explanation, g);
    GW_TRY(gw_json_put_number(group, "elements", (double)elements, error));
    GW_TRY(gw_json_put_number(group, "ready_s", times->ready_s, error));
    GW_TRY(gw_json_put_number(group, "compress_s", compress_s, error));
    GW_TRY(gw_json_put_number(group, "exchange_start_s", times->exchange_start_s, error));
    GW_TRY(gw_json_put_number(group, "exchange_end_s", times->exchange_end_s, error));
    GW_TRY(gw_json_put_number(group, "gradients_wait_s", gradients_s, error));
    return gw_json_put_number(group, "network_wait_s", network_wait_s(explanation, g), error);
}

enum gw_status gw_explanation_put(const struct gw_explanation *explanation, cJSON *document,
                                  struct gw_error *error) {
    cJSON *object = cJSON_CreateObject();
    GW_TRY(gw_json_put(document, "explanation", object, error));
    double critical = (double)explanation->critical_group;
    GW_TRY(gw_json_put_text(object, "bottleneck", gw_stream_name(explanation->bottleneck), error));
    GW_TRY(gw_json_put_number(object, "critical_group", critical, error));
    GW_TRY(gw_json_put_number(object, "comm_s", explanation->comm_s, error));
    GW_TRY(gw_json_put_number(object, "exposed_comm_s", explanation->exposed_comm_s, error));
    cJSON *groups = cJSON_CreateArray();
    GW_TRY(gw_json_put(object, "groups", groups, error));
    for (size_t g = 0; g < explanation->plan->group_count; g++) {
        cJSON *group = cJSON_CreateObject();
        GW_TRY(gw_json_append(groups, group, error));
        GW_TRY(put_group(explanation, g, group, error));
    }
    return GW_OK;
}
