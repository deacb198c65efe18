#include "traces/growth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- laws ------------------------------------------------------------------------------------ */

static double term_at(enum gw_growth_term term, size_t workers) {
    double p = (double)workers;
    switch (term) {
    case GW_GROWTH_LOG:
        return log2(p);
    case GW_GROWTH_ROUNDS:
        return ceil(log2(p));
    case GW_GROWTH_STEPS:
        return p - 1;
    case GW_GROWTH_SHARE:
        return (p - 1) / p;
    default:
        return 1;
    }
}

/* Returns seconds, or seconds per byte, at `workers`. */
static double law_at(const struct gw_growth_law *law, size_t workers) {
    return law->coefficients[0] * term_at(law->first, workers) +
           law->coefficients[1] * term_at(law->second, workers);
}

/* Returns the law's number of terms, 1 or 2. */
static size_t count_terms(const struct gw_growth_law *law) {
    return law->first == law->second ? 1 : 2;
}

const char *gw_growth_law_name(const struct gw_growth_law *law, char name[GW_GROWTH_NAME_SIZE]) {
    static const char *const names[GW_GROWTH_TERMS] = {"constant", "log2 P", "ceil(log2 P)", "P-1",
                                                       "(P-1)/P"};
    bool two = law->coefficients[0] > 0 && law->coefficients[1] > 0;
    bool second = !two && law->coefficients[1] > 0;
    (void)snprintf(name, GW_GROWTH_NAME_SIZE, "%s%s%s", names[second ? law->second : law->first],
                   two ? " + " : "", two ? names[law->second] : "");
    return name;
}

/* ---- the usual algorithms ------------------------------------------------------------------ */

/*
 * A ring has P - 1 steps: in each a worker passes on a contribution (allgather), or twice a P-th of
 * the vector (allreduce). A root exchanges a message with each of the others; in an alltoall all
 * do, of a P-th of their bytes.
 */
static const struct gw_growth_usual usual_laws[] = {
    {"allgather", "ring algorithm", GW_GROWTH_STEPS, GW_GROWTH_STEPS},
    {"allgatherv", "ring algorithm", GW_GROWTH_STEPS, GW_GROWTH_STEPS},
    {"allreduce", "ring algorithm", GW_GROWTH_STEPS, GW_GROWTH_SHARE},
    {"broadcast", "binomial tree", GW_GROWTH_LOG, GW_GROWTH_LOG},
    {"reduce", "binomial tree", GW_GROWTH_LOG, GW_GROWTH_LOG},
    {"gather", "linear algorithm", GW_GROWTH_STEPS, GW_GROWTH_STEPS},
    {"scatter", "linear algorithm", GW_GROWTH_STEPS, GW_GROWTH_STEPS},
    {"alltoall", "pairwise exchange", GW_GROWTH_STEPS, GW_GROWTH_SHARE},
    {"sendrecv", "single message", GW_GROWTH_CONSTANT, GW_GROWTH_CONSTANT}};

const struct gw_growth_usual *gw_growth_usual(const char *collective) {
    for (size_t i = 0; i < sizeof usual_laws / sizeof *usual_laws; i++) {
        if (strcmp(usual_laws[i].collective, collective) == 0) {
            return &usual_laws[i];
        }
    }
    return &usual_laws[0];
}

double gw_growth_term_ratio(enum gw_growth_term term, size_t workers, size_t measured) {
    const struct gw_growth_law law = {term, term, {1, 0}};
    return law_at(&law, workers) / law_at(&law, measured);
}

/* ---- fitting ------------------------------------------------------------------------------- */

/*
 * Fits a law to all samples but `left_out` (`count`: to all), by least squares of errors relative
 * to the values (>= 0); no coefficient is negative. A value far below the others counts as a tenth
 * of their mean.
 */
