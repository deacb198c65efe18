/*
 * Memories of the host and of a GPU: what was not sent, and operations on vectors and on lists of
 * entries and of indices, by what they promise and, on both sides, bit for bit. Random cases follow
 * from one seed, which is printed; GRADWEAVE_SEED repeats a run.
 */
#if defined(GW_HAVE_CUDA)
#include "kernels/gpu/parts.h" /* private: sums of parts */
#endif
#include "kernels/memory.h"
#include "tests/kernels/sides.h"

/* ---- the same on both sides ---------------------------------------------------------------- */

enum { HOST, GPU, SIDES };

static size_t below(struct gw_random *random, size_t limit) {
    return (size_t)gw_random_below(random, limit);
}

static struct gw_memory *memory_of(int side) {
    static struct gw_memory host = {.does = &gw_memory_on_host};
    return side == HOST ? &host : gpu_memory();
}

/* An operation in both memories, if there are two; its arguments say which `side` they are of. */
#define ON_BOTH_SIDES(operation, ...)                                                              \
    for (int side = 0; side < SIDES; side++) {                                                     \
        if (memory_of(side) != NULL) {                                                             \
            assert_ok(memory_of(side)->does->operation(memory_of(side), __VA_ARGS__, NULL));       \
        }                                                                                          \
    }

/* The same `count` items on both sides, and one behind them that nothing may change. */
enum { TWINS_GUARD = 7 }; /* each byte of it */

struct twins {
    void *at[SIDES];
    size_t count, size;
};

static struct twins make_twins(size_t count, size_t size) {
    struct twins twins = {.count = count, .size = size};
    twins.at[HOST] = allocate(count + 1, size);
    memset((char *)twins.at[HOST] + count * size, TWINS_GUARD, size);
    if (gpu_memory() != NULL) {
        assert_ok(
            gw_device_allocate(gpu_memory()->device, (count + 1) * size, &twins.at[GPU], NULL));
    }
    return twins;
}

/* Once the host's are filled. */
static void send_up(const struct twins *twins) {
    if (gpu_memory() != NULL) {
        assert_ok(gw_device_copy(gpu_memory()->stream, twins->at[GPU], twins->at[HOST],
                                 (twins->count + 1) * twins->size, NULL));
        assert_ok(gw_device_stream_finish(gpu_memory()->stream, NULL));
    }
}

/* To the bit. */
static void check_twins(const struct twins *twins, const char *what) {
    size_t bytes = (twins->count + 1) * twins->size;
    char *actual = allocate(bytes, 1);
    const char *expected = twins->at[HOST];
    memcpy(actual, expected, bytes);
    if (gpu_memory() != NULL) {
        copy_from_device(gpu_memory()->stream, actual, twins->at[GPU], bytes);
    }
    for (size_t i = 0; i < bytes; i += twins->size) {
        if (memcmp(actual + i, expected + i, twins->size) != 0) {
            float values[2];
            memcpy(&values[0], actual + i, sizeof values[0]);
            memcpy(&values[1], expected + i, sizeof values[1]);
            fail_msg("%s %zu of %zu: %.9g, expected %.9g", what, i / twins->size, twins->count,
                     (double)values[0], (double)values[1]);
        }
    }
    for (size_t i = bytes - twins->size; i < bytes; i++) {
        assert_int_equal(expected[i], TWINS_GUARD);
    }
    free(actual);
}

static void free_twins(const struct twins *twins) {
    free(twins->at[HOST]);
    if (gpu_memory() != NULL) {
        gw_device_free(gpu_memory()->device, twins->at[GPU]);
    }
}

/* ---- inputs -------------------------------------------------------------------------------- */

/* Sizes in which threads, warps, blocks and tiles end at any place. */
static size_t draw_size(struct gw_random *random, size_t at) {
    static const size_t sizes[] = {0,   1,   2,   3,   31,   33,   255,  256,
                                   257, 511, 512, 513, 1009, 5003, 4099, 20011};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    return at < SIZES ? sizes[at] : below(random, 30000);
}

static void fill_any(struct gw_random *random, float *values, size_t n) {
    if (n > 0) {
        inputs[below(random, INPUTS)].fill(values, n, random);
    }
}

