/* Writes advice as a document, and what it has in common with the text. */
#include "report/report.h"

#include <math.h>
#include <stdlib.h>

/* ---- also in the text ------------------------------------------------------------------------ */

double gw_advice_cost(const struct gw_advice *advice, const struct gw_result *result,
                      double price) {
    return price * (double)advice->scenario->workers * result->iteration_s * 1e6 / 3600;
}

const char *gw_advice_compressors_origin(const struct gw_advice *advice) {
    const struct gw_cluster *cluster = advice->scenario->cluster;
    bool assumed = gw_cluster_source(cluster, GW_CLUSTER_ASSUMED_COMPRESSORS) != NULL;
    return assumed ? "assumed" : gw_cluster_origin(cluster);
}

size_t gw_advice_first_exposed(const struct gw_advice *advice) {
    const struct gw_explanation *explanation = &advice->explanation;
    size_t count = explanation->plan->group_count;
    double end_s = explanation->groups[count - 1].compressed_s;
    size_t first = count - 1;
    while (first > 0 && explanation->groups[first - 1].exchange_end_s > end_s) {
        first--;
    }
    return first;
}

/* ---- the document ---------------------------------------------------------------------------- */

static void write_iterations(const struct gw_iterations_factor *iterations,
                             struct gw_json_writer *writer) {
    if (iterations->runs > 0) {
        gw_writer_object(writer, "iterations_factor");
        gw_writer_number(writer, "low", iterations->low);
        gw_writer_number(writer, "median", iterations->median);
        gw_writer_number(writer, "high", iterations->high);
        gw_writer_number(writer, "never", (double)iterations->failed / (double)iterations->runs);
        gw_writer_end(writer);
    }
}

static void write_recommendation(const struct gw_recommendation *one,
                                 struct gw_json_writer *writer) {
    gw_writer_text(writer, "algorithm", one->result->algorithm);
    if (one->result->policy != NULL) {
        gw_writer_text(writer, "policy", one->result->policy);
    }
    gw_writer_number(writer, "iteration_s", one->result->iteration_s);
    gw_writer_number(writer, "speedup", one->speedup.value);
    gw_writer_number(writer, "speedup_low", one->speedup.low);
    gw_writer_number(writer, "speedup_high", one->speedup.high);
    gw_writer_number(writer, "expected_s", one->expected_s);
    gw_writer_flag(writer, "holds", one->holds);
    write_iterations(&one->iterations, writer);
}

static void write_recommendations(const struct gw_advice *advice, struct gw_json_writer *writer) {
    static const char *const keys[] = {[GW_COSTS_NOTHING] = "costs_nothing",
                                       [GW_SOONEST_COMPRESSED] = "soonest_compressed",
                                       [GW_FASTEST_ITERATION] = "fastest_iteration"};
    gw_writer_array(writer, "recommendations");
    for (size_t i = 0; i < advice->recommendation_count; i++) {
        gw_writer_object(writer, NULL);
        write_recommendation(&advice->recommendations[i], writer);
        gw_writer_end(writer);
    }
    gw_writer_end(writer);
    for (int tier = 0; tier < GW_TIERS; tier++) {
        if (advice->tiers[tier].result != NULL) {
            gw_writer_object(writer, keys[tier]);
            write_recommendation(&advice->tiers[tier], writer);
            gw_writer_end(writer);
        }
    }
    gw_writer_object(writer, "accumulation");
    gw_writer_number(writer, "micro_batches", (double)advice->micro_batches);
    gw_writer_number(writer, "samples_per_second_factor", advice->accumulated);
    gw_writer_end(writer);
}

static void write_pipelines(const struct gw_advice *advice, double price,
                            struct gw_json_writer *writer) {
    static const char *const words[] = {[GW_LITTLE_ENERGY] = "too little energy",
                                        [GW_FEW_LEARNT] = "too few trainings learnt as much",
                                        [GW_NEVER_TRAINED] = "no training kept so little"};
    gw_writer_array(writer, "results");
    for (size_t i = 0; i < advice->ranking.count; i++) {
        enum gw_objection objection = gw_advice_objection(advice, i);
        gw_writer_object(writer, NULL);
        gw_result_write(&advice->ranking.results[i], writer);
        gw_writer_number(writer, "energy_kept", advice->energy[i]);
        write_iterations(&advice->iterations[i], writer);
        if (objection == GW_NEVER_TRAINED && !advice->iterations[i].is_beyond) {
            gw_writer_text(writer, "not_recommended", "no trainings");
        } else if (objection != GW_NO_OBJECTION) {
            gw_writer_text(writer, "not_recommended", words[objection]);
        }
        if (price > 0) {
            gw_writer_number(writer, "cost",
                             gw_advice_cost(advice, &advice->ranking.results[i], price));
        }
        gw_writer_end(writer);
    }
    gw_writer_end(writer);
}

