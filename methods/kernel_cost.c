#include "methods/kernel_cost.h"

#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

/* ---- how much is selected ------------------------------------------------------------------- */

static size_t columns_at(size_t n, double density) {
    return gw_sketch_columns(n, gw_elements_kept(n, density));
}

size_t gw_sketch_last_alike(size_t smaller, size_t larger, double density) {
    size_t columns = columns_at(smaller, density);
    size_t last = smaller;
    size_t first_beyond = 2 * smaller;
    while (first_beyond < larger && columns_at(first_beyond, density) == columns) {
        last = first_beyond;
        first_beyond *= 2;
    }
    first_beyond = first_beyond < larger ? first_beyond : larger;
    while (first_beyond - last > 1) {
        size_t middle = last + (first_beyond - last) / 2;
        *(columns_at(middle, density) == columns ? &last : &first_beyond) = middle;
    }
    return last + 1 == larger ? 0 : last;
}

enum { DOUBLINGS = 32 }; /* as many as sketches have up to 2^32 elements */

/*
 * Sizes of vectors, ascending, at which a density's sketches get more columns: a table for many
 * lookups; all 0: columns are computed.
 */
struct sketch_sizes {
    double density;
    size_t count;
    size_t first[DOUBLINGS + 1];
    double columns[DOUBLINGS + 1];
};

static void list_sketch_sizes(double density, struct sketch_sizes *out) {
    *out = (struct sketch_sizes){.density = density};
    for (size_t n = 1, last = 1; last > 0; n = last + 1) {
        out->first[out->count] = n;
        out->columns[out->count++] = (double)columns_at(n, density);
        last = gw_sketch_last_alike(n, UINT32_MAX, density);
    }
}

/* Columns of the sketch in which a share of so many elements is found. */
static double columns_for(double elements, const struct sketch_sizes *sizes) {
    size_t n = (size_t)fmin(fmax(elements, 1), UINT32_MAX);
    size_t i = sizes->count;
    while (i > 0 && sizes->first[i - 1] > n) {
        i--;
    }
    return i > 0 ? sizes->columns[i - 1] : (double)columns_at(n, sizes->density);
}

/* The first listed size whose sketch has at least, or more than, so many columns; 2^32 - 1: none.
 */
static double find_first_with(const struct sketch_sizes *sizes, double columns, bool more) {
    size_t i = 0;
    while (i < sizes->count &&
           (more ? sizes->columns[i] <= columns : sizes->columns[i] < columns)) {
        i++;
    }
    return i < sizes->count ? (double)sizes->first[i] : UINT32_MAX;
}

/* The size nearest to `elements` whose sketch has so many columns. */
static double size_with(double elements, double columns, const struct sketch_sizes *sizes) {
    double own = columns_for(elements, sizes);
    bool grows = own < columns;
    if (own != columns && sizes->count > 0) {
        return grows ? find_first_with(sizes, columns, false)
                     : fmax(find_first_with(sizes, columns, true) - 1, 1);
    }
    double nearer = floor(fmin(elements, UINT32_MAX));
    double farther = grows ? UINT32_MAX : 1;
    while (own != columns && fabs(farther - nearer) > 1) {
        double middle = floor((nearer + farther) / 2);
        double there = columns_for(middle, sizes);
        bool reached = grows ? there >= columns : there <= columns;
        *(reached ? &farther : &nearer) = middle;
    }
    return own == columns ? elements : farther;
}

/* Seconds an element by a sketch of so many columns, as a curve has it. */
static double one_s(const struct gw_curve *curve, double elements, double columns,
                    const struct sketch_sizes *sizes) {
    double size = size_with(elements, columns, sizes);
    return gw_curve_time(curve, size) / size;
}

/*
 * Time of an element: that of looking it up in the sketch's table, which leaps at the sizes of
 * caches. It is taken from a curve at the size of vector that has the same table; for tables
 * between those of both densities from both curves, weighted by the inverse square of the distance
 * in doublings (Shepard, "A two-dimensional interpolation function", 1968); for others from the
 * nearer curve.
 */
static double sketch_search_share(const struct gw_kernel_cost *cost,
                                  const struct sketch_sizes sizes[2], double elements,
                                  double columns) {
    if (!(cost->densities[1] > 0) || !(elements >= 1)) {
        return 0;
    }
    const struct gw_curve *curves[2] = {&cost->curve, &cost->denser};
    double measured[2];
    double away[2]; /* doublings */
    double each[2];
    double all_s[2];
    for (size_t i = 0; i < 2; i++) {
        measured[i] = columns_for(elements, &sizes[i]);
        away[i] = fabs(log2(columns / measured[i]));
        each[i] = one_s(curves[i], elements, columns, &sizes[i]);
        all_s[i] = gw_curve_time(curves[i], elements);
    }
    if (measured[0] == measured[1] || all_s[0] == all_s[1]) {
        return 0;
    }
    bool between = (columns - measured[0]) * (columns - measured[1]) <= 0;
    double of_second =
        between ? pow(away[0], 2) / (pow(away[0], 2) + pow(away[1], 2)) : away[1] < away[0];
    double found_s = elements * (each[0] + of_second * (each[1] - each[0]));
    return (found_s - all_s[0]) / (all_s[1] - all_s[0]);
}

