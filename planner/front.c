#include "planner/front.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The order in which fronts are merged. */
static inline bool is_before(const struct gw_front_pair *a, const struct gw_front_pair *b) {
    return (a->first < b->first) | ((a->first == b->first) & (a->second < b->second));
}

/* The number of pairs whose first is below `first`. */
static size_t count_below(const struct gw_front *front, double first) {
    size_t low = 0;
    size_t high = front->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (front->pairs[middle].first < first) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

enum gw_status gw_front_reserve(struct gw_front *front, size_t count, struct gw_error *error) {
    static const size_t least = 16;
    if (count <= front->capacity) {
        return GW_OK;
    }
    struct gw_front_pair *pairs =
        gw_grow(front->pairs, count < least ? least : count, &front->capacity, sizeof *pairs);
    if (pairs == NULL) {
        return gw_fail_memory(error, "planning");
    }
    front->pairs = pairs;
    return GW_OK;
}

void gw_front_shrink(struct gw_front *front) {
    size_t capacity = front->count + 1;
    if (front->capacity < 1024 || front->capacity / 5 * 4 < capacity) {
        return;
    }
    struct gw_front_pair *pairs = realloc(front->pairs, capacity * sizeof *pairs);
    if (pairs != NULL) {
        front->pairs = pairs;
        front->capacity = capacity;
    }
}

/* Appends those of descending pairs whose second is below `least`; returns the end. */
static struct gw_front_pair *append_below(struct gw_front_pair *out,
                                          const struct gw_front_pair *pair,
                                          const struct gw_front_pair *end, double least) {
    while (pair < end && pair->second >= least) {
        pair++;
    }
    memcpy(out, pair, (size_t)(end - pair) * sizeof *out);
    return out + (end - pair);
}

enum gw_status gw_front_merge(struct gw_front *front, const struct gw_front_pair *pairs,
                              size_t count, struct gw_front *scratch, struct gw_error *error) {
    /* Up to the first pair that is new, nothing moves. */
    size_t at = count == 0 ? 0 : count_below(front, pairs[0].first);
    size_t next = 0;
    for (; next < count; next++) {
        while (at < front->count && front->pairs[at].first < pairs[next].first) {
            at++;
        }
        bool matched = (at > 0 && front->pairs[at - 1].second <= pairs[next].second) ||
                       (at < front->count && front->pairs[at].first == pairs[next].first &&
                        front->pairs[at].second <= pairs[next].second);
        if (!matched) {
            break;
        }
    }
    if (next == count) {
        return GW_OK;
    }
    size_t tail = front->count - at;
    GW_TRY(gw_front_reserve(front, front->count + count - next, error));
    GW_TRY(gw_front_reserve(scratch, tail + 1, error));
    memcpy(scratch->pairs, front->pairs + at, tail * sizeof *scratch->pairs);
    struct gw_front_pair *out = front->pairs + at;
    double least = at > 0 ? front->pairs[at - 1].second : INFINITY;
    const struct gw_front_pair *old = scratch->pairs;
    const struct gw_front_pair *old_end = old + tail;
    const struct gw_front_pair *added = pairs + next;
    const struct gw_front_pair *added_end = pairs + count;
    while (old < old_end && added < added_end) {
        bool take_added = is_before(added, old);
        const struct gw_front_pair *pair = take_added ? added : old;
        double second = pair->second;
        *out = *pair;
        added += take_added;
        old += !take_added;
        out += second < least;
        least = second < least ? second : least;
    }
    out = append_below(out, old, old_end, least);
    out = append_below(out, added, added_end, least);
    front->count = (size_t)(out - front->pairs);
    return GW_OK;
}

/* The end of the run of pairs, from `begin`, that differ from it by at most `loss` in a cost. */
static size_t run_end(const struct gw_front *front, size_t begin, double loss) {
    const struct gw_front_pair *pairs = front->pairs;
    size_t end = begin + 1;
    while (end < front->count && (pairs[end].first - pairs[begin].first <= loss ||
                                  pairs[begin].second - pairs[end].second <= loss)) {
        end++;
    }
    return end;
}

static size_t count_runs(const struct gw_front *front, double loss) {
    size_t count = 0;
    for (size_t begin = 0; begin < front->count; begin = run_end(front, begin, loss)) {
        count++;
    }
    return count;
}

/* A loss that leaves at most `most` runs, and little more than is needed for that. */
static double sufficient_loss(const struct gw_front *front, size_t most, double guess) {
    double too_little = 0;
    double enough = INFINITY;
    for (int step = 0; step < 16 || (isinf(enough) && isfinite(guess)); step++) {
        guess = guess > 0 ? guess : 1; /* the least that two costs differ by, in steps */
        size_t count = count_runs(front, guess);
        if (count > most) {
            too_little = guess;
            guess = isinf(enough) ? 4 * guess : sqrt(too_little * enough);
        } else {
            enough = guess;
            if (count > most - most / 4 || enough <= 1.05 * too_little) {
                break;
            }
            guess = too_little > 0 ? sqrt(too_little * enough) : guess / 4;
        }
    }
    return enough;
}

void gw_front_squeeze(struct gw_front *front, size_t most, double *guess) {
    if (front->count <= most) {
        return;
    }
    *guess = sufficient_loss(front, most, *guess);
    size_t count = 0;
    for (size_t begin = 0, end; begin < front->count; begin = end) {
        end = run_end(front, begin, *guess);
        front->pairs[count++] = (struct gw_front_pair){.first = front->pairs[begin].first,
                                                       .second = front->pairs[end - 1].second};
    }
    front->count = count;
}

void gw_front_thin(struct gw_front *front, size_t most, double *guess, const double *promised) {
    if (front->count <= most) {
        return;
    }
    *guess = sufficient_loss(front, most, *guess);
    size_t count = 0;
    for (size_t begin = 0, end; begin < front->count; begin = end) {
        size_t best = begin;
        end = run_end(front, begin, *guess);
        for (size_t i = begin + 1; i < end; i++) {
            best = promised[i] < promised[best] ? i : best;
        }
        front->pairs[count++] = front->pairs[best];
    }
    front->count = count;
}

/* The number of pairs, at its beginning, with first + x < second + y. */
static size_t find_crossing(const struct gw_front *front, double x, double y) {
    size_t low = 0;
    size_t high = front->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (front->pairs[middle].first + x < front->pairs[middle].second + y) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

double gw_front_complete(const struct gw_front *front, double x, double y) {
    /* first + x rises and second + y falls: the least maximum is beside their crossing. */
    size_t crossing = find_crossing(front, x, y);
    double best = INFINITY;
    if (crossing < front->count) {
        best = front->pairs[crossing].first + x;
    }
    if (crossing > 0) {
        best = fmin(best, front->pairs[crossing - 1].second + y);
    }
    return best;
}

size_t gw_front_keep(const struct gw_front *front, double limit, struct gw_front_pair *pairs,
                     size_t count) {
    size_t kept = 0;
    size_t partners = front->count; /* as firsts rise, fewer of the front leave room for them */
    for (size_t i = 0; i < count; i++) {
        while (partners > 0 && front->pairs[partners - 1].first + pairs[i].first >= limit) {
            partners--;
        }
        if (partners == 0) {
            break;
        }
        bool meets = front->pairs[partners - 1].second + pairs[i].second < limit;
        pairs[kept] = pairs[i];
        kept += meets;
    }
    return kept;
}

/* ---- hulls ----------------------------------------------------------------------------------- */

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

/* The point at which two lines (weight, value) cross. */
static struct gw_front_pair lines_crossing(struct gw_front_pair a, struct gw_front_pair b) {
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
        hull->pairs[i] = lines_crossing(lines[i], lines[i + 1]);
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
static bool hull_meets(const struct gw_front *hull, double limit, const struct gw_front_pair *pair,
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
        bool meets = hull_meets(hull, limit, &pairs[i], &partners);
        pairs[kept] = pairs[i];
        kept += meets;
    }
    return kept;
}

double gw_hull_complete(const struct gw_front *hull, double x, double y) {
    size_t crossing = find_crossing(hull, x, y);
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
