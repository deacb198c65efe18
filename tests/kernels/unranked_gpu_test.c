/*
 * Compressors that do not select by magnitude alone - by lot, by layers, by a count sketch - on a
 * GPU against the CPU's: the same indices and the same bits, and the same is left, iteration after
 * iteration. Random cases follow from one seed, which is printed; GRADWEAVE_SEED repeats a run.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "kernels/arithmetic.h"
#include "kernels/gpu/parts.h" /* private: what layers are judged by */
#include "tests/kernels/selecting_gpu.h"

enum { ROOM = 60000, LAYERS = 300 };

static uint64_t seed;

static struct gw_random *open_random(uint64_t stream) {
    struct gw_random *random = NULL;
    assert_int_equal(gw_random_open(&random, seed, stream, NULL), GW_OK);
    return random;
}

static size_t between(struct gw_random *random, size_t low, size_t high) {
    return low + (size_t)gw_random_below(random, high - low + 1);
}

static size_t draw_size(struct gw_random *random, size_t at) {
    static const size_t sizes[] = {1, 2, 31, 33, 127, 128, 129, 1023, 1025, 4099, 30011};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    return at < SIZES ? sizes[at] : between(random, 1, ROOM / 4);
}

/* Now and then zeros, denormals, infinities. */
static void fill(struct gw_random *random, float *values, size_t n, bool infinite) {
    for (size_t i = 0; i < n; i++) {
        float normal = (float)gw_random_normal(random, 0.01);
        switch (gw_random_below(random, 200)) {
        case 0:
            values[i] = copysignf(0, normal);
            break;
        case 1:
            values[i] = 1e-41f * normal;
            break;
        case 2:
            values[i] = infinite ? copysignf(INFINITY, normal) : normal;
            break;
        default:
            values[i] = normal;
        }
    }
}

/* ---- layers -------------------------------------------------------------------------------- */

/* Parts of n elements, of any size from 1 on; how many. */
static size_t draw_layers(struct gw_random *random, size_t n, size_t *sizes) {
    size_t count = 0;
    while (n > 0) {
        size_t most = between(random, 0, 2) > 0 && n > 100 ? n / 10 : n;
        sizes[count] = count == LAYERS - 1 ? n : between(random, 1, most);
        n -= sizes[count++];
    }
    return count;
}

static void check_sums(struct gw_device_stream *stream, const float *values, const size_t *sizes,
                       size_t count) {
    struct gw_device *device = gw_device_stream_device(stream);
    size_t words = gw_gpu_parts_words(count);
    uint64_t *table = allocate(words, sizeof *table);
    double *sums = allocate(count, sizeof *sums);
    void *table_there = copy_to_device(stream, table, words * sizeof *table);
    struct gw_gpu_parts parts = gw_gpu_parts_of(sizes, count, table, table_there);
    size_t n = (size_t)table[count];
    assert_int_equal(gw_device_copy(stream, table_there, table, words * sizeof *table, NULL),
                     GW_OK);
    float *there = copy_to_device(stream, values, n * sizeof *values);
    double *sums_there = copy_to_device(stream, sums, count * sizeof *sums);
    double *partial = NULL;
    assert_int_equal(
        gw_device_allocate(device, (parts.segments + 1) * sizeof *partial, (void **)&partial, NULL),
        GW_OK);
    for (int squares = 0; squares < 2; squares++) {
        enum gw_status status =
            squares ? gw_gpu_sum_squares(there, &parts, partial, sums_there, stream, NULL)
                    : gw_gpu_sum_magnitudes(there, &parts, partial, sums_there, NULL, stream, NULL);
        assert_int_equal(status, GW_OK);
        copy_from_device(stream, sums, sums_there, count * sizeof *sums);
        for (size_t i = 0, first = 0; i < count; first += sizes[i++]) {
            double expected = squares ? gw_sum_squares(values + first, sizes[i])
                                      : gw_sum_magnitudes(values + first, sizes[i]);
            if (sums[i] != expected) {
                fail_msg("part %zu of %zu, %zu elements: %.17g, expected %.17g", i, count, sizes[i],
                         sums[i], expected);
            }
        }
    }
    gw_device_free(device, table_there);
    gw_device_free(device, there);
    gw_device_free(device, sums_there);
    gw_device_free(device, partial);
    free(table);
    free(sums);
}