double gw_search_share(const struct gw_kernel_cost *cost, double elements, double columns) {
    const struct sketch_sizes sizes[2] = {{.density = cost->densities[0]},
                                          {.density = cost->densities[1]}};
    return sketch_search_share(cost, sizes, elements, columns);
}

/* The amount between those at the two curves: a rank, or a density. */
static double amount_of(const struct gw_compressor *compressor, double density) {
    return compressor->rank > 0 ? compressor->rank : density;
}

double gw_compressor_share(const struct gw_compressor *compressor,
                           const struct gw_kernel_cost *cost, double elements, double density) {
    const struct sketch_sizes asked = {.density = density};
    if (compressor == NULL) {
        return gw_share_between(cost->densities, density);
    }
    return compressor->sketched ? gw_search_share(cost, elements, columns_for(elements, &asked))
                                : gw_share_between(cost->densities, amount_of(compressor, density));
}

/* ---- seconds --------------------------------------------------------------------------------- */

static double half_s(const struct gw_kernel_cost *cost, double elements) {
    return gw_curve_time(&cost->curve, elements) / 2;
}

static double on_line_s(const struct gw_kernel_cost *cost, double elements, double share) {
    double usual_s = gw_curve_time(&cost->curve, elements);
    return share == 0 ? usual_s
                      : usual_s + share * (gw_curve_time(&cost->denser, elements) - usual_s);
}

double gw_kernel_s(const struct gw_kernel_cost *cost, double elements, double share) {
    return share == 0 ? gw_curve_time(&cost->curve, elements)
                      : fmax(on_line_s(cost, elements, share), half_s(cost, elements));
}

double gw_kernel_together_s(const struct gw_kernel_cost *cost, double elements, double share,
                            double alone_s) {
    double first_s = gw_curve_time(&cost->together, elements);
    double usual_s = gw_curve_time(&cost->curve, elements);
    double second_s = gw_curve_time(&cost->denser_together, elements);
    double denser_s = gw_curve_time(&cost->denser, elements);
    if (!(usual_s > 0)) {
        return first_s;
    }
    double times = first_s / usual_s;
    if (!gw_curve_costs(&cost->denser_together) || !(denser_s > 0)) {
        return times * alone_s;
    }
    double denser_times = second_s / denser_s;
    return fmin(fmax(first_s + share * (second_s - first_s), fmin(times, denser_times) * alone_s),
                fmax(times, denser_times) * alone_s);
}

double gw_compressor_s(const struct gw_compressor *compressor, const struct gw_kernel_cost *cost,
                       double elements, double density) {
    return gw_kernel_s(cost, elements, gw_compressor_share(compressor, cost, elements, density));
}

/* ---- as a curve ------------------------------------------------------------------------------ */

enum { OF_NONE = 32 }; /* at least as many sizes as are taken of a curve without points */

/* A compressor at a density, and sizes between which its time is straight. */
struct sizes {
    const struct gw_compressor *compressor;
    const struct gw_kernel_cost *cost;
    double density;
    struct sketch_sizes measured[2], asked; /* of sketches: at the cost's densities, and at that */
    size_t count;
    double *list;
};

static double find_share(const struct sizes *sizes, double elements) {
    return sizes->compressor->sketched
               ? sketch_search_share(sizes->cost, sizes->measured, elements,
                                     columns_for(elements, &sizes->asked))
               : gw_share_between(sizes->cost->densities,
                                  amount_of(sizes->compressor, sizes->density));
}

/*
 * Adds a curve's points, and where below them it reaches 0; without points, sizes at which n log n
 * is nearly straight.
 */
static void add_points(struct sizes *sizes, const struct gw_curve *curve) {
    for (size_t i = 0; i < curve->point_count; i++) {
        sizes->list[sizes->count++] = curve->points[i].size;
    }
    for (double size = 1024; curve->point_count == 0 && size < 1e9; size *= 2) {
        sizes->list[sizes->count++] = size;
    }
    if (curve->point_count > 0) {
        const struct gw_curve_point *first = curve->points;
        double slope = (first[1].time_s - first[0].time_s) / (first[1].size - first[0].size);
        double zero = slope > 0 ? first[0].size - first[0].time_s / slope : 0;
        sizes->list[sizes->count++] = zero > 0 ? zero : first[0].size;
    }
}

/* Adds the sizes on both sides of each doubling of a sketch's columns. */
static void add_doublings(struct sizes *sizes, const struct sketch_sizes *sketches) {
    for (size_t i = 1; i < sketches->count; i++) {
        sizes->list[sizes->count++] = (double)(sketches->first[i] - 1);
        sizes->list[sizes->count++] = (double)sketches->first[i];
    }
}

static int compare_sizes(const void *a, const void *b) {
    double first = *(const double *)a;
    double second = *(const double *)b;
    return (first > second) - (first < second);
}

