/* Mixed plans: merges and ways to travel, planned together. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/energy.h"
#include "study/plans.h"

enum { MOST_CHOICES = 32, CHOICE_SIZE = 40 };

/* Choices of ways, with their costs and what they lose. */
struct mixture {
    size_t count;
    struct gw_way ways[MOST_CHOICES];
    char names[MOST_CHOICES][CHOICE_SIZE];
    struct gw_costs costs[MOST_CHOICES]; /* the first `opened` of them are open */
    size_t opened;
    double *lost; /* [count][tensors] */
};

/* ---- choices ------------------------------------------------------------------------------- */

bool gw_choice_parse(const char *text, double usual_density, struct gw_way *out) {
    char name[CHOICE_SIZE];
    size_t length = strcspn(text, ":");
    (void)snprintf(name, sizeof name, "%.*s", (int)length, text);
    bool dense = strcmp(name, "dense") == 0;
    *out = (struct gw_way){.compressor = dense ? &gw_compressor_none : gw_compressor_find(text)};
    if (out->compressor != NULL && out->compressor->rank > 0) {
        length += strlen(text + length);
    } else if (!dense) {
        out->compressor = gw_compressor_find(name);
    }
    if (out->compressor == NULL) {
        return false;
    }
    bool whole = !gw_compressor_selects(out->compressor);
    out->density = whole ? 1 : usual_density;
    out->exchange = gw_exchange_for(out->compressor);
    if (out->exchange == NULL || (whole && text[length] == ':')) {
        return false;
    }
    return text[length] == '\0' || (gw_parse_number(text + length + 1, &out->density) &&
                                    out->density > 0 && out->density <= 1);
}

static enum gw_status parse_choices(const char *text, double usual_density, struct mixture *out,
                                    struct gw_error *error) {
    for (const char *next = text; next != NULL;) {
        size_t length = strcspn(next, ",");
        char name[CHOICE_SIZE] = "";
        struct gw_way way = {0};
        if (length < sizeof name) {
            (void)snprintf(name, sizeof name, "%.*s", (int)length, next);
        }
        bool known = out->count < MOST_CHOICES && gw_choice_parse(name, usual_density, &way);
        for (size_t k = 0; k < out->count && known; k++) {
            known = !gw_ways_equal(&way, &out->ways[k]);
        }
        if (!known) {
            return gw_fail(error, GW_BAD_INPUT,
                           "choices: expected dense and names of gradweave list compressors, each "
                           "once and at most %d of them, such as dense,topk:0.01, with a density "
                           "for those that select; got \"%.*s\"",
                           MOST_CHOICES, (int)length, next);
        }
        memcpy(out->names[out->count], name, sizeof name);
        out->ways[out->count++] = way;
        next = next[length] == ',' ? next + length + 1 : NULL;
    }
    return GW_OK;
}

/* Fails unless a choice that selects takes the density that is asked for. */
static enum gw_status check_density(const struct mixture *choices, struct gw_error *error) {
    for (size_t k = 0; k < choices->count; k++) {
        if (gw_compressor_selects(choices->ways[k].compressor) &&
            strchr(choices->names[k], ':') == NULL) {
            return GW_OK;
        }
    }
    return gw_fail(error, GW_BAD_INPUT,
                   "--density: expected a choice without a density of its own beside it, such as "
                   "topk, got none");
}

/* Lists the ways of pipelines, each once, but for those with a server and those of which the
 * cluster has no curves; opens their costs. */
static enum gw_status list_ways(const struct gw_scenario *scenario,
                                const struct gw_mixed_request *request, struct mixture *out,
                                struct gw_error *error) {
    for (size_t i = 0; i < request->count && out->count < MOST_CHOICES; i++) {
        const struct gw_algorithm *algorithm = request->algorithms[i];
        struct gw_scenario asked = *scenario;
        asked.method = algorithm;
        if (request->learning != NULL) {
            asked.density =
                gw_learning_sent_density(request->learning, algorithm, scenario->density);
        }
        const struct gw_way way = {.compressor = algorithm->compressor,
                                   .exchange = algorithm->exchange,
                                   .density = gw_algorithm_selects(algorithm) ? asked.density : 1};
        bool known = way.exchange->server;
        for (size_t k = 0; k < out->count && !known; k++) {
            known = gw_ways_equal(&way, &out->ways[k]);
        }
        enum gw_status status =
            known ? GW_BAD_INPUT : gw_costs_open(&asked, &out->costs[out->count], error);
        if (status == GW_OK) {
            (void)snprintf(out->names[out->count], CHOICE_SIZE, "%s", algorithm->name);
            out->ways[out->count++] = way;
            out->opened++;
        } else if (status != GW_BAD_INPUT) {
            return status;
        }
    }
    return out->count > 0 ? GW_OK
                          : gw_fail(error, GW_BAD_INPUT,
                                    "expected a pipeline whose groups can travel in different "
                                    "ways, got none");
}