static void fit_law(const struct gw_growth *growth, size_t left_out, bool startup,
                    struct gw_growth_law *law) {
    double aa = 0, ab = 0, bb = 0, at = 0,
           bt = 0; /* sums of products of both terms and the value */
    double values[GW_GROWTH_MAX_SAMPLES];
    double mean = 0;
    double *c = law->coefficients;
    for (size_t i = 0; i < growth->count; i++) {
        values[i] = startup ? growth->samples[i].startup : growth->samples[i].slope;
        mean +=
            i == left_out ? 0 : values[i] / (double)(growth->count - (left_out < growth->count));
    }
    for (size_t i = 0; i < growth->count && mean > 0; i++) {
        double scale = fmax(values[i], 0.1 * mean);
        double a = term_at(law->first, growth->samples[i].workers) / scale;
        double b = term_at(law->second, growth->samples[i].workers) / scale;
        double t = values[i] / scale;
        if (i != left_out) {
            aa += a * a;
            ab += a * b;
            bb += b * b;
            at += a * t;
            bt += b * t;
        }
    }
    c[0] = aa > 0 ? at / aa : 0;
    c[1] = 0;
    double determinant = aa * bb - ab * ab;
    if (count_terms(law) < 2 || determinant <= 1e-9 * aa * bb) {
        return;
    }
    double first = (at * bb - bt * ab) / determinant;
    double second = (bt * aa - at * ab) / determinant;
    if (first >= 0 && second >= 0) {
        c[0] = first;
        c[1] = second;
    } else if (bt * bt * aa > at * at * bb) {
        c[0] = 0; /* the second alone explains more than the first alone */
        c[1] = bt / bb;
    }
}

/* Number of sizes at which curves are compared, log-spaced over the measured ones or over these: */
enum { SIZES = 15 };
static const double smallest_bytes = 1024;
static const double largest_bytes = 16777216;

/* ---- samples ------------------------------------------------------------------------------- */

static void find_sizes(const struct gw_growth *growth, double sizes[SIZES]) {
    double low = INFINITY;
    double high = 0;
    for (size_t i = 0; i < growth->count; i++) {
        const struct gw_curve *curve = growth->samples[i].curve;
        if (curve->point_count > 0) {
            low = fmin(low, curve->points[0].size);
            high = fmax(high, curve->points[curve->point_count - 1].size);
        }
    }
    if (high <= 0) {
        low = smallest_bytes;
        high = largest_bytes;
    }
    for (int i = 0; i < SIZES; i++) {
        sizes[i] = low * pow(high / low, (double)i / (SIZES - 1));
    }
}

/* Fits the straight line that stands for a curve of points. */
static enum gw_status straighten_sample(struct gw_growth_sample *sample, const double sizes[SIZES],
                                        struct gw_error *error) {
    const struct gw_curve *curve = sample->curve;
    struct gw_curve_point points[SIZES];
    size_t count = 0;
    for (int i = 0; i < SIZES && curve->point_count > 0; i++) {
        double time_s = gw_curve_time(curve, sizes[i]);
        if (time_s > 0) {
            points[count++] = (struct gw_curve_point){.size = sizes[i], .time_s = time_s};
        }
    }
    struct gw_fit fit = {.curve = *curve};
    if (count >= 2) {
        GW_TRY(gw_fit_curve(GW_STRAIGHT, points, count, &fit, error));
    }
    sample->startup = fit.curve.fixed_s;
    sample->slope = fit.curve.per_unit_s;
    return GW_OK;
}

static void collect_samples(const struct gw_cluster *cluster, const char *collective,
                            struct gw_growth *growth) {
    for (size_t i = 0; i < cluster->collective_count && growth->count < GW_GROWTH_MAX_SAMPLES;
         i++) {
        const struct gw_collective_cost *cost = &cluster->collectives[i];
        if (cost->workers < 2 || strcmp(cost->name, collective) != 0) {
            continue;
        }
        size_t place = growth->count++;
        for (; place > 0 && growth->samples[place - 1].workers > cost->workers; place--) {
            growth->samples[place] = growth->samples[place - 1];
        }
        growth->samples[place] =
            (struct gw_growth_sample){.workers = cost->workers,
                                      .curve = &cost->curve,
                                      .held_out_error = fmin(fmax(cost->raw.held_out_error, 0), 1)};
    }
}

