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

/* ---- parts, and resting -------------------------------------------------------------------- */

/* Runs parts of every size, as in a calibration, while the other ranks wait for rank 0. */
static const char *parts_work_while_others_rest(struct gw_communicator *communicator) {
    int size = communicator->size;
    for (int first = 1; first <= size; first++) {
        const char *complaint = check_first(communicator, first, short_promises);
        if (complaint != NULL) {
            return complaint;
        }
        double woken_s = gw_clock_now_s();
        if (communicator->rank == 0) {
            gw_clock_sleep_until_s(woken_s + 2e-3);
            woken_s = gw_clock_now_s();
            if (gw_wake(communicator, first, NULL) != GW_OK) {
                return "wake: failed";
            }
        } else if (communicator->rank >= first &&
                   gw_rest_until_woken(communicator, NULL) != GW_OK) {
            return "rest_until_woken: failed";
        }
        double left_s = gw_clock_now_s();
        (void)gw_broadcast(communicator, 0, &woken_s, sizeof woken_s, NULL);
        if (communicator->rank >= first && left_s < woken_s) {
            return "rest_until_woken: left before it was woken (on one host, with one clock)";
        }
    }
    return NULL;
}

static const char *groups_have_parts(struct gw_communicator *lender) {
    struct gw_process_group group = lend_group(lender);
    struct gw_communicator communicator;
    if (gw_communicator_open_group(&group, &communicator, NULL) != GW_OK) {
        return "a group could not be opened";
    }
    const char *complaint = parts_work_while_others_rest(&communicator);
    if (complaint == NULL &&
        strcmp(communicator.transport->version(&communicator), group.name) != 0) {
        complaint = "a group has another name than it was given";
    }
    communicator.transport->close(&communicator);
    return complaint;
}

/* One test: an MPI job is joined once. */
TEST(groups_keep_their_promises) {
    check *const checks[] = {seeds_are_agreed_on, groups_keep_them, groups_have_parts, NULL};
    check_ranks(checks);
}

/* ---- what goes wrong ----------------------------------------------------------------------- */

static int lose(void *context, int type, const void *send, void *receive, size_t count) {
    (void)context;
    (void)type;
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
        assert_int_equal(gw_allreduce(&communicator, GW_NUMBER_FLOAT, &number, &number, 1, &error),
                         GW_FAILED);
        assert_string_equal(error.message, says ? "process group: allreduce: rank 3 has left"
                                                : "process group: allreduce: it failed");
        assert_ok(gw_allreduce(&communicator, GW_NUMBER_FLOAT, &number, &number, 0, &error));
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

TEST(groups_without_parts_say_so) {
    struct gw_process_group group = {.size = 1};
    struct gw_communicator communicator;
    struct gw_communicator part;
    struct gw_error error = {0};
    assert_ok(gw_communicator_open_group(&group, &communicator, &error));
    assert_int_equal(communicator.transport->open_first(&communicator, 1, &part, &error),
                     GW_BAD_INPUT);
    assert_string_equal(error.message,
                        "process group: expected one that opens groups of its first ranks");
    assert_null(part.transport);
    communicator.transport->close(&communicator);
}
