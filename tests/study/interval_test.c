/* Coverage of intervals: counted over clusters that are as uncertain as stated. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "study/study.h"
#include "tests/clusters.h"
#include "tests/test.h"

static struct gw_error error;

/* ---- one prediction -------------------------------------------------------------------------- */

enum { CURVES = 3, WORKERS = 4, ELEMENTS = 131072, DRAWS = 4000 };

/* Halves of 95% intervals: what is said of the repeats, and what is known of the curves by it. */
static const double repeats[CURVES] = {0.1, 0.3, 0.2};
static double margins[CURVES];

static int find_margins(void **state) {
    (void)state;
    for (int i = 0; i < CURVES; i++) {
        margins[i] = hypot(repeats[i], i == 0 ? GW_COLLECTIVE_MARGIN : GW_KERNEL_MARGIN);
    }
    return 0;
}
FIXTURES(find_margins, NULL)

/* Curves of allgather, topk and scatter-add that take so many times what was measured. */
static void open_cluster(const double times[CURVES], struct gw_cluster *out) {
    static const char *const units[CURVES] = {"bytes", "elements", "elements"};
    char curves[CURVES][500];
    for (int i = 0; i < CURVES; i++) {
        (void)snprintf(curves[i], sizeof curves[i],
                       "'points': [[65536, %.17g], [131072, %.17g]], 'raw': [{'%s': 65536, "
                       "'median_s': 1, 'median_low_s': %.17g, 'median_high_s': %.17g}, "
                       "{'%s': 524288, 'median_s': 8, 'median_low_s': %.17g, "
                       "'median_high_s': %.17g}]",
                       times[i], 2 * times[i], units[i], 1 - repeats[i], 1 + repeats[i], units[i],
                       8 * (1 - repeats[i]), 8 * (1 + repeats[i]));
    }
    parse_cluster(out,
                  "'workers': %d, 'collectives': {'allgather': [{'workers': %d, %s}]}, "
                  "'compressors': {'topk': {%s}}, 'aggregation': {'scatter-add': {%s}}",
                  WORKERS, WORKERS, curves[0], curves[1], curves[2]);
}

/* Whether all workers share half as many processors, and whether that is counted. */
enum turns { NONE, LEFT_OUT, COUNTED };

static struct gw_result ask_wide(const char *pipeline, const struct gw_cluster *cluster,
                                 unsigned bytes_per_element, bool interval, double bandwidth,
                                 enum turns turns) {
    struct gw_tensor tensor = {.name = "t", .elements = ELEMENTS, .backward_s = 1};
    const struct gw_model model = {.name = "one",
                                   .bytes_per_element = bytes_per_element,
                                   .forward_s = 1,
                                   .tensor_count = 1,
                                   .tensors = &tensor};
    struct gw_cluster shared = *cluster;
    struct gw_scenario scenario = {.model = &model,
                                   .cluster = &shared,
                                   .workers = WORKERS,
                                   .density = 0.5,
                                   .bandwidth = bandwidth,
                                   .interference = turns == COUNTED ? GW_INTERFERENCE_KNOWN
                                                                    : GW_INTERFERENCE_NONE};
    const struct gw_algorithm *algorithm = NULL;
    const struct gw_prediction_options options = {.interval = interval};
    struct gw_result result;
    if (turns != NONE) {
        shared.sharing = (struct gw_sharing){WORKERS, WORKERS / 2, WORKERS};
    }
    assert_ok(gw_algorithm_find(pipeline, &algorithm, &error));
    assert_ok(gw_predict(&scenario, algorithm, &options, &result, &error));
    return result;
}

static struct gw_result ask_of(const char *pipeline, const struct gw_cluster *cluster,
                               bool interval, double bandwidth, enum turns turns) {
    return ask_wide(pipeline, cluster, 4, interval, bandwidth, turns);
}