/* ---- predicting ---------------------------------------------------------------------------- */

/* The measured numbers of workers on both sides of one; the same twice beyond the ends. */
struct neighbours {
    const struct gw_growth_sample *low, *high;
    double share; /* of the upper one: where between them in log P */
};

/* Finds the neighbours among the samples except `left_out` (`count`: none is left out). */
static struct neighbours find_neighbours(const struct gw_growth *growth, size_t workers,
                                         size_t left_out) {
    struct neighbours found = {0};
    for (size_t i = 0; i < growth->count; i++) {
        const struct gw_growth_sample *sample = &growth->samples[i];
        if (i != left_out && sample->workers <= workers) {
            found.low = sample;
        }
        if (i != left_out && sample->workers >= workers && found.high == NULL) {
            found.high = sample;
        }
    }
    found.low = found.low == NULL ? found.high : found.low;
    found.high = found.high == NULL ? found.low : found.high;
    if (found.low != found.high) {
        double width = log2((double)found.high->workers / (double)found.low->workers);
        found.share = log2((double)workers / (double)found.low->workers) / width;
    }
    return found;
}

/* Scales the law by its neighbours' ratios of time to law, between their times if these rise. */
static double anchor_law(double law, double low_law, double low, double high_law, double high,
                         double share) {
    double low_ratio = low_law > 0 ? low / low_law : 0;
    double high_ratio = high_law > 0 ? high / high_law : 0;
    double value = law * ((1 - share) * low_ratio + share * high_ratio);
    bool inside = share > 0 && share < 1 && low <= high;
    return inside ? fmin(fmax(value, low), high) : value;
}

/* A straight line of a number of workers, by the laws. */
struct law_line {
    double startup, slope;
};

static struct law_line line_at(const struct gw_growth *growth, size_t workers) {
    return (struct law_line){law_at(&growth->startup, workers), law_at(&growth->slope, workers)};
}

/* Lines of a number of workers and of its neighbours, for predictions. */
struct predictor {
    struct law_line own, low, high;
    double share;
};

static struct predictor predictor_of(const struct gw_growth *growth, const struct neighbours *near,
                                     size_t workers) {
    return (struct predictor){.own = line_at(growth, workers),
                              .low = line_at(growth, near->low->workers),
                              .high = line_at(growth, near->high->workers),
                              .share = near->share};
}

/* Predicts the time at a size; low, high: the neighbours' times. */
static double predict_time(const struct predictor *by, double size, double low, double high) {
    return anchor_law(by->own.startup + by->own.slope * size,
                      by->low.startup + by->low.slope * size, low,
                      by->high.startup + by->high.slope * size, high, by->share);
}

/* Predicts a point at each size that one of the neighbours has. */
static enum gw_status predict_points(const struct gw_growth *growth, const struct neighbours *near,
                                     size_t workers, struct gw_curve *out, struct gw_error *error) {
    const struct gw_curve *curves[2] = {near->low->curve, near->high->curve};
    struct gw_curve_point *points =
        calloc(curves[0]->point_count + curves[1]->point_count, sizeof *points);
    struct predictor by = predictor_of(growth, near, workers);
    size_t at[2] = {0};
    size_t count = 0;
    if (points == NULL) {
        return gw_fail_memory(error, "predicting a cost curve");
    }
    while (at[0] < curves[0]->point_count || at[1] < curves[1]->point_count) {
        double size = INFINITY;
        for (int c = 0; c < 2; c++) {
            size =
                at[c] < curves[c]->point_count ? fmin(size, curves[c]->points[at[c]].size) : size;
        }
        for (int c = 0; c < 2; c++) {
            at[c] += at[c] < curves[c]->point_count && curves[c]->points[at[c]].size == size;
        }
        points[count++] =
            (struct gw_curve_point){size, predict_time(&by, size, gw_curve_time(curves[0], size),
                                                       gw_curve_time(curves[1], size))};
    }
    *out = (struct gw_curve){.point_count = count, .points = points};
    return GW_OK;
}

