/* A sweep for a person: tables, then what they say in words. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/plan_sweep.h"

/* ---- heading ------------------------------------------------------------------------------- */

static void print_heading(const struct gw_sweep *sweep) {
    const struct gw_question *question = sweep->question;
    const char *swept = sweep->parameter->name;
    char elements[GW_UNITS_SIZE];
    char first[GW_UNITS_SIZE];
    char last[GW_UNITS_SIZE];
    gw_sweep_value(sweep, 0, first);
    gw_sweep_value(sweep, sweep->value_count - 1, last);
    printf("%s (%zu tensors, %s elements), cluster %s", question->model.name,
           question->model.tensor_count,
           gw_format_count((double)gw_model_elements(&question->model), elements),
           question->cluster.name);
    if (strcmp(swept, "workers") != 0) {
        printf(", %zu worker%s", question->workers, question->workers == 1 ? "" : "s");
    }
    if (strcmp(swept, "density") != 0) {
        printf(", density %g", question->density);
    }
    if (sweep->value_count == 1) {
        printf("; %s %s\n", swept, first);
    } else {
        printf("; %s from %s to %s\n", swept, first, last);
    }
}

/* ---- tables -------------------------------------------------------------------------------- */

/* "topk 6.09x": how many times as long the other takes. */
static void put_faster(struct gw_table *table, const struct gw_sweep *sweep, size_t value) {
    int order = gw_sweep_compare(sweep, value);
    size_t faster = order > 0;
    if (order == 0) {
        gw_table_cell(table, "equal");
        return;
    }
    double times_s[GW_SWEEP_MOST_EXCHANGES];
    for (size_t e = 0; e < GW_SWEEP_MOST_EXCHANGES; e++) {
        times_s[e] = gw_sweep_row(sweep, e, gw_sweep_best(sweep, e, value))[value].iteration_s;
    }
    double ratio = times_s[1 - faster] / times_s[faster];
    gw_table_cell(table, "%s %.*fx", gw_sweep_exchange_name(sweep, faster), ratio < 99.5 ? 2 : 0,
                  ratio);
}

/* Of each exchange the best plan, and which exchange is faster. */
static void print_best(const struct gw_sweep *sweep) {
    const char *headings[8] = {sweep->parameter->name};
    char names[GW_SWEEP_MOST_EXCHANGES][GW_SWEEP_LABEL_SIZE];
    size_t columns = 1;
    for (size_t e = 0; e < sweep->exchange_count; e++) {
        snprintf(names[e], sizeof names[e], "%.32s plan", gw_sweep_exchange_name(sweep, e));
        headings[columns++] = names[e];
        headings[columns++] = "groups";
        headings[columns++] = "iteration";
    }
    bool both = sweep->exchange_count == GW_SWEEP_MOST_EXCHANGES;
    headings[columns] = "faster";
    struct gw_table *table = gw_table_open(headings, both ? "rlrrlrrl" : "rlrr");
    for (size_t v = 0; v < sweep->value_count; v++) {
        char text[GW_UNITS_SIZE];
        gw_table_cell(table, "%s", gw_sweep_value(sweep, v, text));
        for (size_t e = 0; e < sweep->exchange_count; e++) {
            size_t best = gw_sweep_best(sweep, e, v);
            const struct gw_sweep_cell *cell = &gw_sweep_row(sweep, e, best)[v];
            gw_table_cell(table, "%s", sweep->policies[best]);
            gw_table_cell(table, "%zu", cell->groups);
            gw_table_cell(table, "%s", gw_format_seconds(cell->iteration_s, text));
        }
        if (both) {
            put_faster(table, sweep, v);
        }
    }
    printf("\n");
    gw_table_print_and_close(table);
}

/* One unit for a whole table, in which its least time has four digits. */
struct scale {
    double unit_s;
    const char *name;
    int decimals;
};

