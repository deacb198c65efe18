/*
 * Count sketches on a GPU against those of the host: tables and choices, bit for bit.
 * Random cases follow from one seed, which is printed; GRADWEAVE_SEED repeats a run.
 */
#include "tests/kernels/gpu_scene.h"
#include "tests/kernels/sketch_inputs.h"

/* ---- inputs -------------------------------------------------------------------------------- */

/* Places among the inputs. */
enum { NORMAL = 0, INFINITE = 4, KINDS = SKETCH_INPUTS };

static float *draw_values(const struct scene *scene, size_t input, size_t n) {
    float *values = allocate(n + 1, sizeof *values);
    fill(values, n, input, scene->random);
    return values;
}

static size_t draw_size(const struct scene *scene, size_t at) {
    static const size_t sizes[] = {1, 2, 15, 16, 17, 127, 128, 129, 1009, 4099};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    return at < SIZES ? sizes[at] : between(scene->random, 1, 12000);
}

/* All of those sizes, and random ones. */
static size_t cases(int random) {
    return 10 + (size_t)gw_trials(random);
}

/* ---- a sketch here and there --------------------------------------------------------------- */

struct pair {
    struct gw_sketch host;
    struct gw_gpu_sketch gpu;
};

static struct pair open_pair(const struct scene *scene, size_t rows, size_t columns,
                             uint64_t hashes) {
    struct pair pair;
    assert_ok(gw_sketch_open(&pair.host, rows, columns, hashes, NULL));
    assert_ok(gw_gpu_sketch_open(&pair.gpu, scene->device, rows, columns, hashes, NULL));
    return pair;
}

static void close_pair(struct pair *pair) {
    gw_sketch_free(&pair->host);
    gw_gpu_sketch_free(&pair->gpu);
}

/* u, with a gradient added on the GPU or none, goes into both; u must be what it is here. */
static void encode(const struct scene *scene, struct pair *pair, float *u, const float *gradient,
                   size_t n) {
    float *u_there = copy_to_device(scene->stream, u, (n + 1) * sizeof *u);
    float *gradient_there =
        gradient == NULL ? NULL
                         : copy_to_device(scene->stream, gradient, (n + 1) * sizeof *gradient);
    for (size_t i = 0; i < n && gradient != NULL; i++) {
        u[i] += gradient[i];
    }
    assert_ok(gw_sketch_encode(&pair->host, u, 0, n, NULL));
    assert_ok(gw_gpu_sketch_encode(&pair->gpu, u_there, gradient_there, n, scene->stream,
                                   scene->memories[GPU].gpu_workspace, NULL));
    float *back = calloc(n + 1, sizeof *back);
    copy_from_device(scene->stream, back, u_there, (n + 1) * sizeof *back);
    assert_memory_equal(back, u, (n + 1) * sizeof *back);
    free(back);
    gw_device_free(scene->device, u_there);
    gw_device_free(scene->device, gradient_there);
}

static void check_tables(const struct scene *scene, const struct pair *pair) {
    size_t cells = pair->host.rows * pair->host.columns;
    float *table = calloc(cells, sizeof *table);
    copy_from_device(scene->stream, table, pair->gpu.table, cells * sizeof *table);
    for (size_t i = 0; i < cells; i++) {
        if (memcmp(&table[i], &pair->host.table[i], sizeof *table) != 0) {
            fail_msg("%zu x %zu: cell %zu: %g, expected %g", pair->host.rows, pair->host.columns, i,
                     (double)table[i], (double)pair->host.table[i]);
        }
    }
    free(table);
}

/* How many were heavy. */
static size_t check_choice(struct scene *scene, const struct pair *pair, size_t n, size_t k,
                           uint64_t iteration) {
    uint32_t *expected = calloc(k, sizeof *expected);
    uint32_t *actual = calloc(k, sizeof *actual);
    size_t heavy[2] = {n + 1, n + 2};
    uint32_t *there = copy_to_device(scene->stream, actual, k * sizeof *actual);
    assert_ok(gw_sketch_heavymix(&pair->host, n, k, iteration, &scene->memories[HOST].workspace,
                                 expected, &heavy[0], NULL));
    assert_ok(gw_gpu_sketch_heavymix(&pair->gpu, n, k, iteration, scene->stream,
                                     scene->memories[GPU].gpu_workspace, there, &heavy[1], NULL));
    copy_from_device(scene->stream, actual, there, k * sizeof *actual);
    assert_int_equal(heavy[1], heavy[0]);
    assert_memory_equal(actual, expected, k * sizeof *actual);
    gw_device_free(scene->device, there);
    free(expected);
    free(actual);
    return heavy[0];
}

/* ---- tests --------------------------------------------------------------------------------- */

