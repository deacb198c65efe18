#include "planner/front.h"

#include <math.h>
#include <string.h>

/* The number of pairs whose first is at most `first`. */
static size_t count_up_to(const struct gw_front *front, double first) {
    size_t low = 0;
    size_t high = front->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (front->pairs[middle].first <= first) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

enum gw_status gw_front_add(struct gw_front *front, struct gw_front_pair pair,
                            struct gw_error *error) {
    size_t at = count_up_to(front, pair.first);
    if (at > 0 && front->pairs[at - 1].second <= pair.second) {
        return GW_OK;
    }
    size_t end = at; /* pairs[at .. end) are no better than the new one */
    while (end < front->count && front->pairs[end].second >= pair.second) {
        end++;
    }
    if (at > 0 && front->pairs[at - 1].first == pair.first) {
        at--;
    }
    if (end == at) {
        struct gw_front_pair *pairs =
            gw_grow(front->pairs, front->count + 1, &front->capacity, sizeof *pairs);
        if (pairs == NULL) {
            return gw_fail_memory(error, "planning");
        }
        front->pairs = pairs;
    }
    memmove(front->pairs + at + 1, front->pairs + end, (front->count - end) * sizeof *front->pairs);
    front->pairs[at] = pair;
    front->count = front->count - end + at + 1;
    return GW_OK;
}

bool gw_front_squeeze(struct gw_front *front, size_t most) {
    if (front->count <= most) {
        return false;
    }
    for (size_t i = 0; i < most; i++) {
        size_t begin = i * front->count / most;
        size_t end = (i + 1) * front->count / most;
        front->pairs[i] = (struct gw_front_pair){.first = front->pairs[begin].first,
                                                 .second = front->pairs[end - 1].second};
    }
    front->count = most;
    return true;
}

double gw_front_complete(const struct gw_front *front, double x, double y) {
    /* first + x rises and second + y falls: the least maximum is on either side of their crossing.
     */
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
    double best = INFINITY;
    if (low < front->count) {
        best = front->pairs[low].first + x;
    }
    if (low > 0) {
        best = fmin(best, front->pairs[low - 1].second + y);
    }
    return best;
}
