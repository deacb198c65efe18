/* Promises of published compressors: the number of selected elements, their energy, and which they
 * are. All follows from one seed, which is printed; GRADWEAVE_SEED repeats a run. */
#include <gsl/gsl_cdf.h>

#include "kernels/threshold.h"
#include "tests/kernels/kernels_support.h"

enum { N = 200000, K = N / 1000 };

static void draw(enum gw_shape shape, float *u) {
    draw_gradient(shape, 1e-3, 2, seed, N, u);
}

static double energy(const struct gw_selection *selection) {
    double sum = 0;
    for (size_t i = 0; i < selection->count; i++) {
        sum += (double)selection->entries[i].value * (double)selection->entries[i].value;
    }
    return sum;
}

static void run(const char *name, struct gw_task *task, struct gw_selection *out) {
    struct gw_workspace workspace = {0};
    const struct gw_compressor *compressor = gw_compressor_find(name);
    task->workspace = &workspace;
    assert_ok(gw_state_open(compressor, task, &task->state, NULL));
    /* what adapts, adapts: SIDCo every five iterations */
    for (task->iteration = 0; task->iteration < 40; task->iteration++) {
        assert_ok(gw_kernel_of(compressor)->select(task, out, NULL));
    }
    gw_state_close(compressor, task->state);
    gw_workspace_free(&workspace);
}

/* ---- quality ------------------------------------------------------------------------------- */

/*
 * Counts over k and energies over that of top-k. On normal gradients Gaussian_k's quantile is right
 * and its first threshold stays; SIDCo aims at 0.8 to 1.2. DGC's threshold is the 100th of a sample
 * of 2,000: it errs by a tenth; 4k/3 are too much.
 */
static const struct promise {
    const char *compressor;
    enum gw_shape shape;
    double least_count, most_count, least_energy;
    size_t k;
} promises[] = {
    {"topk", GW_SHAPE_NORMAL, 1, 1, 1, K},
    {"topk", GW_SHAPE_STUDENT, 1, 1, 1, K},
    {"randk", GW_SHAPE_NORMAL, 1, 1, 0.01, K},
    {"gaussiank", GW_SHAPE_NORMAL, 2.0 / 3, 4.0 / 3, 0.7, K},
    {"gaussiank", GW_SHAPE_LAPLACE, 2.0 / 3, 4.0 / 3, 0.7, K},
    {"hard-threshold", GW_SHAPE_LAPLACE, 1, 1, 1, K},
    {"sidco", GW_SHAPE_LAPLACE, 0.7, 1.3, 0.75, K},
    {"sidco", GW_SHAPE_NORMAL, 0.6, 1.5, 0.7, K},
    {"count-sketch", GW_SHAPE_STUDENT, 1, 1, 0.3, K},
    {"dgc", GW_SHAPE_NORMAL, 0.5, 4.0 / 3, 0, N / 20},
    {"dgc", GW_SHAPE_STUDENT, 0.5, 4.0 / 3, 0, N / 20},
};

TEST(compressors_keep_their_promises) {
    float *u = allocate(N, sizeof *u);
    struct gw_selection topk = {0};
    struct gw_selection selection = {0};
    for (size_t i = 0; i < sizeof promises / sizeof *promises; i++) {
        const struct promise *promise = &promises[i];
        struct gw_task task = {.u = u, .n = N, .k = promise->k, .seed = seed};
        draw(promise->shape, u);
        run("topk", &task, &topk);
        task.threshold = INFINITY;
        for (size_t e = 0; e < topk.count; e++) {
            task.threshold = fmin(task.threshold, fabs((double)topk.entries[e].value));
        }
        run(promise->compressor, &task, &selection);
        double count = (double)selection.count / (double)promise->k;
        double share = energy(&selection) / energy(&topk);
        if (count < promise->least_count || count > promise->most_count ||
            share < promise->least_energy) {
            fail_msg("%s, %s: count %g, energy %g", promise->compressor,
                     gw_shape_names[promise->shape], count, share);
        }
    }
    gw_selection_free(&topk);
    gw_selection_free(&selection);
    free(u);
}

/*
 * RedSync: one of the thresholds mean + (max - mean) step / 8, which selects k to 2k, or less than
 * k where the step below selects more than 2k, or more than 2k where the step above selects less
 * than k.
 */
