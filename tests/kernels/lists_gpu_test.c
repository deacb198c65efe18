/*
 * Vectors, and lists of entries and of indices, on a GPU: against the same on the host, bit for
 * bit. Random cases follow from one seed, which is printed; GRADWEAVE_SEED repeats a run.
 */
#include "kernels/gpu/parts.h" /* private: what layers are judged by */
#include "tests/device/device_support.h"
#include "tests/kernels/inputs.h"
#include "tests/support.h"

struct scene {
    struct gw_device *device;
    struct gw_device_stream *stream;
    struct gw_random *random;
};

static struct scene open_scene(uint64_t stream) {
    struct scene scene = {.device = need_device()};
    scene.stream = open_stream(scene.device);
    assert_int_equal(gw_random_open(&scene.random, seed, stream, NULL), GW_OK);
    return scene;
}

static void close_scene(struct scene *scene) {
    gw_random_close(scene->random);
    gw_device_stream_close(scene->stream);
    gw_device_close(scene->device);
}

static size_t below(const struct scene *scene, size_t limit) {
    return (size_t)gw_random_below(scene->random, limit);
}

/* Sizes in which blocks and warps end at any place. */
static size_t draw_size(const struct scene *scene, size_t at) {
    static const size_t sizes[] = {0, 1, 2, 31, 33, 255, 256, 257, 1009, 4099, 20011};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    return at < SIZES ? sizes[at] : below(scene, 30000);
}

/* Numbers, zeros of both signs, denormals and infinities: sums may be NaN. */
static float draw_value(const struct scene *scene) {
    switch (below(scene, 12)) {
    case 0:
        return below(scene, 2) ? 0.0f : -0.0f;
    case 1:
        return ldexpf((float)below(scene, 255) - 127, -149);
    case 2:
        return below(scene, 2) ? INFINITY : -INFINITY;
    case 3:
        return (float)gw_random_normal(scene->random, 1e38);
    default:
        return (float)gw_random_normal(scene->random, 1);
    }
}

static float *draw_values(const struct scene *scene, size_t n) {
    float *values = calloc(n + 1, sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < n; i++) {
        values[i] = draw_value(scene);
    }
    return values;
}

/* Some of the indices below n, ascending, each with a chance of one in `one_in`. */
static size_t draw_entries(const struct scene *scene, size_t n, size_t one_in,
                           struct gw_entry *entries) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (below(scene, one_in) == 0) {
            entries[count++] = (struct gw_entry){.value = draw_value(scene), .index = (uint32_t)i};
        }
    }
    return count;
}

static struct gw_entry *allocate_entries(size_t count) {
    struct gw_entry *entries = calloc(count + 1, sizeof *entries);
    assert_non_null(entries);
    return entries;
}

/* On the GPU, with one element behind that must stay what it is. */
static float *upload(const struct scene *scene, const float *values, size_t n) {
    return copy_to_device(scene->stream, values, (n + 1) * sizeof *values);
}

static void check(const struct scene *scene, const float *expected, float *on_gpu, size_t n) {
    float *actual = calloc(n + 1, sizeof *actual);
    copy_from_device(scene->stream, actual, on_gpu, (n + 1) * sizeof *actual);
    for (size_t i = 0; i < n + 1; i++) {
        if (memcmp(&actual[i], &expected[i], sizeof *actual) != 0) {
            fail_msg("element %zu of %zu: %g, expected %g", i, n, (double)actual[i],
                     (double)expected[i]);
        }
    }
    free(actual);
    gw_device_free(scene->device, on_gpu);
}

/* ---- vectors ------------------------------------------------------------------------------- */

static void vectors_are_added_one_after_the_other(void **state) {
    (void)state;
    struct scene scene = open_scene(1);
    for (size_t at = 0; at < (size_t)gw_trials(20); at++) {
        size_t n = draw_size(&scene, at);
        size_t count = at % 2 == 0 ? 1 : below(&scene, 6);
        float *vectors = draw_values(&scene, (count + 1) * n);
        float *on_gpu = upload(&scene, vectors, (count + 1) * n);
        if (count == 1) {
            assert_int_equal(gw_gpu_add(on_gpu, on_gpu + n, n, scene.stream, NULL), GW_OK);
        } else {
            assert_int_equal(gw_gpu_add_all(on_gpu, on_gpu + n, count, n, scene.stream, NULL),
                             GW_OK);
        }
        for (size_t v = 1; v <= count; v++) {
            for (size_t i = 0; i < n; i++) {
                vectors[i] += vectors[v * n + i];
            }
        }
        check(&scene, vectors, on_gpu, (count + 1) * n);
        free(vectors);
    }
    close_scene(&scene);
}

