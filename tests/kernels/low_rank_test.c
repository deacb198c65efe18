/*
 * PowerSGD's factors against products in double precision, and the same on a GPU. Random cases
 * follow from one seed, which is printed; GRADWEAVE_SEED repeats a run.
 */
#include <float.h>

#include "kernels/low_rank.h"
#include "tests/kernels/sides.h"

enum { MOST_TENSORS = 6 };

/* A group of one worker, and its vectors. */
struct scene {
    size_t sizes[MOST_TENSORS], rows[MOST_TENSORS], tensors, n;
    struct gw_low_rank group;
    struct gw_workspace workspace;
    struct gw_task task;
    float *u, *gradient, *accumulated, *out; /* [n] */
};

static void open_scene(struct scene *scene, size_t rank) {
    scene->n = 0;
    for (size_t i = 0; i < scene->tensors; i++) {
        scene->n += scene->sizes[i];
    }
    assert_ok(gw_low_rank_open(scene->sizes, scene->rows, scene->tensors, rank, seed, NULL,
                               &scene->group, NULL));
    assert_int_equal(scene->group.elements, scene->n);
    scene->u = allocate(scene->n, sizeof(float));
    scene->gradient = allocate(scene->n, sizeof(float));
    scene->accumulated = allocate(scene->n, sizeof(float));
    scene->out = allocate(scene->n, sizeof(float));
    scene->task = (struct gw_task){
        .u = scene->u, .gradient = scene->gradient, .n = scene->n, .workspace = &scene->workspace};
}

static void close_scene(struct scene *scene) {
    gw_low_rank_close(&scene->group);
    gw_workspace_free(&scene->workspace);
    free(scene->u);
    free(scene->gradient);
    free(scene->accumulated);
    free(scene->out);
}

static void run_scene(struct scene *scene) {
    for (size_t i = 0; i < scene->n; i++) {
        scene->accumulated[i] = scene->u[i] + scene->gradient[i];
    }
    assert_ok(gw_low_rank_project(&scene->group, &scene->task, NULL));
    gw_low_rank_factor(&scene->group, &scene->task);
    gw_low_rank_expand(&scene->group, &scene->task, 1, scene->out);
    scene->task.iteration++;
}

/* ---- against double precision ---------------------------------------------------------------- */

/* Sums of products of `count` terms err by no more than about their magnitudes times 2^-24 count.
 */
static void check_product(double sum, double magnitudes, float found, size_t count) {
    assert_true(fabs(sum - (double)found) <= magnitudes * 0x1p-23 * (double)(count + 4) + 1e-35);
}

static void check_matrix(const struct scene *scene, const struct gw_low_rank_matrix *matrix) {
    const float *m = scene->accumulated + matrix->first;
    const float *p = scene->group.p + matrix->p;
    const float *q = scene->group.q + matrix->q;
    size_t rows = matrix->rows;
    size_t columns = matrix->columns;
    size_t rank = scene->group.rank;
    for (size_t a = 0; a < rank; a++) {
        for (size_t b = 0; b <= a; b++) {
            double product = 0;
            for (size_t i = 0; i < rows; i++) {
                product += (double)p[a * rows + i] * (double)p[b * rows + i];
            }
            assert_true(fabs(product - (a == b)) < 1e-6 || (a == b && product == 0));
        }
        for (size_t j = 0; j < columns; j++) {
            double sum = 0;
            double magnitudes = 0;
            for (size_t i = 0; i < rows; i++) {
                double term = (double)m[i * columns + j] * (double)p[a * rows + i];
                sum += term;
                magnitudes += fabs(term);
            }
            check_product(sum, magnitudes, q[a * columns + j], rows);
        }
    }
    for (size_t i = 0; i < rows * columns; i++) {
        double sum = 0;
        double magnitudes = 0;
        for (size_t w = 0; w < rank; w++) {
            double term = (double)p[w * rows + i / columns] * (double)q[w * columns + i % columns];
            sum += term;
            magnitudes += fabs(term);
        }
        float out = scene->out[matrix->first + i];
        check_product(sum, magnitudes, out, rank);
        assert_true(bits_of(scene->u[matrix->first + i]) == bits_of(m[i] - out));
    }
}

