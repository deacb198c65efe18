/* Prints random curves as benchmarks do, imports them, and predicts sizes between theirs. */
#include "tests/traces/import_support.h"

enum { MOST_SIZES = 24 };

/* A curve of ascending sizes, of whole floats for each rank, and ascending times. */
struct made_up {
    size_t ranks, count;
    double bytes[MOST_SIZES], time_us[MOST_SIZES];
};

static struct made_up make_up(struct gw_random *random) {
    struct made_up out = {.ranks = 2 + gw_random_below(random, 15),
                          .count = 2 + gw_random_below(random, MOST_SIZES - 1)};
    double elements = 0;
    double time_us = 0;
    for (size_t i = 0; i < out.count; i++) {
        elements +=
            floor(1 + elements * gw_random_uniform(random) + (double)gw_random_below(random, 100));
        time_us += 0.01 * (1 + (double)gw_random_below(random, 10000));
        out.bytes[i] = 4 * elements;
        out.time_us[i] = time_us;
    }
    return out;
}

static void print_nccl(FILE *stream, const struct made_up *curve, double parts, const char *test) {
    (void)fprintf(stream, "# Collective test starting: %s_perf\n# nThread 1 nGpus %zu\n", test,
                  curve->ranks);
    for (size_t i = 0; i < curve->ranks; i++) {
        (void)fprintf(stream, "#  Rank %2zu Group  0 Pid 5 on h device %zu [0x07] G\n", i, i);
    }
    (void)fputs(COLUMNS_NEW, stream);
    for (size_t i = 0; i < curve->count; i++) {
        (void)fprintf(stream,
                      "%12.0f  %12.0f     float    none       0  %7.2f    0.00    0.00       0  "
                      "%7.2f    0.00    0.00     N/A\n",
                      curve->bytes[i] * parts, curve->bytes[i] / 4, curve->time_us[i],
                      curve->time_us[i] / 2);
    }
    (void)fputs("# Out of bounds values : 0 OK\n", stream);
}

static void print_osu(FILE *stream, const struct made_up *curve) {
    (void)fputs("# OSU MPI Gather Latency Test v7.5\n# Size       Avg Latency(us)\n", stream);
    for (size_t i = 0; i < curve->count; i++) {
        (void)fprintf(stream, "%-10.0f%18.2f\n", curve->bytes[i], curve->time_us[i]);
    }
}

/* Without times below zero for less than the smallest size: then there is one point more. */
static void assert_made_up(const struct gw_cluster *cluster, const char *name,
                           const struct made_up *curve) {
    double points[MOST_SIZES + 1][2] = {{1, curve->time_us[0] / curve->bytes[0]}};
    double proportional_us = points[0][1] * curve->bytes[1];
    size_t added = curve->bytes[0] >= 1024 && curve->time_us[1] > (1 + 1e-9) * proportional_us;
    for (size_t i = 0; i < curve->count; i++) {
        points[added + i][0] = curve->bytes[i];
        points[added + i][1] = curve->time_us[i];
    }
    assert_points(cluster, name, curve->ranks, points, added + curve->count);
}

TEST_IN_FOLDER(printed_curves_are_imported_back) {
    int rounds = gw_trials(100);
    struct gw_random *random = random_stream(1);
    for (int round = 0; round < rounds; round++) {
        struct made_up curve = make_up(random);
        for (int tool = 0; tool < 3; tool++) {
            static const char *const names[] = {"allgather", "broadcast", "gather"};
            struct gw_cluster cluster;
            struct gw_text text = {0};
            FILE *stream = gw_text_open(&text);
            assert_non_null(stream);
            if (tool == 2) {
                print_osu(stream, &curve);
            } else {
                print_nccl(stream, &curve, tool == 0 ? (double)curve.ranks : 1,
                           tool == 0 ? "all_gather" : "broadcast");
            }
            assert_ok(gw_text_close(&text, "printing", &error));
            cluster = import_text(*state, tool == 2 ? OSU : NCCL, "x", text.text, curve.ranks);
            assert_made_up(&cluster, names[tool], &curve);
            free(text.text);
            gw_cluster_free(&cluster);
        }
    }
}

/* Makes a curve of a startup and of two bandwidths, as protocols change at some size. */
static double knee_us(double bytes, const double parameters[4]) {
    double above = fmax(0, bytes - parameters[2]);
    return parameters[0] + (bytes - above) * parameters[1] + above * parameters[3];
}

/*
 * Leaves out every second power of two, the sizes that both tools step by, and predicts it. On a
 * straight part the line is exact, but for the digits that are printed; between the neighbours of
 * the knee its error is a third of the change in bandwidth at most.
 */
TEST_IN_FOLDER(sizes_that_were_left_out_are_predicted) {
    int rounds = gw_trials(100);
    double worst = 0;
    struct gw_random *random = random_stream(2);
    for (int round = 0; round < rounds; round++) {
        double slope = 1e-4 * (1 + gw_random_uniform(random));
        double change = 0.3 + 1.7 * gw_random_uniform(random);
        const double parameters[] = {5 + 40 * gw_random_uniform(random), slope,
                                     8192 * (1 + 31 * gw_random_uniform(random)), change * slope};
        struct made_up all = {.ranks = 8};
        struct made_up half = {.ranks = 8};
        double sum = 0;
        for (double bytes = 64; all.count < 19; bytes *= 2, all.count++) {
            all.bytes[all.count] = bytes;
            all.time_us[all.count] = knee_us(bytes, parameters);
            if (all.count % 2 == 0) {
                half.bytes[half.count] = bytes;
                half.time_us[half.count++] = all.time_us[all.count];
            }
        }
        struct gw_text text = {0};
        FILE *stream = gw_text_open(&text);
        assert_non_null(stream);
        print_osu(stream, &half);
        assert_ok(gw_text_close(&text, "printing", &error));
        struct gw_cluster cluster = import_text(*state, OSU, "x", text.text, 8);
        free(text.text);
        const struct gw_collective_cost *cost = gw_cluster_find_collective(&cluster, "gather", 8);
        for (size_t i = 1; i < all.count; i += 2) {
            double predicted_us = 1e6 * gw_curve_time(&cost->curve, all.bytes[i]);
            double off = fabs(predicted_us / all.time_us[i] - 1);
            bool has_knee = all.bytes[i - 1] < parameters[2] && parameters[2] < 2 * all.bytes[i];
            assert_true(off < (has_knee ? fabs(change - 1) / 3 : 0) + 0.002);
            worst = fmax(worst, off);
            sum += off;
        }
        assert_true(sum / (double)(half.count - 1) < 0.05);
        gw_cluster_free(&cluster);
    }
    print_message("sizes left out: off by %.1f%% at most, at a knee\n", 100 * worst);
}
