#include "goal/waiting.h"

#include <stdio.h>

static const char *why_it_waits(const struct gw_goal_operation *operation) {
    if ((operation->state & FREE) == 0) {
        return "what it requires never happens";
    }
    return operation->kind == GW_GOAL_SEND ? "nobody receives it" : "nobody sends it";
}

static bool is_waiting(const struct gw_goal_operation *operation) {
    if (operation->kind == GW_GOAL_SEND && (operation->state & STARTED) != 0) {
        return (operation->state & ARRIVED) == 0;
    }
    return (operation->state & ENDED) == 0;
}

/* Operations that wait for a message first: those that require them follow from that. */
static uint32_t find_waiting(const struct gw_goal *goal, bool free_ones, uint32_t from) {
    for (uint32_t i = from; i < goal->operation_count; i++) {
        const struct gw_goal_operation *operation = &goal->operations[i];
        if (is_waiting(operation) && ((operation->state & FREE) != 0) == free_ones) {
            return i;
        }
    }
    return goal->operation_count;
}

static uint32_t rank_of(const struct gw_goal *goal, uint32_t operation) {
    uint32_t rank = 0;
    while (operation - goal->ranks[rank].first >= goal->ranks[rank].count) {
        rank++;
    }
    return rank;
}

enum gw_status gw_goal_check_ended(const struct gw_goal *goal, const char *path,
                                   struct gw_error *error) {
    enum { NAMED = 4 };
    uint64_t waiting = 0;
    for (uint32_t i = 0; i < goal->operation_count; i++) {
        waiting += is_waiting(&goal->operations[i]);
    }
    if (waiting == 0) {
        return GW_OK;
    }
    char text[NAMED * (GW_GOAL_PLACE_SIZE + 80)] = "";
    size_t length = 0;
    uint64_t named = 0;
    for (int free_ones = 1; free_ones >= 0; free_ones--) {
        uint32_t i = find_waiting(goal, free_ones, 0);
        for (; i < goal->operation_count && named < NAMED;
             i = find_waiting(goal, free_ones, i + 1), named++) {
            char place[GW_GOAL_PLACE_SIZE] = "";
            GW_TRY(gw_goal_place(path, i, place, error));
            int printed = snprintf(text + length, sizeof text - length, "%srank %u, %s: %s",
                                   named > 0 ? "; " : "", rank_of(goal, i), place,
                                   why_it_waits(&goal->operations[i]));
            length += (size_t)printed;
        }
    }
    return gw_fail(error, GW_BAD_INPUT, "%s: deadlock: %llu operation%s wait%s for ever: %s%s",
                   path == NULL ? "GOAL schedule" : path, (unsigned long long)waiting,
                   waiting == 1 ? "" : "s", waiting == 1 ? "s" : "", text,
                   waiting > named ? "; and others" : "");
}
