#include "cli/simulate_goal.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/loggp.h"
#include "goal/goal.h"

/* LogGOPSim's own, for whoever gives none. */
static const char *const DEFAULT_LOGGP = "L=2500,o=1500,g=1000,O=0,G=6,S=65535";

static enum gw_status fill(cJSON *document, const struct gw_goal *goal,
                           const struct gw_goal_result *result, struct gw_error *error) {
    cJSON *finish = cJSON_AddArrayToObject(document, "finish_ns");
    bool complete = finish != NULL;
    for (uint32_t rank = 0; rank < goal->rank_count && complete; rank++) {
        cJSON *number = cJSON_CreateNumber((double)result->finish_ns[rank]);
        complete = number != NULL && cJSON_AddItemToArray(finish, number);
    }
    complete = complete &&
               cJSON_AddNumberToObject(document, "events", (double)result->events) != NULL &&
               cJSON_AddNumberToObject(document, "wall_s", result->wall_s) != NULL;
    return complete ? GW_OK : gw_fail_memory(error, "printing a result");
}

static enum gw_status print_json(const struct gw_goal *goal, const struct gw_goal_result *result,
                                 struct gw_error *error) {
    cJSON *document = cJSON_CreateObject();
    if (cJSON_AddStringToObject(document, "schema", "gradweave/goal-result@1") == NULL) {
        cJSON_Delete(document);
        return gw_fail_memory(error, "printing a result");
    }
    return gw_print_filled(document, fill(document, goal, result, error), error);
}

static void print_ranks(const struct gw_goal *goal, const struct gw_goal_result *result) {
    static const char *const headings[] = {"rank", "finishes"};
    char text[GW_UNITS_SIZE];
    struct gw_table *table = gw_table_open(headings, "rr");
    for (uint32_t rank = 0; rank < goal->rank_count; rank++) {
        gw_table_cell(table, "%u", rank);
        gw_table_cell(table, "%s", gw_format_seconds((double)result->finish_ns[rank] * 1e-9, text));
    }
    gw_table_print_and_close(table);
    printf("\n");
}

static void print_text(const char *path, const struct gw_goal *goal,
                       const struct gw_goal_result *result, double read_s) {
    enum { SHOWN = 16 };
    char text[GW_UNITS_SIZE];
    uint32_t last = 0;
    for (uint32_t rank = 1; rank < goal->rank_count; rank++) {
        last = result->finish_ns[rank] > result->finish_ns[last] ? rank : last;
    }
    printf("%s: %u ranks, %u operations\n\n", path, goal->rank_count, goal->operation_count);
    if (goal->rank_count <= SHOWN) {
        print_ranks(goal, result);
    }
    printf("the last rank, %u, finishes at %s\n", last,
           gw_format_seconds((double)result->finish_ns[last] * 1e-9, text));
    printf("%llu events", (unsigned long long)result->events);
    printf(" in %s", gw_format_seconds(result->wall_s, text));
    printf(" (%.1f million per second), read in %s\n",
           (double)result->events / (result->wall_s > 0 ? result->wall_s : 1e-9) / 1e6,
           gw_format_seconds(read_s, text));
}

static enum gw_status run(const char *path, const struct gw_loggops *parameters, bool json,
                          struct gw_goal *goal, struct gw_goal_result *result,
                          struct gw_error *error) {
    double start_s = gw_clock_now_s();
    GW_TRY(gw_goal_read(path, goal, error));
    double read_s = gw_clock_now_s() - start_s;
    GW_TRY(gw_goal_run(goal, parameters, path, result, error));
    if (json) {
        return print_json(goal, result, error);
    }
    print_text(path, goal, result, read_s);
    return GW_OK;
}

enum gw_status gw_simulate_goal(const char *path, const char *loggp, bool json,
                                struct gw_error *error) {
    struct gw_loggp_text text;
    struct gw_loggops parameters;
    struct gw_goal goal = {0};
    struct gw_goal_result result = {0};
    GW_TRY(gw_loggp_parse(loggp == NULL ? DEFAULT_LOGGP : loggp, &text, error));
    GW_TRY(gw_loggp_for_goal(&text, &parameters, error));
    enum gw_status status = run(path, &parameters, json, &goal, &result, error);
    free(result.finish_ns);
    gw_goal_free(&goal);
    return status;
}
