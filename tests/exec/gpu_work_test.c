/*
 * Work that stands for computing on a GPU: it waits as long as told; products of matrices are the
 * host's, as deep as what is owed asks for.
 */
#include <pthread.h>

#include "exec/accelerator.h"
#include "tests/device/device_support.h"
#include "tests/test.h"

/* ---- depths, from times that are measured or made up --------------------------------------- */

enum { COUNT = 6 };

static const double measured_sizes[COUNT] = {16, 256, 512, 1024, 2048, 4096};

static enum gw_status set(struct gw_depths *depths, const double *times, struct gw_error *error) {
    struct gw_curve_point measured[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        measured[i] = (struct gw_curve_point){measured_sizes[i], times[i]};
    }
    return gw_depths_set(depths, measured, COUNT, error);
}

/* In the second, 256 took longer than 512, and 2048 as long as 4096. */
TEST(depths_that_take_longer_than_deeper_ones_are_left_out) {
    static const double times[][COUNT] = {{8e-6, 15e-6, 23e-6, 38e-6, 70e-6, 130e-6},
                                          {8e-6, 30e-6, 23e-6, 38e-6, 130e-6, 130e-6}};
    static const size_t kept[][COUNT] = {{0, 1, 2, 3, 4, 5}, {0, 2, 3, 5}};
    static const size_t counts[] = {6, 4};
    for (size_t c = 0; c < 2; c++) {
        struct gw_depths depths;
        assert_ok(set(&depths, times[c], NULL));
        assert_int_equal(depths.count, counts[c]);
        for (size_t i = 0; i < counts[c]; i++) {
            assert_true(depths.points[i].size == measured_sizes[kept[c][i]] &&
                        depths.points[i].time_s == times[c][kept[c][i]]);
        }
    }
}

enum { TIMES = 4 }; /* so many are times, though no good ones */

TEST(nonsense_is_refused) {
    static const double nonsense[][COUNT] = {
        {8e-6, 8e-6, 8e-6, 8e-6, 8e-6, 8e-6},             /* nothing was done */
        {8e-6, 8.1e-6, 8.2e-6, 8.3e-6, 8.4e-6, 8.5e-6},   /* or nothing that depends on it */
        {9e-6, 8e-6, 7e-6, 6e-6, 5e-6, 4e-6},             /* shorter the more there is to do */
        {8e-6, 300e-6, 200e-6, 190e-6, 180e-6, 130e-6},   /* two are left */
        {0, 15e-6, 23e-6, 38e-6, 70e-6, 130e-6},          /* no time at all */
        {-1e-6, 15e-6, 23e-6, 38e-6, 70e-6, 130e-6},      /* or less */
        {8e-6, 15e-6, 23e-6, 38e-6, 70e-6, INFINITY},     /* or without end */
        {8e-6, (double)NAN, 23e-6, 38e-6, 70e-6, 130e-6}, /* or unknown */
        {8e-6, 15e-6, 23e-6, 38e-6, 70e-6, (double)NAN},
    };
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        struct gw_depths depths;
        struct gw_error error = {0};
        assert_int_equal(set(&depths, nonsense[i], &error), GW_FAILED);
        assert_non_null(strstr(error.message, i < TIMES ? "expected deeper products to take longer"
                                                        : "expected times above 0"));
    }
}

/* The time of a product of that depth, on the straight lines between measured ones. */
static double time_of(const struct gw_depths *depths, size_t depth) {
    size_t i = 1;
    while (depths->points[i].size < (double)depth) {
        i++;
    }
    const struct gw_curve_point *low = &depths->points[i - 1];
    const struct gw_curve_point *high = &depths->points[i];
    double share = ((double)depth - low->size) / (high->size - low->size);
    return low->time_s + share * (high->time_s - low->time_s);
}

/* Work of random lengths, as short as a launch and as long as many products. */
TEST(owed_work_is_conserved) {
    static const double times[COUNT] = {8e-6, 15e-6, 19e-6, 38e-6, 70e-6, 130e-6};
    const double steepest_step_s = 19e-6 / 512 * GW_DEPTH_STEP;
    struct gw_depths depths;
    struct gw_random *random = random_stream(0);
    double asked_s = 0;
    double owed_s = 0;
    double taken_s = 0;
    assert_ok(set(&depths, times, NULL));
    for (int i = 0; i < 10000; i++) {
        double work_s = 1e-6 * pow(1e3, gw_random_uniform(random));
        size_t depth = 0;
        asked_s += work_s;
        owed_s += work_s;
        while ((depth = gw_depths_take(&depths, &owed_s)) > 0) {
            assert_true(depth % GW_DEPTH_STEP == 0 && depth >= 16 && depth <= 4096);
            taken_s += time_of(&depths, depth);
        }
        assert_true(owed_s < times[0] && owed_s >= -0.51 * steepest_step_s);
        assert_true(fabs(asked_s - taken_s - owed_s) < 1e-9 * asked_s + 1e-12);
    }
}

