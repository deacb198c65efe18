/*
 * `compare`: what every pipeline is predicted to take, ranked; and, where the number of workers or
 * the bandwidth is varied, where another one becomes the fastest.
 */
#ifndef GW_CLI_COMPARE_H
#define GW_CLI_COMPARE_H

#include "cli/cli.h"

/* ---- what is varied ------------------------------------------------------------------------ */

/* Values of one parameter of a question. */
struct gw_variation {
    const char *name; /* "workers", "bandwidth" */
    bool whole;       /* the values are integers */
    /* Of bandwidths: the cluster's own, and where it is known from; 0: values are factors of it. */
    double own_bit_per_s;
    char derivation[GW_DERIVATION_SIZE];
    size_t count;   /* 0: nothing was asked for */
    double *values; /* ascending: workers, bits per second, or factors */
};

/*
 * "8", "2,4,16", "2:256" (doubled from value to value), "2:256:STEP", and as for `sweep`; the
 * name of the option is --workers. The caller closes what was opened.
 */
enum gw_status gw_workers_open(const char *text, struct gw_variation *out, struct gw_error *error);

/*
 * "1gbit:100gbit" (evenly on a logarithmic scale, five to a decade), "1gbit:100gbit:log20",
 * "1gbit,10gbit", or factors of the cluster's own bandwidth, "0.1x:10x"; of --bandwidth.
 */
enum gw_status gw_bandwidths_open(const char *text, const struct gw_cluster *cluster,
                                  struct gw_variation *out, struct gw_error *error);
void gw_variation_close(struct gw_variation *variation);

/* Makes `out` a copy of the question with such a value; gw_question_end_bandwidth ends it. */
enum gw_status gw_variation_apply(const struct gw_variation *variation, double value,
                                  const struct gw_question *question, struct gw_question *out,
                                  struct gw_error *error);

/* "16", "2.5 gbit", "0.5x". Returns `out`. */
const char *gw_variation_text(const struct gw_variation *variation, double value,
                              char out[GW_UNITS_SIZE]);

/* What bandwidths mean on that cluster; "" if nothing was asked for. Returns `out`. */
const char *gw_bandwidth_note(const struct gw_variation *bandwidth, char out[GW_RESULT_NOTE_SIZE]);

/* ---- at many points: crossovers ------------------------------------------------------------ */

/*
 * Where the fastest pipeline changes. `from` and `to` are neighbours, integers or as good as equal:
 * at `from` `before` is as fast as `after`, at `to` no more.
 */
struct gw_crossing {
    double from, to;
    size_t before, after; /* of the comparison's algorithms */
    double iteration_s;   /* that `after` takes at `to` */
};

/* Where a pipeline cannot be predicted. */
struct gw_gap {
    size_t values;       /* how many */
    double first;        /* of them ... */
    struct gw_error why; /* ... and the reason there */
};

#define GW_NO_ALGORITHM SIZE_MAX

struct gw_crossovers {
    const struct gw_comparison *comparison;
    const struct gw_variation *variation;
    double *times_s;     /* [value][algorithm]; NAN: it cannot be predicted */
    size_t *fastest;     /* [value]; of equals, the one of the value before, or the first */
    struct gw_gap *gaps; /* [algorithm] */
    size_t crossing_count, crossing_capacity;
    struct gw_crossing *crossings; /* ascending */
    struct gw_result notes; /* of the first values that have them, with others' numbers left out */
    double noted_at[GW_RESULT_MOST_NOTES]; /* these values */
};

/*
 * Predicts all pipelines at all values, and bisects between neighbouring values at which different
 * ones are the fastest. Fails, with a reason, if none can be predicted at any value.
 */
enum gw_status gw_crossovers_open(const struct gw_comparison *comparison,
                                  const struct gw_variation *variation, struct gw_crossovers *out,
                                  struct gw_error *error);
void gw_crossovers_close(struct gw_crossovers *crossovers);

/* The times at a value, one for each algorithm. */
const double *gw_crossovers_times(const struct gw_crossovers *crossovers, size_t value);

/* The next to the fastest at a value; GW_NO_ALGORITHM: there is none. */
size_t gw_crossovers_next(const struct gw_crossovers *crossovers, size_t value);

/* For a person; the document "gradweave/crossovers@1" on stdout; picture and table (or NULL). */
void gw_crossovers_print(const struct gw_crossovers *crossovers);
enum gw_status gw_crossovers_print_json(const struct gw_crossovers *crossovers,
                                        struct gw_error *error);
enum gw_status gw_crossovers_draw(const struct gw_crossovers *crossovers, const char *path,
                                  const char *data_path, struct gw_error *error);

#endif
