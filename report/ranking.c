/* Prints a ranking: the table, why the first is the fastest, the infeasible pipelines. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

/* ---- why ----------------------------------------------------------------------------------- */

enum { PARTS = 4 };

/* A part of the difference between two iterations: the slow one's time less the fast one's. */
struct part_difference {
    const char *name;
    double seconds;
};

static int by_size(const void *a, const void *b) {
    double left = fabs(((const struct part_difference *)a)->seconds);
    double right = fabs(((const struct part_difference *)b)->seconds);
    return (left < right) - (left > right);
}

/* Parts that differ by less than this share of the largest difference are left out. */
static const double least_share = 0.01;

/* Prints the parts of which the slower one has more, then less, the largest first. */
static void print_differences(const struct part_difference *parts, FILE *stream) {
    double least_s = least_share * fabs(parts[0].seconds);
    const char *separator = " It has ";
    for (int less = 0; less < 2; less++) {
        for (size_t i = 0; i < PARTS; i++) {
            double seconds = less ? -parts[i].seconds : parts[i].seconds;
            if (seconds > least_s) {
                (void)fprintf(stream, "%s%s %s %s", separator, GW_SECONDS(seconds),
                              less ? "less" : "more", parts[i].name);
                separator = " and ";
            }
        }
        separator = separator[1] == 'a' ? ", but " : separator;
    }
}

/* Prints "59.01 ms of its 59.01 ms of exchanges"; exposed time beyond them waits for a server. */
static void print_exposed_of(const struct gw_result *result, const char *before, const char *after,
                             FILE *stream) {
    double exposed_s = result->breakdown.exposed_comm_s;
    double waited_s = fmax(0, exposed_s - result->comm_s);
    (void)fprintf(stream, "%s of %s%s%s", GW_SECONDS(exposed_s - waited_s), before,
                  GW_SECONDS(result->comm_s), after);
    if (waited_s > GW_COMPARE_SAME * exposed_s) {
        (void)fprintf(stream, " and %s of waiting", GW_SECONDS(waited_s));
    }
}

/* Compares the parts of the runner-up's iteration with those of the fastest. */
static void print_comparison(const struct gw_result *fast, const struct gw_result *slow,
                             FILE *stream) {
    struct part_difference parts[PARTS];
    const struct gw_breakdown *a = &fast->breakdown;
    const struct gw_breakdown *b = &slow->breakdown;
    const struct part_difference found[PARTS] = {
        {"exposed communication", b->exposed_comm_s - a->exposed_comm_s},
        {"compression", b->compress_s - a->compress_s},
        {"compute", b->forward_s + b->backward_s - a->forward_s - a->backward_s},
        {"other time", b->other_s - a->other_s}};
    memcpy(parts, found, sizeof found);
    qsort(parts, PARTS, sizeof *parts, by_size);
    print_differences(parts, stream);
    (void)fprintf(stream, ": it exposes ");
    print_exposed_of(slow, "its ", " of exchanges", stream);
    (void)fprintf(stream, ", %s ", fast->algorithm);
    print_exposed_of(fast, "", "", stream);
    (void)fprintf(stream, ".");
}

/* Prints "ddp", or "ddp (optimal)" if its policy differs from the comparison's. */
static void print_name(const struct gw_ranking *ranking, size_t place, FILE *stream) {
    const struct gw_result *result = &ranking->results[place];
    bool is_own = result->policy == NULL || ranking->comparison->changes.policy != NULL;
    (void)fprintf(stream, "%s%s%s%s", result->algorithm, is_own ? "" : " (",
                  is_own ? "" : result->policy, is_own ? "" : ")");
}

static void print_names(const struct gw_ranking *ranking, size_t count, FILE *stream) {
    for (size_t i = 0; i < count; i++) {
        (void)fputs(i == 0 ? "" : i + 1 < count ? ", " : " and ", stream);
        print_name(ranking, i, stream);
    }
}

