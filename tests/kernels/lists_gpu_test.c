/*
 * Operations in a GPU's memory on vectors and on lists of entries and of indices, compared with
 * those on the host, bit for bit. Random cases follow from one seed, which is printed;
 * GRADWEAVE_SEED repeats a run.
 */
#include "kernels/gpu/parts.h" /* private: what layers are judged by */
#include "tests/kernels/gpu_scene.h"

/* An operation in both memories; its arguments say which `side` they are of. */
#define ON_BOTH_SIDES(scene, operation, ...)                                                       \
    for (int side = 0; side < SIDES; side++) {                                                     \
        struct gw_memory *memory = &(scene)->memories[side];                                       \
        assert_ok(memory->does->operation(memory, __VA_ARGS__, NULL));                             \
    }

/* ---- inputs -------------------------------------------------------------------------------- */

/* Sizes in which threads, warps, blocks and tiles end at any place. */
static size_t draw_size(const struct scene *scene, size_t at) {
    static const size_t sizes[] = {0,   1,   2,   3,   31,   33,   255,  256,
                                   257, 511, 512, 513, 1009, 5003, 4099, 20011};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    return at < SIZES ? sizes[at] : below(scene, 30000);
}

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

/* Numbers, zeros of both signs, denormals and infinities: sums may be NaN. */
static float draw_any(const struct scene *scene) {
    switch (below(scene, 12)) {
    case 0:
        return draw_value(scene, ZERO);
    case 1:
        return ldexpf((float)below(scene, 255) - 127, -149);
    case 2:
        return below(scene, 2) ? INFINITY : -INFINITY;
    case 3:
        return (float)gw_random_normal(scene->random, 1e38);
    default:
        return draw_value(scene, NORMAL);
    }
}

static struct twins draw_values(const struct scene *scene, size_t n) {
    struct twins twins = make_twins(scene, n, sizeof(float));
    float *values = twins.at[HOST];
    for (size_t i = 0; i < n; i++) {
        values[i] = draw_any(scene);
    }
    send_up(scene, &twins);
    return twins;
}

/* Some of the indices below n, ascending, each with a chance of one in `one_in`. */
static size_t draw_entries(const struct scene *scene, size_t n, size_t one_in,
                           struct gw_entry *entries) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (below(scene, one_in) == 0) {
            entries[count++] = (struct gw_entry){.value = draw_any(scene), .index = (uint32_t)i};
        }
    }
    return count;
}

/* ---- vectors and lists --------------------------------------------------------------------- */

TEST(vectors_are_added_one_after_the_other) {
    struct scene scene = open_scene(1);
    for (size_t at = 0; at < 20; at++) {
        size_t n = draw_size(&scene, at);
        size_t blocks = 1 + below(&scene, 6);
        struct twins vectors = draw_values(&scene, 6 * n);
        ON_BOTH_SIDES(&scene, sum_blocks, vectors.at[side], blocks, n)
        check_twins(&scene, &vectors, "sum of blocks");
        ON_BOTH_SIDES(&scene, copy_scaled, (float *)vectors.at[side] + 4 * n,
                      (float *)vectors.at[side] + 5 * n, 1 / 3.0f, n)
        check_twins(&scene, &vectors, "share");
        ON_BOTH_SIDES(&scene, add, vectors.at[side], (float *)vectors.at[side] + n, 1 / 3.0f, n)
        check_twins(&scene, &vectors, "sum");
        free_twins(&scene, &vectors);
    }
    close_scene(&scene);
}

TEST(lists_of_entries_are_added_and_fall_apart) {
    enum { LISTS = 6 };
    struct scene scene = open_scene(2);
    for (size_t at = 0; at < 24; at++) {
        size_t n = draw_size(&scene, at / 2);
        size_t counts[LISTS];
        size_t all = 0;
        struct twins entries = make_twins(&scene, LISTS * n, sizeof(struct gw_entry));
        struct twins other = make_twins(&scene, n, sizeof(struct gw_entry));
        struct twins reversed = make_twins(&scene, n, sizeof(uint32_t));
        for (size_t list = 0; list < LISTS; list++) {
            struct gw_entry *next = (struct gw_entry *)entries.at[HOST] + all;
            counts[list] = draw_entries(&scene, n, 1 + below(&scene, 5), next);
            all += counts[list];
        }
        size_t other_count = draw_entries(&scene, n, 1 + below(&scene, 4), other.at[HOST]);
        for (size_t i = 0; i < n; i++) {
            ((uint32_t *)reversed.at[HOST])[i] = (uint32_t)(n - 1 - i);
        }
        send_up(&scene, &entries);
        send_up(&scene, &other);
        send_up(&scene, &reversed);
        struct twins dense = draw_values(&scene, n);
        struct twins values = draw_values(&scene, all);
        struct twins indices = draw_values(&scene, all);
        struct twins flags = draw_values(&scene, n);
        ON_BOTH_SIDES(&scene, scatter_add, entries.at[side], counts, at % (LISTS + 1),
                      dense.at[side])
        check_twins(&scene, &dense, "element after all lists");
        ON_BOTH_SIDES(&scene, scatter_add_where, entries.at[side], counts[0], other.at[side],
                      other_count, at % 2, dense.at[side])
        check_twins(&scene, &dense, "element after what another list has or lacks");
        ON_BOTH_SIDES(&scene, list_values, entries.at[side], all, values.at[side])
        check_twins(&scene, &values, "value");
        ON_BOTH_SIDES(&scene, list_indices, entries.at[side], all, indices.at[side])
        check_twins(&scene, &indices, "index");
        ON_BOTH_SIDES(&scene, flag_indices, other.at[side], other_count, reversed.at[side], n,
                      flags.at[side])
        check_twins(&scene, &flags, "flag");
        ON_BOTH_SIDES(&scene, clear_entries, entries.at[side], all, dense.at[side])
        check_twins(&scene, &dense, "element after clearing");
        const struct twins *const made[] = {&entries, &other,   &reversed, &dense,
                                            &values,  &indices, &flags};
        for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
            free_twins(&scene, made[i]);
        }
    }
    close_scene(&scene);
}