/* ---- lists of entries ---------------------------------------------------------------------- */

static void lists_are_added_one_after_the_other(void **state) {
    (void)state;
    struct scene scene = open_scene(2);
    for (size_t at = 0; at < (size_t)gw_trials(20); at++) {
        size_t n = draw_size(&scene, at);
        size_t lists = below(&scene, 6);
        size_t counts[6];
        size_t all = 0;
        struct gw_entry *entries = allocate_entries(6 * n);
        float *dense = draw_values(&scene, n);
        float *on_gpu = upload(&scene, dense, n);
        for (size_t list = 0; list < lists; list++) {
            counts[list] = draw_entries(&scene, n, 1 + below(&scene, 5), entries + all);
            all += counts[list];
        }
        void *copied = copy_to_device(scene.stream, entries, (all + 1) * sizeof *entries);
        assert_int_equal(gw_gpu_scatter_add(copied, counts, lists, on_gpu, scene.stream, NULL),
                         GW_OK);
        gw_scatter_add(entries, all, dense);
        check(&scene, dense, on_gpu, n);
        on_gpu = upload(&scene, dense, n);
        assert_int_equal(gw_gpu_clear_entries(copied, all, on_gpu, scene.stream, NULL), GW_OK);
        for (size_t i = 0; i < all; i++) {
            dense[entries[i].index] = 0;
        }
        check(&scene, dense, on_gpu, n);
        gw_device_free(scene.device, copied);
        free(entries);
        free(dense);
    }
    close_scene(&scene);
}

static void what_another_list_has_or_lacks_is_added(void **state) {
    (void)state;
    struct scene scene = open_scene(3);
    for (size_t at = 0; at < (size_t)gw_trials(24); at++) {
        size_t n = draw_size(&scene, at / 2);
        struct gw_entry *entries = allocate_entries(n);
        struct gw_entry *list = allocate_entries(n);
        bool *is_listed = calloc(n + 1, sizeof *is_listed);
        float *dense = draw_values(&scene, n);
        float *on_gpu = upload(&scene, dense, n);
        size_t count = draw_entries(&scene, n, 1 + below(&scene, 4), entries);
        size_t list_count = draw_entries(&scene, n, 1 + below(&scene, 4), list);
        void *copied = copy_to_device(scene.stream, entries, (n + 1) * sizeof *entries);
        void *copied_list = copy_to_device(scene.stream, list, (n + 1) * sizeof *list);
        for (size_t i = 0; i < list_count; i++) {
            is_listed[list[i].index] = true;
        }
        assert_int_equal(gw_gpu_scatter_add_where(copied, count, copied_list, list_count, at % 2,
                                                  on_gpu, scene.stream, NULL),
                         GW_OK);
        for (size_t i = 0; i < count; i++) {
            if (is_listed[entries[i].index] == (at % 2 == 1)) {
                dense[entries[i].index] += entries[i].value;
            }
        }
        check(&scene, dense, on_gpu, n);
        gw_device_free(scene.device, copied);
        gw_device_free(scene.device, copied_list);
        free(entries);
        free(list);
        free(is_listed);
        free(dense);
    }
    close_scene(&scene);
}

static void entries_fall_apart_into_indices_and_values(void **state) {
    (void)state;
    struct scene scene = open_scene(4);
    for (size_t at = 0; at < (size_t)gw_trials(16); at++) {
        size_t n = draw_size(&scene, at);
        struct gw_entry *entries = allocate_entries(n);
        size_t count = draw_entries(&scene, n, 1 + below(&scene, 3), entries);
        void *copied = copy_to_device(scene.stream, entries, (n + 1) * sizeof *entries);
        float *values = draw_values(&scene, count);
        float *flags = draw_values(&scene, n);
        uint32_t *indices = calloc(n + 1, sizeof *indices);
        for (size_t i = 0; i < n; i++) {
            indices[i] = (uint32_t)(n - 1 - i);
        }
        uint32_t *all_on_gpu = copy_to_device(scene.stream, indices, (n + 1) * sizeof *indices);
        uint32_t *on_gpu = copy_to_device(scene.stream, indices, (n + 1) * sizeof *indices);
        float *values_on_gpu = upload(&scene, values, count);
        float *flags_on_gpu = upload(&scene, flags, n);
        assert_int_equal(gw_gpu_list_values(copied, count, values_on_gpu, scene.stream, NULL),
                         GW_OK);
        assert_int_equal(gw_gpu_list_indices(copied, count, on_gpu, scene.stream, NULL), GW_OK);
        assert_int_equal(
            gw_gpu_flag_indices(copied, count, all_on_gpu, n, flags_on_gpu, scene.stream, NULL),
            GW_OK);
        memset(flags, 0, n * sizeof *flags);
        for (size_t i = 0; i < count; i++) {
            values[i] = entries[i].value;
            flags[n - 1 - entries[i].index] = 1;
        }
        check(&scene, values, values_on_gpu, count);
        check(&scene, flags, flags_on_gpu, n);
        copy_from_device(scene.stream, indices, on_gpu, (n + 1) * sizeof *indices);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(indices[i], i < count ? entries[i].index : n - 1 - i);
        }
        gw_device_free(scene.device, copied);
        gw_device_free(scene.device, all_on_gpu);
        gw_device_free(scene.device, on_gpu);
        free(entries);
        free(values);
        free(flags);
        free(indices);
    }
    close_scene(&scene);
}

