/* Reads and writes cost curves of cluster files. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/parts.h"

static const char *const coefficients[] = {"alpha_s", "beta_s_per_byte", "fixed_s", "per_element_s",
                                           "per_nlog2n_s"};
enum { COEFFICIENTS = sizeof coefficients / sizeof *coefficients };

/* ---- reading ------------------------------------------------------------------------------- */

/* Reads pairs of ascending sizes and of times, or of shares up to `most`; *out may be freed on
 * failure too. */
static enum gw_status read_points(const struct gw_json *list, const char *expected, double most,
                                  struct gw_curve *out, struct gw_error *error) {
    double previous_size = 0;
    size_t index = 0;
    const cJSON *node = NULL;
    GW_TRY(gw_json_array(list, error));
    out->point_count = (size_t)cJSON_GetArraySize(list->node);
    out->points = calloc(out->point_count + 1, sizeof *out->points);
    if (out->points == NULL) {
        return gw_fail_memory(error, "reading a cost curve");
    }
    cJSON_ArrayForEach(node, list->node) {
        struct gw_json place = gw_json_item(list, node, index);
        struct gw_json size = gw_json_item(&place, cJSON_GetArrayItem(node, 0), 0);
        struct gw_json time = gw_json_item(&place, cJSON_GetArrayItem(node, 1), 1);
        struct gw_curve_point *point = &out->points[index++];
        if (!cJSON_IsArray(node) || cJSON_GetArraySize(node) != 2) {
            return gw_json_expected(&place, expected, error);
        }
        GW_TRY(gw_json_size(&size, &point->size, error));
        if (!(point->size > previous_size)) {
            return gw_json_expected(&size, "sizes in ascending order", error);
        }
        GW_TRY(gw_json_seconds(&time, &point->time_s, error));
        if (point->time_s > most) {
            return gw_json_expected(&time, "a share of at most 1", error);
        }
        previous_size = point->size;
    }
    return GW_OK;
}

/* Refuses a point that falls by more than noise. */
static enum gw_status check_rising(const struct gw_json *place, const struct gw_json *points,
                                   const struct gw_curve *curve, struct gw_error *error) {
    struct gw_raw raw = {0};
    enum gw_status status = gw_raw_read(place->node, &raw, error);
    size_t fall = gw_cluster_find_fall(curve, &raw);
    free(raw.sizes);
    if (status != GW_OK || fall == 0) {
        return status;
    }
    const cJSON *node = cJSON_GetArrayItem(points->node, (int)fall);
    struct gw_json point = gw_json_item(points, node, fall);
    struct gw_json time = gw_json_item(&point, cJSON_GetArrayItem(node, 1), 1);
    return gw_json_expected(&time, "no less time than for the smaller sizes", error);
}

/* Reads coefficients, 0 if absent; at least one must be there. */
static enum gw_status read_coefficients(const struct gw_json *place, struct gw_curve *out,
                                        struct gw_error *error) {
    static const char *const keys[] = {"fixed_s", "per_element_s", "per_nlog2n_s"};
    double *const numbers[] = {&out->fixed_s, &out->per_unit_s, &out->per_nlog2n_s};
    size_t found = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct gw_json coefficient = gw_json_member(place, keys[i]);
        if (coefficient.node != NULL) {
            GW_TRY(gw_json_seconds(&coefficient, numbers[i], error));
            found++;
        }
    }
    return found > 0 ? GW_OK
                     : gw_json_expected(place,
                                        "points, or one of fixed_s, per_element_s and per_nlog2n_s",
                                        error);
}

/* Checks stated margins or a skew: pairs of sizes and shares. */
static enum gw_status check_shares(const struct gw_json *place, const char *key, double most,
                                   struct gw_error *error) {
    struct gw_json list = gw_json_member(place, key);
    struct gw_curve shares = {0};
    enum gw_status status = list.node == NULL
                                ? GW_OK
                                : read_points(&list, "a pair [size, share]", most, &shares, error);
    gw_curve_free(&shares);
    return status;
}

enum gw_status gw_curve_read(const struct gw_json *place, enum gw_curve_names names,
                             struct gw_curve *out, struct gw_error *error) {
    *out = (struct gw_curve){0};
    GW_TRY(check_shares(place, "uncertainty", INFINITY, error));
    GW_TRY(check_shares(place, "skew", 1, error));
    struct gw_json points = gw_json_member(place, "points");
    if (points.node != NULL) {
        for (size_t i = 0; i < COEFFICIENTS; i++) { /* they would contradict each other */
            if (cJSON_GetObjectItemCaseSensitive(place->node, coefficients[i]) != NULL) {
                return gw_fail(error, GW_BAD_INPUT,
                               "%s: %s: expected points, or coefficients, got both", place->file,
                               place->path);
            }
        }
        if (cJSON_IsArray(points.node) && cJSON_GetArraySize(points.node) < 2) {
            return gw_json_expected(&points, "at least two points", error);
        }
        enum gw_status status =
            read_points(&points, "a pair [size, seconds]", INFINITY, out, error);
        status = status == GW_OK ? check_rising(place, &points, out, error) : status;
        if (status != GW_OK) {
            gw_curve_free(out);
        }
        return status;
    }
    if (names == GW_KERNEL_NAMES) {
        return read_coefficients(place, out, error);
    }
    struct gw_json alpha = gw_json_member(place, "alpha_s");
    struct gw_json beta = gw_json_member(place, "beta_s_per_byte");
    GW_TRY(gw_json_seconds(&alpha, &out->fixed_s, error));
    return gw_json_seconds(&beta, &out->per_unit_s, error);
}

/* ---- falling ------------------------------------------------------------------------------- */

