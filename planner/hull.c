#include "planner/hull.h"

#include <math.h>

/* Whether (first, second) lies above the hull, which has `at` >= 1 corners at or before `first`. */
static bool is_above(const struct gw_front *hull, size_t at, double first, double second) {
    const struct gw_front_pair *end = &hull->pairs[at];
    const struct gw_front_pair *begin = end - 1;
    if (at == hull->count) {
        return second > begin->second;
    }
    return (second - begin->second) * (end->first - begin->first) >
           (end->second - begin->second) * (first - begin->first);
}

/* Whether the point b lies above the line from a to c, of which a is furthest to the right. */
static bool is_above_chord(const struct gw_front_pair *a, const struct gw_front_pair *b,
                           const struct gw_front_pair *c) {
    return (b->second - a->second) * (a->first - c->first) >
           (c->second - a->second) * (a->first - b->first);
}

/* Where the lines (weight, value) cross. */
static struct gw_front_pair crossing(struct gw_front_pair a, struct gw_front_pair b) {
    double difference = (a.second - b.second) / (a.first - b.first); /* of first and second */
    double second = a.second - a.first * difference;
    return (struct gw_front_pair){second + difference, second};
}

enum gw_status gw_hull_from_lines(struct gw_front *hull, const double *weights,
                                  const double *values, size_t count, struct gw_error *error) {
    hull->count = 0;
    if (isinf(values[0])) {
        return GW_OK;
    }
    GW_TRY(gw_front_reserve(hull, count, error));
    /* A line is of use where, over the weights, its value is above all chords between others. */
    struct gw_front_pair *lines = hull->pairs;
    size_t used = 0;
    for (size_t i = count; i-- > 0;) {
        struct gw_front_pair line = {weights[i], values[i]};
        while (used > 1 && !is_above_chord(&lines[used - 2], &lines[used - 1], &line)) {
            used--;
        }
        lines[used++] = line;
    }
    hull->count = used - 1;
    for (size_t i = 0; i < hull->count; i++) {
        hull->pairs[i] = crossing(lines[i], lines[i + 1]);
    }
    /* Corners next to each other may be rounded out of order; outwards, nothing is lost. */
    for (size_t i = 1; i < hull->count; i++) {
        hull->pairs[i].second = fmin(hull->pairs[i].second, hull->pairs[i - 1].second);
    }
    for (size_t i = hull->count - 1; i-- > 0;) {
        hull->pairs[i].first = fmin(hull->pairs[i].first, hull->pairs[i + 1].first);
    }
    return GW_OK;
}

/*
 * Whether a pair and a point of the hull stay below the limit together. `partners`, the corners
 * that leave room for the pair's first cost, is the hull's count for the first pair asked about and
 * only falls for those after it, whose first costs are larger.
 */
static bool meets(const struct gw_front *hull, double limit, const struct gw_front_pair *pair,
                  size_t *partners) {
    double room = limit - pair->first;
    while (*partners > 0 && hull->pairs[*partners - 1].first >= room) {
        --*partners;
    }
    return *partners > 0 && is_above(hull, *partners, room, limit - pair->second);
}

size_t gw_hull_keep(const struct gw_front *hull, double limit, struct gw_front_pair *pairs,
                    size_t count) {
    size_t kept = 0;
    size_t partners = hull->count;
    for (size_t i = 0; i < count && partners > 0; i++) {
        if (meets(hull, limit, &pairs[i], &partners)) {
            pairs[kept++] = pairs[i];
        }
    }
    return kept;
}

double gw_hull_complete(const struct gw_front *hull, double x, double y) {
    size_t crossing = gw_front_crossing(hull, x, y);
    if (hull->count == 0) {
        return INFINITY;
    }
    if (crossing == hull->count) {
        return hull->pairs[crossing - 1].second + y;
    }
    const struct gw_front_pair *end = &hull->pairs[crossing];
    if (crossing == 0) {
        return end->first + x;
    }
    const struct gw_front_pair *begin = end - 1;
    double ahead = begin->second + y - begin->first - x;
    double behind = end->first + x - end->second - y;
    return begin->first + x + (end->first - begin->first) * (ahead / (ahead + behind));
}