TEST(long_work_is_several_products) {
    static const double times[COUNT] = {8e-6, 15e-6, 23e-6, 38e-6, 70e-6, 130e-6};
    struct gw_depths depths;
    double owed_s = 2 * 130e-6 + 54e-6 + 4e-6;
    assert_ok(set(&depths, times, NULL));
    assert_int_equal(gw_depths_take(&depths, &owed_s), 4096);
    assert_int_equal(gw_depths_take(&depths, &owed_s), 4096);
    assert_int_equal(gw_depths_take(&depths, &owed_s), 1664); /* 58 us, between 1024 and 2048 */
    assert_int_equal(gw_depths_take(&depths, &owed_s), 0);
    owed_s = 7.9e-6;
    assert_int_equal(gw_depths_take(&depths, &owed_s), 0);
    assert_true(owed_s == 7.9e-6);
}

/* ---- waiting ------------------------------------------------------------------------------- */

/* Seconds on the GPU for `count` pieces of work of `seconds` each, that go on one after another. */
static double time_work(struct gw_gpu_work *work, struct gw_device_event *const *events,
                        double seconds, int count) {
    double passed_s = 0;
    assert_ok(gw_device_event_record(events[0], work->stream, NULL));
    for (int i = 0; i < count; i++) {
        assert_ok(gw_gpu_work_do(work, seconds, i > 0, NULL));
    }
    assert_ok(gw_device_event_record(events[1], work->stream, NULL));
    assert_ok(gw_device_event_finish(events[1], NULL));
    assert_ok(gw_device_event_elapsed_s(events[0], events[1], &passed_s, NULL));
    return passed_s;
}

/* How much longer it may be, only a quiet machine could tell. */
TEST(waiting_lasts_as_long_as_asked) {
    struct gw_device *device = need_device();
    struct gw_device_stream *stream = open_stream(device);
    struct gw_device_event *events[2];
    struct gw_gpu_work work;
    for (int i = 0; i < 2; i++) {
        assert_ok(gw_device_event_open(device, true, &events[i], NULL));
    }
    assert_ok(gw_gpu_work_open(&work, stream, GW_COMPUTE_WAIT, NULL));
    assert_true(time_work(&work, events, 0, 3) >= 0);
    assert_true(time_work(&work, events, 2e-3, 1) >= 1.99e-3);
    assert_true(time_work(&work, events, 5e-4, 8) >= 3.99e-3);
    gw_gpu_work_close(&work);
    for (int i = 0; i < 2; i++) {
        gw_device_event_close(events[i]);
    }
    gw_device_stream_close(stream);
    gw_device_close(device);
}

/* ---- products ------------------------------------------------------------------------------ */

/* The version is known if cuBLAS is present; otherwise the message says what is missing. */
TEST(cublas_has_a_version_or_a_message) {
    struct gw_error error = {0};
    enum gw_status status = gw_cublas_need(&error);
    const char *version = gw_cublas_version();
    bool here = version != NULL && strstr(version, "not on this machine") == NULL;
    print_message("cuBLAS %s\n", version == NULL ? "not in this build" : version);
    assert_int_equal(status, here ? GW_OK : GW_BAD_INPUT);
    assert_true(here || strstr(error.message, "cuBLAS") != NULL);
    assert_true(!here || strspn(version, "0123456789.") == strlen(version));
}

/* Skips the test where there is no cuBLAS. */
static void need_cublas(void) {
    struct gw_error error = {0};
    if (gw_cublas_need(&error) != GW_OK) {
        print_message("skipped: %s\n", error.message);
        skip();
    }
}

static float *copy_matrix(struct gw_device_stream *stream, const float *matrix, size_t elements) {
    float *copied = malloc(elements * sizeof *copied);
    assert_non_null(copied);
    copy_from_device(stream, copied, matrix, elements * sizeof *copied);
    return copied;
}

/*
 * The first that differs of c = a b^T of the first `depth` columns, looking at every `every`th
 * element, or SIZE_MAX. A product is wrong by 2^-9 at most, of TF32s, which have 11 bits, cut off.
 */
static size_t find_difference(const struct gw_products *products, size_t depth, size_t every) {
    size_t n = products->n;
    size_t different = SIZE_MAX;
    float *a = copy_matrix(products->stream, products->a, n * products->depth);
    float *b = copy_matrix(products->stream, products->b, n * products->depth);
    float *c = copy_matrix(products->stream, products->c, n * n);
    for (size_t place = 0; place < n * n && different == SIZE_MAX; place += every) {
        double sum = 0;
        double magnitude = 0;
        for (size_t k = 0; k < depth; k++) {
            double product = (double)a[k * n + place % n] * (double)b[k * n + place / n];
            sum += product;
            magnitude += fabs(product);
        }
        bool near_enough = fabs((double)c[place] - sum) <= magnitude / 500;
        different = near_enough ? SIZE_MAX : place;
    }
    free(a);
    free(b);
    free(c);
    return different;
}

