#include "study/advice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/buckets.h"
#include "study/energy.h"
#include "study/plans.h"
#include "study/points.h"
#include "study/predict.h"
#include "study/rank.h"
#include "study/scenario.h"

/* ---- energy ---------------------------------------------------------------------------------- */

static enum gw_status find_each_energy(struct gw_advice *advice, struct gw_error *error) {
    double density = advice->scenario->density;
    double topk_energy = 0;
    GW_TRY(gw_energy_kept(&gw_compressor_topk, density, &topk_energy, error));
    advice->least_energy = topk_energy / 2;
    for (size_t i = 0; i < advice->ranking.count; i++) {
        const struct gw_compressor *compressor = gw_advice_algorithm(advice, i)->compressor;
        size_t same = 0; /* the first place by this compressor */
        while (gw_advice_algorithm(advice, same)->compressor != compressor) {
            same++;
        }
        if (same < i) {
            advice->energy[i] = advice->energy[same];
        } else {
            GW_TRY(gw_energy_kept(compressor, density, &advice->energy[i], error));
        }
    }
    return GW_OK;
}

/* ---- the verdict ----------------------------------------------------------------------------- */

enum gw_objection gw_advice_objection(const struct gw_advice *advice, size_t place) {
    const struct gw_iterations_factor *iterations = &advice->iterations[place];
    return advice->energy[place] < advice->least_energy ? GW_LITTLE_ENERGY
           : advice->by_iteration                       ? GW_NO_OBJECTION
           : isnan(iterations->median)                  ? GW_NEVER_TRAINED
           : isinf(iterations->median)                  ? GW_FEW_LEARNT
                                                        : GW_NO_OBJECTION;
}

/* Expected seconds of training for each iteration that dense exchange needs; if iterations are the
 * goal, of an iteration. */
static double expected_s(const struct gw_advice *advice, size_t place) {
    const struct gw_result *results = advice->ranking.results;
    double iteration_s = results[place].iteration_s;
    return advice->by_iteration ? iteration_s
                                : gw_learning_expected_s(&advice->iterations[place], iteration_s,
                                                         results[advice->usual].iteration_s);
}

/* Whether what is learnt is not changed. */
static bool costs_nothing(const struct gw_advice *advice, size_t place) {
    const struct gw_algorithm *algorithm = gw_advice_algorithm(advice, place);
    return !gw_algorithm_compresses(algorithm) || gw_learns_as_dense(algorithm->compressor);
}

static const double no_difference = 1.02;

/* The first's time over the second's, with its 95% interval; NAN: unknown. */
static struct gw_estimate find_ratio(const struct gw_result *first,
                                     const struct gw_result *second) {
    struct gw_estimate ratio = {.value = first->iteration_s / second->iteration_s};
    gw_results_ratio(first, second, &ratio.low, &ratio.high);
    if (first->uncertainty_count == 0 || second->uncertainty_count == 0) {
        ratio.low = ratio.high = NAN; /* curves without uncertainties */
    }
    return ratio;
}

/* Finds DistributedDataParallel as it is, or the fastest dense pipeline where that cannot be
 * predicted; ranking.count: there is none. */
static size_t find_usual(const struct gw_advice *advice) {
    size_t usual = advice->ranking.count;
    for (size_t i = advice->ranking.count; i-- > 0;) {
        const struct gw_result *result = &advice->ranking.results[i];
        if (strcmp(result->algorithm, "ddp") == 0 && result->policy == NULL) {
            return i;
        }
        usual = gw_algorithm_compresses(gw_advice_algorithm(advice, i)) ? usual : i;
    }
    return usual;
}

/* Whether training is sooner than by default, as gw_recommendation.holds says. */
static bool holds(const struct gw_advice *advice, size_t place) {
    const struct gw_result *usual = &advice->ranking.results[advice->usual];
    const struct gw_result *result = &advice->ranking.results[place];
    struct gw_estimate gain = find_ratio(usual, result);
    double needed = advice->by_iteration ? 1 : gw_learning_break_even(&advice->iterations[place]);
    if (result->policy == NULL) { /* gw_advise_buckets has counted that of a plan's buckets */
        needed *= (1 + (double)result->groups * gw_bucket_besides_s / result->iteration_s) /
                  (1 + (double)usual->groups * gw_bucket_besides_s / usual->iteration_s);
    }
    return gain.value > no_difference * needed && !(gain.low <= needed);
}

