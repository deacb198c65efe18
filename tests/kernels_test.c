/*
 * Compressors against their references. Random cases follow from one seed, which is printed;
 * GRADWEAVE_SEED repeats a run.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "kernels_support.h"

static uint64_t seed;

static struct gw_random *open_random(uint64_t stream) {
    struct gw_random *random = NULL;
    assert_int_equal(gw_random_open(&random, seed, stream, NULL), GW_OK);
    return random;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static size_t between(struct gw_random *random, size_t low, size_t high) {
    return low + (size_t)gw_random_below(random, high - low + 1);
}

/* ---- inputs -------------------------------------------------------------------------------- */

static void fill_normal(float *u, size_t n, struct gw_random *random) {
    for (size_t i = 0; i < n; i++) {
        u[i] = (float)gw_random_normal(random, 0.01);
    }
}

static void fill_constant(float *u, size_t n, struct gw_random *random) {
    float value = (float)gw_random_normal(random, 1);
    for (size_t i = 0; i < n; i++) {
        u[i] = gw_random_below(random, 2) ? value : -value;
    }
}

/* After the first cut among equals, the few that are larger by one bit must still get in. */
static void fill_nearly_constant(float *u, size_t n, struct gw_random *random) {
    for (size_t i = 0; i < n; i++) {
        u[i] = gw_random_below(random, 1000) ? 1.0f : nextafterf(1, 2);
    }
}

static void fill_zeros(float *u, size_t n, struct gw_random *random) {
    for (size_t i = 0; i < n; i++) {
        u[i] = gw_random_below(random, 2) ? 0.0f : -0.0f;
    }
}

static void fill_ties(float *u, size_t n, struct gw_random *random) {
    for (size_t i = 0; i < n; i++) {
        u[i] = (float)gw_random_below(random, 7) - 3;
    }
}

static void fill_ascending(float *u, size_t n, struct gw_random *random) {
    float step = (float)gw_random_uniform(random);
    for (size_t i = 0; i < n; i++) {
        u[i] = (float)i * step;
    }
}

static void fill_descending(float *u, size_t n, struct gw_random *random) {
    float step = (float)gw_random_uniform(random);
    for (size_t i = 0; i < n; i++) {
        u[i] = (float)(n - i) * -step;
    }
}

static void fill_mostly_zeros(float *u, size_t n, struct gw_random *random) {
    for (size_t i = 0; i < n; i++) {
        u[i] = gw_random_below(random, 10) ? 0 : (float)gw_random_normal(random, 1);
    }
}

static void fill_denormals(float *u, size_t n, struct gw_random *random) {
    for (size_t i = 0; i < n; i++) {
        u[i] = float_of((uint32_t)gw_random_below(random, 1u << 12) |
                        (uint32_t)gw_random_below(random, 2) << 31);
    }
}

static void fill_infinities(float *u, size_t n, struct gw_random *random) {
    fill_normal(u, n, random);
    for (size_t i = 0; i < n; i++) {
        if (gw_random_below(random, 10) == 0) {
            u[i] = u[i] > 0 ? INFINITY : -INFINITY;
        }
    }
}

/* Every float that there is, but no NaN. */
static void fill_bits(float *u, size_t n, struct gw_random *random) {
    for (size_t i = 0; i < n; i++) {
        u[i] = float_of((uint32_t)gw_random_below(random, 0x7f800001u) |
                        (uint32_t)gw_random_below(random, 2) << 31);
    }
}

/* Merged tensors: each its own scale. */
static void fill_layers(float *u, size_t n, struct gw_random *random) {
    fill_normal(u, n, random);
    for (size_t begin = 0; begin < n;) {
        size_t end = begin + between(random, 1, n - begin);
        float scale = (float)gw_random_noise(random, 3);
        for (size_t i = begin; i < end; i++) {
            u[i] *= scale;
        }
        begin = end;
    }
}

/* The sample sees only the largest elements, so that its threshold is too high. */
static void fill_sample_too_high(float *u, size_t n, struct gw_random *random) {
    fill_normal(u, n, random);
    size_t stride = gw_topk_sample_stride(n);
    for (size_t i = 0; i < n / stride; i++) {
        u[gw_topk_sample_position(i, stride)] += 100;
    }
}

/* The sample sees only zeros, while the others grow: every element becomes a candidate. */
static void fill_sample_too_low(float *u, size_t n, struct gw_random *random) {
    fill_ascending(u, n, random);
    size_t stride = gw_topk_sample_stride(n);
    for (size_t i = 0; i < n / stride; i++) {
        u[gw_topk_sample_position(i, stride)] = 0;
    }
}

