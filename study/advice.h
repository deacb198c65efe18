/* What to do about a network on a cluster: one recommendation, and what it rests on. */
#ifndef GW_STUDY_ADVICE_H
#define GW_STUDY_ADVICE_H

#include "study/study.h"

enum gw_verdict {
    GW_WORTH_IT,      /* compression is faster in 95% of cases */
    GW_NOT_WORTH_IT,  /* slower in 95% of cases */
    GW_NO_DIFFERENCE, /* within 2% of dense in 95% of cases */
    GW_CANT_TELL,     /* what is known does not tell */
};

/* A range in which something is in 95% of cases; both ends are `value` where nothing is uncertain,
 * and NAN where nobody knows. */
struct gw_estimate {
    double value, low, high;
};

/* Compressed beside dense: the fastest of each kind that one may advise. */
struct gw_advice {
    const struct gw_question *question;
    struct gw_algorithm planned_ddp; /* DistributedDataParallel with the optimal plan */
    struct gw_ranking ranking;       /* of all presets and of that */
    /*
     * [ranking.count]: the share of the energy of a bell-shaped gradient, the sum of its squares,
     * that a worker sends of it; 1 where nothing is compressed, NAN where the compressor is
     * unknown.
     */
    double *energy;
    double least_energy; /* of what may be recommended: half of what exact top-k sends */
    size_t dense;        /* place of the fastest pipeline that compresses nothing */
    size_t compressed;   /* of the fastest that keeps enough energy; ranking.count: there is none */
    size_t best;         /* of what is recommended: one of the two */
    enum gw_verdict verdict;
    struct gw_estimate speedup; /* dense over compressed */
    /*
     * Times the cluster's bandwidth at which both take as long: above 1 where compression is
     * faster now, below where it is slower; NAN: not from a thousandth to a thousand times.
     */
    double even_bandwidth;
    struct gw_plan buckets;            /* the fastest dense plan, for DistributedDataParallel */
    double cap_mib, cap_iteration_s;   /* the best single cap of buckets, of those that are tried */
    struct gw_pipeline pipeline;       /* what is recommended, with its plan */
    struct gw_explanation explanation; /* of that */
    const struct gw_result_uncertainty *widest; /* of the recommended pipeline's; NULL: none */
    struct gw_arena arena;
};

/*
 * Ranks all pipelines and recommends one that sends at least half of the energy that exact top-k
 * does at that density. `note` is a remark on the question for the reader, or "". The question must
 * outlive the advice; gw_advice_free in any case.
 */
enum gw_status gw_advise(const struct gw_question *question, const char *note,
                         struct gw_advice *out, struct gw_error *error);

/* The pipeline whose result stands in that place of the ranking. */
const struct gw_algorithm *gw_advice_algorithm(const struct gw_advice *advice, size_t place);

/* Whether the pipeline in that place of the ranking sends enough to be recommended. */
bool gw_advice_may_recommend(const struct gw_advice *advice, size_t place);

/*
 * What DDP closes bucket `group` of the plan at, in MiB, as bucket_cap_mb_list takes it: with as
 * few digits as give the bucket's bytes, or less than an element below them. Returns `out`.
 */
enum { GW_BUCKET_TEXT_SIZE = 32 };
const char *gw_advice_bucket_text(const struct gw_advice *advice, size_t group,
                                  char out[GW_BUCKET_TEXT_SIZE]);
void gw_advice_free(struct gw_advice *advice);

/* How much of an iteration's interval one uncertainty makes up, in seconds. */
double gw_uncertainty_width_s(const struct gw_result_uncertainty *uncertainty);

#endif