static void sums_of_parts_are_the_same(void **state) {
    (void)state;
    struct gw_device *device = need_device();
    struct gw_device_stream *stream = open_stream(device);
    struct gw_random *random = open_random(1);
    size_t sizes[LAYERS];
    for (size_t at = 0; at < 14; at++) {
        size_t n = at == 13 ? 600011 : draw_size(random, at); /* more segments than sums of them */
        float *values = allocate(n, sizeof *values);
        fill(random, values, n, at % 4 == 2); /* those sums are infinite */
        sizes[0] = n;
        check_sums(stream, values, sizes, at % 2 ? 1 : draw_layers(random, n, sizes));
        free(values);
    }
    sizes[0] = sizes[2] = sizes[3] = 0;
    sizes[1] = 5;
    sizes[4] = 1025;
    sizes[5] = 0;
    float values[1030];
    fill(random, values, 1030, false);
    check_sums(stream, values, sizes, 6);
    gw_random_close(random);
    gw_device_stream_close(stream);
    gw_device_close(device);
}

/* ---- compressors --------------------------------------------------------------------------- */

static void compete(struct contest *contest, struct gw_random *random, size_t at) {
    size_t n = draw_size(random, at);
    size_t sizes[LAYERS];
    size_t layers = draw_layers(random, n, sizes);
    float *u = allocate(n, sizeof *u);
    float *gradient = allocate(n, sizeof *gradient);
    contest->task =
        (struct gw_task){.u = u,
                         .n = n,
                         .k = at % 3 ? 1 + n / between(random, 2, 500) : between(random, 1, n),
                         .seed = gw_random_below(random, UINT64_MAX),
                         .iteration = at % 2 ? 98 : between(random, 0, 1000),
                         .layers = at % 4 ? sizes : NULL,
                         .layer_count = at % 4 ? layers : 0,
                         .workspace = contest->task.workspace};
    fill(random, u, n, at % 5 == 0);
    open_states(contest);
    for (size_t step = 0; step < 4; step++) {
        size_t offset = between(random, 0, 7);
        contest->task.gradient = step == 0 && at % 2 ? NULL : gradient;
        fill(random, gradient, n, false);
        for (size_t layer = 0, i = 0; layer < layers; layer++) { /* others are larger each time */
            float scale = (float)between(random, 1, 9);
            for (size_t end = i + sizes[layer]; i < end; i++) {
                gradient[i] *= scale;
            }
        }
        if (!same_selection(contest, offset)) {
            fail_msg("%s: n %zu, k %zu, %zu layers, step %zu", contest->compressor->name, n,
                     contest->task.k, layers, step);
        }
        contest->task.iteration++;
    }
    close_states(contest);
    free(u);
    free(gradient);
}

static void both_select_the_same(void **state) {
    (void)state;
    static const char *const names[] = {"randk", "layer-drop", "count-sketch"};
    struct gw_device *device = need_device();
    struct gw_random *random = open_random(2);
    for (size_t c = 0; c < sizeof names / sizeof *names; c++) {
        struct contest contest = begin_contest(device, names[c], ROOM);
        for (size_t at = 0; at < 18; at++) {
            compete(&contest, random, at);
        }
        end_contest(&contest);
    }
    gw_random_close(random);
    gw_device_close(device);
}

/* ---- NaNs ---------------------------------------------------------------------------------- */

/* Of u, or of a sum with the gradient. Without one, randk sees only what it selects: all, here. */
static void nan_is_bad_input(void **state) {
    (void)state;
    static const char *const names[] = {"randk", "layer-drop", "count-sketch"};
    struct gw_device *device = need_device();
    struct gw_random *random = open_random(3);
    for (size_t at = 0; at < 12; at++) {
        struct contest contest = begin_contest(device, names[at % 3], ROOM);
        size_t n = between(random, 1, 3000);
        size_t bad = between(random, 0, n - 1);
        float *u = allocate(n, sizeof *u);
        float *gradient = allocate(n, sizeof *gradient);
        fill(random, u, n, false);
        fill(random, gradient, n, false);
        contest.task.u = u;
        contest.task.gradient = at / 3 % 2 ? gradient : NULL;
        contest.task.n = n;
        contest.task.k = contest.task.gradient == NULL ? n : between(random, 1, n);
        u[bad] = at / 3 % 2 ? INFINITY : NAN;
        gradient[bad] = -INFINITY;
        u[between(random, bad, n - 1)] = NAN;
        open_states(&contest);
        assert_true(same_selection(&contest, 0)); /* both refuse */
        assert_int_equal(contest.selected.on_host->first_nan, bad);
        float *left = allocate(n, sizeof *left);
        copy_from_device(contest.stream, left, contest.u, n * sizeof *left);
        for (size_t i = 0; i < n; i++) { /* the CPU has added, too, and neither has cleared any */
            assert_true(bits_of(left[i]) == bits_of(u[i]) || (isnan(left[i]) && isnan(u[i])));
        }
        free(left);
        close_states(&contest);
        end_contest(&contest);
        free(u);
        free(gradient);
    }
    gw_random_close(random);
    gw_device_close(device);
}

int main(void) {
    seed = choose_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_parts_are_the_same),
        cmocka_unit_test(both_select_the_same),
        cmocka_unit_test(nan_is_bad_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
