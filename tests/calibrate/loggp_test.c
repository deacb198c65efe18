/*
 * LogGP parameters: fitted to times made from known ones, and measured between threads in made-up
 * time. GRADWEAVE_SEED repeats a run.
 */
#include "calibrate/fit/fit.h"
#include "calibrate/measure/messages.h"
#include "calibrate/report.h"
#include "tests/test.h"

#include "tests/ranks.h"

#include "tests/calibrate/fake_hosts.h"

enum { MOST_POINTS = 64, CASES = 300 };

static struct gw_error error;

/* ---- times made from known parameters ------------------------------------------------------ */

static double draw_log(struct gw_random *random, double low, double high) {
    return low * pow(high / low, gw_random_uniform(random));
}

/*
 * A flood cannot be denser than its sender's overhead. The link's rate can be told from outside if
 * a byte takes little of a gap, and 256 KiB take many: from `smallest` to `largest` of it.
 */
static struct gw_loggp draw_loggp(struct gw_random *random, double smallest, double largest) {
    struct gw_loggp loggp = {.latency_s = draw_log(random, 3e-7, 1e-4),
                             .overhead_s = draw_log(random, 1e-7, 1e-5)};
    loggp.gap_s = loggp.overhead_s * draw_log(random, 1.1, 3);
    loggp.gap_s_per_byte = loggp.gap_s * draw_log(random, smallest, largest);
    loggp.overhead_s_per_byte = loggp.gap_s_per_byte * 0.9 * gw_random_uniform(random);
    return loggp;
}

struct points {
    struct gw_loggp_point items[MOST_POINTS];
    size_t count;
};

static void add_point(struct points *points, enum gw_loggp_kind kind, double bytes, double time_s) {
    points->items[points->count++] =
        (struct gw_loggp_point){.kind = kind, .bytes = bytes, .time_s = time_s};
}

/* The model, written once more: o + n O, then max(g, n G), then L, then o. */
static double ping_pong_s(const struct gw_loggp *p, double n) {
    double link_s = n * p->gap_s_per_byte > p->gap_s ? n * p->gap_s_per_byte : p->gap_s;
    return p->overhead_s + n * p->overhead_s_per_byte + link_s + p->latency_s + p->overhead_s;
}

static struct points make_points(const struct gw_loggp *p) {
    struct points out = {0};
    for (double n = 1; n <= 1 << 22; n *= n < 1024 ? 4 : 2) {
        add_point(&out, GW_PING_PONG, n, ping_pong_s(p, n));
    }
    for (double n = 1; n <= 1 << 18; n *= n < 65536 ? 16 : 4) {
        double link_s = n * p->gap_s_per_byte > p->gap_s ? n * p->gap_s_per_byte : p->gap_s;
        double sender_s = p->overhead_s + n * p->overhead_s_per_byte;
        add_point(&out, GW_FLOOD, n, sender_s > link_s ? sender_s : link_s);
    }
    for (double n = 1; n <= 2048; n *= n < 256 ? 16 : 2) {
        add_point(&out, GW_SEND_CALL, n, p->overhead_s + n * p->overhead_s_per_byte);
        add_point(&out, GW_RECEIVE_CALL, n, p->overhead_s);
    }
    return out;
}

static void shuffle(struct gw_random *random, struct points *points) {
    for (size_t i = 0; i + 1 < points->count; i++) {
        size_t other = i + (size_t)gw_random_below(random, points->count - i);
        struct gw_loggp_point swapped = points->items[i];
        points->items[i] = points->items[other];
        points->items[other] = swapped;
    }
}

static bool close_to(const char *what, double actual, double expected, double tolerance) {
    if (fabs(actual - expected) <= tolerance) {
        return true;
    }
    print_error("%s: %.6g, expected %.6g, give or take %.2g\n", what, actual, expected, tolerance);
    return false;
}