enum gw_status gw_growth_curve(const struct gw_growth *growth, size_t workers, struct gw_curve *out,
                               struct gw_error *error) {
    struct neighbours near = find_neighbours(growth, workers, growth->count);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): of two samples or more some are near */
    const struct gw_curve *low = near.low->curve;
    const struct gw_curve *high = near.high->curve;
    if (low->point_count + high->point_count > 0) {
        return predict_points(growth, &near, workers, out, error);
    }
    struct predictor by = predictor_of(growth, &near, workers);
    *out = (struct gw_curve){.fixed_s = anchor_law(by.own.startup, by.low.startup, low->fixed_s,
                                                   by.high.startup, high->fixed_s, by.share),
                             .per_unit_s = anchor_law(by.own.slope, by.low.slope, low->per_unit_s,
                                                      by.high.slope, high->per_unit_s, by.share)};
    return GW_OK;
}

/* ---- choosing laws ------------------------------------------------------------------------- */

enum { LAWS = GW_GROWTH_TERMS * (GW_GROWTH_TERMS + 1) / 2 };

/*
 * All laws, each fitted without each measured number of workers and with all; and for judging them
 * the times of each number of workers at each size, and its neighbours when it is left out.
 */
struct laws {
    size_t count;
    struct gw_growth_law startups[LAWS][GW_GROWTH_MAX_SAMPLES + 1],
        slopes[LAWS][GW_GROWTH_MAX_SAMPLES + 1];
    double sizes[SIZES], times[GW_GROWTH_MAX_SAMPLES][SIZES];
    struct neighbours neighbours[GW_GROWTH_MAX_SAMPLES];
};

static double error_left_out(const struct gw_growth *growth, const struct laws *laws,
                             size_t left_out) {
    const struct neighbours *near = &laws->neighbours[left_out];
    const double *low = laws->times[near->low - growth->samples];
    const double *high = laws->times[near->high - growth->samples];
    struct predictor by = predictor_of(growth, near, growth->samples[left_out].workers);
    double sum = 0;
    size_t count = 0;
    for (size_t s = 0; s < SIZES; s++) {
        double measured = laws->times[left_out][s];
        if (measured > 0) {
            sum += fabs(predict_time(&by, laws->sizes[s], low[s], high[s]) - measured) / measured;
            count++;
        }
    }
    return count > 0 ? sum / (double)count : 0;
}

/* Fits all laws; those of two terms need three samples, so that two remain when one is left out. */
static void fit_laws(const struct gw_growth *growth, struct laws *laws) {
    for (size_t i = 0; i < growth->count; i++) {
        laws->neighbours[i] = find_neighbours(growth, growth->samples[i].workers, i);
        for (size_t s = 0; s < SIZES; s++) {
            laws->times[i][s] = gw_curve_time(growth->samples[i].curve, laws->sizes[s]);
        }
    }
    for (int first = 0; first < GW_GROWTH_TERMS; first++) {
        for (int second = first; second < (growth->count > 2 ? GW_GROWTH_TERMS : first + 1);
             second++) {
            struct gw_growth_law law = {
                (enum gw_growth_term)first, (enum gw_growth_term)second, {0, 0}};
            for (size_t out = 0; out <= growth->count; out++) {
                laws->startups[laws->count][out] = law;
                laws->slopes[laws->count][out] = law;
                fit_law(growth, out, true, &laws->startups[laws->count][out]);
                fit_law(growth, out, false, &laws->slopes[laws->count][out]);
            }
            laws->count++;
        }
    }
}