/* Chooses the fastest dense pipeline whose gain holds, or the default, and the compressed one that
 * trains soonest of those that may be recommended, or else the fastest that keeps enough energy. */
static void choose_pipelines(struct gw_advice *advice) {
    size_t count = advice->ranking.count;
    size_t enough = count;
    advice->usual = advice->dense = find_usual(advice);
    advice->compressed = count;
    for (size_t i = advice->usual == count ? 0 : count; i-- > 0;) {
        enum gw_objection objection = gw_advice_objection(advice, i);
        if (!gw_algorithm_compresses(gw_advice_algorithm(advice, i))) {
            advice->dense = holds(advice, i) ? i : advice->dense;
        } else if (objection == GW_NO_OBJECTION &&
                   (advice->compressed == count ||
                    expected_s(advice, i) <= expected_s(advice, advice->compressed))) {
            advice->compressed = i;
        } else if (objection != GW_LITTLE_ENERGY && objection != GW_NO_OBJECTION) {
            enough = i;
        }
    }
    advice->compressed = advice->compressed == count ? enough : advice->compressed;
}

static struct gw_recommendation make_recommendation(const struct gw_advice *advice, size_t place) {
    const struct gw_result *results = advice->ranking.results;
    return (struct gw_recommendation){.place = place,
                                      .result = &results[place],
                                      .speedup =
                                          find_ratio(&results[advice->dense], &results[place]),
                                      .iterations = advice->iterations[place],
                                      .expected_s = expected_s(advice, place),
                                      .holds = holds(advice, place)};
}

static void list_recommendations(struct gw_advice *advice) {
    struct gw_recommendation *all = advice->recommendations;
    for (size_t i = 0; i < advice->ranking.count; i++) {
        if (gw_advice_objection(advice, i) == GW_NO_OBJECTION) {
            struct gw_recommendation one = make_recommendation(advice, i);
            size_t place = advice->recommendation_count++;
            for (; place > 0 && one.expected_s < all[place - 1].expected_s; place--) {
                all[place] = all[place - 1];
            }
            all[place] = one;
        }
    }
}

static void find_tiers(struct gw_advice *advice) {
    for (size_t i = advice->recommendation_count; i-- > 0;) {
        const struct gw_recommendation *one = &advice->recommendations[i];
        if (!costs_nothing(advice, one->place)) {
            advice->tiers[GW_SOONEST_COMPRESSED] = *one;
        } else if (one->holds || one->place == advice->dense) {
            advice->tiers[GW_COSTS_NOTHING] = *one;
        }
    }
    for (size_t i = advice->ranking.count; i-- > 0;) {
        if (!costs_nothing(advice, i) && gw_advice_objection(advice, i) != GW_LITTLE_ENERGY) {
            advice->tiers[GW_FASTEST_ITERATION] = make_recommendation(advice, i);
        }
    }
}

/* Risks of training by a pipeline. */
enum risk { NO_RISK, REACHED_ALL_GOALS, ANY_RISK };

static enum risk find_risk(const struct gw_advice *advice, const struct gw_recommendation *one) {
    return costs_nothing(advice, one->place) ? NO_RISK
           : one->iterations.failed == 0     ? REACHED_ALL_GOALS
                                             : ANY_RISK;
}

/* Finds the soonest whose gain holds of those with no higher risk, or else the default. */
static const struct gw_recommendation *find_holding(const struct gw_advice *advice,
                                                    enum risk highest) {
    const struct gw_recommendation *usual = NULL;
    for (size_t i = 0; i < advice->recommendation_count; i++) {
        const struct gw_recommendation *one = &advice->recommendations[i];
        if (one->holds && find_risk(advice, one) <= highest) {
            return one;
        }
        usual = one->place == advice->usual ? one : usual;
    }
    return usual;
}

/* Whether training by the first is expected to be done sooner in 95% of cases. */
static bool is_surely_sooner(const struct gw_recommendation *first,
                             const struct gw_recommendation *second) {
    struct gw_estimate ratio = find_ratio(second->result, first->result);
    return !(ratio.low / ratio.value * second->expected_s <= first->expected_s);
}

