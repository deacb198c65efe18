/*
 * Merging two lists of k entries on a GPU: against the same on the host, bit for bit. Random cases
 * follow from one seed, which is printed; GRADWEAVE_SEED repeats a run.
 */
#include "exec/memory.h"
#include "kernels/gpu.h"
#include "tests/device/device_support.h"
#include "tests/support.h"

static uint64_t seed;

struct scene {
    struct gw_device *device;
    struct gw_device_stream *stream;
    struct gw_gpu_workspace *workspace;
    struct gw_selection merged;
    struct gw_random *random;
};

static struct scene open_scene(uint64_t stream) {
    struct scene scene = {.device = need_device()};
    scene.stream = open_stream(scene.device);
    assert_int_equal(gw_gpu_workspace_open(scene.device, &scene.workspace, NULL), GW_OK);
    assert_int_equal(gw_random_open(&scene.random, seed, stream, NULL), GW_OK);
    return scene;
}

static void close_scene(struct scene *scene) {
    gw_random_close(scene->random);
    gw_selection_free(&scene->merged);
    gw_gpu_workspace_close(scene->workspace);
    gw_device_stream_close(scene->stream);
    gw_device_close(scene->device);
}

static size_t below(const struct scene *scene, size_t limit) {
    return (size_t)gw_random_below(scene->random, limit);
}

/* ---- inputs -------------------------------------------------------------------------------- */

enum values { NORMAL, TIED, EQUAL, ZERO, EXTREME, VALUES };

static float draw_value(const struct scene *scene, enum values values) {
    static const float extreme[] = {0.0f,      -0.0f,     0x1p-149f, -0x1p-149f, INFINITY,
                                    -INFINITY, 0x1p+127f, 1,         -1};
    enum { EXTREMES = sizeof extreme / sizeof *extreme };
    switch (values) {
    case TIED: /* sums are exact, and many cancel each other */
        return (float)below(scene, 9) - 4;
    case EQUAL:
        return -1;
    case ZERO:
        return below(scene, 2) ? 0.0f : -0.0f;
    case EXTREME:
        return below(scene, 3) ? extreme[below(scene, EXTREMES)] : draw_value(scene, NORMAL);
    default:
        return (float)gw_random_normal(scene->random, 1);
    }
}

enum indices { SOME_SHARED, ALL_SHARED, APART, ALTERNATING, ONE_AFTER_THE_OTHER, INDICES };

/* k of n indices for each; if `apart`, those of b are not a's. */
static void draw_indices(const struct scene *scene, size_t n, size_t k, bool apart,
                         struct gw_entry *a, struct gw_entry *b) {
    size_t left[2] = {k, k};
    struct gw_entry *next[2] = {a, b};
    for (size_t i = 0; i < n; i++) {
        size_t place = below(scene, n - i);
        bool takes[2] = {place < left[0],
                         apart ? place >= n - i - left[1] : below(scene, n - i) < left[1]};
        for (int l = 0; l < 2; l++) {
            if (takes[l]) {
                (next[l]++)->index = (uint32_t)i;
                left[l]--;
            }
        }
    }
}

static void draw(const struct scene *scene, enum indices indices, enum values values, size_t k,
                 struct gw_entry *a, struct gw_entry *b) {
    size_t n = indices == ALL_SHARED ? k : indices == APART ? 2 * k : k + below(scene, 3 * k);
    draw_indices(scene, indices == APART ? n + below(scene, k) : n, k, indices == APART, a, b);
    for (size_t i = 0; i < k; i++) {
        if (indices == ALTERNATING) {
            a[i].index = (uint32_t)(2 * i + 1);
            b[i].index = (uint32_t)(2 * i);
        } else if (indices == ONE_AFTER_THE_OTHER) {
            a[i].index += UINT32_MAX - 1 - (uint32_t)(4 * k); /* the last that there may be */
        }
        a[i].value = draw_value(scene, values);
        b[i].value = draw_value(scene, values);
    }
}