static struct scale choose_scale(double least_s) {
    static const struct scale units[] = {
        {1, "s", 3}, {1e-3, "ms", 3}, {1e-6, "us", 3}, {1e-9, "ns", 3}};
    size_t u = 0;
    while (u + 1 < sizeof units / sizeof *units && least_s > 0 && least_s < units[u].unit_s) {
        u++;
    }
    struct scale scale = units[u];
    for (double limit = 10; scale.decimals > 0 && least_s >= limit * scale.unit_s; limit *= 10) {
        scale.decimals--;
    }
    return scale;
}

static double least_time(const struct gw_sweep *sweep, size_t exchange) {
    double least_s = INFINITY;
    for (size_t v = 0; v < sweep->value_count; v++) {
        size_t best = gw_sweep_best(sweep, exchange, v);
        least_s = fmin(least_s, gw_sweep_row(sweep, exchange, best)[v].iteration_s);
    }
    return least_s;
}

/* An exchange's times and groups by every policy; one row if the values make no difference. */
static void print_policies(const struct gw_sweep *sweep, size_t exchange) {
    enum { most_policies = 15 };
    const char *headings[most_policies + 1] = {sweep->parameter->name};
    static const char alignment[] = "rrrrrrrrrrrrrrrr";
    size_t count = sweep->policy_count < most_policies ? sweep->policy_count : most_policies;
    for (size_t p = 0; p < count; p++) {
        headings[p + 1] = sweep->policies[p];
    }
    bool same = gw_sweep_is_constant(sweep, exchange);
    struct scale scale = choose_scale(least_time(sweep, exchange));
    struct gw_table *table =
        gw_table_open(headings, alignment + sizeof alignment - 1 - (count + 1));
    for (size_t v = 0; v < (same ? 1 : sweep->value_count); v++) {
        char text[GW_UNITS_SIZE];
        gw_table_cell(table, "%s", same ? "any" : gw_sweep_value(sweep, v, text));
        for (size_t p = 0; p < count; p++) {
            const struct gw_sweep_cell *cell = &gw_sweep_row(sweep, exchange, p)[v];
            gw_table_cell(table, "%.*f/%zu", scale.decimals, cell->iteration_s / scale.unit_s,
                          cell->groups);
        }
    }
    printf("\n%s exchange: iteration in %s/groups\n\n", gw_sweep_exchange_name(sweep, exchange),
           scale.name);
    gw_table_print_and_close(table);
}

/* ---- findings ------------------------------------------------------------------------------ */

static bool has_state(const struct gw_sweep *sweep, const int *states, int state) {
    for (size_t v = 0; v < sweep->value_count; v++) {
        if (states[v] == state) {
            return true;
        }
    }
    return false;
}

/* " from 0.01 to 0.1": the run of values number `first` to `last`. */
static void print_run(const struct gw_sweep *sweep, size_t first, size_t last) {
    char texts[2][GW_UNITS_SIZE];
    bool to_the_end = last + 1 == sweep->value_count;
    gw_sweep_value(sweep, first, texts[0]);
    gw_sweep_value(sweep, last, texts[1]);
    if (first == 0 && to_the_end) {
        printf(" throughout");
    } else if (first == 0) {
        printf(" up to %s", texts[1]);
    } else if (to_the_end) {
        printf(" from %s on", texts[0]);
    } else if (first == last) {
        printf(" at %s", texts[0]);
    } else {
        printf(" from %s to %s", texts[0], texts[1]);
    }
}

/* " up to 0.01 and from 0.1 on": the values with this state; " nowhere" if there are none. */
static void print_runs(const struct gw_sweep *sweep, const int *states, int state) {
    bool begun = false;
    for (size_t first = 0; first < sweep->value_count; first++) {
        size_t last = first;
        while (last + 1 < sweep->value_count && states[last + 1] == state) {
            last++;
        }
        if (states[first] == state) {
            printf("%s", begun ? " and" : "");
            print_run(sweep, first, last);
            begun = true;
            first = last;
        }
    }
    if (!begun) {
        printf(" nowhere");
    }
}