static void write_plan(const struct gw_advice *advice, struct gw_json_writer *writer) {
    const struct gw_explanation *explanation = &advice->explanation;
    if (advice->buckets_hold) {
        gw_writer_array(writer, "bucket_cap_mb_list");
        for (size_t g = 0; g < advice->buckets.group_count; g++) {
            char bucket[GW_BUCKET_TEXT_SIZE];
            gw_writer_number(writer, NULL, strtod(gw_advice_bucket_text(advice, g, bucket), NULL));
        }
        gw_writer_end(writer);
    } else {
        gw_writer_null(writer, "bucket_cap_mb_list");
    }
    gw_writer_number(writer, "bucket_iteration_s", advice->buckets_iteration_s);
    gw_writer_number(writer, "bucket_cap_mb", advice->cap_mib > 0 ? advice->cap_mib : NAN);
    gw_writer_number(writer, "bucket_cap_iteration_s",
                     advice->cap_mib > 0 ? advice->cap_iteration_s : NAN);
    gw_writer_number(writer, "bucket_default_iteration_s", advice->default_iteration_s);
    gw_writer_number(writer, "bucket_besides_s", gw_bucket_besides_s);
    gw_writer_number(writer, "exposed_comm_s", explanation->exposed_comm_s);
    gw_writer_number(writer, "first_exposed_group", (double)gw_advice_first_exposed(advice));
    gw_writer_number(writer, "groups", (double)explanation->plan->group_count);
}

/* Writes "dense": "ddp", and "dense_policy": "optimal" if the policy was changed. */
static void write_name(const struct gw_result *result, const char *key,
                       struct gw_json_writer *writer) {
    char policy_key[32];
    (void)snprintf(policy_key, sizeof policy_key, "%s_policy", key);
    gw_writer_text(writer, key, result->algorithm);
    if (result->policy != NULL) {
        gw_writer_text(writer, policy_key, result->policy);
    }
}

void gw_advice_write(const struct gw_advice *advice, double price, struct gw_json_writer *writer) {
    static const char *const words[] = {[GW_FASTER] = "faster",
                                        [GW_SLOWER] = "slower",
                                        [GW_NO_DIFFERENCE] = "no difference",
                                        [GW_CANT_TELL] = "can't tell"};
    gw_writer_text(writer, "schema", "gradweave/advice@1");
    gw_writer_text(writer, "model", advice->scenario->model->name);
    gw_writer_text(writer, "cluster", advice->scenario->cluster->name);
    gw_writer_number(writer, "workers", (double)advice->scenario->workers);
    gw_writer_number(writer, "density", advice->scenario->density);
    gw_writer_text(writer, "goal", advice->by_iteration ? "iteration" : "learning");
    gw_writer_text(writer, "verdict", words[advice->verdict]);
    if (advice->warning[0] != '\0') {
        gw_writer_text(writer, "warning", advice->warning);
    }
    write_name(advice->chosen->result, "recommended", writer);
    write_name(&advice->ranking.results[advice->compressed], "compressed", writer);
    write_name(&advice->ranking.results[advice->dense], "dense", writer);
    gw_writer_object(writer, "speedup");
    gw_writer_number(writer, "value", advice->speedup.value);
    gw_writer_number(writer, "low", advice->speedup.low);
    gw_writer_number(writer, "high", advice->speedup.high);
    gw_writer_end(writer);
    gw_writer_number(writer, "even_bandwidth", advice->even_bandwidth);
    write_plan(advice, writer);
    if (advice->widest != NULL) {
        gw_writer_text(writer, "widest_uncertainty", advice->widest->name);
    }
    gw_writer_object(writer, "rests_on");
    gw_writer_text(writer, "model", gw_origin(advice->scenario->model->kind));
    gw_writer_number(writer, "batch_size", advice->scenario->model->batch_size);
    if (advice->scenario->model->micro_batches > 1) {
        gw_writer_number(writer, "micro_batches", (double)advice->scenario->model->micro_batches);
    }
    if (advice->scenario->model->precision != NULL) {
        gw_writer_text(writer, "precision", advice->scenario->model->precision);
    }
    gw_writer_text(writer, "cluster", gw_cluster_origin(advice->scenario->cluster));
    char assumed[GW_ASSUMED_SIZE];
    gw_cluster_name_assumed(advice->scenario->cluster, assumed);
    if (assumed[0] != '\0') {
        gw_writer_text(writer, "assumed_collectives", assumed);
    }
    gw_writer_text(writer, "compressors", gw_advice_compressors_origin(advice));
    gw_writer_end(writer);
    gw_writer_number(writer, "iterations_density", advice->iterations[advice->compressed].density);
    write_recommendations(advice, writer);
    write_pipelines(advice, price, writer);
}
