#include "kernels/cpu/collect.h"

#include <math.h>
#include <stdlib.h>

#include "core/system.h"
#include "kernels/arithmetic.h"
#include "kernels/cpu/scan.h"

enum {
    CHUNK = 1 << 14,     /* elements that are scanned between two checks of the capacity */
    MIN_SPARE = 1 << 16, /* minimum number of entries beyond `best` before entries are dropped */
    BUCKET_BITS = 11,    /* three passes cover 31 bits, and the counts stay in L1 */
    MIN_PART = 1 << 16,  /* minimum number of elements that repays starting a thread */
    MAX_SAMPLES = 65536, /* maximum number of samples */
    MIN_STRIDE = 64,     /* minimum number of elements for each sample */
};

/* ---- NaNs ---------------------------------------------------------------------------------- */

enum gw_status gw_fail_nan(size_t index, size_t n, struct gw_error *error) {
    return gw_fail(error, GW_BAD_INPUT,
                   "element %zu of %zu: expected a number or an infinity, got NaN", index, n);
}

enum gw_status gw_fail_first_nan(const struct gw_task *task, struct gw_error *error) {
    size_t first = 0;
    while (!isnan(task->u[first])) {
        first++;
    }
    return gw_fail_nan(first, task->n, error);
}

/* ---- accumulation -------------------------------------------------------------------------- */

struct addition {
    const struct gw_task *task;
    size_t begin, end;
    int32_t *largest; /* [segment]: largest magnitude of the sums */
};

static void add_segment(size_t segment, void *context) {
    const struct addition *addition = context;
    size_t begin = addition->begin + segment * GW_SCAN_SEGMENT;
    size_t size = addition->end - begin < GW_SCAN_SEGMENT ? addition->end - begin : GW_SCAN_SEGMENT;
    addition->largest[segment] =
        gw_scan()->add(addition->task->u + begin, addition->task->gradient + begin, size);
}

enum gw_status gw_accumulate(const struct gw_task *task, size_t begin, size_t end,
                             struct gw_error *error) {
    if (task->gradient == NULL || begin == end) {
        return GW_OK;
    }
    size_t segments = (end - begin + GW_SCAN_SEGMENT - 1) / GW_SCAN_SEGMENT;
    GW_TRY(gw_workspace_reserve(task->workspace, segments * sizeof(int32_t), error));
    struct addition addition = {
        .task = task, .begin = begin, .end = end, .largest = task->workspace->memory};
    gw_parallel(segments, task->threads, add_segment, &addition);
    for (size_t i = 0; i < segments; i++) {
        if (addition.largest[i] > GW_INFINITE) {
            return gw_fail_first_nan(task, error);
        }
    }
    return GW_OK;
}

/* ---- the largest of a selection ------------------------------------------------------------ */

/* The magnitude of the k-th largest of `count` entries; *ties of this magnitude belong to the k. */
static int32_t kth_largest(const struct gw_entry *entries, size_t count, size_t k, size_t *ties) {
    uint32_t low = UINT32_MAX; /* magnitudes of the range that has it, both included */
    uint32_t high = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t key = (uint32_t)gw_magnitude(entries[i].value);
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    size_t rank = k; /* from above, within the range */
    unsigned bits = BUCKET_BITS;
    while (bits > 4 && (size_t)1 << bits > count) {
        bits--; /* with few entries, empty buckets would cost more than another pass */
    }
    while (low < high) {
        uint32_t width = high - low;
        unsigned shift = 0;
        while (width >> shift >> bits != 0) {
            shift++;
        }
        uint32_t counts[1 << BUCKET_BITS];
        memset(counts, 0, sizeof *counts << bits);
        for (size_t i = 0; i < count; i++) {
            uint32_t offset = (uint32_t)gw_magnitude(entries[i].value) - low;
            if (offset <= width) {
                counts[offset >> shift]++;
            }
        }
        uint32_t bucket = width >> shift;
        while (counts[bucket] < rank) {
            rank -= counts[bucket--];
        }
        low += bucket << shift;
        uint32_t last = low + (1u << shift) - 1;
        high = last < high ? last : high;
    }
    *ties = rank;
    return (int32_t)low;
}

int32_t gw_keep_largest(struct gw_selection *selection, size_t k) {
    struct gw_entry *entries = selection->entries;
    size_t ties;
    int32_t least = kth_largest(entries, selection->count, k, &ties);
    size_t kept = 0;
    for (size_t i = 0; i < selection->count; i++) {
        struct gw_entry entry = entries[i];
        int32_t key = gw_magnitude(entry.value);
        size_t tie = key == least && ties > 0;
        ties -= tie;
        entries[kept] = entry;
        kept += (size_t)(key > least) + tie;
    }
    selection->count = kept;
    return least;
}