static struct twins draw_values(struct gw_random *random, size_t n) {
    struct twins twins = make_twins(n, sizeof(float));
    fill_any(random, twins.at[HOST], n);
    send_up(&twins);
    return twins;
}

/* Some of the indices below n, ascending, each with a chance of one in `one_in`. */
static size_t draw_entries(struct gw_random *random, size_t n, size_t one_in,
                           struct gw_entry *entries) {
    size_t count = 0;
    float *values = allocate(n + 1, sizeof *values);
    fill_any(random, values, n);
    for (size_t i = 0; i < n; i++) {
        if (below(random, one_in) == 0) {
            entries[count++] = (struct gw_entry){.value = values[i], .index = (uint32_t)i};
        }
    }
    free(values);
    return count;
}

/* ---- vectors and lists --------------------------------------------------------------------- */

/* The host's; those of a GPU are compared with them. */
TEST(operations_on_elements_by_hand) {
    struct gw_memory *host = memory_of(HOST);
    const float values[] = {10, 20, 30, 40};
    const struct gw_entry list[] = {{.value = 5, .index = 1}, {.value = 6, .index = 3}};
    const struct gw_entry entries[] = {
        {.value = 1, .index = 0}, {.value = 2, .index = 1}, {.value = 3, .index = 2}};
    const uint32_t asked[] = {3, 0, 1};
    float sums[] = {1, 2, 3, 4};
    float to[4] = {0};
    uint32_t indices[2];
    assert_ok(host->does->add(host, sums, values, 0.5f, 4, NULL));
    assert_memory_equal(sums, ((float[]){6, 12, 18, 24}), sizeof sums);
    assert_ok(host->does->copy_scaled(host, to, GW_NUMBER_FLOAT, values, 2, 4, NULL));
    assert_memory_equal(to, ((float[]){20, 40, 60, 80}), sizeof to);
    assert_ok(host->does->scatter_add_where(host, entries, 3, list, 2, true, to, NULL));
    assert_memory_equal(to, ((float[]){20, 42, 60, 80}), sizeof to);
    assert_ok(host->does->scatter_add_where(host, entries, 3, list, 2, false, to, NULL));
    assert_memory_equal(to, ((float[]){21, 42, 63, 80}), sizeof to);
    assert_ok(host->does->clear_entries(host, list, 2, to, NULL));
    assert_memory_equal(to, ((float[]){21, 0, 63, 0}), sizeof to);
    assert_ok(host->does->list_indices(host, list, 2, indices, NULL));
    assert_memory_equal(indices, ((uint32_t[]){1, 3}), sizeof indices);
    assert_ok(host->does->list_values(host, list, 2, to, NULL));
    assert_memory_equal(to, ((float[]){5, 6, 63, 0}), sizeof to);
    assert_ok(host->does->flag_indices(host, list, 2, asked, 3, to, NULL));
    assert_memory_equal(to, ((float[]){1, 0, 1, 0}), sizeof to);
    assert_ok(host->does->take(host, sums, asked, 3, to, NULL));
    assert_memory_equal(to, ((float[]){24, 6, 12, 0}), sizeof to);
    assert_memory_equal(sums, ((float[]){0, 0, 18, 0}), sizeof sums);
    assert_ok(host->does->put(host, sums, asked, 2, values, NULL));
    assert_memory_equal(sums, ((float[]){20, 0, 18, 10}), sizeof sums);
    assert_ok(host->does->put(host, sums, asked, 1, NULL, NULL));
    assert_memory_equal(sums, ((float[]){20, 0, 18, 0}), sizeof sums);
}

TEST(vectors_are_added_one_after_the_other) {
    struct gw_random *random = random_stream(1);
    for (size_t at = 0; at < 20; at++) {
        size_t n = draw_size(random, at);
        size_t blocks = 1 + below(random, 6);
        struct twins vectors = draw_values(random, 6 * n);
        ON_BOTH_SIDES(sum_blocks, vectors.at[side], blocks, n)
        check_twins(&vectors, "sum of blocks");
        ON_BOTH_SIDES(copy_scaled, (float *)vectors.at[side] + 4 * n, GW_NUMBER_FLOAT,
                      (float *)vectors.at[side] + 5 * n, 1 / 3.0f, n)
        check_twins(&vectors, "share");
        ON_BOTH_SIDES(accumulate, (float *)vectors.at[side] + 2 * n, GW_NUMBER_FLOAT,
                      (float *)vectors.at[side] + 3 * n, 1 / 3.0f, n)
        check_twins(&vectors, "residual");
        ON_BOTH_SIDES(add, vectors.at[side], (float *)vectors.at[side] + n, 1 / 3.0f, n)
        check_twins(&vectors, "sum");
        free_twins(&vectors);
    }
}