static void sort_sizes(struct sizes *sizes) {
    qsort(sizes->list, sizes->count, sizeof *sizes->list, compare_sizes);
    size_t kept = 0;
    for (size_t i = 0; i < sizes->count; i++) {
        if (kept == 0 || sizes->list[i] > sizes->list[kept - 1]) {
            sizes->list[kept++] = sizes->list[i];
        }
    }
    sizes->count = kept;
}

/* Adds sizes at which the line meets half of the curve; between doublings a share is the same at
 * all sizes. */
static void add_meetings(struct sizes *sizes) {
    size_t count = sizes->count;
    double before = 0; /* excess of the line over half of the curve, at the size before */
    for (size_t i = 0; i < count; i++) {
        const double *size = &sizes->list[i];
        double share = find_share(sizes, *size);
        double excess = on_line_s(sizes->cost, *size, share) - half_s(sizes->cost, *size);
        if (before * excess < 0) {
            sizes->list[sizes->count++] =
                size[-1] + (size[0] - size[-1]) * before / (before - excess);
        }
        before = excess;
    }
}

static void find_sizes(struct sizes *sizes) {
    sizes->list[sizes->count++] = 1; /* nothing is smaller, and the first points may be a jump's */
    add_points(sizes, &sizes->cost->curve);
    add_points(sizes, &sizes->cost->denser);
    if (sizes->compressor->sketched) {
        for (size_t i = 0; i < 2; i++) {
            list_sketch_sizes(sizes->cost->densities[i], &sizes->measured[i]);
            add_doublings(sizes, &sizes->measured[i]);
        }
        list_sketch_sizes(sizes->density, &sizes->asked);
        add_doublings(sizes, &sizes->asked);
    }
    sort_sizes(sizes);
    add_meetings(sizes);
    sort_sizes(sizes);
}

enum gw_status gw_compressor_curve(const struct gw_compressor *compressor,
                                   const struct gw_kernel_cost *cost, double density,
                                   struct gw_curve *out, struct gw_error *error) {
    size_t most = 2 * (1 + cost->curve.point_count + 1 + cost->denser.point_count + 1 +
                       2 * (size_t)OF_NONE + 3 * 2 * (size_t)DOUBLINGS);
    if (cost->densities[0] == cost->densities[1] ||
        amount_of(compressor, density) == cost->densities[0]) {
        return gw_curve_copy(&cost->curve, out, error);
    }
    *out = (struct gw_curve){0};
    struct sizes sizes = {.compressor = compressor,
                          .cost = cost,
                          .density = density,
                          .list = calloc(most, sizeof *sizes.list)};
    struct gw_curve_point *points = calloc(most, sizeof *points);
    if (sizes.list == NULL || points == NULL) {
        free(sizes.list);
        free(points);
        return gw_fail_memory(error, "finding what a compressor takes");
    }
    find_sizes(&sizes);
    *out = (struct gw_curve){.point_count = sizes.count, .points = points};
    for (size_t i = 0; i < sizes.count; i++) {
        double size = sizes.list[i];
        points[i] =
            (struct gw_curve_point){size, gw_kernel_s(cost, size, find_share(&sizes, size))};
    }
    free(sizes.list);
    return GW_OK;
}

/* ---- curves that scenarios share ------------------------------------------------------------- */

struct known_curve {
    struct curve_key {
        const struct gw_compressor *compressor;
        const struct gw_kernel_cost *cost;
        double density;
    } key;
    struct gw_curve curve;
};

static int compare_curves(const void *left, const void *right) {
    return memcmp(left, right, sizeof(struct curve_key));
}

static void free_known(void *node) {
    gw_curve_free(&((struct known_curve *)node)->curve);
    free(node);
}

void gw_compressor_curves_free(struct gw_compressor_curves *curves) {
    tdestroy(curves->tree, free_known);
}

enum gw_status gw_compressor_curves_find(struct gw_compressor_curves *curves,
                                         const struct gw_compressor *compressor,
                                         const struct gw_kernel_cost *cost, double density,
                                         struct gw_curve *out, struct gw_error *error) {
    const struct curve_key key = {compressor, cost, density};
    pthread_mutex_lock(&curves->mutex);
    struct known_curve *const *node = tfind(&key, &curves->tree, compare_curves);
    struct known_curve *known = node != NULL ? *node : calloc(1, sizeof *known);
    enum gw_status status = known != NULL ? GW_OK : gw_fail_memory(error, "finding a cost curve");
    if (status == GW_OK && node == NULL) {
        known->key = key;
        status = gw_compressor_curve(compressor, cost, density, &known->curve, error);
        if (status == GW_OK && tsearch(known, &curves->tree, compare_curves) == NULL) {
            status = gw_fail_memory(error, "finding a cost curve");
        }
    }
    *out = status == GW_OK ? known->curve : (struct gw_curve){0};
    if (status != GW_OK && known != NULL) {
        free_known(known);
    }
    pthread_mutex_unlock(&curves->mutex);
    return status;
}