static struct gw_result ask(const double times[CURVES], bool interval, double bandwidth,
                            enum turns turns) {
    struct gw_cluster cluster;
    open_cluster(times, &cluster);
    if (turns != NONE) {
        cluster.compressors.list[0].together = (struct gw_curve){.per_unit_s = 5.0 / ELEMENTS};
    }
    struct gw_result result = ask_of("topk", &cluster, interval, bandwidth, turns);
    gw_cluster_free(&cluster);
    return result;
}

static struct gw_result predict_at(const double times[CURVES], bool interval, double bandwidth) {
    return ask(times, interval, bandwidth, NONE);
}

static struct gw_result predict(const double times[CURVES], bool interval) {
    return predict_at(times, interval, 1);
}

TEST(true_iterations_are_within_their_interval_in_95_of_100_cases) {
    static const double as_measured[CURVES] = {1, 1, 1};
    struct gw_random *random = random_stream(1);
    struct gw_result said = predict(as_measured, true);
    int inside = 0;
    assert_int_equal(said.uncertainty_count, CURVES);
    for (int draw = 0; draw < DRAWS; draw++) {
        double times[CURVES];
        for (int i = 0; i < CURVES; i++) {
            times[i] = pow(1 + margins[i], gw_random_normal(random, 1) / 1.96);
        }
        double unexplained = 1 + GW_UNEXPLAINED * gw_random_normal(random, 1) / 1.96;
        double truth_s = unexplained * predict(times, false).iteration_s;
        inside += said.iteration_low_s <= truth_s && truth_s <= said.iteration_high_s;
    }
    double share = (double)inside / DRAWS;
    if (!(fabs(share - 0.95) < 0.015)) {
        fail_msg("%.4f of %d within their interval", share, DRAWS);
    }
}

/* Each curve at its end makes the iteration that much longer or shorter, at its own size. */
TEST(curves_count_by_what_they_add) {
    static const double as_measured[CURVES] = {1, 1, 1};
    static const double seconds[CURVES] = {8, 2, 4}; /* of bytes, elements, entries of four */
    struct gw_result said = predict(as_measured, true);
    double above = pow(GW_UNEXPLAINED * said.iteration_s, 2);
    double below = above;
    for (size_t i = 0; i < CURVES; i++) {
        static const char *const names[CURVES] = {"allgather", "topk", "scatter-add"};
        above += pow(margins[i] * seconds[i], 2);
        below += pow(margins[i] / (1 + margins[i]) * seconds[i], 2);
        bool found = false;
        for (size_t k = 0; k < said.uncertainty_count; k++) {
            const struct gw_result_uncertainty *one = &said.uncertainties[k];
            bool same = strcmp(one->name, names[i]) == 0;
            found = found || same;
            assert_true(!same || (fabs(one->relative - margins[i]) < 1e-12 && !one->derived));
            assert_true(!same ||
                        fabs(one->high_s - said.iteration_s - margins[i] * seconds[i]) < 1e-9);
        }
        assert_true(found);
    }
    assert_true(fabs(said.iteration_s - 16) < 1e-9);
    assert_true(fabs(said.iteration_high_s - 16 - sqrt(above)) < 1e-9);
    assert_true(fabs(16 - said.iteration_low_s - sqrt(below)) < 1e-9);
    assert_true(predict(as_measured, false).iteration_high_s == 0);
}

/* Forward and backward pass, 1 s each, may take longer among workers than alone, never less. */
TEST(passes_among_workers_only_make_iterations_longer) {
    static const double as_measured[CURVES] = {1, 1, 1};
    struct gw_result alone = predict(as_measured, true);
    struct gw_cluster cluster;
    open_cluster(as_measured, &cluster);
    cluster.passes_uncertainty = 0.25;
    struct gw_result among = ask_of("topk", &cluster, true, 1, NONE);
    gw_cluster_free(&cluster);
    assert_true(among.iteration_s == alone.iteration_s);
    assert_true(among.iteration_low_s == alone.iteration_low_s);
    double longer_s = hypot(alone.iteration_high_s - alone.iteration_s, 0.25 * 2);
    assert_true(fabs(among.iteration_high_s - among.iteration_s - longer_s) < 1e-9);
    assert_int_equal(among.uncertainty_count, CURVES + 1);
}