/* The number that a code stands for, as IEEE 754 defines it; bfloat16 is the same with a wider
 * exponent. */
static double number_of(enum gw_number_type type, uint16_t code) {
    int bits = type == GW_NUMBER_BF16 ? 7 : 10;
    int bias = type == GW_NUMBER_BF16 ? 127 : 15;
    int exponent = (code & 0x7fff) >> bits;
    int fraction = code & ((1 << bits) - 1);
    double size = exponent == 2 * bias + 1 ? (fraction == 0 ? INFINITY : NAN)
                  : exponent == 0          ? ldexp(fraction, 1 - bias - bits)
                                           : ldexp(fraction + (1 << bits), exponent - bias - bits);
    return code & 0x8000 ? -size : size;
}

/* Every code, and all values that lie between two: rounded to the nearest, a tie to the even. */
TEST(halves_of_every_code_are_accumulated_and_written) {
    enum { CODES = 1 << 16, EACH = 3 };
    static const float before[EACH] = {0.375f, -INFINITY, NAN};
    for (size_t t = 0; t < 2; t++) {
        enum gw_number_type type = t == 0 ? GW_NUMBER_BF16 : GW_NUMBER_FP16;
        int largest = t == 0 ? 0x7f7f : 0x7bff;
        struct twins codes = make_twins(CODES, sizeof(uint16_t));
        struct twins written = make_twins((size_t)EACH * CODES, sizeof(uint16_t));
        struct twins floats = make_twins(CODES, sizeof(float));
        struct twins residual = make_twins(CODES, sizeof(float));
        struct twins values = make_twins((size_t)EACH * CODES, sizeof(float));
        uint16_t *code = codes.at[HOST];
        float *value = values.at[HOST];
        for (size_t i = 0; i < CODES; i++) {
            bool is_number = !isnan(number_of(type, (uint16_t)i));
            code[i] = is_number ? (uint16_t)i : 0;
            ((float *)residual.at[HOST])[i] = before[i % EACH];
            /* halfway to the next larger code, just below and just above */
            uint16_t next = (uint16_t)(code[i] + ((code[i] & 0x7fff) < largest));
            double middle = (number_of(type, code[i]) + number_of(type, next)) / 2;
            value[EACH * i] = (float)middle;
            value[EACH * i + 1] = nextafterf((float)middle, 0);
            value[EACH * i + 2] = nextafterf((float)middle, (float)middle * 2);
        }
        const struct twins *const all[] = {&codes, &written, &floats, &residual, &values};
        for (size_t i = 0; i < 5; i++) {
            send_up(all[i]);
        }
        ON_BOTH_SIDES(copy_scaled, floats.at[side], type, codes.at[side], 1, CODES)
        check_twins(&floats, "value");
        ON_BOTH_SIDES(accumulate, residual.at[side], type, codes.at[side], 0.25f, CODES)
        check_twins(&residual, "residual");
        ON_BOTH_SIDES(round_to_halves, type, values.at[side], (size_t)EACH * CODES,
                      written.at[side])
        check_twins(&written, "half");
        for (size_t i = 0; i < CODES; i++) {
            float number = (float)number_of(type, code[i]);
            float kept = i % EACH == 0 ? before[0] : 0;
            assert_true(((float *)floats.at[HOST])[i] == number);
            assert_true(((float *)residual.at[HOST])[i] == kept + 0.25f * number);
            const uint16_t *got = (uint16_t *)written.at[HOST] + EACH * i;
            if ((code[i] & 0x7fff) < largest) {
                assert_int_equal(got[0], code[i] + code[i] % 2);
                assert_int_equal(got[1], code[i]);
                assert_int_equal(got[2], code[i] + 1);
            }
        }
        for (size_t i = 0; i < 5; i++) {
            free_twins(all[i]);
        }
    }
}

