/* libgradweave through its public header alone, as someone who embeds it would use it. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include <gradweave.h>

static const uint64_t elements[] = {9408, 64, 2048000, 1000};
static const double backward_s[] = {0.0012, 0.0001, 0.0030, 0.0001};
static const struct gradweave_network network = {.tensor_count = 4,
                                                 .elements = elements,
                                                 .backward_s = backward_s,
                                                 .forward_s = 0.002,
                                                 .bytes_per_element = 4};
static const struct gradweave_costs sparse = {.density = 0.001,
                                              .exchange = {.startup_s = 1e-3, .per_unit_s = 1e-8},
                                              .compress = {.per_unit_s = 1e-9}};

static void plans_in_a_few_lines(void **state) {
    (void)state;
    size_t last_tensor[4];
    struct gradweave_plan plan;
    struct gradweave_error error = {0};
    assert_int_equal(gradweave_plan(&network, &sparse, "single", last_tensor, &plan, &error),
                     GRADWEAVE_OK);
    assert_int_equal(plan.group_count, 1);
    assert_int_equal(last_tensor[0], 0);
    /* 2,058,472 elements, of which 2,058 are kept, 8 bytes each. */
    double expected = 0.002 + 0.0044 + 2058472e-9 + 1e-3 + 16464e-8;
    assert_true(fabs(plan.iteration_s - expected) < 1e-12);
    assert_true(plan.lower_bound_s <= plan.iteration_s);
    assert_int_equal(
        gradweave_plan(&network, &sparse, "threshold:5000", last_tensor, &plan, &error),
        GRADWEAVE_OK);
    assert_int_equal(plan.group_count, 2);
    assert_int_equal(last_tensor[0], 2);
    assert_int_equal(last_tensor[1], 0);
}

static void refuses_what_makes_no_sense(void **state) {
    (void)state;
    size_t last_tensor[4];
    struct gradweave_plan plan;
    struct gradweave_error error = {0};
    struct gradweave_costs costs = sparse;
    costs.density = 0;
    assert_int_equal(gradweave_plan(&network, &costs, "omgs", last_tensor, &plan, &error),
                     GRADWEAVE_BAD_INPUT);
    assert_string_equal(error.message, "density: expected a number in (0, 1], got 0");
    costs = sparse;
    costs.exchange.startup_s = -1;
    assert_int_equal(gradweave_plan(&network, &costs, "omgs", last_tensor, &plan, &error),
                     GRADWEAVE_BAD_INPUT);
    assert_int_equal(gradweave_plan(&network, &sparse, "magic", last_tensor, &plan, &error),
                     GRADWEAVE_BAD_INPUT);
    assert_non_null(strstr(error.message, "expected one of per-tensor"));
    static const uint64_t most[] = {1, 1, 1, (UINT64_C(1) << 53) - 3};
    static const uint64_t more[] = {1, 1, 1, (UINT64_C(1) << 53) - 2};
    struct gradweave_network large = network;
    large.elements = most;
    large.bytes_per_element = 2047;
    assert_int_equal(gradweave_plan(&large, &sparse, "single", last_tensor, &plan, &error),
                     GRADWEAVE_OK);
    large.bytes_per_element = 2048;
    assert_int_equal(gradweave_plan(&large, &sparse, "single", last_tensor, &plan, &error),
                     GRADWEAVE_BAD_INPUT);
    assert_non_null(strstr(error.message, "bytes_per_element: expected less than 2^64 bytes"));
    large.elements = more;
    large.bytes_per_element = 4;
    assert_int_equal(gradweave_plan(&large, &sparse, "single", last_tensor, &plan, &error),
                     GRADWEAVE_BAD_INPUT);
    assert_non_null(strstr(error.message, "elements[3]: expected a positive integer"));
    struct gradweave_network empty = network;
    empty.tensor_count = 0;
    assert_int_equal(gradweave_plan(&empty, &sparse, "omgs", last_tensor, &plan, NULL),
                     GRADWEAVE_BAD_INPUT);
}

static void compresses_with_memory(void **state) {
    (void)state;
    static const float gradient[] = {0.5f, -3, 1, 2, -2};
    float residual[5] = {0, 0, 1.5f, 0, 0};
    struct gradweave_entry entries[2];
    assert_int_equal(gradweave_compress("topk", gradient, residual, 5, 2, entries, NULL),
                     GRADWEAVE_OK);
    assert_int_equal(entries[0].index, 1);
    assert_true(entries[0].value == -3);
    assert_int_equal(entries[1].index, 2);
    assert_true(entries[1].value == 2.5f);
    static const float left[] = {0.5f, 0, 0, 2, -2};
    assert_memory_equal(residual, left, sizeof left);
    struct gradweave_error error;
    assert_int_equal(gradweave_compress("topk", gradient, residual, 5, 6, entries, &error),
                     GRADWEAVE_BAD_INPUT);
    assert_int_equal(gradweave_compress("magic", gradient, residual, 5, 2, entries, &error),
                     GRADWEAVE_BAD_INPUT);
    assert_string_equal(error.message, "compressor: expected \"topk\", got \"magic\"");
    static const float broken[] = {0.5f, NAN};
    float changed[2] = {1, 0};
    assert_int_equal(gradweave_compress("topk", broken, changed, 2, 1, entries, NULL),
                     GRADWEAVE_BAD_INPUT);
    assert_true(changed[0] == 1.5f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_in_a_few_lines),
        cmocka_unit_test(refuses_what_makes_no_sense),
        cmocka_unit_test(compresses_with_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
