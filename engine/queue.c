#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

/* ---- the sorted run, from which events are taken -------------------------------------------- */

static inline bool is_before(const struct gw_event *a, const struct gw_event *b) {
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

struct run {
    size_t next, count, capacity;
    struct gw_event *events;
    size_t spare_capacity;
    struct gw_event *spare; /* the buffer that merges write to */
};

enum { INSERTION_LENGTH = 24 }; /* the longest run that is sorted by insertion */

/* Empties the run and reserves `count` events, which the caller writes to run->events. */
static enum gw_status run_start(struct run *run, size_t count, struct gw_error *error) {
    struct gw_event *events = gw_grow(run->events, count, &run->capacity, sizeof *events);
    if (events == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    run->events = events;
    run->next = 0;
    run->count = count;
    return GW_OK;
}

static void insertion_sort(struct gw_event *events, size_t count) {
    for (size_t i = 1; i < count; i++) {
        struct gw_event event = events[i];
        size_t hole = i;
        for (; hole > 0 && is_before(&event, &events[hole - 1]); hole--) {
            events[hole] = events[hole - 1];
        }
        events[hole] = event;
    }
}

/* The number of events from `first` on that are in order. */
static size_t ascending_length(const struct gw_event *events, size_t first, size_t count) {
    size_t end = first + 1;
    while (end < count && !is_before(&events[end], &events[end - 1])) {
        end++;
    }
    return end - first;
}

static void merge_events(const struct gw_event *a, size_t a_count, const struct gw_event *b,
                         size_t b_count, struct gw_event *out) {
    while (a_count > 0 && b_count > 0) {
        bool second = is_before(b, a);
        *out++ = second ? *b : *a;
        b += second;
        b_count -= second;
        a += !second;
        a_count -= !second;
    }
    memcpy(out, a_count > 0 ? a : b, (a_count + b_count) * sizeof *out);
}

/* Merges neighbouring ascending stretches once; returns false if all events are in order. */
static bool merge_stretches(const struct gw_event *from, size_t count, struct gw_event *to) {
    size_t first = ascending_length(from, 0, count);
    if (first == count) {
        return false;
    }
    for (size_t done = 0; done < count;) {
        size_t a = ascending_length(from, done, count);
        size_t b = done + a < count ? ascending_length(from, done + a, count) : 0;
        merge_events(from + done, a, from + done + a, b, to + done);
        done += a + b;
    }
    return true;
}

/* Sorts the run. One pass suffices if it is in order, as in most symmetric simulations. */
static enum gw_status run_sort(struct run *run, struct gw_error *error) {
    if (run->count <= INSERTION_LENGTH) {
        insertion_sort(run->events, run->count);
        return GW_OK;
    }
    if (ascending_length(run->events, 0, run->count) == run->count) {
        return GW_OK;
    }
    struct gw_event *spare =
        gw_grow(run->spare, run->count, &run->spare_capacity, sizeof *run->spare);
    if (spare == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    run->spare = spare;
    while (merge_stretches(run->events, run->count, run->spare)) {
        struct gw_event *events = run->events;
        size_t capacity = run->capacity;
        run->events = run->spare;
        run->capacity = run->spare_capacity;
        run->spare = events;
        run->spare_capacity = capacity;
    }
    return GW_OK;
}

/* ---- the queue ------------------------------------------------------------------------------- */

enum {
    BLOCK_EVENTS = 31, /* a block is 512 bytes */
    MAX_RUNGS = 12,
    MAX_SORTED = 64, /* the largest bucket that is sorted, not spread further */
    EVENTS_PER_BUCKET = 4,
    MAX_BUCKETS = 1 << 16,
    MIN_LATE = 32,       /* the fewest late events that are sorted into the run */
    MIN_SLAB_BLOCKS = 8, /* of the first slab; each next one has twice as many ... */
    SLAB_BLOCKS = 256    /* ... up to this */
};

/* Unsorted events, in the order in which they were pushed. */
struct event_block {
    struct event_block *next;
    size_t count;
    struct gw_event events[BLOCK_EVENTS];
};

struct bucket {
    struct event_block *first, *last;
    size_t count;
};

/*
 * The time from `start` on, in buckets of 2^shift each. Buckets before `next` have been taken. The
 * last bucket extends to where the rung before begins, so that only late events come before all
 * buckets.
 */
struct rung {
    uint64_t start;
    unsigned shift;
    size_t next, bucket_count;
    size_t capacity;
    struct bucket *buckets;
};

/*
 * Events by their time, from far to near. `far` holds the times from far_start on. Rung r + 1
 * spreads the bucket of rung r that was taken last. `run` is the bucket that is being taken now.
 * `late` (a heap) holds events that were pushed into the time of the run, or before it, after the
 * run was sorted. Both are sorted again once there are more late events than the run has left.
 */
struct gw_queue {
    uint64_t far_start;
    struct bucket far;
    size_t rung_count;
    struct rung rungs[MAX_RUNGS];
    struct run run;
    size_t late_count, late_capacity;
    struct gw_event *late;

    struct event_block *free_blocks;
    size_t slab_count, slab_capacity;
    struct event_block **slabs;
};

enum gw_status gw_queue_open(struct gw_queue **out, struct gw_error *error) {
    *out = calloc(1, sizeof **out);
    return *out == NULL ? gw_fail_memory(error, "opening a simulation") : GW_OK;
}

void gw_queue_close(struct gw_queue *queue) {
    if (queue == NULL) {
        return;
    }
    for (size_t i = 0; i < queue->slab_count; i++) {
        free(queue->slabs[i]);
    }
    for (size_t i = 0; i < MAX_RUNGS; i++) {
        free(queue->rungs[i].buckets);
    }
    free(queue->slabs);
    free(queue->late);
    free(queue->run.events);
    free(queue->run.spare);
    free(queue);
}

/* ---- buckets ------------------------------------------------------------------------------- */

static enum gw_status add_slab(struct gw_queue *queue, struct gw_error *error) {
    struct event_block **slabs =
        gw_grow(queue->slabs, queue->slab_count + 1, &queue->slab_capacity, sizeof *slabs);
    size_t count =
        queue->slab_count < 5 ? (size_t)MIN_SLAB_BLOCKS << queue->slab_count : (size_t)SLAB_BLOCKS;
    struct event_block *slab = malloc(count * sizeof *slab);
    queue->slabs = slabs == NULL ? queue->slabs : slabs;
    if (slabs == NULL || slab == NULL) {
        free(slab);
        return gw_fail_memory(error, "simulating");
    }
    queue->slabs[queue->slab_count++] = slab;
    for (size_t i = 0; i < count; i++) {
        slab[i].next = queue->free_blocks;
        queue->free_blocks = &slab[i];
    }
    return GW_OK;
}

static enum gw_status bucket_extend(struct gw_queue *queue, struct bucket *bucket,
                                    struct gw_error *error) {
    if (queue->free_blocks == NULL) {
        GW_TRY(add_slab(queue, error));
    }
    struct event_block *block = queue->free_blocks;
    queue->free_blocks = block->next;
    block->next = NULL;
    block->count = 0;
    if (bucket->last == NULL) {
        bucket->first = block;
    } else {
        bucket->last->next = block;
    }
    bucket->last = block;
    return GW_OK;
}

static inline enum gw_status bucket_add(struct gw_queue *queue, struct bucket *bucket,
                                        struct gw_event event, struct gw_error *error) {
    if (bucket->last == NULL || bucket->last->count == BLOCK_EVENTS) {
        GW_TRY(bucket_extend(queue, bucket, error));
    }
    bucket->last->events[bucket->last->count++] = event;
    bucket->count++;
    return GW_OK;
}

/* Frees the bucket's first block; returns the next one. */
static struct event_block *release_block(struct gw_queue *queue, struct event_block *block) {
    struct event_block *next = block->next;
    block->next = queue->free_blocks;
    queue->free_blocks = block;
    return next;
}

static void bucket_times(const struct bucket *bucket, uint64_t *least, uint64_t *most) {
    *least = UINT64_MAX;
    *most = 0;
    for (const struct event_block *block = bucket->first; block != NULL; block = block->next) {
        for (size_t i = 0; i < block->count; i++) {
            uint64_t time = block->events[i].time;
            *least = time < *least ? time : *least;
            *most = time > *most ? time : *most;
        }
    }
}

/* ---- the next events ------------------------------------------------------------------------ */

static enum gw_status push_late(struct gw_queue *queue, struct gw_event event,
                                struct gw_error *error) {
    struct gw_event *late =
        gw_grow(queue->late, queue->late_count + 1, &queue->late_capacity, sizeof *late);
    if (late == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    queue->late = late;
    size_t hole = queue->late_count++;
    while (hole > 0 && is_before(&event, &late[(hole - 1) / 2])) {
        late[hole] = late[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    late[hole] = event;
    return GW_OK;
}

static struct gw_event pop_late(struct gw_queue *queue) {
    struct gw_event *late = queue->late;
    struct gw_event first = late[0];
    struct gw_event last = late[--queue->late_count];
    size_t hole = 0;
    for (;;) {
        size_t child = 2 * hole + 1;
        if (child + 1 < queue->late_count && is_before(&late[child + 1], &late[child])) {
            child++;
        }
        if (child >= queue->late_count || !is_before(&late[child], &last)) {
            break;
        }
        late[hole] = late[child];
        hole = child;
    }
    late[hole] = last;
    return first;
}

/* Moves the bucket's events into the run, sorted, and empties the bucket. */
static enum gw_status sort_bucket(struct gw_queue *queue, struct bucket *bucket,
                                  struct gw_error *error) {
    GW_TRY(run_start(&queue->run, bucket->count, error));
    struct gw_event *out = queue->run.events;
    for (struct event_block *block = bucket->first; block != NULL;
         block = release_block(queue, block)) {
        memcpy(out, block->events, block->count * sizeof *out);
        out += block->count;
    }
    *bucket = (struct bucket){0};
    return run_sort(&queue->run, error);
}

/* Opens a rung of buckets for `count` events of times from `least` to `most`. */
static enum gw_status open_rung(struct gw_queue *queue, size_t count, uint64_t least, uint64_t most,
                                struct gw_error *error) {
    struct rung *rung = &queue->rungs[queue->rung_count];
    size_t wanted = count / EVENTS_PER_BUCKET;
    wanted = wanted < MAX_BUCKETS ? wanted : MAX_BUCKETS;
    rung->start = least;
    rung->shift = 0;
    while ((most - least) >> rung->shift >= wanted) {
        rung->shift++;
    }
    rung->next = 0;
    rung->bucket_count = (size_t)((most - least) >> rung->shift) + 1;
    struct bucket *buckets =
        gw_grow(rung->buckets, rung->bucket_count, &rung->capacity, sizeof *buckets);
    if (buckets == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    rung->buckets = buckets;
    memset(buckets, 0, rung->bucket_count * sizeof *buckets);
    queue->rung_count++;
    return GW_OK;
}

/* Spreads the bucket's events over a new rung, and empties the bucket. */
static enum gw_status spread_bucket(struct gw_queue *queue, struct bucket *bucket, uint64_t least,
                                    uint64_t most, struct gw_error *error) {
    struct bucket from = *bucket; /* a copy: the bucket may be one of the rung above, which does not
                                   * move */
    GW_TRY(open_rung(queue, from.count, least, most, error));
    *bucket = (struct bucket){0};
    struct rung *rung = &queue->rungs[queue->rung_count - 1];
    for (struct event_block *block = from.first; block != NULL;
         block = release_block(queue, block)) {
        for (size_t i = 0; i < block->count; i++) {
            struct gw_event event = block->events[i];
            size_t index = (size_t)((event.time - rung->start) >> rung->shift);
            GW_TRY(bucket_add(queue, &rung->buckets[index], event, error));
        }
    }
    return GW_OK;
}

/* Takes the rung's next bucket that is not empty, or NULL. */
static struct bucket *next_bucket(struct rung *rung) {
    while (rung->next < rung->bucket_count) {
        struct bucket *bucket = &rung->buckets[rung->next++];
        if (bucket->count > 0) {
            return bucket;
        }
    }
    return NULL;
}

/* Sorts a bucket into the run, or spreads it if it is large and has several times. */
static enum gw_status use_bucket(struct gw_queue *queue, struct bucket *bucket,
                                 struct gw_error *error) {
    if (bucket->count <= MAX_SORTED || queue->rung_count == MAX_RUNGS) {
        return sort_bucket(queue, bucket, error);
    }
    uint64_t least = 0;
    uint64_t most = 0;
    bucket_times(bucket, &least, &most);
    return least == most ? sort_bucket(queue, bucket, error)
                         : spread_bucket(queue, bucket, least, most, error);
}

/* Refills the run, which is empty; it stays empty if no event is pending. */
static enum gw_status refill_run(struct gw_queue *queue, struct gw_error *error) {
    while (queue->run.next == queue->run.count) {
        if (queue->rung_count == 0) {
            if (queue->far.count == 0) {
                return GW_OK;
            }
            uint64_t least = 0;
            bucket_times(&queue->far, &least, &queue->far_start);
            queue->far_start += queue->far_start < UINT64_MAX;
            GW_TRY(use_bucket(queue, &queue->far, error));
            continue;
        }
        struct bucket *bucket = next_bucket(&queue->rungs[queue->rung_count - 1]);
        if (bucket == NULL) {
            queue->rung_count--;
        } else {
            GW_TRY(use_bucket(queue, bucket, error));
        }
    }
    return GW_OK;
}

/* Sorts or spreads the rest of the run together with the late events. Removes rungs without buckets
 * first: they are otherwise removed only when the run is empty. */
static enum gw_status sort_late(struct gw_queue *queue, struct gw_error *error) {
    struct run *run = &queue->run;
    struct bucket bucket = {0};
    while (queue->rung_count > 0 && queue->rungs[queue->rung_count - 1].next ==
                                        queue->rungs[queue->rung_count - 1].bucket_count) {
        queue->rung_count--;
    }
    for (; run->next < run->count; run->next++) {
        GW_TRY(bucket_add(queue, &bucket, run->events[run->next], error));
    }
    for (size_t i = 0; i < queue->late_count; i++) {
        GW_TRY(bucket_add(queue, &bucket, queue->late[i], error));
    }
    queue->late_count = 0;
    return use_bucket(queue, &bucket, error);
}

/* ---- the queue ----------------------------------------------------------------------------- */

enum gw_status gw_queue_push(struct gw_queue *queue, struct gw_event event,
                             struct gw_error *error) {
    if (event.time >= queue->far_start) {
        return bucket_add(queue, &queue->far, event, error);
    }
    for (size_t i = 0; i < queue->rung_count; i++) {
        struct rung *rung = &queue->rungs[i];
        if (event.time < rung->start) {
            continue;
        }
        uint64_t index = (event.time - rung->start) >> rung->shift;
        index = index < rung->bucket_count ? index : rung->bucket_count - 1;
        if (index >= rung->next) {
            return bucket_add(queue, &rung->buckets[index], event, error);
        }
    }
    return push_late(queue, event, error);
}

/* Refills the run first: a late event may come after events that still lie in buckets. */
enum gw_status gw_queue_pop(struct gw_queue *queue, struct gw_event *out, bool *any,
                            struct gw_error *error) {
    struct run *run = &queue->run;
    if (queue->late_count >= MIN_LATE && queue->late_count > run->count - run->next) {
        GW_TRY(sort_late(queue, error));
    }
    if (run->next == run->count) {
        GW_TRY(refill_run(queue, error));
    }
    bool in_run = run->next < run->count;
    *any = in_run || queue->late_count > 0;
    if (in_run && (queue->late_count == 0 || is_before(&run->events[run->next], &queue->late[0]))) {
        *out = run->events[run->next++];
    } else if (*any) {
        *out = pop_late(queue);
    }
    return GW_OK;
}

const struct gw_event *gw_queue_ahead(const struct gw_queue *queue, size_t ahead) {
    size_t index = queue->run.next + ahead;
    return index < queue->run.count ? &queue->run.events[index] : NULL;
}

bool gw_queue_is_warm(const struct gw_queue *queue) {
    return queue->run.next != 1;
}