static void judge_advice(struct gw_advice *advice) {
    const struct gw_ranking *ranking = &advice->ranking;
    advice->speedup =
        find_ratio(&ranking->results[advice->dense], &ranking->results[advice->compressed]);
    const struct gw_estimate *speedup = &advice->speedup;
    bool same = speedup->low > 1 / no_difference && speedup->high < no_difference;
    advice->verdict = same                ? GW_NO_DIFFERENCE
                      : speedup->low > 1  ? GW_FASTER
                      : speedup->high < 1 ? GW_SLOWER
                                          : GW_CANT_TELL;
    /* The first of the list whose gain holds, unless one whose trainings all reached their goals
     * may be as soon, or one that costs nothing is. */
    advice->chosen = find_holding(advice, ANY_RISK);
    const struct gw_recommendation *reliable = find_holding(advice, REACHED_ALL_GOALS);
    if (!is_surely_sooner(advice->chosen, reliable)) {
        advice->chosen = reliable;
    }
    const struct gw_recommendation *costless = find_holding(advice, NO_RISK);
    if (costless->expected_s < no_difference * advice->chosen->expected_s) {
        advice->chosen = costless;
    }
    find_tiers(advice);
}

/* Finds how many more samples a second DistributedDataParallel trains if it accumulates gradients
 * over some more micro-batches. */
static enum gw_status predict_accumulation(struct gw_advice *advice, struct gw_error *error) {
    enum { TIMES = 4 };
    const struct gw_prediction_options options = {0};
    struct gw_model model = *advice->scenario->model;
    struct gw_scenario scenario = *advice->scenario;
    struct gw_result own;
    struct gw_result accumulated;
    model.micro_batches = TIMES * (model.micro_batches > 1 ? model.micro_batches : 1);
    scenario.model = &model;
    GW_TRY(gw_predict(advice->scenario, &advice->planned_ddp, &options, &own, error));
    GW_TRY(gw_predict(&scenario, &advice->planned_ddp, &options, &accumulated, error));
    advice->micro_batches = model.micro_batches;
    advice->accumulated = TIMES * own.iteration_s / accumulated.iteration_s;
    return GW_OK;
}

/* ---- bandwidth at which both take as long ---------------------------------------------------- */

enum { HALVINGS = 20 };
static const double most_bandwidth = 1000;

/* Logarithm of the compressed pipeline's time over the dense one's, with `factor` times the
 * bandwidth. */
static enum gw_status find_lead(const struct gw_advice *advice, double factor, double *out,
                                struct gw_error *error) {
    const struct gw_algorithm *const pair[] = {gw_advice_algorithm(advice, advice->dense),
                                               gw_advice_algorithm(advice, advice->compressed)};
    const struct gw_comparison comparison = {
        .algorithms = pair, .count = 2, .learning = advice->ranking.comparison->learning};
    struct gw_prediction found[2];
    struct gw_scenario scenario = *advice->scenario;
    scenario.bandwidth = factor;
    GW_TRY(gw_answer_points(&comparison, &scenario, 1, found, error));
    for (int i = 0; i < 2; i++) {
        if (found[i].status != GW_OK) {
            return gw_fail(error, found[i].status, "%s", found[i].why.message);
        }
    }
    *out = log(found[1].result.iteration_s / found[0].result.iteration_s);
    return GW_OK;
}

static enum gw_status find_even_bandwidth(struct gw_advice *advice, struct gw_error *error) {
    bool leads = advice->speedup.value > 1;
    double near = 1;
    double far = leads ? most_bandwidth : 1 / most_bandwidth;
    double lead = 0;
    advice->even_bandwidth = NAN;
    GW_TRY(find_lead(advice, far, &lead, error));
    if ((lead < 0) == leads) {
        return GW_OK;
    }
    for (int i = 0; i < HALVINGS; i++) {
        double middle = sqrt(near * far);
        GW_TRY(find_lead(advice, middle, &lead, error));
        *((lead < 0) == leads ? &near : &far) = middle;
    }
    advice->even_bandwidth = sqrt(near * far);
    return GW_OK;
}

/* ---- the recommendation ---------------------------------------------------------------------- */

/* The part of an iteration's interval that one uncertainty makes up, in seconds. */
static double uncertainty_width_s(const struct gw_result_uncertainty *uncertainty) {
    return fabs(uncertainty->high_s - uncertainty->low_s);
}

static void find_widest(struct gw_advice *advice) {
    const struct gw_result *chosen = advice->chosen->result;
    for (size_t i = 0; i < chosen->uncertainty_count; i++) {
        const struct gw_result_uncertainty *one = &chosen->uncertainties[i];
        if (advice->widest == NULL ||
            uncertainty_width_s(one) > uncertainty_width_s(advice->widest)) {
            advice->widest = one;
        }
    }
}

/* ---- measurements ---------------------------------------------------------------------------- */