/* Numbers from half a step beyond the largest on are infinities, all NaNs one NaN. */
TEST(halves_overflow_to_infinity) {
    static const float values[] = {65519.996f, 65520,           -1e30f,     INFINITY,
                                   NAN,        0x1.fefffep127f, 0x1.ffp127f};
    static const uint16_t expected[2][7] = {
        {0x4780, 0x4780, 0xf14a, 0x7f80, 0x7fc0, 0x7f7f, 0x7f80},
        {0x7bff, 0x7c00, 0xfc00, 0x7c00, 0x7e00, 0x7c00, 0x7c00}};
    for (size_t t = 0; t < 2; t++) {
        struct twins from = make_twins(7, sizeof(float));
        struct twins to = make_twins(7, sizeof(uint16_t));
        memcpy(from.at[HOST], values, sizeof values);
        send_up(&from);
        send_up(&to);
        ON_BOTH_SIDES(round_to_halves, t == 0 ? GW_NUMBER_BF16 : GW_NUMBER_FP16, from.at[side], 7,
                      to.at[side])
        assert_memory_equal(to.at[HOST], expected[t], sizeof expected[t]);
        check_twins(&to, "half");
        free_twins(&from);
        free_twins(&to);
    }
}

TEST(lists_of_entries_are_added_and_fall_apart) {
    enum { LISTS = 6 };
    struct gw_random *random = random_stream(2);
    for (size_t at = 0; at < 24; at++) {
        size_t n = draw_size(random, at / 2);
        size_t counts[LISTS];
        size_t all = 0;
        struct twins entries = make_twins(LISTS * n, sizeof(struct gw_entry));
        struct twins other = make_twins(n, sizeof(struct gw_entry));
        struct twins reversed = make_twins(n, sizeof(uint32_t));
        for (size_t list = 0; list < LISTS; list++) {
            struct gw_entry *next = (struct gw_entry *)entries.at[HOST] + all;
            counts[list] = draw_entries(random, n, 1 + below(random, 5), next);
            all += counts[list];
        }
        size_t other_count = draw_entries(random, n, 1 + below(random, 4), other.at[HOST]);
        for (size_t i = 0; i < n; i++) {
            ((uint32_t *)reversed.at[HOST])[i] = (uint32_t)(n - 1 - i);
        }
        send_up(&entries);
        send_up(&other);
        send_up(&reversed);
        struct twins dense = draw_values(random, n);
        struct twins values = draw_values(random, all);
        struct twins indices = draw_values(random, all);
        struct twins flags = draw_values(random, n);
        ON_BOTH_SIDES(scatter_add, entries.at[side], counts, at % (LISTS + 1), dense.at[side])
        check_twins(&dense, "element after all lists");
        ON_BOTH_SIDES(scatter_add_where, entries.at[side], counts[0], other.at[side], other_count,
                      at % 2, dense.at[side])
        check_twins(&dense, "element after what another list has or lacks");
        ON_BOTH_SIDES(list_values, entries.at[side], all, values.at[side])
        check_twins(&values, "value");
        ON_BOTH_SIDES(list_indices, entries.at[side], all, indices.at[side])
        check_twins(&indices, "index");
        ON_BOTH_SIDES(flag_indices, other.at[side], other_count, reversed.at[side], n,
                      flags.at[side])
        check_twins(&flags, "flag");
        ON_BOTH_SIDES(clear_entries, entries.at[side], all, dense.at[side])
        check_twins(&dense, "element after clearing");
        const struct twins *const made[] = {&entries, &other,   &reversed, &dense,
                                            &values,  &indices, &flags};
        for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
            free_twins(made[i]);
        }
    }
}