static void check_bisection(const float *u, size_t k, size_t selected) {
    enum { STEPS = 8 };
    double sum = 0;
    double largest = 0;
    size_t counts[STEPS + 1] = {0};
    for (size_t i = 0; i < N; i++) {
        sum += fabs((double)u[i]);
        largest = fmax(largest, fabs((double)u[i]));
    }
    for (size_t step = 0; step <= STEPS; step++) {
        double threshold = sum / N + (largest - sum / N) * (double)step / STEPS;
        for (size_t i = 0; i < N; i++) {
            counts[step] += fabs((double)u[i]) >= threshold;
        }
    }
    bool explained = false;
    for (size_t step = 1; step < STEPS; step++) {
        explained =
            explained || (selected == counts[step] && ((selected >= k && selected <= 2 * k) ||
                                                       (selected < k && counts[step - 1] > 2 * k) ||
                                                       (selected > 2 * k && counts[step + 1] < k)));
    }
    assert_true(explained);
}

TEST(redsync_stops_where_bisection_ends) {
    static const enum gw_shape shapes[] = {GW_SHAPE_NORMAL, GW_SHAPE_LAPLACE, GW_SHAPE_STUDENT};
    static const size_t ks[] = {N / 10000, N / 1000, N / 100, N / 20};
    float *u = allocate(N, sizeof *u);
    struct gw_selection selection = {0};
    for (size_t i = 0; i < 12; i++) {
        struct gw_task task = {.u = u, .n = N, .k = ks[i / 3], .seed = seed};
        draw(shapes[i % 3], u);
        run("redsync", &task, &selection);
        check_bisection(u, task.k, selection.count);
    }
    gw_selection_free(&selection);
    free(u);
}

TEST(dgc_samples_all_elements_as_often) {
    enum { ROUNDS = 20000, MOST = 1201 };
    static const size_t sizes[] = {1, 99, 100, 101, 150, 1001, MOST};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t n = sizes[s];
        size_t samples = gw_dgc_samples(n);
        size_t seen[MOST] = {0};
        for (uint32_t iteration = 0; iteration < ROUNDS; iteration++) {
            const struct gw_task task = {.n = n, .seed = seed, .iteration = iteration};
            for (size_t i = 0; i < samples; i++) {
                seen[gw_dgc_position(gw_dgc_key(&task), n, i)]++;
            }
        }
        double least = ROUNDS / ceil((double)n / (double)samples);
        double most = ROUNDS / floor((double)n / (double)samples);
        for (size_t i = 0; i < n; i++) {
            double chance = 6 * sqrt(most) * (n > 1); /* six deviations, of a binomial number */
            assert_true((double)seen[i] >= least - chance && (double)seen[i] <= most + chance);
        }
    }
}

/* ---- random-k ------------------------------------------------------------------------------ */

/*
 * Each element is as likely as any other, and each pair of neighbours too: chi-squared over many
 * iterations, with a chance of 1e-6 to fail.
 */
TEST(random_k_is_fair) {
    enum { SMALL = 101, FEW = 7, ITERATIONS = 40000 };
    float u[SMALL] = {0};
    size_t hits[SMALL] = {0};
    size_t neighbours = 0;
    struct gw_workspace workspace = {0};
    struct gw_selection selection = {0};
    struct gw_task task = {.u = u, .n = SMALL, .k = FEW, .seed = seed, .workspace = &workspace};
    const struct gw_kernel *randk = gw_kernel_of(&gw_compressor_randk);
    for (; task.iteration < ITERATIONS; task.iteration++) {
        assert_ok(randk->select(&task, &selection, NULL));
        for (size_t i = 0; i < FEW; i++) {
            hits[selection.entries[i].index]++;
            neighbours += i > 0 && selection.entries[i].index == selection.entries[i - 1].index + 1;
        }
    }
    double expected = (double)ITERATIONS * FEW / SMALL;
    double chi_squared = 0;
    for (size_t i = 0; i < SMALL; i++) {
        double off = (double)hits[i] - expected;
        chi_squared += off * off / expected;
    }
    assert_true(chi_squared < gsl_cdf_chisq_Qinv(1e-6, SMALL - 1));
    double pairs = (SMALL - 1) * (double)FEW / SMALL * (FEW - 1) / (SMALL - 1) * ITERATIONS;
    assert_true(fabs((double)neighbours - pairs) < 6 * sqrt(pairs));
    gw_selection_free(&selection);
    gw_workspace_free(&workspace);
}