/* ---- samples ------------------------------------------------------------------------------- */

size_t gw_sample_stride(size_t n) {
    size_t stride = n / MAX_SAMPLES + 1;
    return stride > MIN_STRIDE ? stride : MIN_STRIDE;
}

size_t gw_sample_position(size_t index, size_t stride, uint64_t key) {
    if (key == 0) {
        return gw_sample_golden((uint32_t)index, stride);
    }
    return index * stride + (size_t)(((gw_mix_pair(key, index) >> 32) * stride) >> 32);
}

size_t gw_sample_rank(size_t n, size_t k, size_t *count) {
    size_t stride = gw_sample_stride(n);
    double expected = (double)k / (double)stride;
    double rank = ceil(expected + 4 * sqrt(expected) + 4);
    *count = n / stride;
    return rank < (double)*count ? (size_t)rank : 0;
}

enum gw_status gw_sample_magnitude(const struct gw_task *task, const struct gw_sample *sample,
                                   int32_t *magnitude, struct gw_error *error) {
    size_t n = sample->end - sample->begin;
    size_t stride = gw_sample_stride(n);
    size_t count;
    size_t rank = gw_sample_rank(n, task->k, &count);
    *magnitude = 0;
    if (rank == 0) {
        return GW_OK;
    }
    struct gw_entry *taken = malloc(count * sizeof *taken);
    if (taken == NULL) {
        return gw_fail_memory(error, "sampling a gradient");
    }
    for (size_t i = 0; i < count; i++) {
        size_t place = sample->begin + gw_sample_position(i, stride, sample->key);
        float added = sample->adding && task->gradient != NULL ? task->gradient[place] : 0;
        taken[i] = (struct gw_entry){.value = task->u[place] + added};
    }
    size_t ties;
    int32_t sampled = kth_largest(taken, count, rank, &ties);
    *magnitude = sampled < GW_INFINITE ? sampled : GW_INFINITE; /* NaNs exceed it */
    free(taken);
    return GW_OK;
}

/* ---- the pass ------------------------------------------------------------------------------ */

/* A threshold from a sample of the rest of the range. */
static enum gw_status guess_magnitude(const struct gw_task *task,
                                      const struct gw_collection *collection, size_t from,
                                      int32_t *guessed, struct gw_error *error) {
    uint64_t now = (uint64_t)(gw_clock_now_s() * 1e9);
    uint64_t unforeseen = gw_mix_pair(now, (uintptr_t)task->u) | 1;
    struct gw_sample rest = {.begin = from,
                             .end = collection->end,
                             .adding = collection->adding,
                             .key = collection->key == 0 ? unforeseen : collection->key};
    return gw_sample_magnitude(task, &rest, guessed, error);
}

/*
 * Drops all but `best` entries once there are about four times as many, so that each entry costs a
 * constant. The magnitude rises above the smallest one that is kept, because an equal one that
 * follows has a higher index.
 */
static enum gw_status collect_range(const struct gw_task *task, struct gw_collection *collection,
                                    struct gw_selection *out, struct gw_error *error) {
    const struct gw_scan *scan = gw_scan();
    const float *gradient = collection->adding ? task->gradient : NULL;
    int32_t magnitude = collection->magnitude;
    int32_t largest = 0;
    size_t best = collection->best;
    size_t spare = best < MIN_SPARE / 3 ? MIN_SPARE : 3 * (best < task->n ? best : task->n);
    out->count = 0;
    collection->dropped = false;
    bool guessing = collection->guessing;
    size_t since_guess = SIZE_MAX / 2; /* entries found since the guess */
    for (size_t begin = collection->begin; begin < collection->end; begin += CHUNK) {
        size_t left = collection->end - begin;
        size_t size = left < CHUNK ? left : CHUNK;
        size_t room = out->count + size + GW_SCAN_SLACK;
        if (room > out->capacity) {
            GW_TRY(gw_selection_reserve(out, room + room / 2, error));
        }
        struct gw_entry *next = out->entries + out->count;
        size_t found = scan->collect(task->u + begin, gradient == NULL ? NULL : gradient + begin,
                                     size, (uint32_t)begin, magnitude, next, &largest);
        if (largest > GW_INFINITE) {
            return GW_BAD_INPUT; /* a NaN exceeds every threshold, so none is missed */
        }
        out->count += found;
        since_guess += found;
        if (out->count > best && out->count - best > spare) {
            magnitude = gw_keep_largest(out, best) + 1;
            collection->dropped = true;
            int32_t guessed = 0;
            if (guessing) {
                GW_TRY(guess_magnitude(task, collection, begin + size, &guessed, error));
                guessing = false;
            }
            if (guessed > magnitude) {
                magnitude = guessed;
                since_guess = 0;
            }
        }
    }
    collection->guessed_wrong = since_guess < best;
    return GW_OK;
}

