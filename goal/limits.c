#include "goal/limits.h"

static const char *name_of(const char *path) {
    return path == NULL ? "GOAL schedule" : path;
}

static enum gw_status check_parameters(const struct gw_loggops *parameters,
                                       struct gw_error *error) {
    const struct {
        const char *name;
        uint64_t ns;
    } all[] = {{"L", parameters->L},
               {"o", parameters->o},
               {"g", parameters->g},
               {"O", parameters->O},
               {"G", parameters->G}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].ns > GW_GOAL_LONGEST_NS) {
            return gw_fail(error, GW_BAD_INPUT,
                           "LogGOPS parameters: %s: expected at most 2^62 ns, got %llu",
                           all[i].name, (unsigned long long)all[i].ns);
        }
    }
    return GW_OK;
}

/* The largest message whose bytes are not charged longer. */
static uint64_t most_bytes(const struct gw_loggops *parameters) {
    uint64_t per_byte = parameters->O > parameters->G ? parameters->O : parameters->G;
    return per_byte == 0 ? UINT64_MAX : GW_GOAL_LONGEST_NS / per_byte + 1;
}

enum gw_status gw_goal_check_times(const struct gw_goal *goal, const struct gw_loggops *parameters,
                                   const char *path, struct gw_error *error) {
    GW_TRY(check_parameters(parameters, error));
    const uint64_t most[] = {[GW_GOAL_SEND] = most_bytes(parameters),
                             [GW_GOAL_RECEIVE] = UINT64_MAX,
                             [GW_GOAL_CALC] = GW_GOAL_LONGEST_NS};
    for (uint32_t i = 0; i < goal->operation_count; i++) {
        if (goal->operations[i].size > most[goal->operations[i].kind]) {
            char place[GW_GOAL_PLACE_SIZE];
            GW_TRY(gw_goal_place(path, i, place, error));
            return gw_fail(error, GW_BAD_INPUT,
                           "%s: %s: expected no operation longer than 2^62 ns (146 years), got "
                           "one",
                           name_of(path), place);
        }
    }
    return GW_OK;
}

enum gw_status gw_goal_fail_late(const char *path, uint32_t operation, struct gw_error *error) {
    char place[GW_GOAL_PLACE_SIZE];
    GW_TRY(gw_goal_place(path, operation, place, error));
    return gw_fail(error, GW_BAD_INPUT,
                   "%s: %s: expected times of at most 2^62 ns (146 years), got a later one",
                   name_of(path), place);
}

enum gw_status gw_goal_fail_late_rank(const char *path, uint32_t rank, struct gw_error *error) {
    return gw_fail(error, GW_BAD_INPUT,
                   "%s: rank %u: expected an end of at most 2^62 ns (146 years), got a later one",
                   name_of(path), rank);
}
