/* Mixed plans: merges and ways to travel, planned together. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/energy.h"
#include "study/plans.h"
#include "study/predict.h"

enum { MOST_CHOICES = 32, CHOICE_SIZE = 40 };

/* Choices of ways, with their costs and what they lose. */
struct mixture {
    size_t count;
    struct gw_way ways[MOST_CHOICES]; /* as asked; those of the costs send as in trainings */
    const char *names[MOST_CHOICES];
    char texts[MOST_CHOICES][CHOICE_SIZE];
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
    if (out->exchange == NULL || out->exchange->server || (whole && text[length] == ':')) {
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
                           "--choices: expected dense and names of gradweave list compressors that "
                           "need no server, each once and at most %d of them, such as "
                           "dense,topk:0.01, with a density above 0 and at most 1 for those that "
                           "select; got \"%.*s\"",
                           MOST_CHOICES, (int)length, next);
        }
        memcpy(out->texts[out->count], name, sizeof name);
        out->names[out->count] = out->texts[out->count];
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
            asked.sent_density =
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
            out->names[out->count] = algorithm->name;
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

/* The density at which a choice sends in trainings of the first pipeline with its compressor; 0: as
 * asked. */
static double sent_density(const struct gw_learning *learning, const struct gw_way *way) {
    const struct gw_algorithm *algorithm = gw_algorithms;
    while (algorithm->name != NULL && algorithm->compressor != way->compressor) {
        algorithm++;
    }
    return algorithm->name == NULL ? 0
                                   : gw_learning_sent_density(learning, algorithm, way->density);
}

static enum gw_status open_costs(const struct gw_scenario *scenario, struct mixture *choices,
                                 struct gw_error *error) {
    struct gw_learning learning;
    GW_TRY(gw_learning_open(NULL, &learning, error));
    enum gw_status status = GW_OK;
    while (choices->opened < choices->count && status == GW_OK) {
        const struct gw_way *way = &choices->ways[choices->opened];
        const struct gw_algorithm method = {.compressor = way->compressor,
                                            .exchange = way->exchange};
        struct gw_scenario asked = *scenario;
        asked.method = &method;
        asked.density = way->density;
        asked.sent_density = sent_density(&learning, way);
        status = gw_costs_open(&asked, &choices->costs[choices->opened], error);
        choices->opened += status == GW_OK;
    }
    gw_learning_close(&learning);
    return status;
}