static const struct {
    const char *name;
    void (*fill)(float *u, size_t n, struct gw_random *random);
} inputs[] = {
    {"normal", fill_normal},
    {"constant", fill_constant},
    {"nearly constant", fill_nearly_constant},
    {"zeros", fill_zeros},
    {"ties", fill_ties},
    {"ascending", fill_ascending},
    {"descending", fill_descending},
    {"90% zeros", fill_mostly_zeros},
    {"denormals", fill_denormals},
    {"infinities", fill_infinities},
    {"any bits", fill_bits},
    {"layers", fill_layers},
    {"sample too high", fill_sample_too_high},
    {"sample too low", fill_sample_too_low},
};
enum { INPUTS = sizeof inputs / sizeof *inputs };

/* ---- selections ---------------------------------------------------------------------------- */

static void check_against_reference(const struct gw_compressor *compressor, const char *name,
                                    const float *u, size_t n, size_t k) {
    struct gw_workspace workspace = {0}; /* new each time, so that sanitizers see its bounds */
    const struct gw_entry guard = {.value = 42, .index = UINT32_MAX};
    struct gw_entry *fast = allocate(k + 1, sizeof *fast);
    struct gw_entry *reference = allocate(k, sizeof *reference);
    fast[k] = guard;
    struct gw_error error = {0};
    assert_int_equal(compressor->select(u, n, k, &workspace, fast, &error), GW_OK);
    assert_int_equal(compressor->reference(u, n, k, &workspace, reference, &error), GW_OK);
    for (size_t i = 0; i < k; i++) {
        if (fast[i].index != reference[i].index || fast[i].index >= n ||
            bits_of(fast[i].value) != bits_of(u[fast[i].index]) ||
            bits_of(fast[i].value) != bits_of(reference[i].value) ||
            (i > 0 && fast[i].index <= fast[i - 1].index)) {
            fail_msg("%s, %s, n %zu, k %zu: entry %zu is u[%u] = %g, expected u[%u] = %g",
                     compressor->name, name, n, k, i, fast[i].index, (double)fast[i].value,
                     reference[i].index, (double)reference[i].value);
        }
    }
    assert_memory_equal(&fast[k], &guard, sizeof guard);
    free(fast);
    free(reference);
    gw_workspace_free(&workspace);
}

/* `sizes` sizes of every input; small ones also at k = 1 and k = n. */
static void check_inputs(size_t low, size_t high, size_t sizes, uint64_t stream) {
    struct gw_random *random = open_random(stream);
    float *u = allocate(high, sizeof *u);
    for (size_t at = 0; at < sizes * INPUTS; at++) {
        size_t n = between(random, low, high);
        size_t any = (size_t)exp(gw_random_uniform(random) * log((double)n + 1));
        size_t ks[] = {any < 1 ? 1 : any > n ? n : any, 1, n, between(random, 1, n)};
        inputs[at % INPUTS].fill(u, n, random);
        size_t tries = n > 5000 ? 1 : sizeof ks / sizeof *ks; /* the reference sorts all of u */
        for (size_t i = 0; i < tries; i++) {
            for (size_t c = 0; gw_compressors[c] != NULL; c++) {
                check_against_reference(gw_compressors[c], inputs[at % INPUTS].name, u, n, ks[i]);
            }
        }
    }
    free(u);
    gw_random_close(random);
}

static void selections_of_few_elements(void **state) {
    (void)state;
    check_inputs(1, 5000, 40, 1);
    check_inputs(1, 130, 40, 2);
}

static void selections_of_many_elements(void **state) {
    (void)state;
    check_inputs(70000, 300000, 3, 3);
}

static void selections_of_a_million_elements(void **state) {
    (void)state;
    check_inputs(900000, 1100000, 1, 4);
}

static void selection_of_one_and_of_all_in_a_million(void **state) {
    (void)state;
    enum { N = 1000003 };
    struct gw_random *random = open_random(5);
    float *u = allocate(N, sizeof *u);
    fill_normal(u, N, random);
    check_against_reference(&gw_compressor_topk, "normal", u, N, 1);
    check_against_reference(&gw_compressor_topk, "normal", u, N, N - 1);
    check_against_reference(&gw_compressor_topk, "normal", u, N, N);
    free(u);
    gw_random_close(random);
}

