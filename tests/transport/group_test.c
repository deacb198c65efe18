/* A communicator of a process group that is lent: promises, and what is refused. */
#include "tests/transport/lent_group.h"
#include "tests/transport/promises.h"

static const char *groups_keep_them(struct gw_communicator *lender) {
    struct gw_process_group group = lend_group(lender);
    struct gw_communicator communicator;
    if (gw_communicator_open_group(&group, &communicator, NULL) != GW_OK) {
        return "a group could not be opened";
    }
    const char *complaint = run_checks(promises, &communicator);
    communicator.transport->close(&communicator);
    return complaint;
}

TEST(groups_keep_their_promises) {
    check *const checks[] = {seeds_are_agreed_on, groups_keep_them, NULL};
    check_ranks(checks);
}

/* ---- what goes wrong ----------------------------------------------------------------------- */

static int lose(void *context, const float *send, float *receive, size_t count) {
    (void)context;
    (void)send;
    (void)receive;
    return count > 0;
}

static const char *say_why(void *context) {
    (void)context;
    return "rank 3 has left";
}

TEST(failures_have_the_groups_words) {
    for (int says = 0; says < 2; says++) {
        struct gw_process_group group = {
            .size = 1, .allreduce = lose, .complain = says ? say_why : NULL};
        struct gw_communicator communicator;
        struct gw_error error = {0};
        float number = 1;
        assert_ok(gw_communicator_open_group(&group, &communicator, &error));
        assert_int_equal(gw_allreduce(&communicator, &number, &number, 1, &error), GW_FAILED);
        assert_string_equal(error.message, says ? "process group: allreduce: rank 3 has left"
                                                : "process group: allreduce: it failed");
        assert_ok(gw_allreduce(&communicator, &number, &number, 0, &error));
        communicator.transport->close(&communicator);
    }
}

TEST(ranks_that_there_are_not_are_refused) {
    static const int cases[][2] = {{-1, 2}, {2, 2}, {0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_process_group group = {.rank = cases[i][0], .size = cases[i][1]};
        struct gw_communicator communicator;
        struct gw_error error = {0};
        assert_int_equal(gw_communicator_open_group(&group, &communicator, &error), GW_BAD_INPUT);
        assert_non_null(strstr(error.message, "expected a rank below"));
    }
}
