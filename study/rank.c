/* Predicts every pipeline that is compared and ranks those that can be predicted. */
#include <math.h>
#include <string.h>

#include "kernels/gradients/emulation.h"
#include "study/points.h"
#include "study/rank.h"

/* ---- pipelines that are compared ------------------------------------------------------------- */

double gw_comparison_alone_s(const struct gw_comparison *comparison) {
    return gw_model_alone_s(comparison->scenario->model);
}

bool gw_comparison_depends_on_data(const struct gw_comparison *comparison, const char *algorithm) {
    const struct gw_algorithm *preset = NULL;
    struct gw_algorithm changed;
    return gw_algorithm_find(algorithm, &preset, NULL) == GW_OK &&
           gw_algorithm_change(preset, &comparison->changes, &changed, NULL) == GW_OK &&
           gw_counts_depend_on_data(changed.compressor);
}

/* ---- ranking ------------------------------------------------------------------------------- */

/* Whether a result, and how long it trains, comes before the one in that place. */
static bool is_before(const struct gw_ranking *ranking, const struct gw_result *result,
                      const struct gw_to_goal *to_goal, size_t place) {
    if (ranking->to_goal != NULL && gw_to_goal_is_before(to_goal, &ranking->to_goal[place])) {
        return true;
    }
    bool is_behind =
        ranking->to_goal != NULL && gw_to_goal_is_before(&ranking->to_goal[place], to_goal);
    return !is_behind && result->iteration_s < ranking->results[place].iteration_s;
}

/* Inserts a result behind those that are as fast or faster, which keeps equals in their order. */
static void insert_result(const struct gw_result *result, struct gw_ranking *ranking) {
    const struct gw_comparison *comparison = ranking->comparison;
    struct gw_to_goal to_goal = {0};
    if (comparison->accuracy != NULL) {
        gw_to_goal_find(comparison->accuracy, comparison->scenario, result, &to_goal,
                        &ranking->notes);
    } else if (ranking->to_goal != NULL) {
        gw_to_goal_learn(comparison->learning, comparison->scenario, result, ranking->dense_s,
                         &ranking->learnt[ranking->count], &to_goal);
    }
    size_t place = ranking->count++;
    for (; place > 0 && is_before(ranking, result, &to_goal, place - 1); place--) {
        ranking->results[place] = ranking->results[place - 1];
        if (ranking->to_goal != NULL) {
            ranking->to_goal[place] = ranking->to_goal[place - 1];
        }
    }
    ranking->results[place] = *result;
    if (ranking->to_goal != NULL) {
        ranking->to_goal[place] = to_goal;
    }
}

/* Finds an iteration of `ddp`, without the comparison's changes. */
static enum gw_status find_dense(struct gw_ranking *ranking, struct gw_error *error) {
    const struct gw_algorithm *ddp = NULL;
    struct gw_prediction dense;
    GW_TRY(gw_algorithm_find("ddp", &ddp, error));
    gw_answer_scenario(ranking->comparison->scenario, ddp, (struct gw_prediction_options){0},
                       &dense);
    ranking->dense_s = dense.status == GW_OK ? dense.result.iteration_s : 0;
    return GW_OK;
}

static void sort_predictions(const struct gw_prediction *predictions, struct gw_ranking *ranking) {
    const struct gw_comparison *comparison = ranking->comparison;
    for (size_t i = 0; i < comparison->count; i++) {
        if (predictions[i].status == GW_OK) {
            insert_result(&predictions[i].result, ranking);
        } else {
            ranking->infeasible[ranking->infeasible_count++] = (struct gw_infeasible){
                .algorithm = comparison->algorithms[i]->name, .why = predictions[i].why};
        }
    }
}

double gw_ranking_seconds(const struct gw_ranking *ranking, size_t place) {
    return ranking->to_goal == NULL ? ranking->results[place].iteration_s
                                    : ranking->to_goal[place].seconds;
}

bool gw_ranking_is_rival(const struct gw_ranking *ranking, size_t place) {
    const struct gw_result *results = ranking->results;
    const struct gw_to_goal *to_goal = ranking->to_goal;
    if (place < ranking->equal_count || !isfinite(gw_ranking_seconds(ranking, place))) {
        return false;
    }
    return to_goal == NULL ? gw_results_meet(results, &results[place])
                           : gw_trainings_meet(results, to_goal->trainings, &results[place],
                                               to_goal[place].trainings);
}

