/*
 * Emulated training: counts against direct runs of the same training, counts scaled up against what
 * must stay, and the shapes that the ExDyna paper reports.
 */
#include "kernels/gradients/emulation.h"
#include "kernels/gradients/training.h"
#include "tests/kernels/kernels_support.h"
#include "tests/traces/recorded_gradients.h"

/* ---- a model in groups --------------------------------------------------------------------- */

enum { MOST_TENSORS = 24 };

struct scene {
    struct gw_model model;
    struct gw_tensor tensors[MOST_TENSORS];
    struct gw_plan plan;
    struct gw_group groups[MOST_TENSORS];
    struct gw_schedule schedule;
};

/* `group_count` groups of about as many tensors each. */
static void scene_open(struct scene *scene, const char *compressor, double density, size_t workers,
                       size_t tensors, uint64_t elements, size_t group_count) {
    *scene = (struct scene){
        .model = {.name = (char *)"m", .bytes_per_element = 4, .tensor_count = tensors}};
    scene->model.tensors = scene->tensors;
    for (size_t t = 0; t < tensors; t++) {
        scene->tensors[t] =
            (struct gw_tensor){.name = (char *)"t", .elements = 1 + elements * (t % 3 + 1) / 2};
    }
    scene->plan =
        (struct gw_plan){.workers = workers, .group_count = group_count, .groups = scene->groups};
    for (size_t g = 0; g < group_count; g++) {
        size_t first = tensors - 1 - g * tensors / group_count;
        size_t next = tensors - (g + 1) * tensors / group_count;
        scene->groups[g] = (struct gw_group){.first = first, .last = next};
    }
    const struct gw_compressor *found = NULL;
    assert_ok(gw_compressor_choose(compressor, &found, NULL));
    const struct gw_way way = {.compressor = found, .density = density};
    assert_ok(gw_schedule_create(&scene->schedule, &scene->model, &scene->plan, &way, NULL));
}

static struct gw_counts emulate(const struct scene *scene, struct gw_gradient_emulation asked) {
    struct gw_counts counts;
    struct gw_error error = {0};
    asked.model = "m";
    asked.algorithm = "a";
    asked.density = scene->schedule.ways[0].density;
    asked.decay = asked.decay == 0 ? SIZE_MAX : asked.decay;
    if (gw_emulate_gradients(&scene->schedule, &asked, &counts, &error) != GW_OK) {
        fail_msg("%s", error.message);
    }
    return counts;
}

/* ---- scaling ------------------------------------------------------------------------------- */

TEST(shrunk_groups_keep_their_share) {
    struct gw_random *random = random_stream(0);
    for (int round = 0; round < 2000; round++) {
        size_t layers[MOST_TENSORS];
        struct gw_slice slice = {.size.tensors = 1 + gw_random_below(random, MOST_TENSORS)};
        for (size_t i = 0; i < slice.size.tensors; i++) {
            layers[i] = 1 + gw_random_below(random, 1u << gw_random_below(random, 22));
            slice.size.elements += layers[i];
        }
        slice.kept = gw_elements_kept(slice.size.elements, 0.5 * gw_random_uniform(random));
        double reduction = 1 + 1000 * gw_random_uniform(random);
        struct gw_arena arena = {0};
        struct gw_shrunk shrunk;
        assert_ok(gw_shrink(&slice, layers, reduction, 16, &arena, &shrunk, NULL));
        size_t sum = 0;
        for (size_t i = 0; i < slice.size.tensors; i++) {
            assert_true(shrunk.layers[i] >= 1);
            sum += shrunk.layers[i];
        }
        assert_int_equal(sum, shrunk.elements);
        assert_true(shrunk.elements <= slice.size.elements && shrunk.kept <= shrunk.elements);
        double share = (double)slice.kept / (double)slice.size.elements;
        double off = (double)shrunk.kept - share * (double)shrunk.elements;
        assert_true(fabs(off) < 1);
        assert_int_equal(gw_grown_count(&slice, &shrunk, 0), 0);
        assert_int_equal(gw_grown_count(&slice, &shrunk, shrunk.kept), slice.kept);
        assert_int_equal(gw_grown_count(&slice, &shrunk, shrunk.elements), slice.size.elements);
        uint64_t before = 0;
        for (size_t i = 0; i <= 100; i++) {
            uint64_t grown = gw_grown_count(&slice, &shrunk, shrunk.elements * i / 100);
            assert_true(grown >= before && grown <= slice.size.elements);
            before = grown;
        }
        gw_arena_free(&arena);
    }
}

/* ---- against direct runs ------------------------------------------------------------------- */