TEST(tables_and_what_they_tell_are_the_same) {
    struct scene scene = open_scene(1);
    for (size_t at = 0; at < cases(14); at++) {
        size_t n = draw_size(&scene, at);
        size_t rows = at % 2 == 0 ? GW_SKETCH_ROWS : 2 * between(scene.random, 0, 7) + 1;
        struct pair pair =
            open_pair(&scene, rows, (size_t)16 << between(scene.random, 0, 6), seed + at);
        for (size_t times = 0; times < 2; times++) { /* more into the same, of the same n or not */
            float *u = draw_values(&scene, at % KINDS, n);
            float *gradient = at % 3 == 0 ? draw_values(&scene, NORMAL, n) : NULL;
            encode(&scene, &pair, u, gradient, n);
            check_tables(&scene, &pair);
            n = at % 4 == 0 ? between(scene.random, 1, 3000) : n;
            free(u);
            free(gradient);
        }
        for (size_t k = 1; k <= 2 * n; k += 1 + n / 2) { /* also of coordinates that never were */
            (void)check_choice(&scene, &pair, 2 * n, k, at);
        }
        assert_ok(gw_gpu_sketch_clear(&pair.gpu, scene.stream, NULL));
        gw_sketch_clear(&pair.host);
        check_tables(&scene, &pair);
        close_pair(&pair);
    }
    close_scene(&scene);
}

/* More than one chunk of those that a GPU takes one after the other, in one line and in many. */
TEST(large_vectors_keep_the_order_of_sums) {
    struct scene scene = open_scene(2);
    size_t n = ((size_t)1 << 22) + between(scene.random, 1, 1000);
    float *u = draw_values(&scene, NORMAL, n);
    float *gradient = draw_values(&scene, NORMAL, n);
    for (size_t columns = 16; columns <= 1024; columns <<= 6) {
        struct pair pair = open_pair(&scene, 1, columns, seed);
        encode(&scene, &pair, u, gradient, n);
        check_tables(&scene, &pair);
        close_pair(&pair);
    }
    free(u);
    free(gradient);
    close_scene(&scene);
}

TEST(nothing_changes_nothing) {
    struct scene scene = open_scene(3);
    struct pair pair = open_pair(&scene, 3, 32, seed);
    float nothing = 0;
    encode(&scene, &pair, &nothing, NULL, 0);
    check_tables(&scene, &pair);
    close_pair(&pair);
    close_scene(&scene);
}

TEST(the_same_coordinates_are_chosen) {
    struct scene scene = open_scene(5);
    bool fewer = false;
    bool as_many = false;
    for (size_t at = 0; at < cases(18); at++) {
        size_t n = draw_size(&scene, at);
        size_t k =
            at % 3 == 0 ? between(scene.random, 1, n) : 1 + n / between(scene.random, 2, 100);
        size_t columns = at % 2 == 0 ? gw_sketch_columns(n, k) : (size_t)16 << at % 5;
        struct pair pair = open_pair(&scene, GW_SKETCH_ROWS, columns, seed + at);
        float *u = draw_values(&scene, at % KINDS, n);
        encode(&scene, &pair, u, NULL, n);
        size_t heavy = check_choice(&scene, &pair, n, k, at);
        fewer = fewer || heavy < k;
        as_many = as_many || heavy == k;
        free(u);
        close_pair(&pair);
    }
    assert_true(fewer && as_many);
    close_scene(&scene);
}

/* In a sketch that is much too small, nearly all coordinates seem to be heavy. */
TEST(far_too_many_heavy_hitters_are_no_problem) {
    struct scene scene = open_scene(6);
    size_t n = 30000;
    struct pair pair = open_pair(&scene, 1, 16, seed);
    float *u = draw_values(&scene, NORMAL, n);
    encode(&scene, &pair, u, NULL, n);
    assert_int_equal(check_choice(&scene, &pair, n, 40, 0), 40);
    free(u);
    close_pair(&pair);
    close_scene(&scene);
}

TEST(nan_is_bad_input) {
    struct scene scene = open_scene(7);
    for (size_t at = 0; at < 2 + (size_t)gw_trials(8); at++) {
        size_t n = between(scene.random, 1, 3000);
        struct pair pair = open_pair(&scene, 3, 64, seed);
        float *u = draw_values(&scene, INFINITE, n);
        size_t bad = between(scene.random, 0, n - 1);
        u[bad] = at % 2 ? NAN : -NAN;
        u[between(scene.random, bad, n - 1)] = NAN;
        float *there = copy_to_device(scene.stream, u, n * sizeof *u);
        char place[64];
        struct gw_error error = {0};
        (void)snprintf(place, sizeof place, "element %zu:", bad);
        assert_int_equal(gw_gpu_sketch_encode(&pair.gpu, there, NULL, n, scene.stream,
                                              scene.memories[GPU].gpu_workspace, &error),
                         GW_BAD_INPUT);
        assert_non_null(strstr(error.message, place));
        gw_device_free(scene.device, there);
        free(u);
        close_pair(&pair);
    }
    close_scene(&scene);
}

TEST(bad_shapes_are_refused) {
    struct scene scene = open_scene(8);
    static const size_t shapes[][2] = {{0, 16}, {2, 16}, {17, 16}, {5, 8}, {5, 48}, {5, 0}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct gw_gpu_sketch sketch;
        assert_int_equal(
            gw_gpu_sketch_open(&sketch, scene.device, shapes[i][0], shapes[i][1], 0, NULL),
            GW_BAD_INPUT);
        gw_gpu_sketch_free(&sketch);
    }
    close_scene(&scene);
}