/* Times are known to `relative`; what is a difference of times is known to that share of those. */
static void check_fit(const struct points *points, const struct gw_loggp *p, double relative) {
    struct gw_loggp_fit fit;
    assert_ok(gw_loggp_fit(points->items, points->count, &fit, &error));
    double short_s = 2 * p->overhead_s + p->gap_s + p->latency_s;
    double byte_s = p->overhead_s_per_byte + p->gap_s_per_byte;
    assert_true(close_to("o", fit.loggp.overhead_s, p->overhead_s, relative * p->overhead_s));
    assert_true(close_to("g", fit.loggp.gap_s, p->gap_s, relative * p->gap_s));
    assert_true(close_to("L", fit.loggp.latency_s, p->latency_s, relative * short_s));
    assert_true(close_to("G", fit.loggp.gap_s_per_byte, p->gap_s_per_byte, relative * byte_s));
    assert_true(
        close_to("O", fit.loggp.overhead_s_per_byte, p->overhead_s_per_byte, relative * byte_s));
    assert_true(fit.ping_pong.median <= relative && fit.flood.median <= relative);
}

/* Draws parameters, in which a byte takes from `smallest` to `largest` of a gap, and checks that
 * they are found to `relative` from times that `disturb` has changed. */
static void check_drawn(uint64_t stream, double smallest, double largest,
                        void (*disturb)(struct gw_random *random, struct points *points),
                        double relative) {
    struct gw_random *random = open_random(stream);
    for (int i = 0; i < gw_trials(CASES); i++) {
        struct gw_loggp loggp = draw_loggp(random, smallest, largest);
        struct points points = make_points(&loggp);
        disturb(random, &points);
        check_fit(&points, &loggp, relative);
    }
    gw_random_close(random);
}

TEST(known_parameters_are_found) {
    check_drawn(1, 1. / 26000, 1. / 30, shuffle, 1e-6);
}

static void add_noise(struct gw_random *random, struct points *points) {
    for (size_t k = 0; k < points->count; k++) {
        points->items[k].time_s *= gw_random_noise(random, 0.01);
    }
}

TEST(noise_of_a_percent_costs_a_few) {
    check_drawn(2, 1. / 2000, 1. / 30, add_noise, 0.05);
}

/* One ping-pong of another time, of any size but the smallest. */
static void disturb_one(struct gw_random *random, struct points *points) {
    points->items[1 + gw_random_below(random, 17)].time_s *= draw_log(random, 0.3, 10);
}

TEST(one_disturbed_size_costs_little) {
    check_drawn(3, 1. / 2000, 1. / 500, disturb_one, 0.001);
}

/*
 * Copying that overlaps with sending: calls take time for each byte, and yet a byte costs no more
 * in a ping-pong than in a flood. And a receiver that looks for one message takes longer than one
 * that finds many.
 */
TEST(overlaps_do_not_count_twice) {
    const struct gw_loggp loggp = {1e-5, 1e-6, 2e-6, 8e-9, 0};
    const struct gw_loggp copying = {1e-5, 1e-6, 2e-6, 8e-9, 2e-9};
    const struct points slow = make_points(&copying);
    struct points points = make_points(&loggp);
    for (size_t i = 0; i < points.count; i++) {
        struct gw_loggp_point *point = &points.items[i];
        if (point->kind == GW_SEND_CALL) {
            point->time_s = slow.items[i].time_s;
        }
    }
    check_fit(&points, &loggp, 1e-6);
    for (size_t i = 0; i < points.count; i++) {
        points.items[i].time_s *= points.items[i].kind == GW_RECEIVE_CALL ? 9 : 1;
    }
    struct gw_loggp_fit fit;
    assert_ok(gw_loggp_fit(points.items, points.count, &fit, &error));
    assert_true(near(fit.loggp.overhead_s, loggp.gap_s, 1e-6));
    assert_true(near(fit.loggp.gap_s, loggp.gap_s, 1e-6));
    assert_true(near(ping_pong_s(&fit.loggp, 1), ping_pong_s(&loggp, 1), 1e-6));
    assert_true(fit.ping_pong.median < 1e-6 && fit.flood.median < 1e-6);
}