/* Where sparse exchange is faster than dense, and between which values that changes. */
static void print_faster(const struct gw_sweep *sweep, int *states) {
    const struct {
        int state;
        const char *who;
    } sides[] = {{-1, gw_sweep_exchange_name(sweep, 0)}, {1, "dense"}, {0, "neither"}};
    const char *before = ": ";
    for (size_t v = 0; v < sweep->value_count; v++) {
        states[v] = gw_sweep_compare(sweep, v);
    }
    printf("\nfaster with its best plan");
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        if (has_state(sweep, states, sides[i].state)) {
            printf("%s%s", before, sides[i].who);
            print_runs(sweep, states, sides[i].state);
            before = ", ";
        }
    }
    before = "; they cross between ";
    for (size_t v = 1; v < sweep->value_count; v++) {
        if (states[v] != states[v - 1]) {
            char texts[2][GW_UNITS_SIZE];
            printf("%s%s and %s", before, gw_sweep_value(sweep, v - 1, texts[0]),
                   gw_sweep_value(sweep, v, texts[1]));
            before = ", ";
        }
    }
    printf("\n");
}

static const struct gw_sweep_cell *find_row(const struct gw_sweep *sweep, size_t exchange,
                                            const char *policy) {
    for (size_t p = 0; p < sweep->policy_count; p++) {
        if (strcmp(sweep->policies[p], policy) == 0) {
            return gw_sweep_row(sweep, exchange, p);
        }
    }
    return NULL;
}

/* Where the best plan saves something on the better of the two that need no thought. */
static void print_merging(const struct gw_sweep *sweep, int *states) {
    static const double worth = 0.01;
    printf("\nmerging well saves %g%% or more of the better of per-tensor and single", 100 * worth);
    for (size_t e = 0; e < sweep->exchange_count; e++) {
        const struct gw_sweep_cell *apart = find_row(sweep, e, "per-tensor");
        const struct gw_sweep_cell *merged = find_row(sweep, e, "single");
        for (size_t v = 0; v < sweep->value_count; v++) {
            double plain_s = fmin(apart[v].iteration_s, merged[v].iteration_s);
            size_t best = gw_sweep_best(sweep, e, v);
            double best_s = gw_sweep_row(sweep, e, best)[v].iteration_s;
            states[v] = plain_s > 0 && plain_s - best_s >= worth * plain_s;
        }
        printf("%s%s", e == 0 ? ": " : ", ", gw_sweep_exchange_name(sweep, e));
        print_runs(sweep, states, 1);
    }
    printf("\n");
}

static void print_findings(const struct gw_sweep *sweep, int *states) {
    if (sweep->exchange_count == GW_SWEEP_MOST_EXCHANGES) {
        print_faster(sweep, states);
    }
    if (find_row(sweep, 0, "per-tensor") != NULL && find_row(sweep, 0, "single") != NULL) {
        print_merging(sweep, states);
    }
}

/* ---- all of it ----------------------------------------------------------------------------- */

static enum gw_status print_notes(const struct gw_sweep *sweep, struct gw_error *error) {
    for (size_t i = 0; i < sweep->note_count; i++) {
        char *text = NULL;
        GW_TRY(gw_sweep_note_text(sweep, &sweep->notes[i], &text, error));
        gw_print_notes((const char *const *)&text, 1);
        free(text);
    }
    return GW_OK;
}

enum gw_status gw_sweep_print(const struct gw_sweep *sweep, struct gw_error *error) {
    int *states = calloc(sweep->value_count, sizeof *states);
    if (states == NULL) {
        return gw_fail_memory(error, "printing a sweep");
    }
    print_heading(sweep);
    print_best(sweep);
    for (size_t e = 0; e < sweep->exchange_count && sweep->policy_count > 1; e++) {
        print_policies(sweep, e);
    }
    print_findings(sweep, states);
    free(states);
    return print_notes(sweep, error);
}