/* Compares what is compressed with the rule of PyTorch's hook; the rest travels as it is. */
static void check_scene(const struct scene *scene) {
    size_t next = 0;
    size_t first = 0;
    size_t raw = 0;
    for (size_t i = 0; i < scene->tensors; i++) {
        size_t rows = scene->rows[i];
        size_t columns = rows == 0 ? 0 : scene->sizes[i] / rows;
        if (rows > 1 && 2 * scene->group.rank * (rows + columns) < scene->sizes[i]) {
            const struct gw_low_rank_matrix *matrix = &scene->group.matrices[next++];
            assert_true(matrix->first == first && matrix->rows == rows &&
                        matrix->columns == columns);
            check_matrix(scene, matrix);
        } else {
            for (size_t at = first; at < first + scene->sizes[i]; at++) {
                assert_true(scene->out[at] == scene->accumulated[at] && scene->u[at] == 0);
                assert_true(scene->group.raw[raw++] == scene->accumulated[at]);
            }
        }
        first += scene->sizes[i];
    }
    assert_int_equal(next, scene->group.matrix_count);
    assert_int_equal(raw, scene->group.raw_count);
}

static void draw_tensors(struct scene *scene, struct gw_random *random) {
    scene->tensors = between(random, 1, MOST_TENSORS);
    for (size_t i = 0; i < scene->tensors; i++) {
        size_t rows = between(random, 0, 5) == 0 ? between(random, 0, 1) : between(random, 2, 90);
        scene->rows[i] = rows;
        scene->sizes[i] = (rows == 0 ? 1 : rows) * between(random, 1, 90);
    }
}

TEST(factors_are_products_and_nothing_is_lost) {
    struct gw_random *random = random_stream(1);
    for (int round = 0; round < gw_trials(200) + 10; round++) {
        struct scene scene = {0};
        draw_tensors(&scene, random);
        open_scene(&scene, between(random, 1, 9));
        for (int t = 0; t < 3; t++) {
            for (size_t i = 0; i < scene.n; i++) {
                scene.gradient[i] = (float)gw_random_normal(random, 0.01);
            }
            run_scene(&scene);
            check_scene(&scene);
        }
        close_scene(&scene);
    }
}

TEST(factors_are_the_same_with_threads_and_instruction_sets) {
    static const char *const sets[] = {"portable", "avx2", "avx512"};
    const char *usual = gw_instruction_set();
    struct scene scenes[4] = {{.tensors = 0}};
    for (size_t s = 0; s < 4; s++) {
        struct gw_random *random = random_stream(2); /* the same again */
        struct scene *scene = &scenes[s];
        scene->tensors = 3;
        const size_t shapes[3][2] = {{401, 613}, {77, 1}, {1200, 57}};
        for (size_t i = 0; i < 3; i++) {
            scene->rows[i] = shapes[i][0];
            scene->sizes[i] = shapes[i][0] * shapes[i][1];
        }
        open_scene(scene, 5);
        scene->task.threads = s == 3 ? 4 : 1;
        if (s == 3 || gw_force_instruction_set(sets[s])) {
            for (int t = 0; t < 2; t++) {
                for (size_t i = 0; i < scene->n; i++) {
                    scene->gradient[i] = (float)gw_random_normal(random, 0.01);
                }
                run_scene(scene);
            }
            assert_memory_equal(scene->u, scenes[0].u, scene->n * sizeof(float));
            assert_memory_equal(scene->out, scenes[0].out, scene->n * sizeof(float));
        }
        assert_true(gw_force_instruction_set(usual));
    }
    for (size_t s = 0; s < 4; s++) {
        close_scene(&scenes[s]);
    }
}

/* ---- on a GPU -------------------------------------------------------------------------------- */

static void compare_with_gpu(const float *host, const float *on_gpu, size_t count) {
    struct gw_memory *gpu = gpu_memory();
    struct gw_buffer copy = {0};
    void *read = NULL;
    assert_ok(gpu->does->read(gpu, on_gpu, count * sizeof *host, &copy, &read, NULL));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(bits_of(host[i]), bits_of(((const float *)read)[i]));
    }
    gw_buffer_free(&copy);
}

static void need_gpu(void) {
    if (gpu_memory() == NULL) {
        skip();
    }
}

/* A scene's vectors and factors on a GPU. */
struct copied_scene {
    struct gw_low_rank group;
    struct gw_task task;
    float *u, *gradient, *out;
    struct gw_gpu_selection outcome;
};