/* An emulation at full size of gradients that are written here: seed, scales and threshold. */
static void check_direct(const char *compressor, size_t workers, size_t threads) {
    enum { WARMUP = 3, ITERATIONS = 12, DECAY = 7, POOL = 1 << 20 };
    struct scene scene;
    scene_open(&scene, compressor, 0.01, workers, 5, 3000, 2);
    struct gw_counts counts =
        emulate(&scene, (struct gw_gradient_emulation){.warmup = WARMUP,
                                                       .iterations = ITERATIONS,
                                                       .decay = DECAY,
                                                       .elements = 1 << 30,
                                                       .seed = seed,
                                                       .threads = threads});
    float *pool = allocate(POOL, sizeof *pool);
    draw_gradient(GW_SHAPE_NORMAL, 1, 0, seed, POOL, pool);
    for (size_t g = 0; g < 2; g++) {
        const struct gw_slice *slice = &scene.schedule.groups[g];
        struct gw_training_spec spec = {
            .compressor = gw_compressor_find(compressor),
            .gradients = {.shape = GW_SHAPE_NORMAL,
                          .scale = 1,
                          .seed = gw_random_mix(seed + g),
                          .spread = 0.5,
                          .drift = 1,
                          .sizes = scene.schedule.layers + slice->first_layer,
                          .tensor_count = slice->size.tensors,
                          .pool = pool,
                          .pool_size = POOL},
            .kept = slice->kept,
            .workers = workers,
            .batch_spread = 0.1};
        struct gw_gradients *scales = NULL;
        double squares = 0;
        assert_ok(gw_gradients_open(&scales, &spec.gradients, NULL));
        for (size_t t = 0; t < slice->size.tensors; t++) {
            squares += (double)spec.gradients.sizes[t] * pow(gw_gradients_scale(scales, t, 0), 2);
        }
        gw_gradients_close(scales);
        spec.gradients.scale = 1 / sqrt(squares);
        if (!spec.compressor->stateful) {
            assert_ok(gw_training_first_threshold(&spec, &spec.threshold, NULL));
        }
        struct gw_training training;
        assert_ok(gw_training_open(&training, &spec, NULL));
        for (size_t t = 0; t < WARMUP + ITERATIONS; t++) {
            double factor = t >= WARMUP + DECAY ? 0.1 : 1;
            assert_ok(gw_training_step(&training, factor, NULL));
            if (t < WARMUP) {
                continue;
            }
            const uint64_t *selected = gw_counts_at(&counts, t - WARMUP, g);
            for (size_t w = 0; w < workers; w++) {
                assert_int_equal(selected[w], training.counts[w]);
            }
            assert_int_equal(counts.distinct[(t - WARMUP) * 2 + g],
                             gw_training_selected(&training));
        }
        gw_training_close(&training);
    }
    free(pool);
    gw_counts_free(&counts);
    gw_schedule_free(&scene.schedule);
}

TEST(counts_are_those_of_a_training) {
    static const char *const compressors[] = {"hard-threshold", "exdyna",     "gaussiank",
                                              "sidco",          "layer-drop", "topk"};
    for (size_t i = 0; i < sizeof compressors / sizeof *compressors; i++) {
        check_direct(compressors[i], 1 + i % 4, 1 + i % 2);
    }
}

/* ---- recorded gradients -------------------------------------------------------------------- */

enum { RECORDED = 4, SAMPLED = 900, ITERATIONS = 9, WORKERS = 3, RECORDED_WORKERS = 2 };

/* The largest that fewer than `kept` of the first worker's first magnitudes are above. */
static float threshold_by_hand(const struct drawn_gradients *drawn, size_t first, size_t count,
                               size_t kept) {
    float threshold = INFINITY;
    for (size_t e = 0; e < count; e++) {
        float value = (float)fabs(drawn_value(drawn, 0, 0, first + e));
        size_t above = 0;
        for (size_t other = 0; other < count; other++) {
            above += (float)fabs(drawn_value(drawn, 0, 0, first + other)) > value ? 1 : 0;
        }
        threshold = above < kept ? fminf(threshold, value) : threshold;
    }
    return threshold;
}

