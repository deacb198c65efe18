/*
 * When each group of a plan is ready and exchanged, against sums by definition and against the
 * simulator's timeline.
 */
#include "methods/schedule.h"
#include "tests/planner/planner_cases.h"
#include "tests/sim/simulate.h"

static struct gw_error error;

/* ---- random plans -------------------------------------------------------------------------- */

struct grouped_case {
    struct planning_case x;
    size_t group_count;
    struct gw_group groups[usual_tensors];
    struct gw_group_times times[usual_tensors];
};

static void make_grouped_case(struct gw_random *random, struct grouped_case *out) {
    bool ends[usual_tensors];
    make_case(random, 1 + gw_random_below(random, usual_tensors), &out->x);
    uint64_t chance = 1 + gw_random_below(random, 10);
    for (size_t l = 0; l < usual_tensors; l++) {
        ends[l] = gw_random_below(random, chance) == 0;
        out->x.tensors[l].name = out->x.model.name;
    }
    out->group_count = groups_of(ends, out->x.model.tensor_count, out->groups);
    for (size_t g = 0; g < out->group_count; g++) {
        out->times[g] =
            gw_plan_group_times(&out->x.costs, &out->groups[g], g == 0 ? NULL : &out->times[g - 1]);
    }
}

static void for_random_cases(uint64_t stream, int full,
                             void (*check)(const struct grouped_case *)) {
    struct gw_random *random = random_stream(stream);
    for (int i = 0, count = gw_trials(full); i < count; i++) {
        struct grouped_case x;
        make_grouped_case(random, &x);
        check(&x);
    }
}

/* ---- by definition ------------------------------------------------------------------------- */

static double compress_s(const struct grouped_case *x, size_t g) {
    return gw_costs_compress_s(&x->x.costs, gw_group_elements(&x->groups[g], &x->x.model));
}

static double exchange_s(const struct grouped_case *x, size_t g) {
    uint64_t elements = gw_group_elements(&x->groups[g], &x->x.model);
    return gw_costs_exchange_s(&x->x.costs, &(struct gw_size){.elements = elements, .tensors = 1});
}

/* All compute before group g is compressed. */
static double ready_s(const struct grouped_case *x, size_t g) {
    double sum = x->x.model.forward_s;
    for (size_t l = x->groups[g].last; l < x->x.model.tensor_count; l++) {
        sum += x->x.tensors[l].backward_s;
    }
    for (size_t before = 0; before < g; before++) {
        sum += compress_s(x, before);
    }
    return sum;
}

/* The exchange of g ends after some group j is compressed and all from j to g are exchanged. */
static double exchange_end_s(const struct grouped_case *x, size_t g) {
    double latest = 0;
    for (size_t j = 0; j <= g; j++) {
        double sum = ready_s(x, j) + compress_s(x, j);
        for (size_t k = j; k <= g; k++) {
            sum += exchange_s(x, k);
        }
        latest = fmax(latest, sum);
    }
    return latest;
}

static double exchange_start_s(const struct grouped_case *x, size_t g) {
    double compressed_s = ready_s(x, g) + compress_s(x, g);
    return g == 0 ? compressed_s : fmax(compressed_s, exchange_end_s(x, g - 1));
}

static void check_definition(const struct grouped_case *x) {
    for (size_t g = 0; g < x->group_count; g++) {
        const struct gw_group_times *times = &x->times[g];
        double before = g == 0 ? x->x.model.forward_s : ready_s(x, g - 1) + compress_s(x, g - 1);
        assert_true(near(times->backward_start_s, before, 1e-11));
        assert_true(near(times->ready_s, ready_s(x, g), 1e-11));
        assert_true(near(times->compressed_s, ready_s(x, g) + compress_s(x, g), 1e-11));
        assert_true(near(times->exchange_end_s, exchange_end_s(x, g), 1e-11));
        assert_true(near(times->exchange_start_s, exchange_start_s(x, g), 1e-11));
    }
    assert_true(gw_plan_iteration_s(&x->x.costs, x->groups, x->group_count) ==
                x->times[x->group_count - 1].exchange_end_s + x->x.model.update_s);
}