/* A pair of laws with its errors. */
struct choice {
    size_t startup, slope; /* in laws */
    double mean, of_largest, standard_error;
    size_t terms, unusual; /* unusual: number of laws that are not the usual algorithm's */
};

/* Judges a pair of laws by its left-out errors; overwrites the laws in `growth`. */
static void judge_laws(struct gw_growth *growth, const struct laws *laws, struct choice *choice) {
    const struct gw_growth_usual *usual = gw_growth_usual(growth->collective);
    const struct gw_growth_law *startup = &growth->startup, *slope = &growth->slope;
    struct gw_running errors = {0};
    for (size_t out = 0; out < growth->count; out++) {
        growth->startup = laws->startups[choice->startup][out];
        growth->slope = laws->slopes[choice->slope][out];
        choice->of_largest = error_left_out(growth, laws, out);
        gw_running_add(&errors, choice->of_largest);
    }
    double standard_error = gw_running_sd(&errors) / sqrt((double)errors.count);
    bool known = isfinite(errors.mean) && isfinite(standard_error); /* times may overflow */
    choice->mean = known ? errors.mean : INFINITY;
    choice->standard_error = known ? standard_error : 0;
    choice->terms = count_terms(startup) + count_terms(slope);
    choice->unusual =
        (size_t)(startup->first != usual->startup || startup->second != usual->startup) +
        (size_t)(slope->first != usual->slope || slope->second != usual->slope);
}

static bool is_preferred(const struct choice *a, const struct choice *b) {
    if (a->terms != b->terms) {
        return a->terms < b->terms;
    }
    return a->unusual != b->unusual ? a->unusual < b->unusual : a->mean < b->mean;
}

static void choose_law(struct gw_growth *growth, const struct laws *laws) {
    struct choice choices[LAWS * LAWS];
    const struct choice *least = choices;
    size_t count = laws->count * laws->count;
    for (size_t i = 0; i < count; i++) {
        choices[i] = (struct choice){.startup = i / laws->count, .slope = i % laws->count};
        judge_laws(growth, laws, &choices[i]);
        least = choices[i].mean < least->mean ? &choices[i] : least;
    }
    const struct choice *best = least;
    for (size_t i = 0; i < count; i++) {
        bool as_good = choices[i].mean <= least->mean + least->standard_error;
        best = as_good && is_preferred(&choices[i], best) ? &choices[i] : best;
    }
    /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.ArraySubscript): there is a law at least */
    growth->startup = laws->startups[best->startup][growth->count];
    growth->slope = laws->slopes[best->slope][growth->count];
    growth->left_out_error = best->mean;
    growth->largest_left_out_error = best->of_largest;
}

/*
 * Finds the laws of a collective. Every pair of laws predicts each measured number of workers from
 * the others. Among pairs whose error is within one standard error of the least (Breiman et al.
 * 1984), fewest terms win, then the usual algorithms' laws, then the least error. Fewer than two
 * measured numbers have no law.
 */
static enum gw_status find_growth(const struct gw_cluster *cluster, const char *collective,
                                  struct gw_growth *out, struct gw_error *error) {
    *out = (struct gw_growth){.collective = collective};
    collect_samples(cluster, collective, out);
    if (out->count < 2) {
        return GW_OK;
    }
    struct laws *laws = calloc(1, sizeof *laws);
    enum gw_status status = laws == NULL ? gw_fail_memory(error, "finding growth laws") : GW_OK;
    if (status == GW_OK) {
        find_sizes(out, laws->sizes);
    }
    for (size_t i = 0; i < out->count && status == GW_OK; i++) {
        status = straighten_sample(&out->samples[i], laws->sizes, error);
    }
    if (status == GW_OK) {
        fit_laws(out, laws);
        choose_law(out, laws);
    }
    free(laws);
    return status;
}

/* ---- all collectives of a cluster ------------------------------------------------------------ */