/* They can only make it longer, and come on top: nobody hopes that they even out. */
TEST(turns_that_are_left_out_are_in_the_longer_end) {
    static const double as_measured[CURVES] = {1, 1, 1};
    struct gw_result alone = ask(as_measured, true, 1, NONE);
    struct gw_result without = ask(as_measured, true, 1, LEFT_OUT);
    struct gw_result with = ask(as_measured, true, 1, COUNTED);
    double turns_s = with.iteration_s - alone.iteration_s;
    assert_true(turns_s > 2.9);
    assert_true(without.iteration_s == alone.iteration_s);
    assert_true(without.iteration_low_s == alone.iteration_low_s);
    assert_true(fabs(without.iteration_high_s - alone.iteration_high_s - turns_s) < 1e-9);
    assert_int_equal(without.uncertainty_count, CURVES + 1);
}

/*
 * Two groups of 1 s of backward pass each, whose exchanges take 1 s: the first one's runs beside
 * the second one's pass. Both at 1/1.4 of their pace it ends 0.4 s later. A file that has factors
 * of passes, and passes that wait, leave nothing out. Passes that a file says take up to a quarter
 * longer, 0.5 s, have it in that, and factors stand in place of both.
 */
TEST(overlap_that_was_not_measured_is_in_the_longer_end) {
    static const char *const factors[] = {
        "", ", 'overlap': {'workers': 4, 'factors': {'allreduce': {'backward': [{"
            "'bytes': 1, 'compute': {'factor': 1}, 'communication': {'factor': 1}}]}}}"};
    struct gw_tensor tensors[] = {{.name = "a", .elements = ELEMENTS, .backward_s = 1},
                                  {.name = "b", .elements = ELEMENTS, .backward_s = 1}};
    static const struct {
        bool measured, timed;
        double passes, high_s;
    } table[] = {{false, false, 0, 3.4},
                 {true, false, 0, 3},
                 {false, true, 0, 3},
                 {false, false, 0.25, 3.5},
                 {true, false, 0.25, 3}};
    const struct gw_algorithm *algorithm = NULL;
    assert_ok(gw_algorithm_find("p-sgd", &algorithm, &error));
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct gw_cluster cluster;
        parse_cluster(
            &cluster,
            "'workers': 4, 'collectives': {'allreduce': [{'workers': 4, 'alpha_s': 1, "
            "'beta_s_per_byte': 0, 'uncertainty': [[1, 1e-6], [2, 1e-6]]}]}, 'compressors': {}%s",
            factors[table[i].measured]);
        cluster.passes_uncertainty = table[i].passes;
        const struct gw_model model = {
            .name = "two", .bytes_per_element = 4, .tensor_count = 2, .tensors = tensors};
        struct gw_scenario scenario = gw_scenario_of(&model, &cluster);
        const struct gw_prediction_options options = {.interval = true,
                                                      .simulation.timed_passes = table[i].timed};
        struct gw_result result;
        assert_ok(gw_predict(&scenario, algorithm, &options, &result, &error));
        assert_true(fabs(result.iteration_s - 3) < 1e-9);
        assert_true(fabs(result.iteration_high_s - table[i].high_s) < 0.05);
        assert_int_equal(result.warning_count, i == 0);
        gw_cluster_free(&cluster);
    }
}

