/* Why the first of a ranking is the first, in words. */
#include <string.h>

#include "report/report.h"
#include "tests/test.h"

static void check_why(struct gw_result *results, size_t count, size_t equal_count,
                      size_t rival_count, const char *start) {
    const struct gw_comparison comparison = {.intervals = true};
    const struct gw_ranking ranking = {.comparison = &comparison,
                                       .count = count,
                                       .results = results,
                                       .equal_count = equal_count,
                                       .rival_count = rival_count};
    struct gw_arena arena = {0};
    struct gw_error error;
    const char *why = NULL;
    assert_ok(gw_ranking_explain(&ranking, &arena, &why, &error));
    if (strncmp(why, start, strlen(start)) != 0) {
        fail_msg("%s", why);
    }
    gw_arena_free(&arena);
}

/* Between 0.5 s less and 0.5 s more, as a collective that was not measured. */
static struct gw_result result_of(const char *algorithm, double iteration_s,
                                  const char *collective) {
    struct gw_result result = {.algorithm = algorithm, .iteration_s = iteration_s};
    gw_result_uncertain(&result, collective, true, 0.5);
    result.uncertainties[0].low_s = iteration_s - 0.5;
    result.uncertainties[0].high_s = iteration_s + 0.5;
    return result;
}

TEST(derived_collectives_are_listed_by_their_whole_names) {
    struct gw_result results[] = {result_of("topk", 1, "allgather"), result_of("ps", 1.1, "gather"),
                                  result_of("lags", 1.2, "allgather")};
    check_why(results, 3, 1, 2,
              "topk can't be told apart from 2 others, marked with ?: allgather, gather among so "
              "many workers were not measured, and they differ");
}

/* One pipeline by its own plan and by another one, where not all have that. */
TEST(a_plan_that_not_all_have_is_named) {
    struct gw_result results[] = {{.algorithm = "ddp", .policy = "optimal", .iteration_s = 1},
                                  {.algorithm = "ddp", .iteration_s = 1},
                                  {.algorithm = "dense", .iteration_s = 2}};
    check_why(results, 3, 2, 0,
              "ddp (optimal) and ddp are fastest: dense, the next, takes 1.000 s");
}