/* Finds what each choice loses of each tensor, of as many elements as it sends. */
static enum gw_status lose_energy(const struct gw_model *model, const char *path,
                                  struct mixture *choices, struct gw_error *error) {
    struct gw_recorded_gradients recorded = {0};
    enum gw_status status =
        path == NULL ? GW_OK : gw_recorded_gradients_read(path, &recorded, error);
    for (size_t k = 0; k < choices->count && status == GW_OK; k++) {
        status = gw_energy_lost(model, &choices->costs[k].way, path == NULL ? NULL : &recorded,
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

/* Notes choices of which trainings say that they select another number than is asked for. */
static enum gw_status note_counts(const struct mixture *choices, struct gw_plan *plan,
                                  struct gw_error *error) {
    for (size_t k = 0; k < choices->count; k++) {
        const struct gw_way *way = &choices->costs[k].way;
        char note[GW_RESULT_NOTE_SIZE];
        (void)snprintf(note, sizeof note,
                       "%s: counted as in trainings, where it selects %.3g times what is asked",
                       choices->names[k], gw_way_sent_density(way) / way->density);
        GW_TRY(way->sent_density > 0 ? gw_plan_note(plan, note, error) : GW_OK);
    }
    return GW_OK;
}

/* ---- with interference --------------------------------------------------------------------- */

/* Most plans that are simulated for each choice, in all. */
enum { MOST_TRIALS = 200 };

/* Search for marks (struct gw_optimum) of a plan whose simulated iteration is short. */
struct descent {
    const struct gw_scenario *scenario;
    const struct gw_mix *mix;
    const char *const *names;
    size_t *best, *trial; /* [tensors] */
    double best_s, best_lost;
    bool splits;   /* groups are tried in parts */
    bool improved; /* in this pass over all tensors */
    size_t trials;
};

static enum gw_status simulate_marks(const struct descent *x, size_t *marks, double *out,
                                     struct gw_error *error) {
    const struct gw_optimum trial = {.marks = marks};
    struct gw_plan plan;
    GW_TRY(gw_planner_plan_mixed(x->mix, x->names, &trial, &plan, error));
    const struct gw_algorithm mixed = gw_algorithm_mixed(&plan);
    enum gw_status status = gw_plan_predict(x->scenario, &mixed, &plan, out, error);
    gw_plan_free(&plan);
    return status;
}

/* Takes the trial for the best plan if it loses no more than it may, and takes less time, or the
 * same and loses less; more groups must save a thousandth. */
static enum gw_status try_marks(struct descent *x, struct gw_error *error) {
    double lost = gw_marks_lost(x->mix, x->trial);
    double trial_s = 0;
    if (lost > x->mix->most_lost || x->trials == MOST_TRIALS * x->mix->count) {
        return GW_OK;
    }
    x->trials++;
    GW_TRY(simulate_marks(x, x->trial, &trial_s, error));
    bool is_shorter = trial_s < x->best_s * (1 - (x->splits ? 1e-3 : 1e-9));
    if (is_shorter || (!x->splits && trial_s <= x->best_s && lost < x->best_lost)) {
        x->best_s = trial_s;
        x->best_lost = lost;
        x->improved = true;
        memcpy(x->best, x->trial, x->mix->costs->model->tensor_count * sizeof *x->best);
    }
    return GW_OK;
}

/* Tries the plans of all policies for a choice alone. */
static enum gw_status try_policies(struct descent *x, size_t choice, struct gw_error *error) {
    for (size_t i = 0; gw_policies[i].name != NULL; i++) {
        struct gw_plan plan;
        char text[GW_POLICY_TEXT_SIZE];
        gw_policy_text(&gw_policies[i], gw_policies[i].default_argument, text);
        GW_TRY(gw_planner_plan_beside(&x->mix->costs[choice], text, NULL, &plan, error));
        memset(x->trial, 0, x->mix->costs->model->tensor_count * sizeof *x->trial);
        for (size_t g = 0; g < plan.group_count; g++) {
            x->trial[plan.groups[g].last] = 1 + choice;
        }
        gw_plan_free(&plan);
        GW_TRY(try_marks(x, error));
    }
    return GW_OK;
}

/* Changes the mark of a tensor in the best plan: 0 unites its group with the next one. */
static enum gw_status try_mark(struct descent *x, size_t tensor, size_t mark,
                               struct gw_error *error) {
    memcpy(x->trial, x->best, x->mix->costs->model->tensor_count * sizeof *x->trial);
    x->trial[tensor] = mark;
    return mark == x->best[tensor] ? GW_OK : try_marks(x, error);
}

/* Improves the marks tensor by tensor until no change helps, or enough plans were tried: groups
 * travel by another choice or together with the next one, or where they are split end there too. */
static enum gw_status improve_marks(struct descent *x, struct gw_error *error) {
    do {
        x->improved = false;
        for (size_t tensor = x->mix->costs->model->tensor_count; tensor-- > 0;) {
            for (size_t mark = tensor == 0; mark <= x->mix->count; mark++) {
                bool may_end = x->splits || x->best[tensor] > 0;
                GW_TRY(may_end ? try_mark(x, tensor, mark, error) : GW_OK);
            }
        }
    } while (x->improved);
    return GW_OK;
}

/*
 * Replaces the optimum's marks by those of a plan that takes less time with interference, which the
 * proof leaves out, if one is found: begins with the optimum and with the plans of all
 * policies for each choice alone. *note says what the optimum takes with it.
 */
static enum gw_status count_interference(struct descent *x, struct gw_optimum *optimum,
                                         struct gw_arena *arena, char note[GW_RESULT_NOTE_SIZE],
                                         struct gw_error *error) {
    size_t tensors = x->mix->costs->model->tensor_count;
    x->best = optimum->marks;
    x->best_lost = optimum->lost;
    x->trial = gw_arena_zeros(arena, tensors, sizeof *x->trial);
    GW_TRY(gw_arena_check(arena, "planning", error));
    GW_TRY(simulate_marks(x, x->best, &x->best_s, error));
    double optimum_s = x->best_s;
    for (size_t k = 0; k < x->mix->count; k++) {
        GW_TRY(try_policies(x, k, error));
    }
    GW_TRY(improve_marks(x, error));
    x->splits = true;
    GW_TRY(improve_marks(x, error));
    optimum->lost = x->best_lost;
    note[0] = '\0';
    if (x->best_s < optimum_s) {
        (void)snprintf(note, GW_RESULT_NOTE_SIZE,
                       "the best of %zu plans simulated with interference; the fastest plan "
                       "without it, %s, takes %s with it",
                       x->trials + 1, GW_SECONDS(optimum->iteration_s), GW_SECONDS(optimum_s));
    }
    return GW_OK;
}

/* ---- a plan -------------------------------------------------------------------------------- */

static enum gw_status open_choices(const struct gw_scenario *scenario,
                                   const struct gw_mixed_request *request, struct mixture *choices,
                                   struct gw_plans *out, struct gw_error *error) {
    if (request->choices != NULL) {
        GW_TRY(parse_choices(request->choices, scenario->density, choices, error));
        GW_TRY(request->has_density ? check_density(choices, error) : GW_OK);
        GW_TRY(open_costs(scenario, choices, error));
    } else {
        GW_TRY(list_ways(scenario, request, choices, error));
    }
    choices->lost = gw_arena_zeros(&out->arena, choices->count * scenario->model->tensor_count,
                                   sizeof *choices->lost);
    out->plans = gw_arena_zeros(&out->arena, 1, sizeof *out->plans);
    GW_TRY(gw_arena_check(&out->arena, "planning", error));
    return lose_energy(scenario->model, request->gradients, choices, error);
}

static enum gw_status make_plan(const struct gw_scenario *scenario,
                                const struct gw_mixed_request *request, struct mixture *choices,
                                struct gw_plans *out, struct gw_error *error) {
    char note[GW_RESULT_NOTE_SIZE] = "";
    struct gw_optimum optimum;
    GW_TRY(open_choices(scenario, request, choices, out, error));
    const struct gw_mix mix = {.costs = choices->costs,
                               .count = choices->count,
                               .lost = choices->lost,
                               .most_lost = request->keep > 0 ? 1 - request->keep : INFINITY};
    GW_TRY(gw_planner_optimum(&mix, &optimum, error));
    bool interferes = gw_scenario_counts_interference(scenario);
    struct descent descent = {.scenario = scenario, .mix = &mix, .names = choices->names};
    enum gw_status status =
        interferes ? count_interference(&descent, &optimum, &out->arena, note, error) : GW_OK;
    status = status == GW_OK
                 ? gw_planner_plan_mixed(&mix, choices->names, &optimum, out->plans, error)
                 : status;
    out->energy_kept = 1 - optimum.lost;
    out->energy_generated = request->gradients == NULL;
    gw_optimum_free(&optimum);
    GW_TRY(status);
    out->count = 1;
    const struct gw_algorithm mixed = gw_algorithm_mixed(out->plans);
    GW_TRY(interferes ? gw_plans_predict(scenario, &mixed, out, error) : GW_OK);
    GW_TRY(note[0] == '\0' ? GW_OK : gw_plan_note(out->plans, note, error));
    GW_TRY(request->choices == NULL ? GW_OK : note_counts(choices, out->plans, error));
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
    return status;
}
