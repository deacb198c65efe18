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
 * the vector (allreduce). A root exchanges a message with each of the others.
 */
static const struct gw_growth_usual usual_laws[] = {
    {"allgather", "ring algorithm", GW_GROWTH_STEPS, GW_GROWTH_STEPS},
    {"allgatherv", "ring algorithm", GW_GROWTH_STEPS, GW_GROWTH_STEPS},
    {"allreduce", "ring algorithm", GW_GROWTH_STEPS, GW_GROWTH_SHARE},
    {"broadcast", "binomial tree", GW_GROWTH_LOG, GW_GROWTH_LOG},
    {"reduce", "binomial tree", GW_GROWTH_LOG, GW_GROWTH_LOG},
    {"gather", "linear algorithm", GW_GROWTH_STEPS, GW_GROWTH_STEPS},
    {"scatter", "linear algorithm", GW_GROWTH_STEPS, GW_GROWTH_STEPS},
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

/* Sums over the samples of products of the terms a, b and the value t, all relative to the value.
 */
struct law_sums {
    double aa, ab, bb, at, bt;
};

static struct law_sums add_up(const struct gw_growth_law *law, const size_t *workers,
                              const double *values, size_t count) {
    double mean = 0;
    for (size_t i = 0; i < count; i++) {
        mean += values[i] / (double)count;
    }
    struct law_sums sums = {0};
    for (size_t i = 0; i < count && mean > 0; i++) {
        double scale = fmax(values[i], 0.1 * mean);
        double a = term_at(law->first, workers[i]) / scale;
        double b = term_at(law->second, workers[i]) / scale;
        double t = values[i] / scale;
        sums.aa += a * a;
        sums.ab += a * b;
        sums.bb += b * b;
        sums.at += a * t;
        sums.bt += b * t;
    }
    return sums;
}

/*
 * Sets the coefficients by least squares of relative errors of the values (>= 0), none negative. A
 * value far below the others counts as a tenth of their mean.
 */
static void fit_coefficients(struct gw_growth_law *law, const size_t *workers, const double *values,
                             size_t count) {
    struct law_sums sums = add_up(law, workers, values, count);
    double *c = law->coefficients;
    c[0] = sums.aa > 0 ? sums.at / sums.aa : 0;
    c[1] = 0;
    double determinant = sums.aa * sums.bb - sums.ab * sums.ab;
    if (count_terms(law) < 2 || determinant <= 1e-9 * sums.aa * sums.bb) {
        return;
    }
    double first = (sums.at * sums.bb - sums.bt * sums.ab) / determinant;
    double second = (sums.bt * sums.aa - sums.at * sums.ab) / determinant;
    if (first >= 0 && second >= 0) {
        c[0] = first;
        c[1] = second;
    } else if (sums.bt * sums.bt * sums.aa > sums.at * sums.at * sums.bb) {
        c[0] = 0; /* the second alone explains more than the first alone */
        c[1] = sums.bt / sums.bb;
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
static enum gw_status straighten(struct gw_growth_sample *sample, const double sizes[SIZES],
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
        growth->samples[place] = (struct gw_growth_sample){.workers = cost->workers,
                                                           .curve = &cost->curve,
                                                           .held_out_error = cost->held_out_error};
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
static double anchor(double law, double low_law, double low, double high_law, double high,
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

static double time_at(const struct law_line *line, double size) {
    return line->startup + line->slope * size;
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
    return anchor(time_at(&by->own, size), time_at(&by->low, size), low, time_at(&by->high, size),
                  high, by->share);
}

static double predict_part(const struct gw_growth_law *law, const struct neighbours *near,
                           size_t workers, double low, double high) {
    return anchor(law_at(law, workers), law_at(law, near->low->workers), low,
                  law_at(law, near->high->workers), high, near->share);
}

static int by_size(const void *a, const void *b) {
    double first = ((const struct gw_curve_point *)a)->size;
    double second = ((const struct gw_curve_point *)b)->size;
    return (first > second) - (first < second);
}

/* Predicts a point at each size that one of the neighbours has. */
static enum gw_status predict_points(const struct gw_growth *growth, const struct neighbours *near,
                                     size_t workers, struct gw_curve *out, struct gw_error *error) {
    const struct gw_curve *curves[2] = {near->low->curve, near->high->curve};
    size_t capacity = curves[0]->point_count + curves[1]->point_count;
    struct gw_curve_point *points = calloc(capacity, sizeof *points);
    if (points == NULL) {
        return gw_fail_memory(error, "predicting a cost curve");
    }
    size_t count = 0;
    for (int c = 0; c < (near->low == near->high ? 1 : 2); c++) {
        for (size_t i = 0; i < curves[c]->point_count; i++) {
            points[count++].size = curves[c]->points[i].size;
        }
    }
    qsort(points, count, sizeof *points, by_size);
    struct predictor by = predictor_of(growth, near, workers);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        double size = points[i].size;
        if (kept == 0 || size > points[kept - 1].size) {
            points[kept++] = (struct gw_curve_point){
                .size = size,
                .time_s = predict_time(&by, size, gw_curve_time(curves[0], size),
                                       gw_curve_time(curves[1], size))};
        }
    }
    *out = (struct gw_curve){.point_count = kept, .points = points};
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
    *out = (struct gw_curve){
        .fixed_s = predict_part(&growth->startup, &near, workers, low->fixed_s, high->fixed_s),
        .per_unit_s =
            predict_part(&growth->slope, &near, workers, low->per_unit_s, high->per_unit_s)};
    return GW_OK;
}

/* ---- choosing laws ------------------------------------------------------------------------- */

/* Fits a law to all samples but `left_out` (`count`: to all). */
static void fit_law(const struct gw_growth *growth, size_t left_out, bool startup,
                    struct gw_growth_law *law) {
    size_t workers[GW_GROWTH_MAX_SAMPLES];
    double values[GW_GROWTH_MAX_SAMPLES];
    size_t count = 0;
    for (size_t i = 0; i < growth->count; i++) {
        const struct gw_growth_sample *sample = &growth->samples[i];
        if (i != left_out) {
            workers[count] = sample->workers;
            values[count++] = startup ? sample->startup : sample->slope;
        }
    }
    fit_coefficients(law, workers, values, count);
}

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

static void measure_times(const struct gw_growth *growth, struct laws *laws) {
    for (size_t i = 0; i < growth->count; i++) {
        laws->neighbours[i] = find_neighbours(growth, growth->samples[i].workers, i);
        for (size_t s = 0; s < SIZES; s++) {
            laws->times[i][s] = gw_curve_time(growth->samples[i].curve, laws->sizes[s]);
        }
    }
}

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

static size_t count_unusual(const char *collective, const struct gw_growth_law *startup,
                            const struct gw_growth_law *slope) {
    const struct gw_growth_usual *usual = gw_growth_usual(collective);
    bool odd_startup = startup->first != usual->startup || startup->second != usual->startup;
    bool odd_slope = slope->first != usual->slope || slope->second != usual->slope;
    return (size_t)odd_startup + (size_t)odd_slope;
}

/* Judges a pair of laws by its left-out errors; overwrites the laws in `growth`. */
static void judge(struct gw_growth *growth, const struct laws *laws, struct choice *choice) {
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
    choice->terms = count_terms(&growth->startup) + count_terms(&growth->slope);
    choice->unusual = count_unusual(growth->collective, &growth->startup, &growth->slope);
}

static bool preferred(const struct choice *a, const struct choice *b) {
    if (a->terms != b->terms) {
        return a->terms < b->terms;
    }
    return a->unusual != b->unusual ? a->unusual < b->unusual : a->mean < b->mean;
}

static void choose(struct gw_growth *growth, const struct laws *laws) {
    struct choice choices[LAWS * LAWS];
    const struct choice *least = choices;
    size_t count = laws->count * laws->count;
    for (size_t i = 0; i < count; i++) {
        choices[i] = (struct choice){.startup = i / laws->count, .slope = i % laws->count};
        judge(growth, laws, &choices[i]);
        least = choices[i].mean < least->mean ? &choices[i] : least;
    }
    const struct choice *best = least;
    for (size_t i = 0; i < count; i++) {
        bool as_good = choices[i].mean <= least->mean + least->standard_error;
        best = as_good && preferred(&choices[i], best) ? &choices[i] : best;
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
        status = straighten(&out->samples[i], laws->sizes, error);
    }
    if (status == GW_OK) {
        measure_times(out, laws);
        fit_laws(out, laws);
        choose(out, laws);
    }
    free(laws);
    return status;
}

/* ---- all collectives of a cluster ------------------------------------------------------------ */

static bool is_first_of_its_name(const struct gw_cluster *cluster, size_t index) {
    size_t first = 0;
    while (strcmp(cluster->collectives[first].name, cluster->collectives[index].name) != 0) {
        first++;
    }
    return first == index;
}

enum gw_status gw_cluster_find_growth(struct gw_cluster *cluster, struct gw_error *error) {
    size_t capacity = 0;
    cluster->growth_count = 0;
    for (size_t i = 0; i < cluster->collective_count; i++) {
        struct gw_growth growth;
        if (!is_first_of_its_name(cluster, i)) {
            continue;
        }
        GW_TRY(find_growth(cluster, cluster->collectives[i].name, &growth, error));
        if (growth.count >= 2) {
            struct gw_growth *larger =
                gw_grow(cluster->growths, cluster->growth_count + 1, &capacity, sizeof *larger);
            if (larger == NULL) {
                return gw_fail_memory(error, "finding growth laws");
            }
            cluster->growths = larger;
            larger[cluster->growth_count++] = growth;
        }
    }
    return GW_OK;
}

enum gw_status gw_cluster_growth(const struct gw_cluster *cluster, const char *collective,
                                 struct gw_growth *scratch, const struct gw_growth **out,
                                 struct gw_error *error) {
    for (size_t i = 0; i < cluster->growth_count; i++) {
        *out = &cluster->growths[i];
        if (strcmp((*out)->collective, collective) == 0) {
            return GW_OK;
        }
    }
    *out = scratch;
    return find_growth(cluster, collective, scratch, error);
}

/* ---- uncertainty ----------------------------------------------------------------------------- */

/*
 * Returns the least uncertainty. Laws, the best of many on few numbers, fit two by chance: no
 * prediction is better than curves are at sizes that were not measured.
 */
static double least_error(const struct gw_growth *growth) {
    double least = 0.01;
    for (size_t i = 0; i < growth->count; i++) {
        least = fmax(least, growth->samples[i].held_out_error);
    }
    return least;
}

double gw_growth_uncertainty(const struct gw_growth *growth, size_t workers) {
    const struct gw_growth_sample *last = &growth->samples[growth->count - 1];
    double error = fmax(growth->left_out_error, least_error(growth));
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
        write_growth(&writer, &cluster->growths[i]);
    }
    enum gw_status status = gw_writer_finish(&writer, &laws, error);
    if (status != GW_OK || cluster->growth_count == 0) {
        cJSON_DeleteItemFromObjectCaseSensitive(cluster->kept, "growth");
        cJSON_Delete(laws);
        return status;
    }
    return gw_json_put(cluster->kept, "growth", laws, error);
}
