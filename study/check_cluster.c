/* Checks a cluster file for oddities, and notes its precision and the questions it can answer. */
#include <stdlib.h>
#include <string.h>

#include "methods/methods.h"
#include "study/check_parts.h"
#include "traces/traces.h"

/* ---- curves -------------------------------------------------------------------------------- */

/* Plausible times: shorter ones are faster than any hardware, longer ones too slow for any use. */
struct speeds {
    const char *unit, *faster;
    double least_s, most_s; /* for each byte or element */
};

static const struct speeds link_speeds = {"byte", "a link of 1 Tb/s", 8e-12, 1e-3};
static const struct speeds node_speeds = {"byte", "memory of 10 TB/s", 1e-13, 1e-3};
static const struct speeds memory_speeds = {"element", "memory of 10 TB/s", 4e-13, 1e-4};

/* Between the smallest and the largest size that were measured. */
static double slope_of(const struct gw_curve *curve) {
    if (curve->point_count == 0) {
        return curve->per_unit_s;
    }
    const struct gw_curve_point *first = &curve->points[0];
    const struct gw_curve_point *last = &curve->points[curve->point_count - 1];
    return (last->time_s - first->time_s) / (last->size - first->size);
}

static void check_falls(struct gw_checking *check, const char *place,
                        const struct gw_curve *curve) {
    size_t falls = 0;
    for (size_t i = 1; i < curve->point_count; i++) {
        falls += curve->points[i].time_s < curve->points[i - 1].time_s;
    }
    if (falls > 0) {
        NOTE(check, "%s: %s below the one before, of %zu in all, within the noise", place,
             GW_COUNTED(falls, "point"), curve->point_count);
    }
}

static void check_curve(struct gw_checking *check, const char *place, const struct gw_curve *curve,
                        const struct speeds *speeds) {
    const double large = 1e9;
    double slope_s = slope_of(curve);
    double startup_s = gw_curve_startup(curve);
    check_falls(check, place, curve);
    if (gw_curve_time(curve, large) == 0) {
        ODD(check, "%s: costs 0 s at every size", place);
        return;
    }
    if (slope_s < speeds->least_s && curve->per_nlog2n_s == 0) {
        ODD(check, "%s: %g seconds for each %s are faster than %s", place, slope_s, speeds->unit,
            speeds->faster);
    }
    if (slope_s > speeds->most_s || curve->per_nlog2n_s > speeds->most_s) {
        ODD(check, "%s: %g seconds for each %s are very slow: are these micro- or milliseconds?",
            place, slope_s > curve->per_nlog2n_s ? slope_s : curve->per_nlog2n_s, speeds->unit);
    }
    if (startup_s > 1) {
        ODD(check, "%s: a startup of %g seconds is long: are these milliseconds?", place,
            startup_s);
    }
}

/* ---- clusters ------------------------------------------------------------------------------ */

static void check_collectives(struct gw_checking *check, const struct gw_cluster *cluster) {
    size_t index = 0;
    bool own = false;
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const struct gw_collective_cost *cost = &cluster->collectives[i];
        bool same = i > 0 && strcmp(cluster->collectives[i - 1].name, cost->name) == 0;
        char place[128];
        index = same ? index + 1 : 0;
        (void)snprintf(place, sizeof place, "collectives.%.60s[%zu]", cost->name, index);
        if (cost->workers > 1) {
            check_curve(check, place, &cost->curve,
                        cost->workers <= cluster->workers_per_node ? &node_speeds : &link_speeds);
        }
        if (gw_margins_largest_short(&cost->margins) > 0) {
            ODD(check, "%s: no size above %s was measured, too little to show the bandwidth", place,
                GW_BYTES(gw_margins_largest_short(&cost->margins)));
        }
        char excess[GW_EXCESS_SIZE];
        if (gw_cluster_exceeds_messages(cluster, cost, excess)) {
            ODD(check, "%s: %s", place, excess);
        }
        own = own || cost->workers == cluster->workers;
    }
    if (!own && cluster->workers > 1) {
        ODD(check, "collectives: no entry is for the cluster's own %zu workers", cluster->workers);
    }
}

static void check_kernels(struct gw_checking *check, const char *what,
                          const struct gw_kernel_costs *costs) {
    for (size_t i = 0; i < costs->count; i++) {
        const struct gw_kernel_cost *cost = &costs->list[i];
        char place[128];
        (void)snprintf(place, sizeof place, "%s.%.60s", what, cost->name);
        check_curve(check, place, &cost->curve, &memory_speeds);
    }
}