TEST(elements_are_taken_and_put) {
    struct gw_random *random = random_stream(5);
    for (size_t at = 0; at < 16; at++) {
        size_t n = draw_size(random, at);
        struct gw_entry *entries = allocate(n + 1, sizeof *entries);
        size_t count = draw_entries(random, n, 1 + below(random, 3), entries);
        struct twins drawn = make_twins(count, sizeof(uint32_t));
        uint32_t *indices = drawn.at[HOST];
        for (size_t i = 0; i < count; i++) { /* in any order */
            size_t other = below(random, i + 1);
            indices[i] = indices[other];
            indices[other] = entries[i].index;
        }
        send_up(&drawn);
        struct twins dense = draw_values(random, n);
        struct twins values = draw_values(random, count);
        ON_BOTH_SIDES(put, dense.at[side], drawn.at[side], count, values.at[side])
        check_twins(&dense, "element that was put");
        ON_BOTH_SIDES(put, dense.at[side], drawn.at[side], count / 2, NULL)
        check_twins(&dense, "element that was cleared");
        ON_BOTH_SIDES(take, dense.at[side], drawn.at[side], count, values.at[side])
        check_twins(&dense, "element that is left");
        check_twins(&values, "element that was taken");
        free_twins(&drawn);
        free_twins(&dense);
        free_twins(&values);
        free(entries);
    }
}

/* ---- merging two lists --------------------------------------------------------------------- */

/* The values of the lists; sums of the last may be NaN. */
static void (*const merged[])(float *u, size_t n, struct gw_random *random) = {
    fill_normal, fill_ties, fill_constant, fill_zeros, fill_infinities};
enum { VALUES = sizeof merged / sizeof *merged, INFINITE = VALUES - 1 };

enum indices { SOME_SHARED, ALL_SHARED, APART, ALTERNATING, ONE_AFTER_THE_OTHER, INDICES };

/* k of n indices for each; if `apart`, those of b are not a's. */
static void draw_indices(struct gw_random *random, size_t n, size_t k, bool apart,
                         struct gw_entry *a, struct gw_entry *b) {
    size_t left[2] = {k, k};
    struct gw_entry *next[2] = {a, b};
    for (size_t i = 0; i < n; i++) {
        size_t place = below(random, n - i);
        bool takes[2] = {place < left[0],
                         apart ? place >= n - i - left[1] : below(random, n - i) < left[1]};
        for (int l = 0; l < 2; l++) {
            if (takes[l]) {
                (next[l]++)->index = (uint32_t)i;
                left[l]--;
            }
        }
    }
}

static void draw_lists(struct gw_random *random, enum indices indices, size_t values, size_t k,
                       struct gw_entry *a, struct gw_entry *b) {
    size_t n = indices == ALL_SHARED ? k : indices == APART ? 2 * k : k + below(random, 3 * k);
    draw_indices(random, indices == APART ? n + below(random, k) : n, k, indices == APART, a, b);
    float *drawn = allocate(2 * k, sizeof *drawn);
    merged[values](drawn, 2 * k, random);
    for (size_t i = 0; i < k; i++) {
        if (indices == ALTERNATING) {
            a[i].index = (uint32_t)(2 * i + 1);
            b[i].index = (uint32_t)(2 * i);
        } else if (indices == ONE_AFTER_THE_OTHER) {
            a[i].index += UINT32_MAX - 1 - (uint32_t)(4 * k); /* the last that there may be */
        }
        a[i].value = drawn[i];
        b[i].value = drawn[k + i];
    }
    free(drawn);
}

/*
 * Every index of either list, with the sum of its values, is in `kept` or in `pruned`; those that
 * are kept come first by magnitude, and of equal ones by index.
 */
static void check_promise(const struct gw_entry *a, const struct gw_entry *b, size_t k,
                          const struct gw_entry *kept, const struct gw_entry *pruned) {
    size_t i = 0, j = 0, in = 0, out = 0;
    while (i < k || j < k) {
        bool from_a = i < k && (j == k || a[i].index <= b[j].index);
        bool from_b = j < k && (i == k || b[j].index <= a[i].index);
        uint32_t index = from_a ? a[i].index : b[j].index;
        float sum = from_a && from_b ? a[i].value + b[j].value : from_a ? a[i].value : b[j].value;
        bool stays = in < k && kept[in].index == index;
        const struct gw_entry *entry = stays ? &kept[in++] : &pruned[out++];
        assert_true(entry->index == index && entry->value == sum);
        i += from_a;
        j += from_b;
    }
    assert_int_equal(in, k);
    for (size_t p = 0; p < k; p++) {
        assert_true(p < out || (pruned[p].index == GW_NO_INDEX && pruned[p].value == 0));
    }
    struct gw_entry last = kept[0];
    for (size_t p = 1; p < k; p++) {
        last = fabsf(kept[p].value) <= fabsf(last.value) ? kept[p] : last;
    }
    for (size_t p = 0; p < out; p++) {
        float outside = fabsf(pruned[p].value);
        assert_true(fabsf(last.value) > outside ||
                    (fabsf(last.value) == outside && last.index < pruned[p].index));
        assert_true(gw_entries_have(pruned, out, pruned[p].index) &&
                    !gw_entries_have(kept, k, pruned[p].index));
    }
}

