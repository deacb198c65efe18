#include "report/advice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct gw_result *result_at(const struct gw_advice *advice, size_t place) {
    return &advice->ranking.results[place];
}

static const struct gw_result *best_of(const struct gw_advice *advice) {
    return result_at(advice, advice->best);
}

/* A million iterations of all workers. */
static double cost_of(const struct gw_advice *advice, const struct gw_result *result,
                      double price) {
    return price * (double)advice->question->workers * result->iteration_s * 1e6 / 3600;
}

/* A pipeline by its name, and by its plan where that is not its own. Returns `out`. */
enum { NAME_SIZE = 48 };
static const char *name_at(const struct gw_advice *advice, size_t place, char out[NAME_SIZE]) {
    const struct gw_result *result = result_at(advice, place);
    bool own = result->policy == NULL;
    (void)snprintf(out, NAME_SIZE, "%.20s%s%.20s%s", result->algorithm, own ? "" : " (",
                   own ? "" : result->policy, own ? "" : ")");
    return out;
}

/* What nothing says of is of unknown origin. */
static const char *origin(const char *kind) {
    return kind == NULL ? "unknown" : kind;
}

static const char *origin_of_compressors(const struct gw_cluster *cluster) {
    bool assumed = gw_cluster_source(cluster, GW_CLUSTER_ASSUMED_COMPRESSORS) != NULL;
    return assumed ? "assumed" : origin(gw_cluster_source(cluster, "kind"));
}

/* ---- for a person ---------------------------------------------------------------------------- */

static void print_verdict(const struct gw_advice *advice) {
    static const char *const words[] = {[GW_WORTH_IT] = "Compression is worth it",
                                        [GW_NOT_WORTH_IT] = "Compression is not worth it",
                                        [GW_NO_DIFFERENCE] = "Compression makes no difference",
                                        [GW_CANT_TELL] =
                                            "Whether compression is worth it can't be told yet"};
    const struct gw_result *compressed = result_at(advice, advice->compressed);
    const struct gw_result *dense = result_at(advice, advice->dense);
    const struct gw_estimate *speedup = &advice->speedup;
    char text[2][GW_UNITS_SIZE];
    char name[NAME_SIZE];
    gw_print("%s: %s takes %s, %s", words[advice->verdict], compressed->algorithm,
             gw_format_seconds(compressed->iteration_s, text[0]),
             name_at(advice, advice->dense, name));
    gw_print(" (the fastest without) %s, %.2f times",
             gw_format_seconds(dense->iteration_s, text[1]), speedup->value);
    if (isnan(speedup->low)) {
        gw_print(" as long; how far off that is, is not known.\n");
    } else {
        gw_print(" as long (%.2f to %.2f in 95%% of cases).\n", speedup->low, speedup->high);
    }
    gw_print("Recommended: %s, %zu group%s.\n\n", name_at(advice, advice->best, name),
             best_of(advice)->groups, best_of(advice)->groups == 1 ? "" : "s");
}

enum { MOST_ROWS = 6 };

static void add_row(struct gw_table *table, const struct gw_advice *advice, size_t place) {
    const struct gw_result *result = result_at(advice, place);
    char text[GW_UNITS_SIZE];
    char name[NAME_SIZE];
    gw_table_cell(table, "%s", place == advice->best ? "*" : "");
    gw_table_cell(table, "%s", name_at(advice, place, name));
    gw_table_cell(table, "%s", gw_format_seconds(result->iteration_s, text));
    if (result->uncertainty_count == 0) {
        gw_table_cell(table, "%s", "");
    } else {
        gw_table_interval(table, gw_result_is_unknown(result) ? NAN : result->iteration_low_s,
                          result->iteration_high_s);
    }
    gw_table_cell(table, "%.1f%%", 100 * advice->energy[place]);
    gw_table_cell(table, "%s", gw_format_seconds(result->breakdown.compress_s, text));
    gw_table_cell(table, "%s", gw_format_seconds(result->breakdown.exposed_comm_s, text));
    gw_table_cell(table, "%s", gw_format_bytes(result->bytes_per_worker, text));
}

static bool is_shown_anyway(const struct gw_advice *advice, size_t place) {
    return place == advice->best || place == advice->dense || place == advice->compressed ||
           strcmp(result_at(advice, place)->algorithm, "ddp") == 0;
}

static void print_pipelines(const struct gw_advice *advice) {
    static const char *const headings[] = {
        "",        "pipeline", "iteration", "95% interval", "energy kept", "compression",
        "exposed", "sent"};
    struct gw_table *table = gw_table_open(headings, "llrrrrrr");
    for (size_t i = 0; i < advice->ranking.count; i++) {
        if (i < MOST_ROWS || is_shown_anyway(advice, i)) {
            add_row(table, advice, i);
        }
    }
    gw_table_print_and_close(table);
    gw_print("energy kept: of a bell-shaped gradient, by one worker in one iteration; what is kept "
             "back comes later.\n\n");
}

