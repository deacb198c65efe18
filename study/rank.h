/* Rankings: pipelines that are compared on a scenario. */
#ifndef GW_STUDY_RANK_H
#define GW_STUDY_RANK_H

#include "study/learning.h"
#include "study/predict.h"
#include "study/scenario.h"

/* Pipelines that are compared on a scenario. */
struct gw_comparison {
    const struct gw_scenario *scenario;
    const struct gw_algorithm *const *algorithms;
    size_t count;
    struct gw_choice_changes changes; /* of all of them */
    bool intervals;                   /* predictions also say where they are in 95% of cases */
    /* Counts that depend on gradients are trained, means over GW_COMPARISON_TRAINED iterations; on
     * these in place of generated ones, unless NULL. */
    bool trained;
    const struct gw_recorded_gradients *gradients;
    const struct gw_accuracy *accuracy; /* ranks by the time to its goal; NULL: by an iteration */
    /* Counts that depend on gradients are those of these trainings, unless `trained`; NULL: as
     * asked. */
    const struct gw_learning *learning;
    bool by_learning; /* ranks by the time until as much is learnt as in GW_DENSE_ITERATIONS dense
                         ones, by `learning` */
    bool mixed;       /* also finds the fastest plan of all merges and of the pipelines' ways */
    char note[GW_RESULT_NOTE_SIZE]; /* on the scenario, for the reader; "": none */
};
enum { GW_COMPARISON_TRAINED = 100 };

/* Times that differ by less than this share of them count as equal. */
#define GW_COMPARE_SAME 1e-9

/* A pipeline's result, or the reason for which it cannot be predicted. */
struct gw_prediction {
    enum gw_status status; /* GW_BAD_INPUT: it cannot be predicted */
    struct gw_result result;
    struct gw_error why;
};

/* Seconds of an iteration without exchange and compression, the reference of scaling. */
double gw_comparison_alone_s(const struct gw_comparison *comparison);

/* Whether a pipeline's counts depend on gradients, with the comparison's changes. */
bool gw_comparison_depends_on_data(const struct gw_comparison *comparison, const char *algorithm);

/* A pipeline that cannot be predicted. */
struct gw_infeasible {
    const char *algorithm;
    struct gw_error why;
};

struct gw_ranking {
    const struct gw_comparison *comparison;
    size_t count;
    struct gw_result *results;   /* the fastest first; of equals, as they were asked for */
    struct gw_to_goal *to_goal;  /* [count], by which it is ranked; NULL: by an iteration */
    struct gw_trainings *learnt; /* [count], that `to_goal` points to with `by_learning` */
    double dense_s; /* with `by_learning`: an iteration of `ddp`, by which runs are repeated that
                       never got to the goal; 0: it cannot be predicted */
    size_t equal_count; /* results that are as fast as the first; it is one of them */
    size_t rival_count; /* others that cannot be told apart from the first */
    size_t infeasible_count;
    struct gw_infeasible *infeasible; /* as they were asked for */
    struct gw_plans mixed;            /* with comparison->mixed, its plan */
    struct gw_result notes;           /* on the whole ranking; only notes are set */
    struct gw_arena arena;            /* of all of this */
};

/* Predicts and ranks; fails, with a reason, if none can be predicted. gw_ranking_free in any case.
 */
enum gw_status gw_rank(const struct gw_comparison *comparison, struct gw_ranking *out,
                       struct gw_error *error);
void gw_ranking_free(struct gw_ranking *ranking);

/*
 * Whether `second`, predicted to be slower, may be as fast as `first` within 95% intervals. A curve
 * that both use is off by the same for both.
 */
bool gw_results_meet(const struct gw_result *first, const struct gw_result *second);

/*
 * 95% interval of the first's time over the second's; NAN: unknown. A curve that both use is off by
 * the same for both.
 */
void gw_results_ratio(const struct gw_result *first, const struct gw_result *second, double *low,
                      double *high);

/* The same of trainings, both of which come to the goal in the median. */
bool gw_trainings_meet(const struct gw_result *first, const struct gw_trainings *of_first,
                       const struct gw_result *second, const struct gw_trainings *of_second);

/* Seconds by which a place is ranked: of an iteration, or of a training to its goal. */
double gw_ranking_seconds(const struct gw_ranking *ranking, size_t place);

/* Share of the mixed plan's iteration by which that result's is longer. */
double gw_ranking_above_mixed(const struct gw_ranking *ranking, size_t place);

/* Whether the result in that place is not the first, or as fast, and can't be told apart from it.
 */
bool gw_ranking_is_rival(const struct gw_ranking *ranking, size_t place);

#endif