TEST(times_are_sums_of_what_comes_before) {
    for_random_cases(1, 5000, check_definition);
}

/* ---- the simulator ------------------------------------------------------------------------- */

/* A cluster raises curves that fall; both drivers take any. */
static void keep_falling(const struct gw_curve *curve, struct gw_curve *out) {
    for (size_t i = 0; i < curve->point_count; i++) {
        out->points[i] = curve->points[i];
    }
}

/* The curves of the case as a cluster has them. */
static void make_cluster(const struct grouped_case *x, const struct gw_algorithm *algorithm,
                         struct gw_cluster *out) {
    struct gw_curve exchange;
    struct gw_curve compress;
    assert_ok(gw_cluster_create(out, "random", 16, 1, &error));
    assert_ok(gw_curve_copy(&x->x.costs.exchange, &exchange, &error));
    assert_ok(
        gw_cluster_add_collective(out, algorithm->exchange->name, 16, exchange, NULL, &error));
    assert_ok(gw_curve_copy(&x->x.costs.compress, &compress, &error));
    assert_ok(gw_kernel_costs_add(&out->compressors, algorithm->compressor->name, compress, NULL,
                                  &error));
    keep_falling(&x->x.costs.exchange, &out->collectives[0].curve);
    keep_falling(&x->x.costs.compress, &out->compressors.list[0].curve);
}

static void check_timeline(const struct grouped_case *x, const struct gw_timeline *timeline) {
    size_t exchanges = 0;
    for (size_t i = 0; i < timeline->span_count; i++) {
        const struct gw_span *span = &timeline->spans[i];
        if (span->group == GW_NO_GROUP) {
            continue;
        }
        const struct gw_group_times *times = &x->times[span->group];
        if (span->activity == GW_BACKWARD) {
            assert_true(span->start_s >= times->backward_start_s * (1 - 1e-9));
            assert_true(span->end_s <= times->ready_s * (1 + 1e-9));
        } else if (span->activity == GW_COMPRESS) {
            assert_true(near(span->start_s, times->ready_s, 1e-9));
            assert_true(near(span->end_s, times->compressed_s, 1e-9));
        } else if (span->activity == GW_EXCHANGE) {
            assert_true(near(span->start_s, times->exchange_start_s, 1e-9));
            assert_true(near(span->end_s, times->exchange_end_s, 1e-9));
            exchanges++;
        }
    }
    assert_int_equal(exchanges, x->group_count);
}

static void check_simulation(const struct grouped_case *x) {
    const struct gw_algorithm *algorithm = NULL;
    struct gw_cluster cluster;
    struct gw_schedule schedule;
    struct gw_timeline timeline;
    struct gw_measure measure;
    bool sparse = gw_costs_compress(&x->x.costs);
    assert_ok(gw_algorithm_find(sparse ? "omgs" : "mg-wfbp", &algorithm, &error));
    struct gw_group groups[usual_tensors];
    memcpy(groups, x->groups, sizeof groups);
    struct gw_plan plan = {.model = x->x.model.name,
                           .policy = x->x.model.name,
                           .compressor = (char *)x->x.costs.way.compressor->name,
                           .density = sparse ? x->x.costs.way.density : 1,
                           .workers = 16,
                           .group_count = x->group_count,
                           .groups = groups};
    make_cluster(x, algorithm, &cluster);
    assert_ok(gw_algorithm_schedule(algorithm, &x->x.model, &plan, &schedule, &error));
    run_simulation(&schedule, &cluster, &(struct gw_simulation){.workers = 16}, 1, &timeline,
                   &measure);
    check_timeline(x, &timeline);
    gw_timeline_free(&timeline);
    gw_schedule_free(&schedule);
    gw_cluster_free(&cluster);
}

TEST(the_simulator_comes_to_the_same_times) {
    for_random_cases(3, 5000, check_simulation);
}
