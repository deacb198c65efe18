/* Energy of gradients that compressors keep: generated ones, and recorded ones. */
#include <math.h>
#include <string.h>

#include "study/energy.h"
#include "study/plans.h"
#include "tests/test.h"

static struct gw_error error;

/* In closed form, of a normal gradient: 2 (t phi(t) + Q(t)) beyond the threshold t of 1%; 1% by
 * chance; (E|x|)^2 by signs. */
TEST(energies_are_those_of_a_normal_gradient) {
    double share = 0;
    assert_ok(gw_energy_kept(&gw_compressor_none, 1, &share, &error));
    assert_true(share == 1);
    assert_ok(gw_energy_kept(&gw_compressor_topk, 0.01, &share, &error));
    assert_true(fabs(share - 0.0845) < 0.002);
    assert_ok(gw_energy_kept(gw_compressor_find("randk"), 0.01, &share, &error));
    assert_true(fabs(share - 0.01) < 0.002);
    assert_ok(gw_energy_kept(&gw_compressor_onebit, 1, &share, &error));
    assert_true(fabs(share - 0.6366) < 0.005);
    assert_ok(gw_energy_kept(&gw_compressor_bf16, 1, &share, &error));
    assert_true(share > 1 - 1e-5 && share < 1);
}

/* A square matrix of independent numbers has no singular value above twice the root of
 * its side: two of them have at most 8 of 100 parts of the energy. A vector is sent whole. */
TEST(factors_keep_what_they_can_of_independent_numbers) {
    uint64_t shape[] = {100, 100};
    struct gw_tensor tensors[] = {
        {.name = "matrix", .elements = 10000, .shape = shape, .dimensions = 2},
        {.name = "vector", .elements = 30000}};
    const struct gw_model model = {.name = "m", .tensor_count = 2, .tensors = tensors};
    struct gw_way way;
    double lost[2];
    assert_true(gw_choice_parse("powersgd:2", 1, &way));
    assert_ok(gw_energy_lost(&model, &way, NULL, lost, &error));
    assert_true(near(lost[0], 0.25 * 0.92, 1e-12) && lost[1] == 0);
    assert_ok(gw_energy_kept(way.compressor, 1, lost, &error));
    assert_true(isnan(lost[0])); /* depends on shapes */
}

/* a: 1 and 0.5 stand for 1,500 elements each; b: 1, 1, 0, 0 for 500; c: 0; d: 1 and -1 for 5. */
TEST(energies_are_those_of_recorded_gradients) {
    struct gw_recorded_tensor tensors[] = {
        {"d", 10, 2, 0}, {"a", 3000, 2, 2}, {"b", 2000, 4, 4}, {"c", 1000, 1, 8}};
    double scales[] = {100, 3};
    unsigned char levels[] = {0,   0,   127, 127, 127, 127, 127, 127, 127,
                              127, 255, 119, 127, 127, 0,   127, 0,   0};
    const struct gw_recorded_gradients recorded = {.path = "g",
                                                   .tensor_count = 4,
                                                   .workers = 1,
                                                   .iteration_count = 1,
                                                   .sample = 9,
                                                   .tensors = tensors,
                                                   .scales = &scales[1],
                                                   .levels = &levels[9]};
    struct gw_tensor of_model[] = {{.name = "a", .elements = 3000},
                                   {.name = "b", .elements = 2000},
                                   {.name = "c", .elements = 1000},
                                   {.name = "d", .elements = 10}};
    const struct gw_model model = {.name = "m", .tensor_count = 4, .tensors = of_model};
    const double missed[] = {0.25 * 1500, 0, 0, 5};
    double lost[4];
    struct gw_way way;
    assert_true(gw_choice_parse("topk:0.5", 1, &way));
    assert_ok(gw_energy_lost(&model, &way, &recorded, lost, &error));
    for (size_t i = 0; i < 4; i++) {
        assert_true(near(lost[i], missed[i] / (1.25 * 1500 + 1000 + 10), 1e-6));
    }
    assert_true(gw_choice_parse("onebit", 1, &way)); /* signs and the mean magnitude */
    assert_ok(gw_energy_lost(&model, &way, &recorded, lost, &error));
    assert_true(near(lost[0], 0.125 * 1500 / 2885, 1e-6));
    assert_true(near(lost[1], 500 / 2885.0, 1e-6) && lost[3] < 1e-9);
    tensors[0].elements = 11;
    assert_int_equal(gw_energy_lost(&model, &way, &recorded, lost, &error), GW_BAD_INPUT);
    assert_non_null(strstr(error.message, "g: tensors: expected one called \"d\" of 10 elements"));
}

/*
 * A matrix of 32 x 40 whose blocks [0, 16) x [0, 20) and [16, 32) x [20, 40) are u v^T, of signs,
 * and half of another: of rank 2, with 320 and 80 of its energy, for two workers. Rank 1 keeps four
 * fifths, rank 2 all; if not all elements were recorded, what of independent numbers.
 */
TEST(factors_keep_the_largest_part_of_recorded_matrices) {
    enum { ROWS = 32, COLUMNS = 40, ALL = ROWS * COLUMNS };
    static const struct {
        const char *choice;
        uint64_t elements;
        double lost;
    } cases[] = {{"powersgd:1", ALL, 0.2}, {"powersgd:2", ALL, 0}, {"powersgd:1", 2 * ALL, -1}};
    uint64_t shape[] = {ROWS, COLUMNS};
    struct gw_tensor matrix = {.name = "m", .shape = shape, .dimensions = 2};
    const struct gw_model model = {.name = "m", .tensor_count = 1, .tensors = &matrix};
    struct gw_recorded_tensor sampled = {"m", ALL, ALL, 0};
    double scales[] = {3, 0.25};
    static unsigned char levels[2 * ALL];
    for (size_t i = 0; i < 2 * ALL; i++) {
        size_t row = i / COLUMNS % ROWS;
        size_t column = i % COLUMNS;
        bool lower = row >= ROWS / 2;
        bool negative = (row * row + row / 3) % 2 != (column / 2 + column / 5) % 2;
        levels[i] = lower != (column >= COLUMNS / 2)
                        ? 0
                        : (unsigned char)((lower ? 119 : 127) + (negative ? 128 : 0));
    }
    const struct gw_recorded_gradients recorded = {.path = "g",
                                                   .tensor_count = 1,
                                                   .workers = 2,
                                                   .iteration_count = 1,
                                                   .sample = ALL,
                                                   .tensors = &sampled,
                                                   .scales = scales,
                                                   .levels = levels};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double lost = 0;
        double formula = 0;
        struct gw_way way;
        matrix.elements = sampled.elements = cases[i].elements;
        shape[1] = cases[i].elements / ROWS;
        assert_true(gw_choice_parse(cases[i].choice, 1, &way));
        assert_ok(gw_energy_lost(&model, &way, &recorded, &lost, &error));
        assert_ok(gw_energy_lost(&model, &way, NULL, &formula, &error));
        assert_true(fabs(lost - (cases[i].lost < 0 ? formula : cases[i].lost)) < 1e-6);
        assert_true(formula > 0.5);
    }
}