/* With `nans`, as infinities of two signs leave them, which a later merge meets. */
static void check_merge(struct gw_random *random, enum indices indices, size_t values, size_t k,
                        bool nans) {
    struct twins lists[3]; /* kept, came, pruned */
    volatile float infinite = INFINITY;
    for (size_t i = 0; i < 3; i++) {
        lists[i] = make_twins(k, sizeof(struct gw_entry));
    }
    struct gw_entry *a = lists[0].at[HOST];
    struct gw_entry *b = lists[1].at[HOST];
    draw_lists(random, indices, values, k, a, b);
    for (size_t i = 0; nans && i < 1 + k / 5; i++) {
        a[below(random, k)].value = infinite - infinite;
        b[below(random, k)].value = infinite - infinite;
    }
    for (size_t i = 0; i < 3; i++) {
        send_up(&lists[i]);
    }
    struct gw_entry *before = allocate(2 * k, sizeof *before);
    memcpy(before, a, k * sizeof *a);
    memcpy(before + k, b, k * sizeof *b);
    ON_BOTH_SIDES(merge, lists[0].at[side], lists[1].at[side], k, lists[2].at[side])
    if (values != INFINITE) {
        check_promise(before, before + k, k, a, lists[2].at[HOST]);
    }
    for (size_t i = 0; i < 3; i++) {
        static const char *const names[] = {"kept entry", "entry that came", "pruned entry"};
        check_twins(&lists[i], names[i]);
        free_twins(&lists[i]);
    }
    free(before);
}

TEST(merges_keep_the_largest_sums) {
    struct gw_random *random = random_stream(7);
    for (size_t at = 0; at < (1 + (size_t)gw_trials(3)) * INDICES * VALUES; at++) {
        size_t k = at % 14 < 13 ? draw_size(random, 1 + at % 14) : 1 + below(random, 12000);
        check_merge(random, at % INDICES, at / INDICES % VALUES, k, false);
    }
    for (size_t at = 0; gpu_memory() == NULL && at < 20 * INDICES * VALUES; at++) { /* quick */
        check_merge(random, at % INDICES, at / INDICES % VALUES, 1 + below(random, 20), false);
    }
    for (size_t at = 0; at < 8; at++) {
        check_merge(random, at % INDICES, INFINITE, draw_size(random, 1 + at), true);
    }
}

#if defined(GW_HAVE_CUDA)

/* ---- sums of parts of a vector ------------------------------------------------------------- */

/* One part after the other; each of its own size, which may be 0. */
static void check_sums(const float *values, const size_t *sizes, size_t count) {
    struct gw_device_stream *stream = gpu_memory()->stream;
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
    assert_ok(gw_device_allocate(gpu_memory()->device, (parts.segments + 1) * sizeof *partial,
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
    gw_device_free(gpu_memory()->device, table_there);
    gw_device_free(gpu_memory()->device, there);
    gw_device_free(gpu_memory()->device, sums_there);
    gw_device_free(gpu_memory()->device, partial);
    free(table);
    free(sums);
}

TEST(sums_of_parts_are_the_same) {
    struct gw_random *random = random_stream(6);
    if (gpu_memory() == NULL) {
        skip();
    }
    for (size_t at = 0; at < 2 * INPUTS; at++) {
        size_t n =
            at == 0 ? 600011 : 1 + draw_size(random, at); /* more segments than sums of them */
        float *values = allocate(n, sizeof *values);
        size_t sizes[8];
        size_t count = at % 2 ? 1 : 8;
        inputs[at % INPUTS].fill(values, n, random);
        size_t left = n;
        for (size_t part = 0; part < count; part++) { /* two of them are empty */
            sizes[part] = part == count - 1 ? left : part % 4 == 0 ? 0 : below(random, left + 1);
            left -= sizes[part];
        }
        check_sums(values, sizes, count);
        free(values);
    }
}

#endif