static void open_copy(const struct scene *scene, struct copied_scene *out) {
    struct gw_memory *gpu = gpu_memory();
    size_t bytes = scene->n * sizeof(float);
    *out = (struct copied_scene){.task = scene->task};
    assert_ok(gw_low_rank_open(scene->sizes, scene->rows, scene->tensors, scene->group.rank, seed,
                               gpu, &out->group, NULL));
    assert_ok(gw_gpu_selection_reserve(&out->outcome, gpu->device, 0, NULL));
    out->task.u = out->u = copy_to_device(gpu->stream, scene->u, bytes);
    out->task.gradient = out->gradient = copy_to_device(gpu->stream, scene->gradient, bytes);
    out->out = copy_to_device(gpu->stream, scene->out, bytes);
}

static void close_copy(struct copied_scene *copied) {
    struct gw_device *device = gpu_memory()->device;
    gw_low_rank_close(&copied->group);
    gw_gpu_selection_free(&copied->outcome);
    gw_device_free(device, copied->u);
    gw_device_free(device, copied->gradient);
    gw_device_free(device, copied->out);
}

static enum gw_status project_copy(const struct scene *scene, struct copied_scene *copied,
                                   struct gw_error *error) {
    struct gw_memory *gpu = gpu_memory();
    size_t bytes = scene->n * sizeof(float);
    assert_ok(gpu->does->write(gpu, copied->gradient, scene->gradient, bytes, NULL));
    assert_ok(gpu->does->project(gpu, &copied->group, &copied->task, &copied->outcome, NULL));
    return gpu->does->finish_project(gpu, &copied->group, &copied->outcome, error);
}

static void check_on_gpu(struct scene *scene, size_t rank, struct gw_random *random) {
    struct gw_memory *gpu = gpu_memory();
    struct copied_scene copied;
    open_scene(scene, rank);
    open_copy(scene, &copied);
    for (int t = 0; t < 3; t++) {
        for (size_t i = 0; i < scene->n; i++) {
            scene->gradient[i] = t == 1 ? 0 : (float)gw_random_normal(random, 0.01);
        }
        run_scene(scene);
        assert_ok(project_copy(scene, &copied, NULL));
        assert_ok(gpu->does->factor(gpu, &copied.group, &copied.task, NULL));
        assert_ok(gpu->does->expand(gpu, &copied.group, &copied.task, 1, copied.out, NULL));
        copied.task.iteration++;
        compare_with_gpu(scene->group.raw, copied.group.raw, scene->group.raw_count);
        compare_with_gpu(scene->group.p, copied.group.p, scene->group.p_count);
        compare_with_gpu(scene->group.q, copied.group.q, scene->group.q_count);
        compare_with_gpu(scene->out, copied.out, scene->n);
        compare_with_gpu(scene->u, copied.u, scene->n);
    }
    close_copy(&copied);
    close_scene(scene);
}

/* Few tensors, as an emulated GPU is slow; one is of several tiles both ways, and one of rows and
 * columns that no tile or lane divides. */
TEST(factors_on_a_gpu_are_those_of_a_processor) {
    struct gw_random *random = random_stream(3);
    need_gpu();
    struct scene tiled = {.tensors = 3, .sizes = {130 * 1100, 7, 77 * 45}, .rows = {130, 0, 77}};
    check_on_gpu(&tiled, 5, random);
    for (int round = 0; round < gw_trials(20) + 3; round++) {
        struct scene scene = {0};
        draw_tensors(&scene, random);
        check_on_gpu(&scene, between(random, 1, 9), random);
    }
}

TEST(a_gpu_refuses_what_a_processor_refuses) {
    struct scene scene = {.tensors = 2, .sizes = {900, 30}, .rows = {30, 1}};
    struct copied_scene copied;
    struct gw_error error = {0};
    need_gpu();
    open_scene(&scene, 2);
    open_copy(&scene, &copied);
    assert_ok(project_copy(&scene, &copied, NULL));
    const float bad[] = {NAN, INFINITY, FLT_MAX};
    for (size_t i = 0; i < 3; i++) {
        scene.gradient[7] = scene.gradient[8] = bad[i];
        assert_int_equal(project_copy(&scene, &copied, &error), GW_BAD_INPUT);
        assert_non_null(strstr(error.message, i < 2 ? "element 7:" : "930 elements:"));
        assert_ok(gpu_memory()->does->clear(gpu_memory(), copied.u, 930 * sizeof(float), NULL));
    }
    scene.gradient[7] = scene.gradient[8] = 0;
    scene.gradient[905] = -INFINITY;
    assert_int_equal(project_copy(&scene, &copied, &error), GW_BAD_INPUT);
    assert_non_null(strstr(error.message, "element 905:"));
    close_copy(&copied);
    close_scene(&scene);
}