/* Products of any depth up to the matrices'; no part of the previous product remains. */
TEST(products_are_the_hosts) {
    static const size_t sizes[] = {16, 150, 80};
    static const size_t product_depths[] = {96, 16, 1, 48, 96};
    struct gw_device *device = need_device();
    need_cublas();
    struct gw_device_stream *stream = open_stream(device);
    for (size_t i = 0; i < 3; i++) {
        struct gw_products products;
        assert_ok(gw_products_open(&products, stream, sizes[i], 96, NULL));
        for (size_t j = 0; j < 5; j++) {
            assert_ok(gw_products_multiply(&products, product_depths[j], NULL));
            assert_true(find_difference(&products, product_depths[j], 1) == SIZE_MAX);
        }
        assert_true(find_difference(&products, 80, 1) != SIZE_MAX); /* it does tell */
        gw_products_close(&products);
    }
    gw_device_stream_close(stream);
    gw_device_close(device);
}

/* All of both matrices is as draws are: none is zero for long, and the two differ. */
TEST(matrices_are_filled) {
    enum { N = 160, DEEP = 900, PART = 1000 };
    struct gw_device *device = need_device();
    need_cublas();
    struct gw_device_stream *stream = open_stream(device);
    struct gw_products products;
    assert_ok(gw_products_open(&products, stream, N, DEEP, NULL));
    float *a = copy_matrix(stream, products.a, (size_t)N * DEEP);
    float *b = copy_matrix(stream, products.b, (size_t)N * DEEP);
    for (size_t first = 0; first < (size_t)N * DEEP; first += PART) {
        double squares[2] = {0, 0};
        for (size_t i = first; i < first + PART; i++) {
            squares[0] += (double)a[i] * (double)a[i];
            squares[1] += (double)b[i] * (double)b[i];
        }
        assert_true(squares[0] > 0.7 * PART && squares[0] < 1.3 * PART);
        assert_true(squares[1] > 0.7 * PART && squares[1] < 1.3 * PART);
        assert_memory_not_equal(a + first, b + first, PART * sizeof *a);
    }
    free(a);
    free(b);
    gw_products_close(&products);
    gw_device_stream_close(stream);
    gw_device_close(device);
}

TEST(cublas_failures_name_the_call) {
    struct gw_device *device = need_device();
    need_cublas();
    struct gw_device_stream *stream = open_stream(device);
    struct gw_products products;
    struct gw_error error = {0};
    assert_ok(gw_products_open(&products, stream, 64, 64, NULL));
    struct gw_products without_handle = products;
    without_handle.handle = NULL;
    assert_int_equal(gw_products_multiply(&without_handle, 16, &error), GW_FAILED);
    assert_true(strncmp(error.message, "cublasGemmEx: ", 14) == 0 && error.message[14] != '\0');
    gw_products_close(&products);
    gw_device_stream_close(stream);
    gw_device_close(device);
}

/* ---- work by products ---------------------------------------------------------------------- */

/* In a rank's thread: the product of what is owed, whatever other ranks do. */
static void *work_on_own_stream(void *argument) {
    struct gw_device *device = argument;
    struct gw_device_stream *stream = NULL;
    struct gw_gpu_work work;
    struct gw_error error = {0};
    enum gw_status status = gw_device_stream_open(device, false, &stream, &error);
    status = status == GW_OK ? gw_gpu_work_open(&work, stream, GW_COMPUTE_GEMM, &error) : status;
    if (status != GW_OK) {
        (void)fprintf(stderr, "work by products: %s\n", error.message);
        _exit(1);
    }
    const struct gw_depths *depths = &work.depths;
    double least_s = depths->points[0].time_s;
    double deepest_s = depths->points[depths->count - 1].time_s;
    const double asked_s[] = {0.6 * least_s, 0.6 * least_s, 0.4 * deepest_s, 1.7 * deepest_s};
    double owed_s = 0;
    size_t last = 0;
    for (size_t i = 0; i < sizeof asked_s / sizeof *asked_s; i++) {
        size_t depth = 0;
        owed_s += asked_s[i];
        while ((depth = gw_depths_take(depths, &owed_s)) > 0) {
            last = depth;
        }
        status = gw_gpu_work_do(&work, asked_s[i], i > 0, &error);
        bool same = last == 0 || find_difference(&work.products, last, 997) == SIZE_MAX;
        if (status != GW_OK || work.owed_s != owed_s || !same || (last == 0) != (i == 0)) {
            (void)fprintf(stderr, "work by products, piece %zu: of depth %zu: %s\n", i, last,
                          error.message);
            _exit(1);
        }
    }
    gw_gpu_work_close(&work);
    gw_device_stream_close(stream);
    return NULL;
}

TEST(work_is_products_of_what_is_owed) {
    pthread_t ranks[2];
    struct gw_device *device = need_device();
    need_cublas();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&ranks[i], NULL, work_on_own_stream, device), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(ranks[i], NULL);
    }
    gw_device_close(device);
}