/* Reports compressors that no pipeline uses, with names too far from others for a typing error;
 * readers take them for the cluster's own. */
static void check_own(struct gw_checking *check, const struct gw_kernel_costs *compressors) {
    const char *names[GW_MAX_COMPRESSORS] = {NULL};
    for (size_t i = 0; gw_compressors[i] != NULL; i++) {
        names[i] = gw_compressors[i]->name;
    }
    for (size_t i = 0; i < compressors->count; i++) {
        const char *name = compressors->list[i].name;
        if (gw_compressor_find(name) == NULL && gw_find_nearest(name, names) == NULL) {
            ODD(check, "compressors.%.60s: no pipeline uses it", name);
        }
    }
}

static void check_link(struct gw_checking *check, const char *place, const struct gw_loggp *link,
                       const struct speeds *speeds) {
    const struct gw_curve curve = {.fixed_s = link->latency_s, .per_unit_s = link->gap_s_per_byte};
    check_curve(check, place, &curve, speeds);
}

/* Why the pipeline cannot be predicted among the cluster's workers, in *why; or whether it can from
 * what was measured among just these (*derived). */
static bool can_predict(const struct gw_cluster *cluster, const struct gw_algorithm *algorithm,
                        bool *derived, struct gw_error *why) {
    const struct gw_kernel_cost *compress = NULL;
    *derived = false;
    if (gw_algorithm_compresses(algorithm) &&
        gw_cluster_compressor(cluster, algorithm->compressor->name, &compress, why) != GW_OK) {
        return false;
    }
    for (size_t i = 0; i < algorithm->exchange->leg_count; i++) {
        char derivation[GW_DERIVATION_SIZE];
        struct gw_curve curve = {0};
        if (gw_cluster_collective(cluster, algorithm->exchange->legs[i].collective,
                                  cluster->workers, &curve, derivation, why) != GW_OK) {
            return false;
        }
        *derived = *derived || strstr(derivation, "workers not measured") != NULL;
        gw_curve_free(&curve);
    }
    return true;
}

/* Copies the word before ": expected" from a message: "compressors.randk". */
static void find_missing(const char *message, char *out, size_t size) {
    const char *end = strstr(message, ": expected");
    const char *begin = end == NULL ? message : end;
    while (end != NULL && begin > message && begin[-1] != ' ') {
        begin--;
    }
    (void)snprintf(out, size, "%.*s", end == NULL ? (int)size - 1 : (int)(end - begin), begin);
}

enum { MISSING_SIZE = 96, NAMES_SIZE = 512, MOST_MISSING = 32 };

/* Curves that are missing, and the pipelines that need them. */
struct missing {
    size_t count;
    char curves[MOST_MISSING][MISSING_SIZE];
    char algorithms[MOST_MISSING][NAMES_SIZE];
};

static void add_missing(struct missing *missing, const char *message, const char *algorithm) {
    char curve[MISSING_SIZE];
    size_t i = 0;
    find_missing(message, curve, sizeof curve);
    while (i < missing->count && strcmp(missing->curves[i], curve) != 0) {
        i++;
    }
    if (i < MOST_MISSING) {
        missing->count = i == missing->count ? i + 1 : missing->count;
        memcpy(missing->curves[i], curve, sizeof curve);
        gw_list_name(missing->algorithms[i], sizeof missing->algorithms[i], algorithm);
    }
}

static void note_answers(struct gw_checking *check, const struct gw_cluster *cluster) {
    char predicted[NAMES_SIZE] = "";
    char derived[NAMES_SIZE] = "";
    struct missing missing = {0};
    for (size_t i = 0; gw_algorithms[i].name != NULL; i++) {
        struct gw_error why = {0};
        bool is_derived = false;
        if (can_predict(cluster, &gw_algorithms[i], &is_derived, &why)) {
            gw_list_name(is_derived ? derived : predicted, NAMES_SIZE, gw_algorithms[i].name);
        } else {
            add_missing(&missing, why.message, gw_algorithms[i].name);
        }
    }
    for (size_t i = 0; i < missing.count; i++) {
        NOTE(check, "cannot predict %s: no %s", missing.algorithms[i], missing.curves[i]);
    }
    if (predicted[0] != '\0') {
        NOTE(check, "predicts among %s: %s", GW_COUNTED(cluster->workers, "worker"), predicted);
    }
    if (derived[0] != '\0') {
        NOTE(check, "predicts among %s from other numbers of them: %s",
             GW_COUNTED(cluster->workers, "worker"), derived);
    }
    NOTE(check, "messages (--network messages): %s",
         cluster->network == NULL ? "by parameters derived from curves" : "by its network");
    NOTE(check, "overlap: %s", cluster->overlap == NULL ? "not measured" : "by its factors");
}