/* Prints which pipelines may be the fastest within the curves' uncertainty. */
static void print_rivals(const struct gw_ranking *ranking, FILE *stream) {
    print_names(ranking, ranking->equal_count, stream);
    (void)fprintf(stream, " can't be told apart from ");
    if (ranking->rival_count == 1) {
        size_t rival = ranking->equal_count;
        while (!gw_ranking_is_rival(ranking, rival)) {
            rival++;
        }
        print_name(ranking, rival, stream);
    } else {
        (void)fprintf(stream, "%zu others", ranking->rival_count);
    }
    bool unknown = false;
    struct gw_result derived = {0};
    char names[256] = "";
    for (size_t i = 0; i < ranking->count; i++) {
        const struct gw_result *result = &ranking->results[i];
        if (i < ranking->equal_count || gw_ranking_is_rival(ranking, i)) {
            unknown = unknown || gw_result_is_unknown(result);
            for (size_t u = 0; u < result->uncertainty_count; u++) {
                const struct gw_result_uncertainty *one = &result->uncertainties[u];
                gw_result_uncertain(&derived, one->name, true, one->derived);
            }
        }
    }
    for (size_t i = 0; i < derived.uncertainty_count; i++) {
        gw_list_name(names, sizeof names, derived.uncertainties[i].name);
    }
    (void)fprintf(stream, ", marked with ?: ");
    if (names[0] != '\0') {
        (void)fprintf(stream, "%s among so many workers were not measured, and ", names);
    }
    (void)fprintf(stream, "%s",
                  unknown                    ? "how far off they are is not known."
                  : ranking->to_goal == NULL ? "they differ by less than the 95% uncertainty."
                                             : "they differ by less than the spread of trainings "
                                               "and the uncertainty of an iteration.");
}

static void print_why(const struct gw_ranking *ranking, FILE *stream) {
    const struct gw_result *fast = &ranking->results[0];
    size_t equal = ranking->equal_count;
    if (ranking->count == 1) {
        return;
    }
    if (ranking->rival_count > 0) {
        print_rivals(ranking, stream);
        return;
    }
    if (equal == ranking->count) {
        (void)fprintf(stream, "All take equally long.");
        return;
    }
    const struct gw_result *slow = &ranking->results[equal];
    double first_s = gw_ranking_seconds(ranking, 0);
    double behind_s = gw_ranking_seconds(ranking, equal) - first_s;
    print_names(ranking, equal, stream);
    if (!isfinite(behind_s)) {
        (void)fprintf(stream, " %s to the goal; of the others %s.", equal == 1 ? "comes" : "come",
                      isnan(behind_s) ? "nothing was recorded" : "most trainings never do");
        return;
    }
    (void)fprintf(stream, " %s fastest: ", equal == 1 ? "is" : "are");
    print_name(ranking, equal, stream);
    (void)fprintf(stream, ", the next, takes %s (%.1f%%) longer.", GW_SECONDS(behind_s),
                  100 * behind_s / first_s);
    if (ranking->to_goal == NULL) {
        print_comparison(fast, slow, stream);
    } else {
        const struct gw_result *results = ranking->results;
        (void)fprintf(stream, " It takes %.10g iterations of %s, %s %.10g of %s.",
                      rint(10 * ranking->to_goal[equal].trainings->iterations) / 10,
                      GW_SECONDS(results[equal].iteration_s), results[0].algorithm,
                      rint(10 * ranking->to_goal[0].trainings->iterations) / 10,
                      GW_SECONDS(results[0].iteration_s));
    }
}

enum gw_status gw_ranking_explain(const struct gw_ranking *ranking, struct gw_arena *arena,
                                  const char **out, struct gw_error *error) {
    struct gw_text text;
    FILE *stream = gw_text_open(&text);
    if (stream != NULL) {
        print_why(ranking, stream);
    }
    GW_TRY(gw_text_close(&text, "comparing", error));
    *out = gw_arena_text(arena, text.text);
    free(text.text);
    return *out == NULL ? gw_fail_memory(error, "comparing") : GW_OK;
}

/* ---- the table ----------------------------------------------------------------------------- */