/* Finds the measured size; NULL: it has no percentiles. */
static const struct gw_raw_size *find_range(const struct gw_raw *raw, double size) {
    for (size_t i = 0; i < raw->count; i++) {
        const struct gw_raw_size *one = &raw->sizes[i];
        if (one->size == size && isfinite(one->p5_s) && isfinite(one->p95_s)) {
            return one;
        }
    }
    return NULL;
}

size_t gw_cluster_find_fall(const struct gw_curve *curve, const struct gw_raw *raw) {
    static const double noise = 0.05; /* relative fall of a time that noise alone explains */
    enum { most_falls = 1000 };       /* each searches all measured sizes */
    double highest_s = 0;
    size_t falls = 0;
    for (size_t i = 0; i < curve->point_count; i++) {
        const struct gw_curve_point *point = &curve->points[i];
        if (i > 0 && point->time_s < point[-1].time_s && point->time_s < (1 - noise) * highest_s) {
            const struct gw_raw_size *before = find_range(raw, point[-1].size);
            const struct gw_raw_size *here = find_range(raw, point->size);
            if (++falls > most_falls || before == NULL || here == NULL ||
                here->p95_s < before->p5_s || point[-1].time_s > (1 + noise) * before->p95_s ||
                point->time_s < (1 - noise) * here->p5_s) {
                return i;
            }
        }
        highest_s = fmax(highest_s, point->time_s);
    }
    return 0;
}

enum gw_status gw_curve_find_rising(const struct gw_curve *curve, bool *rises,
                                    struct gw_error *error) {
    const struct gw_curve_point *points = curve->points;
    size_t count = curve->point_count;
    size_t length = 0;
    size_t *lasts = calloc(count + 1, sizeof *lasts); /* of the series of each length */
    size_t *befores = calloc(count + 1, sizeof *befores);
    if (lasts == NULL || befores == NULL) {
        free(befores);
        free(lasts);
        return gw_fail_memory(error, "adding a cost curve");
    }
    for (size_t i = 0; i < count; i++) {
        size_t low = 0;
        size_t high = length;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (points[lasts[middle]].time_s > points[i].time_s) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        befores[i] = low > 0 ? lasts[low - 1] : count;
        lasts[low] = i;
        length = low == length ? length + 1 : length;
    }
    for (size_t i = length > 0 ? lasts[length - 1] : count; i < count; i = befores[i]) {
        rises[i] = true;
    }
    free(befores);
    free(lasts);
    return GW_OK;
}

/* Gives each point outside of the rising series the nearest time between its neighbours in it. */
static void move_others(struct gw_curve *curve, const bool *rises) {
    double least_s = 0;
    size_t after = 0;
    for (size_t i = 0; i < curve->point_count; i++) {
        after = after < i ? i : after;
        while (after < curve->point_count && !rises[after]) {
            after++;
        }
        double most_s = after < curve->point_count ? curve->points[after].time_s : INFINITY;
        curve->points[i].time_s = fmin(fmax(curve->points[i].time_s, least_s), most_s);
        least_s = curve->points[i].time_s;
    }
}

enum gw_status gw_curve_make_rise(struct gw_curve *curve, const struct gw_raw *raw,
                                  struct gw_error *error) {
    if (gw_cluster_find_fall(curve, raw) == 0) {
        return GW_OK;
    }
    bool *rises = calloc(curve->point_count, sizeof *rises);
    enum gw_status status = rises == NULL ? gw_fail_memory(error, "adding a cost curve")
                                          : gw_curve_find_rising(curve, rises, error);
    if (status == GW_OK) {
        move_others(curve, rises);
    }
    free(rises);
    return status;
}

enum gw_status gw_curve_begin_above_zero(struct gw_curve *curve, struct gw_error *error) {
    const struct gw_curve_point *first = curve->points;
    static const double rounding = 1e-9;
    if (curve->point_count < 2 || first->size < GW_MIN_BEGUN_SIZE ||
        first[1].time_s * first->size <= (1 + rounding) * first->time_s * first[1].size) {
        return GW_OK;
    }
    struct gw_curve_point *points = calloc(curve->point_count + 1, sizeof *points);
    if (points == NULL) {
        return gw_fail_memory(error, "adding a cost curve");
    }
    points[0] = (struct gw_curve_point){.size = 1, .time_s = first->time_s / first->size};
    memcpy(points + 1, curve->points, curve->point_count * sizeof *points);
    free(curve->points);
    curve->points = points;
    curve->point_count++;
    return GW_OK;
}

/* ---- writing ------------------------------------------------------------------------------- */

/* Writes the curve in place of the open object's. */
void gw_curve_write(struct gw_json_writer *writer, const struct gw_curve *curve,
                    enum gw_curve_names names) {
    gw_writer_drop(writer, "points");
    for (size_t i = 0; i < COEFFICIENTS; i++) {
        gw_writer_drop(writer, coefficients[i]);
    }
    if (curve->point_count > 0) {
        gw_writer_array(writer, "points");
        for (size_t i = 0; i < curve->point_count; i++) {
            double pair[2] = {curve->points[i].size, curve->points[i].time_s};
            gw_writer_numbers(writer, NULL, pair, 2);
        }
        gw_writer_end(writer);
        return;
    }
    if (names == GW_COLLECTIVE_NAMES) {
        gw_writer_number(writer, "alpha_s", curve->fixed_s);
        gw_writer_number(writer, "beta_s_per_byte", curve->per_unit_s);
        return;
    }
    gw_writer_number(writer, "fixed_s", curve->fixed_s);
    if (curve->per_unit_s > 0) {
        gw_writer_number(writer, "per_element_s", curve->per_unit_s);
    }
    if (curve->per_nlog2n_s > 0) {
        gw_writer_number(writer, "per_nlog2n_s", curve->per_nlog2n_s);
    }
}