/* The elements that a fixed threshold selects from `count` sampled ones, from `first` on. */
static void select_by_hand(const struct drawn_gradients *drawn, size_t first, size_t count,
                           size_t kept, uint64_t selected[ITERATIONS][WORKERS],
                           uint64_t distinct[ITERATIONS]) {
    float residual[WORKERS][2 * SAMPLED] = {{0}};
    float threshold = threshold_by_hand(drawn, first, count, kept);
    for (size_t t = 0; t < ITERATIONS; t++) {
        bool marked[2 * SAMPLED] = {false};
        distinct[t] = 0;
        for (size_t w = 0; w < WORKERS; w++) {
            selected[t][w] = 0;
            size_t later = w / RECORDED_WORKERS;
            for (size_t e = 0; e < count; e++) {
                float *u = &residual[w][e];
                *u += (float)drawn_value(drawn, t + later, w % RECORDED_WORKERS, first + e);
                if (fabsf(*u) >= threshold) {
                    *u = 0;
                    selected[t][w]++;
                    distinct[t] += marked[e] ? 0 : 1;
                    marked[e] = true;
                }
            }
        }
    }
}

/* Four tensors in two groups; the last ones, which the first group has, stand last in the file. */
TEST(recorded_gradients_are_selected_from) {
    static const char *const names[] = {"t", "t", "t", "t"};
    static const size_t sampled[] = {SAMPLED / 3, SAMPLED * 2 / 3, SAMPLED, SAMPLED / 3};
    static const size_t backwards[] = {3, 2, 1, 0};
    struct scene scene;
    scene_open(&scene, "hard-threshold", 0.02, WORKERS, RECORDED, 4000, 2);
    size_t elements[RECORDED];
    for (size_t t = 0; t < RECORDED; t++) {
        elements[t] = scene.tensors[t].elements;
    }
    struct drawn_gradients drawn = {.model = "m",
                                    .tensor_count = RECORDED,
                                    .workers = RECORDED_WORKERS,
                                    .iterations = ITERATIONS + 1,
                                    .names = names,
                                    .elements = elements,
                                    .sampled = sampled};
    draw_levels(&drawn, random_stream(7));
    char *text = drawn_document(&drawn);
    struct gw_recorded_gradients recorded;
    assert_ok(gw_recorded_gradients_parse(text, strlen(text), "g", &recorded, NULL));
    struct gw_counts counts =
        emulate(&scene, (struct gw_gradient_emulation){.iterations = ITERATIONS,
                                                       .recorded = &recorded,
                                                       .recorded_tensors = backwards});
    for (size_t g = 0; g < 2; g++) {
        const struct gw_slice *slice = &scene.schedule.groups[g];
        uint64_t selected[ITERATIONS][WORKERS];
        uint64_t distinct[ITERATIONS];
        size_t first = g == 0 ? SAMPLED : 0;
        size_t count = g == 0 ? SAMPLED + SAMPLED / 3 : SAMPLED;
        double kept = (double)count * (double)slice->kept / (double)slice->size.elements;
        struct gw_shrunk shrunk = {.elements = count, .kept = (size_t)round(kept)};
        select_by_hand(&drawn, first, count, shrunk.kept, selected, distinct);
        for (size_t t = 0; t < ITERATIONS; t++) {
            for (size_t w = 0; w < WORKERS; w++) {
                assert_int_equal(gw_counts_at(&counts, t, g)[w],
                                 gw_grown_count(slice, &shrunk, selected[t][w]));
            }
            assert_int_equal(counts.distinct[2 * t + g],
                             gw_grown_count(slice, &shrunk, distinct[t]));
        }
    }
    gw_counts_free(&counts);
    gw_recorded_gradients_free(&recorded);
    gw_schedule_free(&scene.schedule);
    free(text);
    free_drawn(&drawn);
}

/* The threshold of the k largest |gradient| selects just these k of the first gradient. */
TEST(the_first_threshold_selects_as_many_as_asked) {
    const size_t sizes[] = {4000, 7000, 500};
    struct gw_training_spec spec = {.compressor = gw_compressor_find("hard-threshold"),
                                    .gradients = {.shape = GW_SHAPE_NORMAL,
                                                  .scale = 0.01,
                                                  .spread = 1,
                                                  .drift = 1,
                                                  .sizes = sizes,
                                                  .tensor_count = 3,
                                                  .seed = seed},
                                    .kept = 115,
                                    .workers = 2};
    struct gw_training training;
    assert_ok(gw_training_first_threshold(&spec, &spec.threshold, NULL));
    assert_ok(gw_training_open(&training, &spec, NULL));
    assert_ok(gw_training_step(&training, 1, NULL));
    assert_int_equal(training.counts[0], 115);
    gw_training_close(&training);
}

/* ---- shapes -------------------------------------------------------------------------------- */

struct means {
    double density, padding;
};

