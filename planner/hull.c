#include "planner/hull.h"

#include <math.h>
#include <string.h>

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

/* Whether the corner b lies on or above the line from a to c. */
static bool bends_up(const struct gw_front_pair *a, const struct gw_front_pair *b,
                     const struct gw_front_pair *c) {
    return (b->second - a->second) * (c->first - a->first) >=
           (c->second - a->second) * (b->first - a->first);
}

static bool all_inside(const struct gw_front *hull, const struct gw_front_pair *corners,
                       size_t count) {
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        while (at < hull->count && hull->pairs[at].first <= corners[i].first) {
            at++;
        }
        if (at == 0 || !is_above(hull, at, corners[i].first, corners[i].second)) {
            return false;
        }
    }
    return true;
}

enum gw_status gw_hull_merge(struct gw_front *hull, const struct gw_front_pair *corners,
                             size_t count, struct gw_front *scratch, struct gw_error *error) {
    if (all_inside(hull, corners, count)) {
        return GW_OK;
    }
    GW_TRY(gw_front_reserve(hull, hull->count + count, error));
    GW_TRY(gw_front_reserve(scratch, hull->count + 1, error));
    memcpy(scratch->pairs, hull->pairs, hull->count * sizeof *hull->pairs);
    const struct gw_front_pair *old = scratch->pairs;
    const struct gw_front_pair *old_end = old + hull->count;
    const struct gw_front_pair *added = corners;
    const struct gw_front_pair *added_end = corners + count;
    struct gw_front_pair *out = hull->pairs;
    size_t kept = 0;
    while (old < old_end || added < added_end) {
        bool take_added = old == old_end || (added < added_end && gw_front_pair_before(added, old));
        const struct gw_front_pair *pair = take_added ? added++ : old++;
        if (kept > 0 && pair->second >= out[kept - 1].second) {
            continue;
        }
        while (kept > 1 && bends_up(&out[kept - 2], &out[kept - 1], pair)) {
            kept--;
        }
        out[kept++] = *pair;
    }
    hull->count = kept;
    return GW_OK;
}

/* Where the edge from a to b and the edge from c to d, continued, cross between b and c. */
static struct gw_front_pair crossing(const struct gw_front_pair *a, const struct gw_front_pair *b,
                                     const struct gw_front_pair *c, const struct gw_front_pair *d) {
    double steep = (b->second - a->second) / (b->first - a->first);
    double flat = (d->second - c->second) / (d->first - c->first);
    double first =
        b->first + (c->second - b->second - flat * (c->first - b->first)) / (steep - flat);
    first = fmin(fmax(first, b->first), c->first);
    double second =
        fmin(b->second + steep * (first - b->first), c->second + flat * (first - c->first));
    return (struct gw_front_pair){first, fmin(fmax(second, c->second), b->second)};
}

/* How far a corner is from the edge between b and c that it replaces, in the cost that loses less.
 */
static double loss(const struct gw_front_pair *corner, const struct gw_front_pair *b,
                   const struct gw_front_pair *c) {
    double slope = (c->second - b->second) / (c->first - b->first);
    double below = b->second + slope * (corner->first - b->first) - corner->second;
    return fmin(below, below / -slope);
}

/* Drops edges, but not two neighbours, whose loss is small enough. */
static void drop_edges(struct gw_front *hull, double most_loss) {
    struct gw_front_pair *pairs = hull->pairs;
    struct gw_front_pair previous = pairs[0];
    size_t kept = 1;
    size_t next = 1;
    while (next + 2 < hull->count) {
        struct gw_front_pair corner =
            crossing(&previous, &pairs[next], &pairs[next + 1], &pairs[next + 2]);
        bool drop = !(loss(&corner, &pairs[next], &pairs[next + 1]) > most_loss);
        previous = pairs[next + drop];
        pairs[kept++] = drop ? corner : previous;
        next += 1 + drop;
    }
    while (next < hull->count) {
        pairs[kept++] = pairs[next++];
    }
    hull->count = kept;
}

void gw_hull_simplify(struct gw_front *hull, size_t most, double *guess) {
    if (hull->count <= most) {
        return;
    }
    if (most < 4) {
        hull->pairs[0].second = hull->pairs[hull->count - 1].second;
        hull->count = 1;
        return;
    }
    static const double least = 0x1p-20; /* far below a step */
    double most_loss = fmax(*guess / 8, least);
    while (hull->count > most) {
        size_t before = hull->count;
        drop_edges(hull, most_loss);
        if (hull->count == before) {
            most_loss *= 2;
        }
    }
    *guess = most_loss;
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

void gw_hull_trim(struct gw_front *hull, const struct gw_front *other, double limit) {
    size_t first = hull->count;
    size_t last = 0;
    size_t partners = other->count;
    for (size_t i = 0; i < hull->count; i++) {
        if (meets(other, limit, &hull->pairs[i], &partners)) {
            first = i < first ? i : first;
            last = i;
        }
    }
    if (first == hull->count) {
        return;
    }
    first -= first > 0;
    last += last + 1 < hull->count;
    hull->count = last + 1 - first;
    memmove(hull->pairs, hull->pairs + first, hull->count * sizeof *hull->pairs);
}

/*
 * Both hulls are convex: how far the two costs of a point of one and a point of the other stay
 * below the limit together is greatest at a corner of one of them.
 */
static bool corner_meets(const struct gw_front *hull, double limit,
                         const struct gw_front_pair *corners, size_t count) {
    size_t partners = hull->count;
    for (size_t i = 0; i < count && partners > 0; i++) {
        if (meets(hull, limit, &corners[i], &partners)) {
            return true;
        }
    }
    return false;
}

bool gw_hull_meets(const struct gw_front *hull, double limit, const struct gw_front_pair *corners,
                   size_t count) {
    struct gw_front_pair *unchanged = (struct gw_front_pair *)corners;
    struct gw_front other = {.count = count, .pairs = unchanged};
    return corner_meets(hull, limit, corners, count) ||
           corner_meets(&other, limit, hull->pairs, hull->count);
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