struct part {
    struct gw_collection collection;
    enum gw_status status;
};

struct shared_pass {
    const struct gw_task *task;
    const struct gw_collection *collection;
    size_t count;
    struct part *parts;
    struct gw_selection *out; /* of the first part */
};

static size_t part_begin(const struct gw_collection *whole, size_t part, size_t parts) {
    size_t lines = (whole->end - whole->begin + GW_SCAN_LANES - 1) / GW_SCAN_LANES;
    size_t begin = whole->begin + lines * part / parts * GW_SCAN_LANES;
    return begin < whole->end ? begin : whole->end;
}

static void collect_part(size_t index, void *context) {
    struct shared_pass *pass = context;
    struct part *part = &pass->parts[index];
    part->collection = *pass->collection;
    part->collection.begin = part_begin(pass->collection, index, pass->count);
    part->collection.end = part_begin(pass->collection, index + 1, pass->count);
    struct gw_selection *out = index == 0 ? pass->out : &pass->task->workspace->parts[index - 1];
    part->status = collect_range(pass->task, &part->collection, out, NULL);
}

/* Appends the entries of the other parts to those of the first part. */
static enum gw_status append_parts(const struct shared_pass *pass, struct gw_error *error) {
    size_t count = pass->out->count;
    for (size_t part = 1; part < pass->count; part++) {
        count += pass->task->workspace->parts[part - 1].count;
    }
    GW_TRY(gw_selection_reserve(pass->out, count, error));
    for (size_t part = 1; part < pass->count; part++) {
        const struct gw_selection *found = &pass->task->workspace->parts[part - 1];
        memcpy(pass->out->entries + pass->out->count, found->entries,
               found->count * sizeof *found->entries);
        pass->out->count += found->count;
    }
    return GW_OK;
}

enum gw_status gw_collect(const struct gw_task *task, struct gw_collection *collection,
                          struct gw_selection *out, struct gw_error *error) {
    enum { MAX_PARTS = 256 };
    struct part parts[MAX_PARTS];
    size_t useful = (collection->end - collection->begin) / MIN_PART + 1;
    size_t count = task->threads > 1 ? task->threads : 1;
    count = count < useful ? count : useful;
    struct shared_pass pass = {.task = task,
                               .collection = collection,
                               .count = count < MAX_PARTS ? count : MAX_PARTS,
                               .parts = parts,
                               .out = out};
    GW_TRY(gw_workspace_reserve_parts(task->workspace, pass.count - 1, error));
    gw_parallel(pass.count, pass.count, collect_part, &pass);
    collection->dropped = false;
    collection->guessed_wrong = false;
    for (size_t i = 0; i < pass.count; i++) {
        /* cppcheck-suppress uninitvar ; gw_parallel has called collect_part, which sets it */
        if (parts[i].status == GW_BAD_INPUT) {
            return gw_fail_first_nan(task, error);
        }
        if (parts[i].status != GW_OK) {
            return gw_fail_memory(error, "making room for a selection");
        }
        collection->dropped = collection->dropped || parts[i].collection.dropped;
        collection->guessed_wrong = collection->guessed_wrong || parts[i].collection.guessed_wrong;
    }
    return append_parts(&pass, error);
}

enum gw_status gw_collect_best(const struct gw_task *task, struct gw_collection *collection,
                               size_t least, struct gw_selection *out, struct gw_error *error) {
    collection->begin = 0;
    collection->end = task->n;
    collection->best = task->k;
    collection->adding = true;
    collection->guessing = true;
    GW_TRY(gw_collect(task, collection, out, error));
    if (out->count >= least && !collection->guessed_wrong) {
        return GW_OK;
    }
    bool dropped = collection->dropped;
    collection->adding = false;
    collection->guessing = false;
    collection->magnitude = 0;
    GW_TRY(gw_collect(task, collection, out, error));
    collection->dropped = collection->dropped || dropped;
    return GW_OK;
}