/* One of four selects for all; the others add to their residuals, two at a time. */
TEST(followers_of_the_leader_are_as_uncertain_as_its_curve) {
    double margin = hypot(0.3, GW_KERNEL_MARGIN);
    struct gw_cluster cluster;
    parse_cluster(
        &cluster,
        "'workers': 4, 'collectives': {'broadcast': [{'workers': 4, 'alpha_s': 1, "
        "'beta_s_per_byte': 0}], 'allreduce': [{'workers': 4, 'alpha_s': 1, 'beta_s_per_byte': "
        "0}]}, 'compressors': {'topk': {'per_element_s': 1e-6}}, 'aggregation': {'take-and-put': "
        "{'fixed_s': 1}, 'sum': {'points': [[65536, 1], [131072, 2]], 'raw': [{'elements': 65536, "
        "'median_s': 1, 'median_low_s': 0.7, 'median_high_s': 1.3}, {'elements': 131072, "
        "'median_s': 2, 'median_low_s': 1.4, 'median_high_s': 2.6}]}}");
    cluster.compressors.list[0].together = (struct gw_curve){.per_unit_s = 2e-6};
    struct gw_result said = ask_of("clt-k", &cluster, true, 1, COUNTED);
    double sums_s = 0;
    for (size_t i = 0; i < said.uncertainty_count; i++) {
        const struct gw_result_uncertainty *one = &said.uncertainties[i];
        sums_s += strcmp(one->name, "sum") == 0 ? one->high_s - said.iteration_s : 0;
    }
    assert_true(fabs(sums_s - 2 * 2 * margin) < 1e-6);
    gw_cluster_free(&cluster);
}

/* Margins of a curve hold at another bandwidth too: medians are of the measured one. */
TEST(margins_are_as_wide_at_any_bandwidth) {
    static const double as_measured[CURVES] = {1, 1, 1};
    for (double bandwidth = 0.1; bandwidth < 20; bandwidth *= 10) {
        struct gw_result said = predict_at(as_measured, true, bandwidth);
        bool found = false;
        for (size_t i = 0; i < said.uncertainty_count; i++) {
            const struct gw_result_uncertainty *one = &said.uncertainties[i];
            bool same = strcmp(one->name, "allgather") == 0;
            found = found || same;
            assert_true(!same || fabs(one->relative - margins[0]) < 1e-12);
        }
        assert_true(found);
    }
}

/* Allreduces of 1 us a byte, known from 4 MiB on; messages of so many seconds a byte. */
static void open_large(int workers, double message_s, struct gw_cluster *out) {
    static const char curve[] =
        "'points': [[4194304, 4], [8388608, 8]], 'raw': [{'bytes': 4194304, "
        "'median_s': 4}, {'bytes': 8388608, 'median_s': 8}]";
    parse_cluster(out,
                  "'workers': 8, 'collectives': {'allreduce': [{'workers': %d, %s}, {'workers': "
                  "%d, %s}]}, 'network': {'between': {'latency_s': 0, 'overhead_s': 0, 'gap_s': 0, "
                  "'gap_s_per_byte': %g}}, 'compressors': {}",
                  workers, curve, workers + 1, curve, message_s);
}

/* Asks for an eighth of the smallest size, of 4 measured workers and of 4 derived from 2 and 3. */
TEST(extrapolated_sizes_have_wider_intervals) {
    const double distance = sqrt(8) - 1;
    for (int workers = WORKERS; workers >= 2; workers -= 2) {
        struct gw_cluster cluster;
        bool noted = false;
        open_large(workers, 1e-9, &cluster);
        struct gw_result said = ask_of("dense", &cluster, true, 1, NONE);
        double relative = said.uncertainties[0].relative;
        double known = GW_COLLECTIVE_MARGIN;
        assert_int_equal(said.uncertainty_count, 1);
        assert_int_equal(said.uncertainties[0].derived, workers == 2);
        if (workers == 2) {
            double law = 0;
            law = gw_cluster_uncertainty(&cluster, "allreduce", WORKERS);
            known = hypot(known, law);
        }
        assert_true(fabs(relative - hypot(known, distance)) < 1e-9);
        for (size_t i = 0; i < said.note_count; i++) {
            noted = noted || strstr(said.notes[i], "no size below 4.000 MiB was measured") != NULL;
        }
        assert_true(noted);
        gw_cluster_free(&cluster);
    }
}