static void add_interval(struct gw_table *table, const struct gw_ranking *ranking, size_t place) {
    const struct gw_result *result = &ranking->results[place];
    bool known = !gw_result_is_unknown(result);
    if (ranking->to_goal != NULL) {
        const struct gw_to_goal *to_goal = &ranking->to_goal[place];
        if (!isfinite(to_goal->seconds)) {
            gw_table_cells(table, "%s", "");
        } else if (known && isinf(to_goal->high_s)) {
            gw_table_cells(table, "%s or more", GW_SECONDS(to_goal->low_s));
        } else {
            gw_table_interval(table, known ? to_goal->low_s : NAN, to_goal->high_s);
        }
    } else if (result->uncertainty_count == 0) {
        gw_table_cells(table, "%s", "");
    } else {
        gw_table_interval(table, known ? result->iteration_low_s : NAN, result->iteration_high_s);
    }
}

static void add_to_goal(struct gw_table *table, const struct gw_to_goal *to_goal) {
    const struct gw_trainings *trainings = to_goal->trainings;
    if (trainings == NULL) {
        gw_table_cells(table, "not known\t");
    } else if (trainings->reached < trainings->count) {
        bool in_median = isfinite(to_goal->seconds);
        gw_table_cells(table, "%s\t%zu of %zu reach it",
                       in_median ? GW_SECONDS(to_goal->seconds) : "never", trainings->reached,
                       trainings->count);
    } else {
        gw_table_cells(table, "%s\t%.10g", GW_SECONDS(to_goal->seconds),
                       rint(10 * trainings->iterations) / 10);
    }
}

static void add_row(struct gw_table *table, const struct gw_ranking *ranking, size_t place) {
    const struct gw_result *result = &ranking->results[place];
    const struct gw_breakdown *parts = &result->breakdown;
    double alone_s = gw_comparison_alone_s(ranking->comparison);
    bool first = place < ranking->equal_count;
    bool doubted = gw_ranking_is_rival(ranking, place) || (first && ranking->rival_count > 0);
    gw_table_cells(table, "%s\t%s", doubted ? "?" : first ? "*" : "", result->algorithm);
    if (ranking->to_goal != NULL) {
        add_to_goal(table, &ranking->to_goal[place]);
    }
    gw_table_cells(table, "%s\t%s\t%s\t%s\t%s", GW_SECONDS(result->iteration_s),
                   GW_SECONDS(parts->forward_s + parts->backward_s), GW_SECONDS(parts->compress_s),
                   GW_SECONDS(parts->exposed_comm_s), GW_SECONDS(parts->other_s));
    if (ranking->to_goal != NULL) {
        gw_table_cells(table, "%s", GW_BYTES(result->bytes_per_worker));
    } else {
        gw_table_cells(table, "%zu\t%s\t%.1f%%", result->groups, GW_BYTES(result->bytes_per_worker),
                       result->iteration_s > 0 ? 100 * alone_s / result->iteration_s : 100);
    }
    if (ranking->comparison->mixed) {
        gw_table_cells(table, "%s", GW_PERCENT(gw_ranking_above_mixed(ranking, place)));
    }
}

/* Prints "*" before the fastest, "?" before those that may be the fastest. */
static void print_table(const struct gw_ranking *ranking) {
    bool ranged = ranking->to_goal != NULL;
    for (size_t i = 0; i < ranking->count; i++) {
        ranged = ranged || ranking->results[i].uncertainty_count > 0;
    }
    bool mixed = ranking->comparison->mixed;
    static const char *const alignments[] = {"llrrrrrrrr", "llrrrrrrrrr", "llrrrrrrrrrr"};
    struct gw_table *table = gw_table_open(
        alignments[mixed + ranged],
        ranking->to_goal == NULL
            ? "\talgorithm\titeration\tcompute\tcompression\texposed\tother\tgroups\tsent\tefficien"
              "cy"
            : "\talgorithm\tto the "
              "goal\titerations\titeration\tcompute\tcompression\texposed\tother\tsent");
    if (mixed) {
        gw_table_cells(table, "above mixed");
    }
    if (ranged) {
        gw_table_cells(table, ranking->to_goal == NULL ? "95%% interval" : "range");
    }
    for (size_t i = 0; i < ranking->count; i++) {
        add_row(table, ranking, i);
        if (ranged) {
            add_interval(table, ranking, i);
        }
    }
    gw_table_print_and_close(table);
}