/* Fails if no pipeline reaches the goal; says it if trainings were of other models. */
static enum gw_status check_trainings(const struct gw_comparison *comparison,
                                      struct gw_ranking *ranking, struct gw_error *error) {
    const struct gw_accuracy *accuracy = comparison->accuracy;
    const char *model = comparison->scenario->model->name;
    if (!isfinite(ranking->to_goal[0].seconds)) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: expected a pipeline that is compared to reach the goal at density %g, "
                       "got none",
                       accuracy == NULL ? "trainings" : accuracy->path,
                       comparison->scenario->density);
    }
    if (accuracy == NULL) {
        gw_result_note(&ranking->notes,
                       "iterations to the goal are those of other networks, in the median: ranges "
                       "are those of their trainings, without an upper end where a run never got "
                       "there");
        gw_result_note(&ranking->notes,
                       ranking->dense_s > 0
                           ? "the time to the goal includes, for the share of runs that never got "
                             "there, a training by ddp"
                           : "ddp cannot be predicted: runs that never got to the goal are not "
                             "repeated in these times");
    } else if (strcmp(accuracy->model, model) != 0) {
        char note[GW_RESULT_NOTE_SIZE];
        (void)snprintf(note, sizeof note,
                       "iterations to the goal are those of model %.100s: %.100s may need others",
                       accuracy->model, model);
        gw_result_warn(&ranking->notes, note);
    }
    return GW_OK;
}

enum gw_status gw_rank(const struct gw_comparison *comparison, struct gw_ranking *out,
                       struct gw_error *error) {
    *out = (struct gw_ranking){.comparison = comparison};
    struct gw_arena *arena = &out->arena;
    out->results = gw_arena_zeros(arena, comparison->count, sizeof *out->results);
    out->infeasible = gw_arena_zeros(arena, comparison->count, sizeof *out->infeasible);
    if (comparison->accuracy != NULL || comparison->by_learning) {
        out->to_goal = gw_arena_zeros(arena, comparison->count, sizeof *out->to_goal);
        out->learnt = gw_arena_zeros(arena, comparison->count, sizeof *out->learnt);
    }
    struct gw_prediction *predictions =
        gw_arena_zeros(arena, comparison->count, sizeof *predictions);
    GW_TRY(gw_arena_check(arena, "comparing", error));
    GW_TRY(gw_answer_points(comparison, comparison->scenario, 1, predictions, error));
    gw_result_note(&out->notes, comparison->note);
    GW_TRY(comparison->by_learning ? find_dense(out, error) : GW_OK);
    sort_predictions(predictions, out);
    if (out->count == 0) {
        const struct gw_infeasible *first = &out->infeasible[0];
        return out->infeasible_count == 1
                   ? gw_fail(error, GW_BAD_INPUT, "%s", first->why.message)
                   : gw_fail(
                         error, GW_BAD_INPUT,
                         "expected a pipeline that can be predicted, got none of %zu; %s: %.400s",
                         out->infeasible_count, first->algorithm, first->why.message);
    }
    GW_TRY(out->to_goal == NULL ? GW_OK : check_trainings(comparison, out, error));
    double equal_s = gw_ranking_seconds(out, 0) * (1 + GW_COMPARE_SAME);
    while (out->equal_count < out->count && gw_ranking_seconds(out, out->equal_count) <= equal_s) {
        out->equal_count++;
    }
    for (size_t i = 0; i < out->count; i++) {
        out->rival_count += gw_ranking_is_rival(out, i);
    }
    const struct gw_mixed_request ways = {.algorithms = comparison->algorithms,
                                          .count = comparison->count,
                                          .learning =
                                              comparison->trained ? NULL : comparison->learning};
    return comparison->mixed ? gw_plans_make_mixed(comparison->scenario, &ways, &out->mixed, error)
                             : GW_OK;
}

double gw_ranking_above_mixed(const struct gw_ranking *ranking, size_t place) {
    const struct gw_plans *mixed = &ranking->mixed;
    double mixed_s =
        mixed->interfered_s != NULL ? mixed->interfered_s[0] : mixed->plans[0].iteration_s;
    return ranking->results[place].iteration_s / mixed_s - 1;
}

void gw_ranking_free(struct gw_ranking *ranking) {
    gw_plans_free(&ranking->mixed);
    gw_arena_free(&ranking->arena);
}
