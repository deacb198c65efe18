/* Advice for a network on a cluster: one recommendation, and its reasons. */
#ifndef GW_STUDY_ADVICE_H
#define GW_STUDY_ADVICE_H

#include "study/learning.h"
#include "study/plans.h"
#include "study/predict.h"
#include "study/rank.h"
#include "study/scenario.h"

/* Iterations with compression, beside those without. */
enum gw_verdict {
    GW_FASTER,        /* in 95% of cases */
    GW_SLOWER,        /* in 95% of cases */
    GW_NO_DIFFERENCE, /* within 2% in 95% of cases */
    GW_CANT_TELL,     /* the interval is too wide to tell, or unknown */
};

/* A value and its 95% interval; both ends are `value` if nothing is uncertain, NAN if unknown. */
struct gw_estimate {
    double value, low, high;
};

/* Measured iterations of pipelines that may be recommended, on the same scenario. */
struct gw_measurements {
    size_t count;       /* of them; 0: none, and other members are not set */
    size_t first;       /* place of the fastest */
    double first_s;     /* its measured iteration */
    size_t predicted;   /* place of the recommended one */
    double predicted_s; /* its measured iteration; NAN: none */
    bool is_told_apart; /* predictions tell the two apart */
};

/* A pipeline that may be recommended. */
struct gw_recommendation {
    size_t place; /* in the ranking */
    const struct gw_result *result;
    struct gw_estimate speedup;             /* over `dense`, by iterations */
    struct gw_iterations_factor iterations; /* that training needed, over dense ones */
    double expected_s; /* of training for each iteration that dense exchange needs; if iterations
                          are the goal, of an iteration */
    /* Training is expected to be done sooner than with DistributedDataParallel's defaults, by 2% in
     * the middle and in 95% of cases of what predictions rest on, where each group and each bucket
     * takes gw_bucket_besides_s besides its exchange. */
    bool holds;
};

/* Lines that an advice begins with: the soonest that costs nothing, the soonest that compresses,
 * and the fastest iteration. */
enum gw_tier { GW_COSTS_NOTHING, GW_SOONEST_COMPRESSED, GW_FASTEST_ITERATION, GW_TIERS };

/* How an advice is found. */
struct gw_advice_options {
    const char *warning;  /* why the scenario cannot be trained so; "" or NULL: it can */
    const char *learning; /* file or folder of trainings; NULL: those that ship */
    bool by_iteration;    /* the goal is the fastest iteration, whatever is learnt by it */
};

/* Time of a bucket of DistributedDataParallel besides its exchange, in seconds. */
extern const double gw_bucket_besides_s;