static struct means mean_of(const char *compressor, size_t workers, size_t decay) {
    struct scene scene;
    scene_open(&scene, compressor, 0.001, workers, 20, 1000000, 1);
    struct gw_counts counts = emulate(&scene, (struct gw_gradient_emulation){.warmup = 500,
                                                                             .iterations = 100,
                                                                             .decay = decay,
                                                                             .elements = 1 << 17,
                                                                             .seed = seed,
                                                                             .threads = 2});
    struct means means = {0};
    for (size_t i = 0; i < 100; i++) {
        means.density += gw_counts_density(&counts, i) / 100;
        means.padding += gw_counts_padding(&counts, i) / 100;
    }
    gw_counts_free(&counts);
    gw_schedule_free(&scene.schedule);
    return means;
}

/* ExDyna paper, Figs. 1 and 6: a fixed threshold is exceeded by far, and more of it by more. */
TEST(a_fixed_threshold_builds_up) {
    struct means before = {0};
    for (size_t workers = 1; workers <= 8; workers *= 2) {
        struct means means = mean_of("hard-threshold", workers, 0);
        assert_true(means.density > 0.01);
        assert_true(workers == 1 || means.density > 1.4 * before.density);
        assert_true(workers == 1 ? near(means.padding, 1, 1e-9)
                                 : means.padding > before.padding + 0.02);
        before = means;
    }
}

/* Within the band of 10% in which Algorithm 5 moves slowly, with any number of workers. */
TEST(exdyna_keeps_its_density) {
    for (size_t workers = 1; workers <= 8; workers *= 2) {
        double density = mean_of("exdyna", workers, 0).density;
        assert_true(density > 0.9e-3 && density < 1.1e-3);
    }
}

/* Top-k of workers that draw independently: up to P times as many, and never fewer. */
TEST(topk_builds_up) {
    struct means means = mean_of("topk", 4, 0);
    assert_true(means.density > 3e-3 && means.density <= 4e-3);
    assert_true(near(means.padding, 1, 1e-9));
}

/* Its Fig. 6: with gradients a tenth as large, a fixed threshold selects far fewer. */
TEST(a_decay_makes_density_drop) {
    double full = mean_of("hard-threshold", 2, 0).density;
    assert_true(mean_of("hard-threshold", 2, 1).density < full / 4);
}

/* Its Fig. 9: partitions that move are padded less. */
TEST(moving_partitions_are_padded_less) {
    assert_true(mean_of("exdyna", 4, 0).padding < mean_of("exdyna-static", 4, 0).padding);
}

/* ---- as a simulation takes them ------------------------------------------------------------ */

TEST(selections_follow_from_counts) {
    static const struct {
        const struct gw_compressor *compressor;
        bool has_distinct;
        uint64_t all;
    } cases[] = {{&gw_compressor_exdyna, false, 12},
                 {&gw_compressor_exdyna, true, 11},
                 {&gw_compressor_hard_threshold, false, 7},
                 {&gw_compressor_hard_threshold, true, 11},
                 {&gw_compressor_layer_drop, true, 11}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_counts counts;
        struct gw_selected *selected = NULL;
        const struct gw_way way = {.compressor = cases[i].compressor};
        struct gw_slice groups[] = {{.way = &way}, {.way = &way}};
        const struct gw_schedule schedule = {.groups = groups};
        const struct gw_counts_about about = {.model = "m",
                                              .algorithm = "a",
                                              .compressor = cases[i].compressor->name,
                                              .source = "s",
                                              .density = 0.1,
                                              .workers = 2,
                                              .group_count = 2,
                                              .iteration_count = 1};
        assert_ok(gw_counts_create(&counts, &about, cases[i].has_distinct, NULL));
        counts.groups[0].elements = counts.groups[1].elements = 20;
        counts.selected[2] = 5;
        counts.selected[3] = 7;
        if (cases[i].has_distinct) {
            counts.distinct[1] = 11;
        }
        assert_ok(gw_counts_selected(&counts, &schedule, &selected, NULL));
        assert_int_equal(selected[0].most, 0);
        assert_int_equal(selected[1].most, 7);
        assert_int_equal(selected[1].mean, 6);
        assert_int_equal(selected[1].all, cases[i].all);
        free(selected);
        gw_counts_free(&counts);
    }
}

TEST(dense_exchange_is_refused) {
    struct scene scene;
    struct gw_counts counts;
    scene_open(&scene, "none", 1, 2, 3, 100, 1);
    const struct gw_gradient_emulation asked = {
        .model = "m", .algorithm = "a", .density = 1, .iterations = 1};
    assert_int_equal(gw_emulate_gradients(&scene.schedule, &asked, &counts, NULL), GW_BAD_INPUT);
    gw_schedule_free(&scene.schedule);
}