/* ---- approximation --------------------------------------------------------------------------- */

/* Singular values are known where a matrix is diagonal: the best error of rank r leaves the first
 * r out. A matrix of rank r is compressed without loss at once; others as well as can be, in time.
 */
TEST(a_warm_start_finds_the_largest_singular_values) {
    enum { SIDE = 60 };
    struct scene scene = {.tensors = 1, .sizes = {SIDE * SIDE}, .rows = {SIDE}};
    open_scene(&scene, 4);
    for (int kind = 0; kind < 2; kind++) {
        double best = 0;
        double left = 0;
        for (int t = 0; t < (kind == 0 ? 1 : 30); t++) {
            memset(scene.u, 0, scene.n * sizeof(float)); /* no error feedback */
            best = left = 0;
            for (size_t i = 0; i < SIDE; i++) {
                double value = i < 4 ? 10 - (double)i : kind == 0 ? 0 : 1.0 / (double)i;
                scene.gradient[i * SIDE + (i * 7) % SIDE] = (float)value;
                best += i < 4 ? 0 : value * value;
            }
            run_scene(&scene);
            for (size_t i = 0; i < scene.n; i++) {
                left += (double)scene.u[i] * (double)scene.u[i];
            }
        }
        assert_true(left <= best * 1.001 + 1e-8);
    }
    close_scene(&scene);
}

TEST(zeros_stay_zeros_and_bad_input_is_refused) {
    struct scene scene = {.tensors = 2, .sizes = {900, 30}, .rows = {30, 1}};
    struct gw_error error = {0};
    open_scene(&scene, 2);
    run_scene(&scene);
    for (size_t i = 0; i < scene.n; i++) {
        assert_true(scene.out[i] == 0 && scene.u[i] == 0);
    }
    scene.gradient[7] = 1; /* begins anew after zeros */
    run_scene(&scene);
    assert_true(near((double)scene.out[7], 1, 1e-5));
    for (size_t at = 5; at < scene.n; at += 450) {
        scene.gradient[at] = at < 900 ? INFINITY : -INFINITY;
        assert_int_equal(gw_low_rank_project(&scene.group, &scene.task, &error), GW_BAD_INPUT);
        assert_non_null(strstr(error.message, "element 5:"));
    }
    close_scene(&scene);
}

/* One iteration without a gradient, of a matrix and a vector, leaves no trace: what was sent and
 * what stays are all gradients, and one of rank 1 is sent whole as soon as it is there again. */
static void skip_gradient(size_t rank, size_t skipped) {
    enum { SIDE = 30, VECTOR = 30, ITERATIONS = 6 };
    static double given[SIDE * SIDE + VECTOR], sent[SIDE * SIDE + VECTOR];
    struct scene scene = {.tensors = 2, .sizes = {SIDE * SIDE, VECTOR}, .rows = {SIDE, 0}};
    memset(given, 0, sizeof given);
    memset(sent, 0, sizeof sent);
    open_scene(&scene, rank);
    for (size_t t = 0; t < ITERATIONS; t++) {
        for (size_t i = 0; i < scene.n; i++) {
            size_t sum = i / SIDE * 7 + t;
            scene.gradient[i] = t == skipped ? 0 : (float)(1 + sum % 5) * (float)(1 + i % SIDE);
            given[i] += (double)scene.gradient[i];
        }
        run_scene(&scene);
        for (size_t i = 0; i < scene.n; i++) {
            sent[i] += (double)scene.out[i];
            double tolerance = 1e-3 * (i < SIDE * SIDE);
            assert_true(fabs(sent[i] + (double)scene.u[i] - given[i]) <= tolerance);
            assert_true(fabs((double)scene.u[i]) <= tolerance);
        }
    }
    close_scene(&scene);
}

TEST(a_matrix_learns_on_after_an_iteration_without_a_gradient) {
    for (size_t rank = 1; rank <= 4; rank *= 2) {
        for (size_t skipped = 0; skipped < 4; skipped++) {
            skip_gradient(rank, skipped);
        }
    }
}