bool gw_advice_is_measured_by(const struct gw_advice *advice,
                              const struct gw_validation_document *measured) {
    const struct gw_scenario *scenario = advice->scenario;
    return strcmp(measured->model, scenario->model->name) == 0 && measured->cluster != NULL &&
           strcmp(measured->cluster, scenario->cluster->name) == 0 &&
           measured->workers == scenario->workers &&
           fabs(measured->density - scenario->density) <= 1e-9 * scenario->density;
}

static bool is_same(const char *a, const char *b) {
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

size_t gw_advice_find(const struct gw_advice *advice, const struct gw_validated *measured) {
    const struct gw_result *results = advice->ranking.results;
    size_t place = 0;
    while (place < advice->ranking.count &&
           !(strcmp(results[place].algorithm, measured->algorithm) == 0 &&
             is_same(results[place].policy, measured->policy) &&
             is_same(results[place].compressor, measured->compressor) &&
             is_same(results[place].exchange, measured->exchange))) {
        place++;
    }
    return place;
}

static void find_first(const struct gw_advice *advice,
                       const struct gw_validation_document *measured, struct gw_measurements *out) {
    *out = (struct gw_measurements){
        .first_s = INFINITY, .predicted = advice->chosen->place, .predicted_s = NAN};
    for (size_t i = 0; i < measured->count; i++) {
        size_t place = gw_advice_find(advice, &measured->results[i]);
        double iteration_s = measured->results[i].measured.iteration_s;
        if (place == advice->ranking.count ||
            gw_advice_objection(advice, place) != GW_NO_OBJECTION) {
            continue;
        }
        out->count++;
        if (iteration_s < out->first_s) {
            out->first = place;
            out->first_s = iteration_s;
        }
        out->predicted_s = place == out->predicted ? iteration_s : out->predicted_s;
    }
}

void gw_advice_keep_measured(struct gw_advice *advice,
                             const struct gw_validation_document *measured) {
    struct gw_measurements *found = &advice->measurements;
    if (gw_advice_is_measured_by(advice, measured)) {
        find_first(advice, measured, found);
        found->is_told_apart =
            found->count > 0 &&
            !gw_results_meet(advice->chosen->result, &advice->ranking.results[found->first]);
    }
}

/* ---- advising -------------------------------------------------------------------------------- */

/* Lists all presets, after DDP by the optimal plan if that holds. */
static enum gw_status list_algorithms(struct gw_advice *advice,
                                      const struct gw_algorithm *const **out, size_t *count,
                                      struct gw_error *error) {
    const struct gw_algorithm **presets = NULL;
    const struct gw_algorithm *ddp = NULL;
    GW_TRY(gw_algorithms_parse("all", &advice->arena, &presets, count, error));
    GW_TRY(gw_algorithm_find("ddp", &ddp, error));
    GW_TRY(gw_algorithm_change(ddp, &(struct gw_choice_changes){.policy = "optimal"},
                               &advice->planned_ddp, error));
    GW_TRY(gw_advise_buckets(advice, error));
    if (!advice->buckets_hold) {
        advice->planned_ddp = *ddp;
        *out = presets;
        return GW_OK;
    }
    const struct gw_algorithm **all = gw_arena_zeros(&advice->arena, *count + 1, sizeof *all);
    GW_TRY(gw_arena_check(&advice->arena, "advising", error));
    all[0] = &advice->planned_ddp;
    memcpy(all + 1, presets, *count * sizeof *all);
    *out = all;
    ++*count;
    return GW_OK;
}

static enum gw_status rank_answers(struct gw_advice *advice, struct gw_error *error) {
    struct gw_comparison *comparison = gw_arena_zeros(&advice->arena, 1, sizeof *comparison);
    GW_TRY(gw_arena_check(&advice->arena, "advising", error));
    *comparison =
        (struct gw_comparison){.scenario = advice->scenario,
                               .intervals = true,
                               .learning = advice->by_iteration ? NULL : &advice->learning};
    GW_TRY(list_algorithms(advice, &comparison->algorithms, &comparison->count, error));
    GW_TRY(gw_rank(comparison, &advice->ranking, error));
    size_t count = advice->ranking.count;
    advice->energy = gw_arena_zeros(&advice->arena, count, sizeof *advice->energy);
    advice->iterations = gw_arena_zeros(&advice->arena, count, sizeof *advice->iterations);
    advice->scenarios = gw_arena_zeros(&advice->arena, count, sizeof *advice->scenarios);
    advice->recommendations =
        gw_arena_zeros(&advice->arena, count, sizeof *advice->recommendations);
    return gw_arena_check(&advice->arena, "advising", error);
}

const struct gw_algorithm *gw_advice_algorithm(const struct gw_advice *advice, size_t place) {
    const struct gw_result *result = &advice->ranking.results[place];
    const struct gw_algorithm *preset = NULL;
    return result->policy == NULL && gw_algorithm_find(result->algorithm, &preset, NULL) == GW_OK
               ? preset
               : &advice->planned_ddp;
}

static enum gw_status weigh_answers(struct gw_advice *advice, struct gw_error *error) {
    GW_TRY(rank_answers(advice, error));
    GW_TRY(find_each_energy(advice, error));
    for (size_t i = 0; i < advice->ranking.count; i++) {
        const struct gw_algorithm *algorithm = gw_advice_algorithm(advice, i);
        (void)gw_learning_find(&advice->learning, algorithm, advice->scenario->density,
                               &advice->iterations[i]);
        advice->scenarios[i] = *advice->scenario;
        if (!advice->by_iteration) {
            advice->scenarios[i].sent_density =
                gw_learning_sent_density(&advice->learning, algorithm, advice->scenario->density);
        }
    }
    choose_pipelines(advice);
    if (advice->dense == advice->ranking.count || advice->compressed == advice->ranking.count) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: expected a cluster on which pipelines with and without compression can "
                       "be predicted (gradweave check says which)",
                       advice->scenario->cluster->name);
    }
    list_recommendations(advice);
    judge_advice(advice);
    GW_TRY(predict_accumulation(advice, error));
    GW_TRY(find_even_bandwidth(advice, error));
    const struct gw_algorithm *algorithm = gw_advice_algorithm(advice, advice->chosen->place);
    const struct gw_scenario *scenario = &advice->scenarios[advice->chosen->place];
    GW_TRY(gw_pipeline_open(scenario, algorithm, NULL, &advice->pipeline, error));
    GW_TRY(gw_explain(scenario, advice->pipeline.plan, algorithm->exchange->name, &advice->arena,
                      &advice->explanation, error));
    find_widest(advice);
    return GW_OK;
}