/* ---- lists of indices ---------------------------------------------------------------------- */

static void elements_are_taken_and_put(void **state) {
    (void)state;
    struct scene scene = open_scene(5);
    for (size_t at = 0; at < (size_t)gw_trials(16); at++) {
        size_t n = draw_size(&scene, at);
        struct gw_entry *entries = allocate_entries(n);
        size_t count = draw_entries(&scene, n, 1 + below(&scene, 3), entries);
        uint32_t *indices = calloc(count + 1, sizeof *indices);
        float *dense = draw_values(&scene, n);
        float *values = draw_values(&scene, count);
        for (size_t i = 0; i < count; i++) { /* in any order */
            size_t other = below(&scene, i + 1);
            indices[i] = indices[other];
            indices[other] = entries[i].index;
        }
        uint32_t *on_gpu = copy_to_device(scene.stream, indices, (count + 1) * sizeof *indices);
        float *dense_on_gpu = upload(&scene, dense, n);
        float *values_on_gpu = upload(&scene, values, count);
        assert_int_equal(gw_gpu_put(dense_on_gpu, on_gpu, count, values_on_gpu, scene.stream, NULL),
                         GW_OK);
        for (size_t i = 0; i < count; i++) {
            dense[indices[i]] = values[i];
        }
        assert_int_equal(gw_gpu_put(dense_on_gpu, on_gpu, count / 2, NULL, scene.stream, NULL),
                         GW_OK);
        for (size_t i = 0; i < count / 2; i++) {
            dense[indices[i]] = 0;
        }
        assert_int_equal(
            gw_gpu_take(dense_on_gpu, on_gpu, count, values_on_gpu, scene.stream, NULL), GW_OK);
        for (size_t i = 0; i < count; i++) {
            values[i] = dense[indices[i]];
        }
        check(&scene, values, values_on_gpu, count);
        check(&scene, dense, dense_on_gpu, n);
        gw_device_free(scene.device, on_gpu);
        free(entries);
        free(indices);
        free(dense);
        free(values);
    }
    close_scene(&scene);
}

/* ---- sums of parts of a vector ------------------------------------------------------------- */

/* One part after the other; each of its own size, which may be 0. */
static void check_sums(const struct scene *scene, const float *values, const size_t *sizes,
                       size_t count) {
    struct gw_device_stream *stream = scene->stream;
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
    assert_int_equal(gw_device_allocate(scene->device, (parts.segments + 1) * sizeof *partial,
                                        (void **)&partial, NULL),
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
    gw_device_free(scene->device, table_there);
    gw_device_free(scene->device, there);
    gw_device_free(scene->device, sums_there);
    gw_device_free(scene->device, partial);
    free(table);
    free(sums);
}

static void sums_of_parts_are_the_same(void **state) {
    (void)state;
    struct scene scene = open_scene(6);
    for (size_t at = 0; at < (size_t)gw_trials(2 * INPUTS); at++) {
        size_t n =
            at == 0 ? 600011 : 1 + draw_size(&scene, at); /* more segments than sums of them */
        float *values = allocate(n, sizeof *values);
        size_t sizes[8];
        size_t count = at % 2 ? 1 : 8;
        inputs[at % INPUTS].fill(values, n, scene.random);
        size_t left = n;
        for (size_t part = 0; part < count; part++) { /* two of them are empty */
            sizes[part] = part == count - 1 ? left : part % 4 == 0 ? 0 : below(&scene, left + 1);
            left -= sizes[part];
        }
        check_sums(&scene, values, sizes, count);
        free(values);
    }
    close_scene(&scene);
}

int main(void) {
    seed = choose_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_are_added_one_after_the_other),
        cmocka_unit_test(lists_are_added_one_after_the_other),
        cmocka_unit_test(what_another_list_has_or_lacks_is_added),
        cmocka_unit_test(entries_fall_apart_into_indices_and_values),
        cmocka_unit_test(elements_are_taken_and_put),
        cmocka_unit_test(sums_of_parts_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