/* Compressed beside dense: the soonest of each kind that one may advise. */
struct gw_advice {
    const struct gw_scenario *scenario;
    const char *gpu;                   /* that the user named, for compression; NULL: none */
    char warning[GW_RESULT_NOTE_SIZE]; /* why nothing of this can be trained so; "": it can */
    bool by_iteration;
    struct gw_algorithm planned_ddp; /* with the optimal plan if that holds, else its own */
    struct gw_ranking ranking;       /* of all presets and of that */
    /*
     * [ranking.count]: the share of the energy of a bell-shaped gradient, the sum of its squares,
     * that a worker sends of it; 1 without compression.
     */
    double *energy;
    double least_energy;         /* to be recommended: half of the energy that exact top-k sends */
    struct gw_learning learning; /* trainings that factors are of */
    struct gw_iterations_factor *iterations; /* [ranking.count] */
    struct gw_scenario *scenarios;           /* [ranking.count]: with the density that is sent */
    size_t usual; /* place of DistributedDataParallel's defaults, or of the fastest pipeline that
                     compresses nothing where these cannot be predicted */
    size_t dense; /* of the fastest that compresses nothing and whose gain holds, or else `usual` */
    size_t compressed; /* of the soonest that may be recommended, or else of the fastest that keeps
                          enough energy; ranking.count: there is none */
    size_t recommendation_count;
    struct gw_recommendation *recommendations; /* the soonest first */
    const struct gw_recommendation *chosen;    /* the one of these that is recommended */
    struct gw_recommendation tiers[GW_TIERS];  /* `result` NULL: there is none */
    size_t micro_batches; /* of an iteration that accumulates gradients over more of them */
    double accumulated;   /* samples a second of such iterations of planned_ddp, over those of its
                             own */
    enum gw_verdict verdict;
    struct gw_estimate speedup; /* dense over compressed */
    /*
     * Times the cluster's bandwidth at which both take as long: above 1 where compression is
     * faster now, below where it is slower; NAN: not from a thousandth to a thousand times.
     */
    double even_bandwidth;
    /* Iterations by these buckets include gw_bucket_besides_s of each. */
    struct gw_plan buckets; /* the fastest dense plan, for DistributedDataParallel */
    bool buckets_hold;      /* it is faster than DDP's defaults wherever curves may be */
    double buckets_iteration_s;
    /* The fastest of the single caps that are tried and hold; 0: none does. */
    double cap_mib, cap_iteration_s;
    double default_iteration_s;                 /* by DDP's defaults */
    struct gw_pipeline pipeline;                /* the recommended one, with its plan */
    struct gw_explanation explanation;          /* of that */
    struct gw_measurements measurements;        /* after gw_advice_keep_measured */
    const struct gw_result_uncertainty *widest; /* of the recommended pipeline's; NULL: none */
    struct gw_arena arena;
};

/*
 * Ranks all pipelines and recommends, of those that may be recommended and whose gain holds, the
 * one that is expected to train soonest, by the median of iterations of recorded trainings and a
 * repetition without compression of the share of runs that never got to their goal
 * (gw_learning_expected_s); otherwise DistributedDataParallel as it is. One with such runs must be
 * sooner in 95% of cases than the soonest one without. `options` NULL: the usual ones. The scenario
 * must outlive the advice; gw_advice_free in any case.
 */
enum gw_status gw_advise(const struct gw_scenario *scenario,
                         const struct gw_advice_options *options, struct gw_advice *out,
                         struct gw_error *error);

/* Changes the scenario's density to the trained one at which the recommended pipeline trains
 * soonest, if that is sooner than at its own. `options` NULL: the usual ones. */
enum gw_status gw_advise_density(struct gw_scenario *scenario,
                                 const struct gw_advice_options *options, struct gw_error *error);

/* Keeps which pipeline was the fastest in measurements, if they are of the scenario. */
void gw_advice_keep_measured(struct gw_advice *advice,
                             const struct gw_validation_document *measured);

/* Whether measurements are of the scenario: of its model, cluster, workers and density. */
bool gw_advice_is_measured_by(const struct gw_advice *advice,
                              const struct gw_validation_document *measured);

/* The pipeline in that place. */
const struct gw_algorithm *gw_advice_algorithm(const struct gw_advice *advice, size_t place);

/* The place in the ranking of a pipeline that was measured; ranking.count: it has none. */
size_t gw_advice_find(const struct gw_advice *advice, const struct gw_validated *measured);

/* Why the pipeline in that place of the ranking can't be recommended. */
enum gw_objection {
    GW_NO_OBJECTION,
    GW_LITTLE_ENERGY, /* it sends less than half of the energy that exact top-k does */
    GW_FEW_LEARNT,    /* half of the setups did not learn as much in their trainings */
    GW_NEVER_TRAINED, /* there are no trainings that kept so little, or none at all */
};
enum gw_objection gw_advice_objection(const struct gw_advice *advice, size_t place);

/*
 * The size at which DDP closes bucket `group` of the plan, in MiB, for bucket_cap_mb_list: with as
 * few digits as give the bucket's bytes, or less than an element below them. Returns `out`.
 */
enum { GW_BUCKET_TEXT_SIZE = 32 };
const char *gw_advice_bucket_text(const struct gw_advice *advice, size_t group,
                                  char out[GW_BUCKET_TEXT_SIZE]);
void gw_advice_free(struct gw_advice *advice);

#endif