enum gw_status gw_advise(const struct gw_scenario *scenario,
                         const struct gw_advice_options *options, struct gw_advice *out,
                         struct gw_error *error) {
    const struct gw_advice_options usual = {0};
    options = options == NULL ? &usual : options;
    *out = (struct gw_advice){.scenario = scenario, .by_iteration = options->by_iteration};
    (void)snprintf(out->warning, sizeof out->warning, "%s",
                   options->warning == NULL ? "" : options->warning);
    GW_TRY(gw_learning_open(options->learning, &out->learning, error));
    return weigh_answers(out, error);
}

/* Lowers *soonest to the recommended pipeline's time at that density, and then keeps the density;
 * of densities that are equally good the last. */
static enum gw_status try_density(const struct gw_scenario *scenario,
                                  const struct gw_advice_options *options, double density,
                                  double *soonest, double *best, struct gw_error *error) {
    struct gw_scenario tried = *scenario;
    struct gw_advice advice;
    tried.density = density;
    enum gw_status status = gw_advise(&tried, options, &advice, error);
    if (status == GW_OK) {
        *best = advice.chosen->expected_s <= *soonest ? density : *best;
        *soonest = fmin(advice.chosen->expected_s, *soonest);
    }
    gw_advice_free(&advice);
    return status;
}

enum gw_status gw_advise_density(struct gw_scenario *scenario,
                                 const struct gw_advice_options *options, struct gw_error *error) {
    struct gw_learning learning;
    double soonest = INFINITY;
    double best = scenario->density;
    GW_TRY(gw_learning_open(options == NULL ? NULL : options->learning, &learning, error));
    enum gw_status status =
        try_density(scenario, options, scenario->density, &soonest, &best, error);
    double density = 0;
    while (status == GW_OK && (density = gw_learning_next_density(&learning, density)) < 1) {
        status = try_density(scenario, options, density, &soonest, &best, error);
    }
    gw_learning_close(&learning);
    scenario->density = best;
    return status;
}

void gw_advice_free(struct gw_advice *advice) {
    gw_pipeline_close(&advice->pipeline);
    gw_plan_free(&advice->buckets);
    gw_learning_close(&advice->learning);
    gw_ranking_free(&advice->ranking);
    gw_arena_free(&advice->arena);
}