static enum gw_status open_costs(const struct gw_scenario *scenario, struct mixture *choices,
                                 struct gw_error *error) {
    for (; choices->opened < choices->count; choices->opened++) {
        const struct gw_way *way = &choices->ways[choices->opened];
        const struct gw_algorithm method = {.compressor = way->compressor,
                                            .exchange = way->exchange};
        struct gw_scenario asked = *scenario;
        asked.method = &method;
        asked.density = way->density;
        GW_TRY(gw_costs_open(&asked, &choices->costs[choices->opened], error));
    }
    return GW_OK;
}

/* Finds what each choice loses of each tensor. */
static enum gw_status lose_energy(const struct gw_model *model, const char *path,
                                  struct mixture *choices, struct gw_error *error) {
    struct gw_recorded_gradients recorded = {0};
    enum gw_status status =
        path == NULL ? GW_OK : gw_recorded_gradients_read(path, &recorded, error);
    for (size_t k = 0; k < choices->count && status == GW_OK; k++) {
        status = gw_energy_lost(model, &choices->ways[k], path == NULL ? NULL : &recorded,
                                choices->lost + k * model->tensor_count, error);
    }
    gw_recorded_gradients_free(&recorded);
    return status;
}

/* ---- plans --------------------------------------------------------------------------------- */

static enum gw_status note_derivations(const struct mixture *choices, struct gw_plan *plan,
                                       struct gw_error *error) {
    for (size_t k = 0; k < choices->count; k++) {
        for (size_t i = 0; i < GW_MAX_LEGS; i++) {
            const char *derivation = choices->costs[k].legs[i].derivation;
            bool noted = derivation[0] == '\0';
            for (size_t n = 0; n < plan->note_count && !noted; n++) {
                noted = strcmp(plan->notes[n], derivation) == 0;
            }
            GW_TRY(noted ? GW_OK : gw_plan_note(plan, derivation, error));
        }
    }
    return GW_OK;
}

static enum gw_status make_plan(const struct gw_scenario *scenario,
                                const struct gw_mixed_request *request, struct mixture *choices,
                                struct gw_plans *out, struct gw_error *error) {
    const struct gw_model *model = scenario->model;
    const char *names[MOST_CHOICES];
    struct gw_optimum optimum;
    if (request->choices != NULL) {
        GW_TRY(parse_choices(request->choices, scenario->density, choices, error));
        GW_TRY(request->has_density ? check_density(choices, error) : GW_OK);
        GW_TRY(open_costs(scenario, choices, error));
    } else {
        GW_TRY(list_ways(scenario, request, choices, error));
    }
    choices->lost =
        gw_arena_zeros(&out->arena, choices->count * model->tensor_count, sizeof *choices->lost);
    out->plans = gw_arena_zeros(&out->arena, 1, sizeof *out->plans);
    GW_TRY(gw_arena_check(&out->arena, "planning", error));
    GW_TRY(lose_energy(model, request->gradients, choices, error));
    const struct gw_mix mix = {.costs = choices->costs,
                               .count = choices->count,
                               .lost = choices->lost,
                               .most_lost = request->keep > 0 ? 1 - request->keep : INFINITY};
    for (size_t k = 0; k < choices->count; k++) {
        names[k] = choices->names[k];
    }
    GW_TRY(gw_planner_optimum(&mix, &optimum, error));
    enum gw_status status = gw_planner_plan_mixed(&mix, names, &optimum, out->plans, error);
    out->energy_kept = 1 - optimum.lost;
    out->energy_generated = request->gradients == NULL;
    gw_optimum_free(&optimum);
    GW_TRY(status);
    out->count = 1;
    return note_derivations(choices, out->plans, error);
}

enum gw_status gw_plans_make_mixed(const struct gw_scenario *scenario,
                                   const struct gw_mixed_request *request, struct gw_plans *out,
                                   struct gw_error *error) {
    struct mixture *choices = calloc(1, sizeof *choices);
    out->count = 0;
    if (choices == NULL) {
        return gw_fail_memory(error, "planning");
    }
    enum gw_status status = make_plan(scenario, request, choices, out, error);
    for (size_t k = 0; k < choices->opened; k++) {
        gw_costs_close(&choices->costs[k]);
    }
    free(choices);
    if (status == GW_OK && gw_scenario_counts_interference(scenario)) {
        const struct gw_algorithm mixed = gw_algorithm_mixed(out->plans);
        status = gw_plans_predict(scenario, &mixed, out, error);
    }
    return status;
}