/* Notes each collective's numbers of workers; its entries follow each other. */
static void note_workers(struct gw_checking *check, const struct gw_cluster *cluster) {
    size_t i = 0;
    while (i < cluster->collective_count) {
        const char *name = cluster->collectives[i].name;
        const char *from = cluster->collectives[i].assumed_from;
        char numbers[128] = "";
        for (; i < cluster->collective_count && strcmp(cluster->collectives[i].name, name) == 0;
             i++) {
            char number[24];
            (void)snprintf(number, sizeof number, "%zu", cluster->collectives[i].workers);
            gw_list_name(numbers, sizeof numbers, number);
        }
        NOTE(check, "%.60s %.40s%.60s among %s workers", name,
             from == NULL ? gw_cluster_origin(cluster) : "assumed from ", from == NULL ? "" : from,
             numbers);
    }
}

/*
 * Notes the precision of medians, and errors of curves at sizes that were held out, by entries that
 * calibrate wrote. Other entries are left out.
 */
static void note_precision(struct gw_checking *check, const char *what,
                           const struct gw_raw *const *raws, size_t count) {
    size_t most = 0, points = 0, curves = 0;
    struct gw_summary summary;
    for (size_t i = 0; i < count; i++) {
        most += raws[i]->count;
    }
    double *halves = gw_arena_zeros(check->arena, most + 1, sizeof *halves);
    double *held_out = gw_arena_zeros(check->arena, count + 1, sizeof *held_out);
    for (size_t i = 0; i < count && halves != NULL && held_out != NULL; i++) {
        for (size_t s = 0; s < raws[i]->count; s++) {
            const struct gw_raw_size *one = &raws[i]->sizes[s];
            if (one->low_s > 0 && one->median_s >= one->low_s && one->high_s >= one->low_s) {
                halves[points++] = (one->high_s - one->low_s) / 2 / one->median_s;
            }
        }
        held_out[curves] = raws[i]->held_out_error;
        curves += held_out[curves] >= 0;
    }
    if (points > 0) {
        gw_summarise(halves, points, &summary);
        NOTE(check,
             "medians of %s: half of their 95%% interval is %.1f%% in the median of %zu, %.1f%% at "
             "most",
             what, 100 * summary.median, points, 100 * halves[points - 1]); /* sorted now */
    }
    if (curves > 0) {
        gw_summarise(held_out, curves, &summary);
        NOTE(check,
             "curves of %s: sizes that were held out are %.1f%% off in the mean of %zu curves, "
             "%.1f to %.1f%%",
             what, 100 * summary.mean, curves, 100 * held_out[0], 100 * held_out[curves - 1]);
    }
}

static void note_kernels(struct gw_checking *check, const char *what,
                         const struct gw_kernel_costs *costs) {
    const struct gw_raw **raws = gw_arena_zeros(check->arena, costs->count + 1, sizeof(*raws));
    for (size_t i = 0; raws != NULL && i < costs->count; i++) {
        raws[i] = &costs->list[i].raw;
    }
    if (raws != NULL) {
        note_precision(check, what, raws, costs->count);
    }
}

/* Notes the precision of all curves of a calibrated file. */
static void note_measured(struct gw_checking *check, const struct gw_cluster *cluster) {
    size_t count = cluster->collective_count;
    const struct gw_raw **raws = gw_arena_zeros(check->arena, count + 1, sizeof(*raws));
    for (size_t i = 0; raws != NULL && i < count; i++) {
        raws[i] = &cluster->collectives[i].raw;
    }
    if (raws != NULL) {
        note_precision(check, "collectives", raws, count);
    }
    note_kernels(check, "compressors", &cluster->compressors);
    note_kernels(check, "aggregation", &cluster->aggregation);
}

void gw_check_cluster(struct gw_checking *check, const void *read) {
    const struct gw_cluster *cluster = read;
    check_collectives(check, cluster);
    check_kernels(check, "compressors", &cluster->compressors);
    check_kernels(check, "aggregation", &cluster->aggregation);
    check_own(check, &cluster->compressors);
    if (cluster->network != NULL) {
        check_link(check, "network.within", &cluster->network->within, &node_speeds);
        check_link(check, "network.between", &cluster->network->between, &link_speeds);
    }
    note_workers(check, cluster);
    note_measured(check, cluster);
    note_answers(check, cluster);
}