/* ---- merging ------------------------------------------------------------------------------- */

static struct gw_entry *allocate_entries(size_t count) {
    struct gw_entry *entries = calloc(count, sizeof *entries);
    assert_non_null(entries);
    return entries;
}

static void check(const struct scene *scene, const struct gw_entry *expected, void *on_gpu,
                  size_t count, const char *what) {
    struct gw_entry *actual = allocate_entries(count);
    copy_from_device(scene->stream, actual, on_gpu, count * sizeof *actual);
    for (size_t i = 0; i < count; i++) {
        if (memcmp(&actual[i], &expected[i], sizeof *actual) != 0) {
            fail_msg("entry %zu of %zu %s: %g at %u, expected %g at %u", i, count, what,
                     (double)actual[i].value, actual[i].index, (double)expected[i].value,
                     expected[i].index);
        }
    }
    free(actual);
}

/* Of a, b and what is pruned, one entry behind must stay what it is. */
static void check_merge(struct scene *scene, struct gw_entry *a, struct gw_entry *b, size_t k) {
    size_t bytes = (k + 1) * sizeof *a;
    struct gw_entry *pruned = allocate_entries(k + 1);
    pruned[k] = a[k] = b[k] = (struct gw_entry){.value = 7, .index = 7};
    void *a_there = copy_to_device(scene->stream, a, bytes);
    void *b_there = copy_to_device(scene->stream, b, bytes);
    void *pruned_there = copy_to_device(scene->stream, pruned, bytes);
    assert_int_equal(gw_merge(a, b, k, &scene->merged, pruned, NULL), GW_OK);
    assert_int_equal(
        gw_gpu_merge(a_there, b_there, k, pruned_there, scene->stream, scene->workspace, NULL),
        GW_OK);
    check(scene, a, a_there, k + 1, "kept");
    check(scene, b, b_there, k + 1, "that came");
    check(scene, pruned, pruned_there, k + 1, "pruned");
    gw_device_free(scene->device, a_there);
    gw_device_free(scene->device, b_there);
    gw_device_free(scene->device, pruned_there);
    free(pruned);
}

/* Sizes in which threads, blocks and tiles end at any place. */
static size_t draw_size(const struct scene *scene, size_t at) {
    static const size_t sizes[] = {1, 2, 3, 31, 33, 511, 512, 513, 1009, 5003};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    return at < SIZES ? sizes[at] : 1 + below(scene, 12000);
}

static void lists_are_merged_as_on_the_host(void **state) {
    (void)state;
    struct scene scene = open_scene(1);
    for (size_t at = 0; at < 4 * INDICES * VALUES; at++) {
        enum indices indices = at % INDICES;
        enum values values = at / INDICES % VALUES;
        size_t k = draw_size(&scene, at % 12);
        struct gw_entry *a = allocate_entries(k + 1);
        struct gw_entry *b = allocate_entries(k + 1);
        draw(&scene, indices, values, k, a, b);
        check_merge(&scene, a, b, k);
        free(a);
        free(b);
    }
    close_scene(&scene);
}

/* As infinities of two signs leave them, which a later merge meets. */
static void nans_are_kept_as_on_the_host(void **state) {
    (void)state;
    struct scene scene = open_scene(2);
    volatile float infinite = INFINITY;
    float nan = infinite - infinite;
    for (size_t at = 0; at < 8; at++) {
        size_t k = draw_size(&scene, at);
        struct gw_entry *a = allocate_entries(k + 1);
        struct gw_entry *b = allocate_entries(k + 1);
        draw(&scene, at % INDICES, EXTREME, k, a, b);
        for (size_t i = 0; i < 1 + k / 5; i++) {
            a[below(&scene, k)].value = nan;
            b[below(&scene, k)].value = nan;
        }
        check_merge(&scene, a, b, k);
        free(a);
        free(b);
    }
    close_scene(&scene);
}

int main(void) {
    seed = choose_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_merged_as_on_the_host),
        cmocka_unit_test(nans_are_kept_as_on_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