/* Prints "infeasible: dgc, redsync: " and the reason that they share. */
static void print_infeasible(const struct gw_ranking *ranking) {
    const struct gw_infeasible *all = ranking->infeasible;
    for (size_t i = 0; i < ranking->infeasible_count; i++) {
        size_t first = 0;
        while (strcmp(all[first].why.message, all[i].why.message) != 0) {
            first++;
        }
        if (first < i) {
            continue;
        }
        if (i == 0) {
            gw_print("\n");
        }
        char names[512] = "";
        for (size_t j = i; j < ranking->infeasible_count; j++) {
            if (strcmp(all[i].why.message, all[j].why.message) == 0) {
                gw_list_name(names, sizeof names, all[j].algorithm);
            }
        }
        gw_print_paragraph("infeasible: ", "%s: %s", names, all[i].why.message);
    }
}

/* ---- numbers of selected elements ------------------------------------------------------------ */

void gw_counts_note_add(struct gw_counts_note *note, const struct gw_comparison *comparison,
                        const char *algorithm) {
    if (!gw_comparison_depends_on_data(comparison, algorithm)) {
        return;
    }
    size_t used = strlen(note->names);
    (void)snprintf(note->names + used, sizeof note->names - used, "%s%s", used == 0 ? "" : ", ",
                   algorithm);
}