enum gw_status gw_cluster_find_growth(struct gw_cluster *cluster, struct gw_error *error) {
    size_t capacity = 0;
    cluster->growth_count = 0;
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const char *name = cluster->collectives[i].name;
        struct gw_growth growth;
        size_t first = 0;
        while (strcmp(cluster->collectives[first].name, name) != 0) {
            first++;
        }
        if (first < i) {
            continue; /* found with the first entry of its name */
        }
        GW_TRY(find_growth(cluster, name, &growth, error));
        if (growth.count > 0) {
            GW_GROW(cluster->growths, cluster->growth_count + 1, capacity, "finding growth laws",
                    error);
            cluster->growths[cluster->growth_count++] = growth;
        }
    }
    return GW_OK;
}

const struct gw_growth *gw_cluster_growth(const struct gw_cluster *cluster,
                                          const char *collective) {
    for (size_t i = 0; i < cluster->growth_count; i++) {
        if (strcmp(cluster->growths[i].collective, collective) == 0) {
            return &cluster->growths[i];
        }
    }
    return NULL;
}

/* ---- uncertainty ----------------------------------------------------------------------------- */

double gw_growth_uncertainty(const struct gw_growth *growth, size_t workers) {
    const struct gw_growth_sample *last = &growth->samples[growth->count - 1];
    double error = fmax(growth->left_out_error, 0.01);
    for (size_t i = 0; i < growth->count; i++) {
        error = fmax(error, growth->samples[i].held_out_error);
    }
    if (workers <= last->workers) {
        return error;
    }
    double step = log2((double)last->workers / (double)last[-1].workers);
    double beyond = log2((double)workers / (double)last->workers) / step;
    return fmax(error, growth->largest_left_out_error) * fmax(1, beyond);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_law(struct gw_json_writer *writer, const char *key, const char *unit,
                      const struct gw_growth_law *law) {
    char name[GW_GROWTH_NAME_SIZE];
    gw_writer_object(writer, key);
    gw_writer_text(writer, "law", gw_growth_law_name(law, name));
    gw_writer_array(writer, unit);
    for (int i = 0; i < 2; i++) {
        if (law->coefficients[i] > 0) {
            gw_writer_number(writer, NULL, law->coefficients[i]);
        }
    }
    gw_writer_end(writer);
    gw_writer_end(writer);
}

static void write_growth(struct gw_json_writer *writer, const struct gw_growth *growth) {
    gw_writer_object(writer, growth->collective);
    gw_writer_array(writer, "workers");
    for (size_t i = 0; i < growth->count; i++) {
        gw_writer_number(writer, NULL, (double)growth->samples[i].workers);
    }
    gw_writer_end(writer);
    write_law(writer, "startup", "coefficients_s", &growth->startup);
    write_law(writer, "bandwidth", "coefficients_s_per_byte", &growth->slope);
    gw_writer_number(writer, "left_out_error", growth->left_out_error);
    gw_writer_number(writer, "largest_left_out_error", growth->largest_left_out_error);
    gw_writer_end(writer);
}

enum gw_status gw_cluster_put_growth(struct gw_cluster *cluster, struct gw_error *error) {
    struct gw_json_writer writer;
    cJSON *laws = NULL;
    GW_TRY(gw_cluster_find_growth(cluster, error));
    gw_writer_begin(&writer);
    for (size_t i = 0; i < cluster->growth_count; i++) {
        if (cluster->growths[i].count >= 2) {
            write_growth(&writer, &cluster->growths[i]);
        }
    }
    enum gw_status status = gw_writer_finish(&writer, &laws, error);
    if (status != GW_OK || cJSON_GetArraySize(laws) == 0) {
        cJSON_DeleteItemFromObjectCaseSensitive(cluster->kept, "growth");
        cJSON_Delete(laws);
        return status;
    }
    return gw_json_put(cluster->kept, "growth", laws, error);
}