/*
 * Calls that are over when the message has come, as where a GPU's stream is waited for: of what
 * they take nothing can be told but that a flood's message takes no more.
 */
TEST(calls_that_wait_for_the_message_are_not_overhead) {
    const struct gw_loggp loggp = {2e-5, 1e-6, 2e-6, 1e-10, 0};
    struct points points = make_points(&loggp);
    for (size_t i = 0; i < points.count; i++) {
        struct gw_loggp_point *point = &points.items[i];
        if (point->kind == GW_SEND_CALL || point->kind == GW_RECEIVE_CALL) {
            point->time_s = ping_pong_s(&loggp, point->bytes);
        }
    }
    struct gw_loggp_fit fit;
    assert_ok(gw_loggp_fit(points.items, points.count, &fit, &error));
    assert_true(near(fit.loggp.overhead_s, loggp.gap_s, 1e-6));
    assert_true(near(fit.loggp.gap_s, loggp.gap_s, 1e-6));
    assert_true(near(fit.loggp.gap_s_per_byte, loggp.gap_s_per_byte, 1e-3));
    assert_true(
        near(fit.loggp.latency_s, loggp.latency_s - 2 * (loggp.gap_s - loggp.overhead_s), 1e-3));
    assert_true(fit.ping_pong.median < 1e-3 && fit.flood.median < 1e-3);
}

/* ---- what is no measurement, or a strange one ---------------------------------------------- */

static void refuse(const struct points *points, const char *expected) {
    struct gw_loggp_fit fit;
    error = (struct gw_error){0};
    assert_int_equal(gw_loggp_fit(points->items, points->count, &fit, &error), GW_BAD_INPUT);
    assert_string_equal(error.message, expected);
}

/* The points without some of a kind: those of more bytes than `largest`. */
static struct points without(const struct points *points, enum gw_loggp_kind kind, double largest) {
    struct points out = {0};
    for (size_t i = 0; i < points->count; i++) {
        if (points->items[i].kind != kind || points->items[i].bytes <= largest) {
            out.items[out.count++] = points->items[i];
        }
    }
    return out;
}

TEST(nonsense_is_refused) {
    const struct gw_loggp loggp = {1e-5, 1e-6, 2e-6, 8e-9, 1e-9};
    const struct points whole = make_points(&loggp);
    const double bad[] = {0, -1, NAN, INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char message[128];
        struct points points = whole;
        points.items[3].time_s = bad[i];
        (void)snprintf(message, sizeof message,
                       "LogGP: ping-pong: expected bytes and seconds above 0, got 64 and %g",
                       bad[i]);
        refuse(&points, message);
        points = whole;
        points.items[points.count - 1].bytes = bad[i];
        (void)snprintf(message, sizeof message,
                       "LogGP: receive call: expected bytes and seconds above 0, got %g and 1e-06",
                       bad[i]);
        refuse(&points, message);
    }
    struct points points = without(&whole, GW_PING_PONG, 1);
    refuse(&points, "LogGP: ping-pong: expected two sizes or more, got 1 points");
    points = without(&whole, GW_SEND_CALL, 1);
    refuse(&points, "LogGP: send call: expected two sizes or more, got 1 points");
    points = without(&whole, GW_FLOOD, 0);
    refuse(&points, "LogGP: flood: expected one size or more, got 0 points");
}

/*
 * Times without rhyme or reason: parameters stay ones that a cluster file may hold, and no link is
 * infinitely fast.
 */
