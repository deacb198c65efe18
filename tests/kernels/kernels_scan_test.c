/*
 * Passes over memory: each instruction set that this processor has gives, to the last bit, what
 * portable C gives. All follows from one seed, which is printed; GRADWEAVE_SEED repeats a run.
 */
#include "kernels/cpu/scan.h"
#include "tests/kernels/kernels_support.h"

enum { MOST = 5000, MAGNITUDES = 29 };

static const char *const instruction_sets[] = {"avx512", "avx2", "portable"}; /* fastest first */

/* ---- one random case for all passes -------------------------------------------------------- */

struct scan_case {
    size_t n;
    const float *gradient; /* or NULL */
    int32_t magnitude;     /* of one of the elements: about as many are larger as are smaller */
    float u[MOST], added[MOST];
};

static void draw(struct scan_case *drawn, struct gw_random *random) {
    drawn->n = (size_t)gw_random_below(random, gw_random_below(random, 2) ? 100 : MOST);
    drawn->gradient = gw_random_below(random, 2) ? drawn->added : NULL;
    double scale = gw_random_below(random, 4) ? 1 : 1e-42; /* denormals */
    for (size_t i = 0; i < MOST; i++) {
        drawn->u[i] = (float)gw_random_normal(random, scale);
        drawn->added[i] = (float)gw_random_normal(random, scale);
        if (gw_random_below(random, 500) == 0) {
            drawn->u[i] = gw_random_below(random, 2) ? INFINITY : NAN;
        }
    }
    drawn->magnitude = gw_magnitude(drawn->u[gw_random_below(random, MOST)]);
}

/* ---- what each pass gives ------------------------------------------------------------------ */

struct outcome {
    float u[MOST];
    struct gw_moments moments;
    struct gw_tail tail;
    int32_t largest, largest_alone;
    double sum;
    size_t counts[MAGNITUDES];
    size_t collected;
    bool has_nan;
    struct gw_entry entries[MOST + GW_SCAN_SLACK];
};

static void run(const struct gw_scan *scan, const struct scan_case *drawn, struct outcome *out) {
    int32_t magnitudes[MAGNITUDES] = {0, drawn->magnitude, GW_INFINITE};
    for (size_t j = 3; j < MAGNITUDES; j++) {
        magnitudes[j] = gw_magnitude(drawn->added[j]);
    }
    static float scratch[MOST];
    memset(out, 0, sizeof *out);
    memcpy(out->u, drawn->u, sizeof out->u);
    scan->moments(out->u, drawn->gradient, drawn->n, &out->moments);
    memcpy(scratch, drawn->u, sizeof scratch);
    out->largest = scan->add(scratch, drawn->added, drawn->n);
    out->largest_alone = scan->largest(drawn->u, drawn->n);
    out->sum = scan->sum(drawn->u, drawn->n < GW_SUM_SEGMENT ? drawn->n : GW_SUM_SEGMENT);
    memcpy(scratch, drawn->u, sizeof scratch);
    scan->tail(scratch, drawn->gradient, drawn->n, drawn->magnitude, &out->tail);
    assert_memory_equal(scratch, out->u, sizeof scratch); /* the same sums as with moments */
    scan->count(drawn->u, drawn->n, magnitudes, MAGNITUDES, out->counts);
    memcpy(scratch, drawn->u, sizeof scratch);
    double sum = 0;
    for (size_t i = 0; i < drawn->n; i++) {
        sum += fabs((double)drawn->u[i]);
    }
    double read = (double)scan->read(drawn->u, drawn->n);
    assert_true(isnan(sum)   ? isnan(read)
                : isinf(sum) ? isinf(read)
                             : fabs(read - sum) <= 1e-4 * sum + 1e-44);
    int32_t largest = 0;
    out->collected = scan->collect(scratch, drawn->gradient, drawn->n, 7, drawn->magnitude,
                                   out->entries, &largest);
    out->has_nan = largest > GW_INFINITE;
    assert_memory_equal(scratch, out->u, sizeof scratch);
    memset(out->entries + out->collected, 0,
           (MOST + GW_SCAN_SLACK - out->collected) * sizeof *out->entries);
}

/* NaNs are all alike: their bits are not defined. */
static bool same_doubles(const double *a, const double *b, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!(isnan(a[i]) ? isnan(b[i]) : memcmp(&a[i], &b[i], sizeof *a) == 0)) {
            return false;
        }
    }
    return true;
}

static void check_same(const char *name, const struct outcome *fast, const struct outcome *plain) {
    bool moments = same_doubles(fast->moments.sum, plain->moments.sum, GW_SCAN_LANES) &&
                   same_doubles(fast->moments.squares, plain->moments.squares, GW_SCAN_LANES) &&
                   fast->moments.largest == plain->moments.largest;
    bool tail = fast->tail.count == plain->tail.count &&
                fast->tail.largest == plain->tail.largest &&
                same_doubles(fast->tail.magnitudes, plain->tail.magnitudes, GW_SCAN_LANES);
    bool counts = memcmp(fast->counts, plain->counts, sizeof fast->counts) == 0;
    bool collected = fast->collected == plain->collected && fast->has_nan == plain->has_nan &&
                     memcmp(fast->entries, plain->entries, sizeof fast->entries) == 0;
    bool sums = memcmp(fast->u, plain->u, sizeof fast->u) == 0 && fast->largest == plain->largest &&
                fast->largest_alone == plain->largest_alone &&
                same_doubles(&fast->sum, &plain->sum, 1);
    if (!moments || !tail || !counts || !collected || !sums) {
        fail_msg("%s differs from portable C in%s%s%s%s%s", name, moments ? "" : " moments",
                 tail ? "" : " tail", counts ? "" : " count", collected ? "" : " collect",
                 sums ? "" : " add, largest or sum");
    }
}

TEST(the_fastest_that_is_supported_is_used_unless_another_is_forced) {
    const char *best = gw_instruction_set();
    size_t s = 0;
    while (!gw_force_instruction_set(instruction_sets[s])) {
        s++;
    }
    assert_string_equal(best, instruction_sets[s]);
    assert_true(gw_force_instruction_set("portable"));
    assert_string_equal(gw_instruction_set(), "portable");
    assert_false(gw_force_instruction_set("abacus"));
    assert_string_equal(gw_instruction_set(), "portable");
}

TEST(instruction_sets_agree) {
    static struct scan_case drawn;
    static struct outcome plain, fast;
    struct gw_random *random = random_stream(1);
    for (size_t at = 0; at < 1000; at++) {
        draw(&drawn, random);
        run(&gw_scan_portable, &drawn, &plain);
        for (size_t s = 0; s < 2; s++) {
            if (gw_force_instruction_set(instruction_sets[s])) {
                run(gw_scan(), &drawn, &fast);
                check_same(instruction_sets[s], &fast, &plain);
            }
        }
    }
}