TEST(elements_are_taken_and_put) {
    struct scene scene = open_scene(5);
    for (size_t at = 0; at < 16; at++) {
        size_t n = draw_size(&scene, at);
        struct gw_entry *entries = allocate(n + 1, sizeof *entries);
        size_t count = draw_entries(&scene, n, 1 + below(&scene, 3), entries);
        struct twins drawn = make_twins(&scene, count, sizeof(uint32_t));
        uint32_t *indices = drawn.at[HOST];
        for (size_t i = 0; i < count; i++) { /* in any order */
            size_t other = below(&scene, i + 1);
            indices[i] = indices[other];
            indices[other] = entries[i].index;
        }
        send_up(&scene, &drawn);
        struct twins dense = draw_values(&scene, n);
        struct twins values = draw_values(&scene, count);
        ON_BOTH_SIDES(&scene, put, dense.at[side], drawn.at[side], count, values.at[side])
        check_twins(&scene, &dense, "element that was put");
        ON_BOTH_SIDES(&scene, put, dense.at[side], drawn.at[side], count / 2, NULL)
        check_twins(&scene, &dense, "element that was cleared");
        ON_BOTH_SIDES(&scene, take, dense.at[side], drawn.at[side], count, values.at[side])
        check_twins(&scene, &dense, "element that is left");
        check_twins(&scene, &values, "element that was taken");
        free_twins(&scene, &drawn);
        free_twins(&scene, &dense);
        free_twins(&scene, &values);
        free(entries);
    }
    close_scene(&scene);
}

/* ---- merging two lists --------------------------------------------------------------------- */

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

static void draw_lists(const struct scene *scene, enum indices indices, enum values values,
                       size_t k, struct gw_entry *a, struct gw_entry *b) {
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

/* With `nans`, as infinities of two signs leave them, which a later merge meets. */
static void check_merge(struct scene *scene, enum indices indices, enum values values, size_t k,
                        bool nans) {
    struct twins lists[3]; /* what is kept, what comes, what is pruned */
    volatile float infinite = INFINITY;
    for (size_t i = 0; i < 3; i++) {
        lists[i] = make_twins(scene, k, sizeof(struct gw_entry));
    }
    struct gw_entry *a = lists[0].at[HOST];
    struct gw_entry *b = lists[1].at[HOST];
    draw_lists(scene, indices, values, k, a, b);
    for (size_t i = 0; nans && i < 1 + k / 5; i++) {
        a[below(scene, k)].value = infinite - infinite;
        b[below(scene, k)].value = infinite - infinite;
    }
    for (size_t i = 0; i < 3; i++) {
        send_up(scene, &lists[i]);
    }
    ON_BOTH_SIDES(scene, merge, lists[0].at[side], lists[1].at[side], k, lists[2].at[side])
    for (size_t i = 0; i < 3; i++) {
        static const char *const names[] = {"kept entry", "entry that came", "pruned entry"};
        check_twins(scene, &lists[i], names[i]);
        free_twins(scene, &lists[i]);
    }
}

TEST(lists_are_merged_as_on_the_host) {
    struct scene scene = open_scene(7);
    for (size_t at = 0; at < 4 * INDICES * VALUES; at++) {
        size_t k = at % 14 < 13 ? draw_size(&scene, 1 + at % 14) : 1 + below(&scene, 12000);
        check_merge(&scene, at % INDICES, at / INDICES % VALUES, k, false);
    }
    for (size_t at = 0; at < 8; at++) {
        check_merge(&scene, at % INDICES, EXTREME, draw_size(&scene, 1 + at), true);
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
    assert_ok(gw_device_copy(stream, table_there, table, words * sizeof *table, NULL));
    float *there = copy_to_device(stream, values, n * sizeof *values);
    double *sums_there = copy_to_device(stream, sums, count * sizeof *sums);
    double *partial = NULL;
    assert_ok(gw_device_allocate(scene->device, (parts.segments + 1) * sizeof *partial,
                                 (void **)&partial, NULL));
    for (int squares = 0; squares < 2; squares++) {
        enum gw_status status =
            squares ? gw_gpu_sum_squares(there, &parts, partial, sums_there, stream, NULL)
                    : gw_gpu_sum_magnitudes(there, &parts, partial, sums_there, NULL, stream, NULL);
        assert_ok(status);
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

TEST(sums_of_parts_are_the_same) {
    struct scene scene = open_scene(6);
    for (size_t at = 0; at < 2 * INPUTS; at++) {
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