TEST(parameters_are_never_negative) {
    const struct gw_loggp loggp = {1e-5, 1e-6, 2e-6, 8e-9, 1e-9};
    struct gw_random *random = open_random(4);
    for (int i = 0; i < gw_trials(CASES); i++) {
        struct points points = make_points(&loggp);
        struct gw_loggp_fit fit;
        for (size_t k = 0; k < points.count; k++) {
            points.items[k].time_s = draw_log(random, 1e-9, 1);
        }
        assert_ok(gw_loggp_fit(points.items, points.count, &fit, &error));
        const double values[] = {fit.loggp.latency_s, fit.loggp.overhead_s, fit.loggp.gap_s,
                                 fit.loggp.gap_s_per_byte, fit.loggp.overhead_s_per_byte};
        for (size_t k = 0; k < 5; k++) {
            assert_true(isfinite(values[k]) && values[k] >= 0);
        }
        assert_true(fit.loggp.gap_s_per_byte > 0 && ping_pong_s(&fit.loggp, 1) > 0);
    }
    gw_random_close(random);
}

/* ---- measured between ranks ---------------------------------------------------------------- */

enum { RANKS = 3, HOST_OF_TWO = 2 };

/* Ranks 0 and 1 are on one host, rank 2 on another; what goes there takes its sender this long. */
static const double between_s = 3e-4;
static const double within_s = 1e-6;
static const double byte_s = 2e-8;

static double message_s(int from, int to, size_t bytes) {
    return (from == HOST_OF_TWO) != (to == HOST_OF_TWO) ? between_s + (double)bytes * byte_s
                                                        : within_s + (double)bytes * byte_s / 100;
}

static enum gw_status measure(struct gw_communicator *communicator, void *context,
                              struct gw_error *out) {
    struct gw_cluster *cluster = context;
    struct gw_calibration calibration = gw_calibration_defaults();
    const struct gw_report report = {.scale = 1};
    communicator->transport = &fake_hosts_transport;
    calibration.clock = &fake_self->clock;
    calibration.max_bytes = 1 << 16;
    calibration.max_s_per_point = 0.05;
    GW_TRY(gw_cluster_create(cluster, "c", RANKS, 2, out));
    return gw_calibrate_network(communicator, &calibration, &report, cluster, out);
}

static void check_details(const struct gw_cluster *cluster, const char *key, int first,
                          int second) {
    const cJSON *details = cJSON_GetObjectItem(cluster->network->kept, key);
    const cJSON *ranks = cJSON_GetObjectItem(details, "ranks");
    assert_int_equal(cJSON_GetNumberValue(cJSON_GetArrayItem(ranks, 0)), first);
    assert_int_equal(cJSON_GetNumberValue(cJSON_GetArrayItem(ranks, 1)), second);
    assert_true(cJSON_GetArraySize(cJSON_GetObjectItem(details, "raw")) > 20);
}

/* All that a message takes is its sender's: its overhead as far as the model lets it be, half. */
static void check_pair(const struct gw_loggp *loggp, double expected_s, double expected_byte_s) {
    assert_true(near(ping_pong_s(loggp, 1), expected_s, 0.1));
    assert_true(near(loggp->gap_s_per_byte + loggp->overhead_s_per_byte, expected_byte_s, 0.02));
    assert_true(near(loggp->overhead_s, expected_s / 2, 0.1));
    assert_true(loggp->latency_s >= 0 && loggp->gap_s >= 0);
}

TEST(pairs_are_measured_within_and_between_hosts) {
    struct gw_cluster clusters[RANKS];
    fake_message_s = message_s;
    run_on_fake_hosts("aab", measure, clusters, sizeof *clusters);
    for (int r = 0; r < RANKS; r++) {
        const struct gw_network *network = clusters[r].network;
        assert_non_null(network);
        assert_memory_equal(network, clusters[0].network, offsetof(struct gw_network, kept));
        check_details(&clusters[r], "within", 0, 1);
        check_details(&clusters[r], "between", 0, 2);
        check_pair(&network->within, within_s, byte_s / 100);
        check_pair(&network->between, between_s, byte_s);
    }
    for (int r = 0; r < RANKS; r++) {
        gw_cluster_free(&clusters[r]);
    }
}