static void print_even(const struct gw_advice *advice) {
    double even = advice->even_bandwidth;
    bool leads = advice->speedup.value > 1;
    char dense[NAME_SIZE];
    (void)name_at(advice, advice->dense, dense);
    if (isnan(even)) {
        gw_print("%s stays the faster one %s of this bandwidth.\n",
                 leads ? result_at(advice, advice->compressed)->algorithm : dense,
                 leads ? "up to a thousand times" : "down to a thousandth");
    } else {
        gw_print("At %.3g times this bandwidth %s and %s take equally long.\n", even, dense,
                 result_at(advice, advice->compressed)->algorithm);
    }
}

/* The groups whose exchange ends after the last gradient is compressed. */
static size_t first_exposed(const struct gw_advice *advice) {
    const struct gw_explanation *explanation = &advice->explanation;
    size_t count = explanation->plan->group_count;
    double end_s = explanation->groups[count - 1].compressed_s;
    size_t first = count - 1;
    while (first > 0 && explanation->groups[first - 1].exchange_end_s > end_s) {
        first--;
    }
    return first;
}

static void print_exposed(const struct gw_advice *advice) {
    const struct gw_explanation *explanation = &advice->explanation;
    const struct gw_model *model = &advice->question->model;
    size_t first = first_exposed(advice);
    const struct gw_group *group = &explanation->plan->groups[first];
    const struct gw_group *last = &explanation->plan->groups[explanation->plan->group_count - 1];
    char text[GW_UNITS_SIZE];
    gw_print("Exposed: %s after the backward pass, of tensors %s to %s.\n",
             gw_format_seconds(explanation->exposed_comm_s, text),
             model->tensors[group->first < group->last ? group->last : group->first].name,
             model->tensors[last->first < last->last ? last->first : last->last].name);
}

static void print_buckets(const struct gw_advice *advice) {
    char text[GW_UNITS_SIZE];
    char bucket[GW_BUCKET_TEXT_SIZE];
    gw_print("DDP without compression: bucket_cap_mb_list=[");
    for (size_t g = 0; g < advice->buckets.group_count; g++) {
        gw_print("%s%s", g == 0 ? "" : ", ", gw_advice_bucket_text(advice, g, bucket));
    }
    /* Such a DDP keeps its first buckets, which it fills from the first tensor on. */
    gw_print("] (%s), in reverse if find_unused_parameters=True; ",
             gw_format_seconds(advice->buckets.iteration_s, text));
    gw_print("of one cap bucket_cap_mb=%g (%s)\n", advice->cap_mib,
             gw_format_seconds(advice->cap_iteration_s, text));
}

static void print_widest(const struct gw_advice *advice) {
    const struct gw_result_uncertainty *widest = advice->widest;
    if (widest == NULL) {
        return;
    }
    if (isnan(widest->relative)) {
        gw_print("How far off %s is, is not known: calibrate it (gradweave calibrate).\n",
                 widest->name);
        return;
    }
    bool compute = strcmp(widest->name, "compute times") == 0;
    gw_print("What narrows the interval most: measure %s (+-%.0f%%): %s\n", widest->name,
             100 * widest->relative,
             compute ? "python -m gradweave.torch record" : "gradweave calibrate");
}

static void print_price(const struct gw_advice *advice, double price) {
    if (price > 0) {
        char dense[NAME_SIZE];
        gw_print("A million iterations cost %.4g with %s, %.4g with %s.\n",
                 cost_of(advice, result_at(advice, advice->compressed), price),
                 result_at(advice, advice->compressed)->algorithm,
                 cost_of(advice, result_at(advice, advice->dense), price),
                 name_at(advice, advice->dense, dense));
    }
}

static void print_text(const struct gw_advice *advice, double price) {
    gw_print_heading(advice->question, false);
    print_verdict(advice);
    print_pipelines(advice);
    print_even(advice);
    print_exposed(advice);
    print_buckets(advice);
    print_widest(advice);
    print_price(advice, price);
    const char *cluster = origin(gw_cluster_source(&advice->question->cluster, "kind"));
    const char *compressors = origin_of_compressors(&advice->question->cluster);
    bool differs = strcmp(cluster, compressors) != 0;
    gw_print("Rests on: times of the model %s, costs of the cluster %s%s%s.\n",
             origin(advice->question->model.kind), cluster, differs ? ", of its compressors " : "",
             differs ? compressors : "");
    struct gw_result all = advice->ranking.notes;
    gw_result_collect(&all, best_of(advice));
    gw_print_collected_notes(&all);
}

