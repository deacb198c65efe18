/* Crossovers for a person: the fastest at each point, where that changes, what has no answer. */
#include <math.h>

#include "cli/compare.h"

static const char *name_of(const struct gw_crossovers *crossovers, size_t algorithm) {
    return crossovers->comparison->algorithms[algorithm]->name;
}

static void print_heading(const struct gw_crossovers *crossovers) {
    const struct gw_question *question = crossovers->comparison->question;
    const struct gw_variation *variation = crossovers->variation;
    char texts[3][GW_UNITS_SIZE];
    printf("%s (%zu tensors, %s elements), ", question->model.name, question->model.tensor_count,
           gw_format_count((double)gw_model_elements(&question->model), texts[0]));
    if (!variation->whole) {
        printf("%zu worker%s, ", question->workers, question->workers == 1 ? "" : "s");
    }
    printf("cluster %s, density %g; %s from %s to %s\n\n", question->cluster.name,
           question->density, variation->name,
           gw_variation_text(variation, variation->values[0], texts[1]),
           gw_variation_text(variation, variation->values[variation->count - 1], texts[2]));
}

/* ---- the table ----------------------------------------------------------------------------- */

static void put_row(struct gw_table *table, const struct gw_crossovers *crossovers, size_t value) {
    const struct gw_variation *variation = crossovers->variation;
    const double *times_s = gw_crossovers_times(crossovers, value);
    size_t fastest = crossovers->fastest[value];
    size_t next = gw_crossovers_next(crossovers, value);
    char text[GW_UNITS_SIZE];
    gw_table_cell(table, "%s", gw_variation_text(variation, variation->values[value], text));
    if (fastest == GW_NO_ALGORITHM) {
        gw_table_cell(table, "none");
        gw_table_cell(table, "-");
    } else {
        gw_table_cell(table, "%s", name_of(crossovers, fastest));
        gw_table_cell(table, "%s", gw_format_seconds(times_s[fastest], text));
    }
    if (next == GW_NO_ALGORITHM) {
        gw_table_cell(table, "none");
        gw_table_cell(table, "-");
        return;
    }
    double margin = times_s[fastest] > 0 ? fmax(0, times_s[next] / times_s[fastest] - 1) : 0;
    gw_table_cell(table, "%s", name_of(crossovers, next));
    gw_table_cell(table, "%s", gw_format_percent(margin, text));
}

static void print_table(const struct gw_crossovers *crossovers) {
    const char *const headings[] = {crossovers->variation->name, "fastest", "iteration", "next",
                                    "takes"};
    struct gw_table *table = gw_table_open(headings, "rlrlr");
    for (size_t v = 0; v < crossovers->variation->count; v++) {
        put_row(table, crossovers, v);
    }
    gw_table_print_and_close(table);
}

/* ---- in words ------------------------------------------------------------------------------ */

static void print_crossing(const struct gw_crossovers *crossovers,
                           const struct gw_crossing *crossing) {
    const struct gw_variation *variation = crossovers->variation;
    char texts[3][GW_UNITS_SIZE];
    const char *before = name_of(crossovers, crossing->before);
    const char *after = name_of(crossovers, crossing->after);
    gw_variation_text(variation, crossing->from, texts[0]);
    gw_variation_text(variation, crossing->to, texts[1]);
    gw_format_seconds(crossing->iteration_s, texts[2]);
    if (variation->whole) {
        printf("%s is fastest up to %s worker%s, from %s on %s, which takes %s there\n", before,
               texts[0], crossing->from == 1 ? "" : "s", texts[1], after, texts[2]);
    } else {
        printf("%s is fastest up to %s, then %s, which takes %s there\n", before, texts[0], after,
               texts[2]);
    }
}

static void print_crossings(const struct gw_crossovers *crossovers) {
    printf("\n");
    for (size_t i = 0; i < crossovers->crossing_count; i++) {
        print_crossing(crossovers, &crossovers->crossings[i]);
    }
    if (crossovers->crossing_count == 0) {
        size_t v = 0;
        while (crossovers->fastest[v] == GW_NO_ALGORITHM) {
            v++;
        }
        printf("%s is fastest throughout\n", name_of(crossovers, crossovers->fastest[v]));
    }
}

static void print_gap(const struct gw_crossovers *crossovers, size_t algorithm) {
    const struct gw_variation *variation = crossovers->variation;
    const struct gw_gap *gap = &crossovers->gaps[algorithm];
    char text[GW_UNITS_SIZE];
    printf("infeasible: %s", name_of(crossovers, algorithm));
    if (gap->values < variation->count) {
        printf(" at %zu of %zu values, the first %s", gap->values, variation->count,
               gw_variation_text(variation, gap->first, text));
    }
    printf(": %s\n", gap->why.message);
}

static void print_gaps(const struct gw_crossovers *crossovers) {
    bool any = false;
    for (size_t i = 0; i < crossovers->comparison->count; i++) {
        if (crossovers->gaps[i].values > 0) {
            printf("%s", any ? "" : "\n");
            print_gap(crossovers, i);
            any = true;
        }
    }
}

/* What is said of one value goes for others likewise. */
static void print_notes(const struct gw_crossovers *crossovers) {
    for (size_t i = 0; i < crossovers->notes.note_count; i++) {
        bool one = crossovers->noted_at[i] == 1;
        const char *unit = !crossovers->variation->whole ? "" : one ? " worker" : " workers";
        char text[GW_UNITS_SIZE];
        gw_variation_text(crossovers->variation, crossovers->noted_at[i], text);
        printf("\nnote at %s%s: %s\n", text, unit, crossovers->notes.notes[i]);
    }
}

/* Of those that can be predicted somewhere. */
static void print_counts(const struct gw_crossovers *crossovers) {
    struct gw_counts_note counts = {{0}};
    for (size_t i = 0; i < crossovers->comparison->count; i++) {
        if (crossovers->gaps[i].values < crossovers->variation->count) {
            gw_counts_note_add(&counts, crossovers->comparison, name_of(crossovers, i));
        }
    }
    gw_counts_note_print(&counts, crossovers->comparison);
}

void gw_crossovers_print(const struct gw_crossovers *crossovers) {
    const char *const note = crossovers->comparison->note;
    print_heading(crossovers);
    gw_print_changes(&crossovers->comparison->changes);
    print_table(crossovers);
    print_crossings(crossovers);
    print_gaps(crossovers);
    print_counts(crossovers);
    gw_print_notes(&note, note[0] == '\0' ? 0 : 1);
    print_notes(crossovers);
}
