/*
 * Points shared among the threads and ranks of a job: every point is answered once and taken in
 * order, by all of them at once, and a failure to answer or to take ends all ranks.
 */
#include <stdatomic.h>
#include <string.h>

#include "study/points.h"
#include "tests/local_transport.h"
#include "tests/test.h"

enum { MOST_RANKS = 4 };

/* The work of a rank, and its result. */
struct sharing {
    struct gw_shared_points points;
    double longest_s;         /* to answer a point */
    uint64_t refuse, fail_at; /* points that are not answered, and not taken */
    atomic_int at_once, most; /* answers that are being made */
    atomic_uint_fast64_t answered;
    uint64_t next; /* point to be taken */
    bool right;
    enum gw_status status;
    struct gw_error error;
};

/* Nothing, or some words of a length and content of its own. */
static size_t write_answer(uint64_t point, char out[256]) {
    size_t length = gw_random_mix(point) % 200;
    for (size_t i = 0; i < length; i++) {
        out[i] = (char)gw_random_mix(point + i * i);
    }
    return length;
}

static enum gw_status answer_point(uint64_t point, FILE *stream, void *context,
                                   struct gw_error *error) {
    struct sharing *sharing = context;
    int at_once = atomic_fetch_add(&sharing->at_once, 1) + 1;
    int most = atomic_load(&sharing->most);
    while (at_once > most && !atomic_compare_exchange_weak(&sharing->most, &most, at_once)) {
    }
    double share = (double)(gw_random_mix(seed + point) >> 40) * 0x1p-24;
    gw_clock_sleep_until_s(gw_clock_now_s() + sharing->longest_s * share);
    atomic_fetch_sub(&sharing->at_once, 1);
    atomic_fetch_add(&sharing->answered, 1);
    if (point == sharing->refuse) {
        return gw_fail(error, GW_FAILED, "point %d has no answer", (int)point);
    }
    char text[256];
    (void)fwrite(text, 1, write_answer(point, text), stream);
    return GW_OK;
}

static enum gw_status take_answer(uint64_t point, const char *answer, size_t length, bool last,
                                  void *context, struct gw_error *error) {
    struct sharing *sharing = context;
    char text[256];
    size_t expected = write_answer(point, text);
    sharing->right = sharing->right && point == sharing->next && length == expected &&
                     memcmp(answer, text, length) == 0 &&
                     (last || point + 1 < sharing->points.count);
    sharing->next++;
    return point == sharing->fail_at ? gw_fail(error, GW_FAILED, "the disk is full") : GW_OK;
}

static void share(struct gw_communicator *communicator, void *context) {
    struct sharing *sharing = context;
    sharing->points.context = sharing;
    sharing->points.answer = answer_point;
    sharing->points.take = take_answer;
    sharing->next = sharing->points.first;
    sharing->right = true;
    sharing->status = gw_share_points(&sharing->points, communicator, &sharing->error);
}

#define NO_POINT .refuse = UINT64_MAX, .fail_at = UINT64_MAX

static void check_taken(const struct sharing *sharing) {
    assert_ok(sharing->status);
    assert_true(sharing->right);
    assert_true(sharing->next == sharing->points.count);
    assert_true(sharing->most <= (int)sharing->points.threads);
}

TEST(one_rank_takes_all_points_in_order) {
    static const uint64_t ranges[][2] = {{0, 0}, {0, 1}, {7, 7}, {3, 500}, {0, 20000}};
    for (size_t threads = 1; threads <= 5; threads++) {
        for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
            struct sharing one = {
                .points = {.first = ranges[i][0], .count = ranges[i][1], .threads = threads},
                .longest_s = ranges[i][1] > 1000 ? 0 : 0.0002,
                NO_POINT};
            share(NULL, &one);
            check_taken(&one);
            assert_true(one.answered == ranges[i][1] - ranges[i][0]);
        }
    }
}

TEST(threads_answer_at_the_same_time) {
    struct sharing one = {.points = {.count = 200, .threads = 4}, .longest_s = 0.02, NO_POINT};
    share(NULL, &one);
    check_taken(&one);
    assert_int_equal(one.most, gw_cores() < 4 ? gw_cores() : 4);
}

TEST(ranks_share_the_points) {
    for (int size = 1; size <= MOST_RANKS; size++) {
        struct sharing ranks[MOST_RANKS] = {0};
        uint64_t answered = 0;
        for (int rank = 0; rank < size; rank++) {
            ranks[rank] = (struct sharing){
                .points = {.first = 11, .count = 2000, .threads = 2}, .longest_s = 0.001, NO_POINT};
        }
        run_local_ranks(size, share, ranks, sizeof *ranks);
        check_taken(&ranks[0]);
        for (int rank = 0; rank < size; rank++) {
            assert_ok(ranks[rank].status);
            assert_true(ranks[rank].answered > 100);
            answered += ranks[rank].answered;
        }
        assert_true(answered == 2000 - 11);
    }
}

/* In the middle of the points, and at the last one. */
TEST(a_failure_to_take_ends_all_ranks) {
    static const uint64_t counts[] = {1000000000, 5001};
    for (int trial = 0; trial < 6; trial++) {
        struct sharing ranks[MOST_RANKS] = {0};
        int size = 1 + trial % 3;
        for (int rank = 0; rank < size; rank++) {
            ranks[rank] =
                (struct sharing){.points = {.count = counts[trial / 3], .threads = 2}, NO_POINT};
            ranks[rank].fail_at = 5000;
        }
        run_local_ranks(size, share, ranks, sizeof *ranks);
        assert_string_equal(ranks[0].error.message, "the disk is full");
        assert_true(ranks[0].right && ranks[0].next == 5001);
        for (int rank = 0; rank < size; rank++) {
            assert_int_equal(ranks[rank].status, GW_FAILED);
        }
    }
}

/* On each of the ranks. */
TEST(a_point_without_an_answer_ends_all_ranks) {
    for (uint64_t point = 5000; point < 5003; point++) {
        struct sharing ranks[3] = {0};
        for (int rank = 0; rank < 3; rank++) {
            ranks[rank] = (struct sharing){.points = {.count = 1000000000, .threads = 1}, NO_POINT};
            ranks[rank].refuse = point;
        }
        run_local_ranks(3, share, ranks, sizeof *ranks);
        assert_true(ranks[0].right && ranks[0].next <= point);
        for (int rank = 0; rank < 3; rank++) {
            assert_int_equal(ranks[rank].status, GW_FAILED);
            assert_non_null(strstr(ranks[rank].error.message, "has no answer"));
        }
    }
}