static void ties_go_to_the_lower_index(void **state) {
    (void)state;
    const float u[] = {1, -2, 0, 2, -3, 2, -2, 1};
    const uint32_t expected[][4] = {{4}, {1, 4}, {1, 3, 4}, {1, 3, 4, 5}};
    gw_select *const selects[] = {gw_compressor_topk.select, gw_compressor_topk.reference};
    struct gw_workspace workspace = {0};
    for (size_t s = 0; s < 2; s++) {
        for (size_t k = 1; k <= 4; k++) {
            struct gw_entry entries[4];
            assert_int_equal(selects[s](u, 8, k, &workspace, entries, NULL), GW_OK);
            for (size_t i = 0; i < k; i++) {
                assert_int_equal(entries[i].index, expected[k - 1][i]);
                assert_true(bits_of(entries[i].value) == bits_of(u[entries[i].index]));
            }
        }
    }
    gw_workspace_free(&workspace);
}

/* ---- NaN ----------------------------------------------------------------------------------- */

static void check_nan(const float *u, size_t n, size_t k, size_t first) {
    struct gw_workspace workspace = {0};
    struct gw_entry *entries = allocate(k, sizeof *entries);
    char place[64];
    snprintf(place, sizeof place, "element %zu of %zu", first, n);
    for (size_t c = 0; gw_compressors[c] != NULL; c++) {
        gw_select *const selects[] = {gw_compressors[c]->select, gw_compressors[c]->reference};
        for (size_t s = 0; s < 2; s++) {
            struct gw_error error = {0};
            assert_int_equal(selects[s](u, n, k, &workspace, entries, &error), GW_BAD_INPUT);
            assert_int_equal(error.status, GW_BAD_INPUT);
            if (strstr(error.message, place) == NULL) {
                fail_msg("expected \"%s\" in \"%s\"", place, error.message);
            }
        }
    }
    free(entries);
    gw_workspace_free(&workspace);
}

static void nan_is_bad_input(void **state) {
    (void)state;
    const uint32_t nans[] = {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffffffffu};
    struct gw_random *random = open_random(6);
    float *u = allocate(200000, sizeof *u);
    for (size_t at = 0; at < 200; at++) {
        size_t n = between(random, 1, at % 50 == 0 ? 200000 : 2000);
        inputs[at % INPUTS].fill(u, n, random);
        size_t first = at % 3 == 0 ? n - 1 : between(random, 0, n - 1);
        u[first] = float_of(nans[at % 4]);
        for (size_t i = first; at % 2 == 1 && i < n; i++) {
            u[i] = float_of(nans[(at + i) % 4]); /* nothing else from the first one on */
        }
        check_nan(u, n, 1, first);
        check_nan(u, n, between(random, 1, n), first);
    }
    free(u);
    gw_random_close(random);
}

/* A sample full of NaNs must not hide one that is smaller as a bit pattern. */
static void first_nan_is_named_among_many(void **state) {
    (void)state;
    enum { N = 6400 };
    float u[N];
    for (size_t first = 0; first < N; first += 7) {
        for (size_t i = 0; i < N; i++) {
            u[i] = i < first ? 1 : float_of(i == first ? 0x7f800001u : 0x7fffffffu);
        }
        check_nan(u, N, 1, first);
    }
}

/* ---- the rest ------------------------------------------------------------------------------ */

static void compressors_are_found_by_name(void **state) {
    (void)state;
    assert_ptr_equal(gw_compressor_find("topk"), &gw_compressor_topk);
    assert_null(gw_compressor_find("top"));
    assert_null(gw_compressor_find(""));
    for (size_t c = 0; gw_compressors[c] != NULL; c++) {
        assert_ptr_equal(gw_compressor_find(gw_compressors[c]->name), gw_compressors[c]);
        assert_true(strlen(gw_compressors[c]->title) > 0 && strlen(gw_compressors[c]->paper) > 0);
    }
}

static void a_workspace_can_be_freed_and_used_again(void **state) {
    (void)state;
    const float u[] = {1, 3, 2};
    struct gw_workspace workspace = {0};
    struct gw_entry entry;
    for (size_t round = 0; round < 2; round++) {
        assert_int_equal(gw_compressor_topk.select(u, 3, 1, &workspace, &entry, NULL), GW_OK);
        assert_int_equal(entry.index, 1);
        gw_workspace_free(&workspace);
        gw_workspace_free(&workspace);
        assert_null(workspace.memory);
        assert_int_equal(workspace.capacity, 0);
    }
}

int main(void) {
    seed = choose_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selections_of_few_elements),
        cmocka_unit_test(selections_of_many_elements),
        cmocka_unit_test(selections_of_a_million_elements),
        cmocka_unit_test(selection_of_one_and_of_all_in_a_million),
        cmocka_unit_test(ties_go_to_the_lower_index),
        cmocka_unit_test(nan_is_bad_input),
        cmocka_unit_test(first_nan_is_named_among_many),
        cmocka_unit_test(compressors_are_found_by_name),
        cmocka_unit_test(a_workspace_can_be_freed_and_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