void gw_counts_note_print(const struct gw_counts_note *note,
                          const struct gw_comparison *comparison) {
    if (note->names[0] == '\0') {
        return;
    }
    if (comparison->trained) {
        gw_print_note(
            "note: ", "counts of %s are trained on %s gradients, means over %d iterations",
            note->names, comparison->gradients == NULL ? "generated" : "recorded",
            GW_COMPARISON_TRAINED);
    } else if (comparison->learning != NULL) {
        gw_print_note(
            "note: ", "counts of %s, which depend on the gradients, are those of trainings",
            note->names);
    } else {
        gw_print_note("note: ",
                      "counts as asked of %s; the numbers of selected elements depend on the "
                      "gradients: --counts trained",
                      note->names);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool are_dense(const struct gw_comparison *comparison) {
    const char *compressor = comparison->changes.compressor;
    size_t dense = 0;
    for (size_t i = 0; i < comparison->count; i++) {
        dense += !gw_algorithm_selects(comparison->algorithms[i]);
    }
    return compressor == NULL ? dense == comparison->count : strcmp(compressor, "none") == 0;
}

/* Prints the mixed plan, from which the column "above mixed" counts. */
static void print_mixed(const struct gw_ranking *ranking) {
    const struct gw_plan *plan = &ranking->mixed.plans[0];
    double iteration_s =
        ranking->mixed.interfered_s == NULL ? plan->iteration_s : ranking->mixed.interfered_s[0];
    gw_print_note(
        "",
        "mixed: each group travels as any of these pipelines sends it, in the fastest such "
        "plan%s: %s, %s, %.3g%% of the energy kept.",
        ranking->mixed.interfered_s == NULL ? "" : " that was found", GW_SECONDS(iteration_s),
        GW_COUNTED(plan->group_count, "group"), 100 * ranking->mixed.energy_kept);
}

static void print_text(const struct gw_ranking *ranking, const char *why) {
    const struct gw_comparison *comparison = ranking->comparison;
    gw_print_heading(comparison->scenario, are_dense(comparison) ? "dense" : NULL, NULL);
    gw_print_changes(&comparison->changes);
    if (comparison->accuracy != NULL) {
        gw_print("to the goal: %g%% right, as %s says\n\n", 100 * comparison->accuracy->goal,
                 comparison->accuracy->path);
    } else if (comparison->by_learning) {
        gw_print("to the goal: until as much is learnt as in %d iterations without compression\n\n",
                 GW_DENSE_ITERATIONS);
    }
    print_table(ranking);
    if (why[0] != '\0') {
        gw_print_note("", "%s", why);
    }
    if (comparison->mixed) {
        print_mixed(ranking);
    }
    print_infeasible(ranking);
    struct gw_result all = {0};
    struct gw_counts_note counts = {{0}};
    gw_result_collect(&all, &ranking->notes);
    for (size_t i = 0; i < ranking->count; i++) {
        gw_result_collect(&all, &ranking->results[i]);
        gw_counts_note_add(&counts, comparison, ranking->results[i].algorithm);
    }
    gw_counts_note_print(&counts, comparison);
    gw_print_collected_notes(&all);
}

static void write_to_goal(const struct gw_to_goal *to_goal, struct gw_json_writer *writer) {
    const struct gw_trainings *trainings = to_goal->trainings;
    gw_writer_object(writer, "to_goal");
    gw_writer_number(writer, "seconds", to_goal->seconds);
    if (trainings != NULL) {
        gw_writer_number(writer, "iterations", trainings->iterations);
        gw_writer_number(writer, "trainings", (double)trainings->count);
        gw_writer_number(writer, "reached", (double)trainings->reached);
    }
    if (to_goal->high_s > 0) {
        gw_writer_number(writer, "low_s", to_goal->low_s);
        gw_writer_number(writer, "high_s", to_goal->high_s);
    }
    gw_writer_end(writer);
}

static enum gw_status print_ranking_document(const struct gw_ranking *ranking, const char *why,
                                             struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", "gradweave/comparison@1");
    gw_writer_text(&writer, "best", ranking->results[0].algorithm);
    if (why[0] != '\0') {
        gw_writer_text(&writer, "why", why);
    }
    if (ranking->rival_count > 0) {
        gw_writer_array(&writer, "not_told_apart");
        for (size_t i = 0; i < ranking->count; i++) {
            if (gw_ranking_is_rival(ranking, i)) {
                gw_writer_text(&writer, NULL, ranking->results[i].algorithm);
            }
        }
        gw_writer_end(&writer);
    }
    if (ranking->comparison->accuracy != NULL) {
        gw_writer_number(&writer, "goal", ranking->comparison->accuracy->goal);
    }
    if (ranking->comparison->mixed) {
        cJSON *plan = NULL;
        (void)gw_plan_document(&ranking->mixed.plans[0], &plan, error);
        gw_writer_open(&writer, "mixed", plan);
        gw_writer_end(&writer);
    }
    gw_writer_number(&writer, "single_worker_s", gw_comparison_alone_s(ranking->comparison));
    gw_writer_array(&writer, "results");
    for (size_t i = 0; i < ranking->count; i++) {
        gw_writer_object(&writer, NULL);
        gw_result_write(&ranking->results[i], &writer);
        if (ranking->comparison->mixed) {
            gw_writer_number(&writer, "above_mixed", gw_ranking_above_mixed(ranking, i));
        }
        if (ranking->to_goal != NULL) {
            write_to_goal(&ranking->to_goal[i], &writer);
        }
        gw_writer_end(&writer);
    }
    gw_writer_end(&writer);
    gw_writer_array(&writer, "infeasible");
    for (size_t i = 0; i < ranking->infeasible_count; i++) {
        gw_writer_object(&writer, NULL);
        gw_writer_text(&writer, "algorithm", ranking->infeasible[i].algorithm);
        gw_writer_text(&writer, "reason", ranking->infeasible[i].why.message);
        gw_writer_end(&writer);
    }
    gw_writer_end(&writer);
    gw_result_write_notes(&ranking->notes, &writer);
    return gw_print_written(&writer, error);
}

enum gw_status gw_print_ranking(const struct gw_ranking *ranking, bool json,
                                struct gw_error *error) {
    struct gw_arena arena = {0};
    const char *why = NULL;
    enum gw_status status = gw_ranking_explain(ranking, &arena, &why, error);
    if (status == GW_OK && json) {
        status = print_ranking_document(ranking, why, error);
    } else if (status == GW_OK) {
        print_text(ranking, why);
    }
    gw_arena_free(&arena);
    return status;
}