/* ---- for a program --------------------------------------------------------------------------- */

static void write_known(struct gw_json_writer *writer, const char *key, double value) {
    if (isfinite(value)) {
        gw_writer_number(writer, key, value);
    } else {
        gw_writer_null(writer, key);
    }
}

static void write_pipelines(const struct gw_advice *advice, double price,
                            struct gw_json_writer *writer) {
    gw_writer_array(writer, "results");
    for (size_t i = 0; i < advice->ranking.count; i++) {
        gw_writer_object(writer, NULL);
        gw_result_write(result_at(advice, i), writer);
        gw_writer_number(writer, "energy_kept", advice->energy[i]);
        if (price > 0) {
            gw_writer_number(writer, "cost", cost_of(advice, result_at(advice, i), price));
        }
        gw_writer_end(writer);
    }
    gw_writer_end(writer);
}

static void write_plan(const struct gw_advice *advice, struct gw_json_writer *writer) {
    const struct gw_explanation *explanation = &advice->explanation;
    gw_writer_array(writer, "bucket_cap_mb_list");
    for (size_t g = 0; g < advice->buckets.group_count; g++) {
        char bucket[GW_BUCKET_TEXT_SIZE];
        gw_writer_number(writer, NULL, strtod(gw_advice_bucket_text(advice, g, bucket), NULL));
    }
    gw_writer_end(writer);
    gw_writer_number(writer, "bucket_iteration_s", advice->buckets.iteration_s);
    gw_writer_number(writer, "bucket_cap_mb", advice->cap_mib);
    gw_writer_number(writer, "bucket_cap_iteration_s", advice->cap_iteration_s);
    gw_writer_number(writer, "exposed_comm_s", explanation->exposed_comm_s);
    gw_writer_number(writer, "first_exposed_group", (double)first_exposed(advice));
    gw_writer_number(writer, "groups", (double)explanation->plan->group_count);
}

/* "dense": "ddp", and "dense_policy": "optimal" where its plan is not its own. */
static void write_name(const struct gw_advice *advice, const char *key, size_t place,
                       struct gw_json_writer *writer) {
    const struct gw_result *result = result_at(advice, place);
    char policy_key[32];
    (void)snprintf(policy_key, sizeof policy_key, "%s_policy", key);
    gw_writer_text(writer, key, result->algorithm);
    if (result->policy != NULL) {
        gw_writer_text(writer, policy_key, result->policy);
    }
}

void gw_advice_write(const struct gw_advice *advice, double price, struct gw_json_writer *writer) {
    static const char *const words[] = {[GW_WORTH_IT] = "worth it",
                                        [GW_NOT_WORTH_IT] = "not worth it",
                                        [GW_NO_DIFFERENCE] = "no difference",
                                        [GW_CANT_TELL] = "can't tell"};
    gw_writer_text(writer, "schema", "gradweave/advice@1");
    gw_writer_text(writer, "model", advice->question->model.name);
    gw_writer_text(writer, "cluster", advice->question->cluster.name);
    gw_writer_number(writer, "workers", (double)advice->question->workers);
    gw_writer_number(writer, "density", advice->question->density);
    gw_writer_text(writer, "verdict", words[advice->verdict]);
    write_name(advice, "recommended", advice->best, writer);
    write_name(advice, "compressed", advice->compressed, writer);
    write_name(advice, "dense", advice->dense, writer);
    gw_writer_object(writer, "speedup");
    gw_writer_number(writer, "value", advice->speedup.value);
    write_known(writer, "low", advice->speedup.low);
    write_known(writer, "high", advice->speedup.high);
    gw_writer_end(writer);
    write_known(writer, "even_bandwidth", advice->even_bandwidth);
    write_plan(advice, writer);
    if (advice->widest != NULL) {
        gw_writer_text(writer, "widest_uncertainty", advice->widest->name);
    }
    gw_writer_object(writer, "rests_on");
    gw_writer_text(writer, "model", origin(advice->question->model.kind));
    gw_writer_text(writer, "cluster",
                   origin(gw_cluster_source(&advice->question->cluster, "kind")));
    gw_writer_text(writer, "compressors", origin_of_compressors(&advice->question->cluster));
    gw_writer_end(writer);
    write_pipelines(advice, price, writer);
}

static enum gw_status print_document(const struct gw_advice *advice, double price,
                                     struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_advice_write(advice, price, &writer);
    return gw_print_written(&writer, error);
}

enum gw_status gw_print_advice(const struct gw_advice *advice, double price, bool json,
                               struct gw_error *error) {
    if (json) {
        return print_document(advice, price, error);
    }
    print_text(advice, price);
    return GW_OK;
}