/* Messages of 1 us a byte need 6 s for 4 MiB, 1.5 times as long as the curve says. */
TEST(curves_that_are_faster_than_messages_are_as_uncertain) {
    for (int faster = 0; faster < 2; faster++) {
        struct gw_cluster cluster;
        open_large(WORKERS, faster ? 1e-6 : 0.6e-6, &cluster);
        struct gw_result said = ask_wide("dense", &cluster, 32, true, 1, NONE);
        double excess_s = 1e-6 * 1.5 * (4 << 20) / 4 - 1;
        assert_true(fabs(said.uncertainties[0].relative -
                         hypot(GW_COLLECTIVE_MARGIN, faster ? excess_s : 0)) < 1e-9);
        gw_cluster_free(&cluster);
    }
}

/* ---- two of them ----------------------------------------------------------------------------- */

static struct gw_result result_of(double iteration_s, const char *name, double margin_s) {
    struct gw_result result = {.iteration_s = iteration_s};
    gw_result_uncertain(&result, name, false, 0.1);
    result.uncertainties[0].low_s = iteration_s - margin_s;
    result.uncertainties[0].high_s = iteration_s + margin_s;
    return result;
}

/* A common error shifts both by the same amount. */
TEST(shared_curves_do_not_keep_pipelines_from_being_told_apart) {
    struct gw_result first = result_of(1, "allgather", 0.3);
    struct gw_result same = result_of(1.05, "allgather", 0.3);
    struct gw_result less = result_of(1.05, "allgather", 0.2);
    struct gw_result other = result_of(1.05, "topk", 0.3);
    struct gw_result far = result_of(1.5, "topk", 0.3);
    struct gw_result exact = {.iteration_s = 1.05};
    assert_false(gw_results_meet(&first, &same));
    assert_true(gw_results_meet(&first, &less));
    assert_true(gw_results_meet(&first, &other));
    assert_false(gw_results_meet(&first, &far));
    assert_true(gw_results_meet(&first, &exact));
    assert_false(gw_results_meet(&(struct gw_result){.iteration_s = 1}, &exact));
    /* A hidden difference counts once: 0.3 s minus 0.35 s, not sqrt(2) times as much. */
    struct gw_result hidden = result_of(1, "allgather", 0);
    struct gw_result shown = result_of(1.35, "allgather", 0.3);
    assert_false(gw_results_meet(&hidden, &shown));
    struct gw_result near = result_of(1 + GW_UNEXPLAINED, "allgather", 0.3);
    assert_true(gw_results_meet(&first, &near));
}

/* Passes, exchanges of a curve that nobody knows how far off it is, and the exposed part of them.
 */
static struct gw_result unknown_of(double passes_s, double comm_s, double exposed_s) {
    struct gw_result result = {.iteration_s = passes_s + exposed_s,
                               .comm_s = comm_s,
                               .breakdown = {.backward_s = passes_s, .exposed_comm_s = exposed_s}};
    gw_result_uncertain(&result, "allreduce", true, NAN);
    return result;
}

/* Ten times the exchanges, hidden ones too, or a tenth of those that are exposed. */
TEST(unknown_curves_are_ten_times_off_at_most) {
    static const struct {
        double comm_s, exposed_s, other_s;
        bool meet;
    } table[] = {{0.09, 0.005, 1.014, true},
                 {0.09, 0.005, 1.016, false},
                 {0.01, 0.01, 0.299, true},
                 {0.01, 0.01, 0.301, false},
                 {0, 0, 0.3, false}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct gw_result first = unknown_of(0.2, table[i].comm_s, table[i].exposed_s);
        struct gw_result other = {.iteration_s = table[i].other_s};
        assert_true(gw_results_meet(&first, &other) == table[i].meet);
    }
    static const struct {
        double passes_s, exposed_s;
        bool meet;
    } seconds[] = {
        {0.193, 0.06, true}, {0.195, 0.06, false}, {0.199, 0.04, true}, {0.201, 0.04, false}};
    const struct gw_result known = {.iteration_s = 0.2};
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        struct gw_result second = unknown_of(seconds[i].passes_s, 0.06, seconds[i].exposed_s);
        assert_true(gw_results_meet(&known, &second) == seconds[i].meet);
    }
}
