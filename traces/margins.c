#include "traces/margins.h"

#include <math.h>

/* What is less known than that is not known at all, and more would be too large a number. */
static const double largest = 1000;

/* A median of repeats with its 95% interval; without one both ends are the median. */
struct measured {
    double size, median_s, low_s, high_s;
};

static double number_of(const cJSON *object, const char *key) {
    return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

/* An end of the median's interval. Benchmarks of others, which are imported, say none. */
static double end_of(const cJSON *object, const char *key, double median_s) {
    bool is_there = cJSON_GetObjectItemCaseSensitive(object, key) != NULL;
    return is_there ? number_of(object, key) : median_s;
}

/* What is no number, and sizes that do not ascend, say nothing. */
static size_t read_measured(const cJSON *raw, const char *unit, struct measured *out) {
    size_t count = 0;
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, raw) {
        double median_s = number_of(item, "median_s");
        struct measured one = {.size = number_of(item, unit),
                               .median_s = median_s,
                               .low_s = end_of(item, "median_low_s", median_s),
                               .high_s = end_of(item, "median_high_s", median_s)};
        bool ascends = count == 0 || one.size > out[count - 1].size;
        if (one.size > 0 && ascends && one.median_s > 0 && one.low_s <= one.high_s) {
            out[count++] = one;
        }
    }
    return count;
}

/* How far a median is from the line between its neighbours, relative to it; 0 at the ends. */
static double bend_at(const struct measured *all, size_t count, size_t i) {
    if (i == 0 || i + 1 >= count) {
        return 0;
    }
    const struct measured *before = &all[i - 1], *after = &all[i + 1];
    double share = (all[i].size - before->size) / (after->size - before->size);
    double line_s = before->median_s + share * (after->median_s - before->median_s);
    return fabs(line_s / all[i].median_s - 1);
}

static double margin_at(const struct measured *all, size_t count, size_t i,
                        const struct gw_curve *curve) {
    const struct measured *one = &all[i];
    double half = (one->high_s - one->low_s) / (2 * one->median_s);
    double off = fabs(gw_curve_time(curve, one->size) / one->median_s - 1);
    return fmin(hypot(half, 2 * fmax(off, bend_at(all, count, i) / 4)), largest);
}

/* What a file says itself: a margin at each of some sizes. */
static size_t read_stated(const cJSON *entry, struct gw_margins *out) {
    const cJSON *pair = NULL;
    size_t count = 0;
    cJSON_ArrayForEach(pair, cJSON_GetObjectItemCaseSensitive(entry, "uncertainty")) {
        double size = cJSON_GetNumberValue(cJSON_GetArrayItem(pair, 0));
        double relative = cJSON_GetNumberValue(cJSON_GetArrayItem(pair, 1));
        if (size > 0 && relative >= 0) {
            out->sizes[count] = size;
            out->relative[count++] = fmin(relative, largest);
        }
    }
    return count;
}

enum gw_status gw_margins_open(const cJSON *entry, const char *unit, const struct gw_curve *curve,
                               double elsewhere, struct gw_arena *arena, struct gw_margins *out,
                               struct gw_error *error) {
    const cJSON *raw = cJSON_GetObjectItemCaseSensitive(entry, "raw");
    const cJSON *stated = cJSON_GetObjectItemCaseSensitive(entry, "uncertainty");
    size_t most = (size_t)cJSON_GetArraySize(raw) + (size_t)cJSON_GetArraySize(stated) + 1;
    struct measured *all = gw_arena_zeros(arena, most, sizeof *all);
    *out = (struct gw_margins){.sizes = gw_arena_zeros(arena, most, sizeof *out->sizes),
                               .relative = gw_arena_zeros(arena, most, sizeof *out->relative)};
    GW_TRY(gw_arena_check(arena, "reading what is known of a curve", error));
    if (raw == NULL) {
        out->count = read_stated(entry, out);
        return GW_OK;
    }
    out->count = read_measured(raw, unit, all);
    out->elsewhere = elsewhere;
    for (size_t i = 0; i < out->count; i++) {
        double margin = margin_at(all, out->count, i, curve);
        out->sizes[i] = all[i].size;
        out->relative[i] = hypot(elsewhere, margin);
        if (i + 2 >= out->count && out->count >= 2) {
            out->rest = fmax(out->rest, margin);
            out->last_s[i + 2 - out->count] = all[i].median_s;
        }
    }
    return GW_OK;
}

/* At a size beyond the last two, by their line. */
static double margin_beyond(const struct gw_margins *margins, double size) {
    double first = margins->sizes[margins->count - 2];
    double last = margins->sizes[margins->count - 1];
    double first_s = margins->last_s[0];
    double last_s = margins->last_s[1];
    double further = (size - last) / (last - first);
    double line_s = last_s + further * fmax(last_s - first_s, 0);
    double off_s = margins->rest * (last_s + further * (first_s + last_s));
    return fmin(hypot(margins->elsewhere, off_s / line_s), largest);
}

double gw_margins_at(const struct gw_margins *margins, double size) {
    size_t above = 0;
    while (above < margins->count && margins->sizes[above] < size) {
        above++;
    }
    if (margins->count == 0) {
        return 0;
    }
    if (above == margins->count) {
        return margins->last_s[1] > 0 ? margin_beyond(margins, size) : margins->relative[above - 1];
    }
    bool exact = above == 0 || margins->sizes[above] == size;
    return exact ? margins->relative[above]
                 : fmax(margins->relative[above - 1], margins->relative[above]);
}
