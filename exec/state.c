/* The state of a trainer's session, which it keeps between iterations, as a block of bytes. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/fingerprint.h"
#include "exec/session.h"

/* ---- the header ---------------------------------------------------------------------------- */

enum { NAME_SIZE = 24 };

struct header {
    char magic[8];
    uint64_t fingerprint; /* of the rest */
    uint64_t bytes;       /* of the block */
    uint64_t residual;    /* its number of elements; 0 for a dense pipeline or a server */
    uint64_t tensors;     /* their number ... */
    uint64_t sizes;       /* ... and the fingerprint of their elements */
    uint64_t groups;      /* likewise, of their elements and of their kept elements */
    uint64_t extents;
    uint64_t rank, workers, seed, averages;
    char compressor[NAME_SIZE], exchange[NAME_SIZE];
};

static const char magic[sizeof(((struct header *)0)->magic)] = {'g', 'w', 's', 't',
                                                                'a', 't', 'e', '1'};

static uint64_t add_number(uint64_t fingerprint, uint64_t number) {
    return gw_fingerprint_add(fingerprint, &number, sizeof number);
}

/* Bytes of the residual in a block, with that of sums behind it; 0: no group has one. */
static size_t residual_bytes(const struct gw_session *session) {
    const struct gw_vectors *vectors = &session->worker.vectors;
    bool keeps = false;
    for (size_t i = 0; i < session->schedule->way_count && !session->worker.serves; i++) {
        keeps = keeps || gw_way_keeps_residual(&session->schedule->ways[i]);
    }
    return keeps ? (vectors->elements + vectors->sums) * sizeof(float) : 0;
}

/* The header without its fingerprint. */
static struct header make_header(struct gw_session *session) {
    const struct gw_schedule *schedule = session->schedule;
    const struct gw_worker *worker = &session->worker;
    struct header header = {.bytes = gw_session_state_bytes(session),
                            .residual = residual_bytes(session) > 0 ? worker->vectors.elements : 0,
                            .tensors = session->tensor_count,
                            .sizes = gw_fingerprint_start,
                            .groups = schedule->group_count,
                            .extents = gw_fingerprint_start,
                            .rank = worker->rank,
                            .workers = worker->workers,
                            .seed = session->seed,
                            .averages = session->scale < 1};
    memcpy(header.magic, magic, sizeof magic);
    (void)snprintf(header.compressor, NAME_SIZE, "%s", schedule->ways[0].compressor->name);
    (void)snprintf(header.exchange, NAME_SIZE, "%s", schedule->ways[0].exchange->name);
    for (size_t i = 0; i < session->tensor_count; i++) {
        header.sizes = add_number(header.sizes, session->tensors[i].count);
    }
    for (size_t g = 0; g < schedule->group_count; g++) {
        header.extents = add_number(header.extents, schedule->groups[g].size.elements);
        header.extents = add_number(header.extents, schedule->groups[g].kept);
        if (schedule->way_count > 1) {
            const struct gw_way *way = schedule->groups[g].way;
            header.extents = gw_fingerprint_add_text(header.extents, way->compressor->name);
            header.extents = gw_fingerprint_add_text(header.extents, way->exchange->name);
        }
    }
    return header;
}

/* ---- the contents -------------------------------------------------------------------------- */

/* A block that members are copied to, or from, one after the other; both NULL: only counts bytes.
 * The residual, which may be in a GPU's memory, is copied separately. */
struct copying {
    unsigned char *to;
    const unsigned char *from;
    size_t bytes; /* so far */
};

static void copy_bytes(struct copying *copying, void *thing, size_t bytes) {
    if (bytes > 0 && copying->to != NULL) {
        memcpy(copying->to + copying->bytes, thing, bytes);
    }
    if (bytes > 0 && copying->from != NULL) {
        memcpy(thing, copying->from + copying->bytes, bytes);
    }
    copying->bytes += bytes;
}

/* The residual on the host: itself, or a copy. */
static enum gw_status read_residual(struct gw_session *session, float **out,
                                    struct gw_error *error) {
    struct gw_worker *worker = &session->worker;
    const struct gw_memory *memory = &worker->exchange;
    void *read = NULL;
    GW_TRY(memory->does->read(memory, worker->vectors.residual, residual_bytes(session),
                              &worker->dense_copy, &read, error));
    *out = read;
    return GW_OK;
}

static enum gw_status write_residual(struct gw_session *session, const void *from,
                                     struct gw_error *error) {
    const struct gw_memory *memory = &session->worker.exchange;
    return memory->does->write(memory, session->worker.vectors.residual, from,
                               residual_bytes(session), error);
}

/* Copies what a compressor keeps, which may be in a GPU's memory; `buffer` is of the host. */
static enum gw_status copy_kept(struct copying *copying, struct gw_kept kept,
                                struct gw_buffer *buffer, struct gw_error *error) {
    static const struct gw_memory host = {.does = &gw_memory_on_host};
    const struct gw_memory *memory = kept.memory == NULL ? &host : kept.memory;
    size_t first = copying->bytes;
    copying->bytes += kept.bytes;
    if (kept.bytes > 0 && copying->to != NULL) {
        void *read = NULL;
        GW_TRY(memory->does->read(memory, kept.at, kept.bytes, buffer, &read, error));
        memcpy(copying->to + first, read, kept.bytes);
    }
    return kept.bytes > 0 && copying->from != NULL
               ? memory->does->write(memory, kept.at, copying->from + first, kept.bytes, error)
               : GW_OK;
}

/* Copies everything after the header and the residual. */
static enum gw_status copy_state(struct copying *copying, struct gw_session *session,
                                 struct gw_error *error) {
    copying->bytes = sizeof(struct header) + residual_bytes(session);
    copy_bytes(copying, &session->iterations, sizeof session->iterations);
    copy_bytes(copying, &session->held_back, sizeof session->held_back);
    for (size_t g = 0; g < session->schedule->group_count; g++) {
        struct gw_group_state *group = &session->worker.groups[g];
        copy_bytes(copying, &group->threshold, sizeof group->threshold);
        GW_TRY(copy_kept(copying, gw_state_kept(group->compressor, group->state),
                         &session->worker.dense_copy, error));
    }
    return GW_OK;
}

size_t gw_session_state_bytes(struct gw_session *session) {
    struct copying counting = {0};
    (void)copy_state(&counting, session, NULL);
    return counting.bytes;
}

/* The fingerprint of a block with this header, which need not be written to it yet. */
static uint64_t block_fingerprint(const struct header *header, const unsigned char *block) {
    size_t first = offsetof(struct header, bytes);
    uint64_t fingerprint = gw_fingerprint_add(
        gw_fingerprint_start, (const unsigned char *)header + first, sizeof *header - first);
    return gw_fingerprint_add(fingerprint, block + sizeof *header,
                              (size_t)header->bytes - sizeof *header);
}

enum gw_status gw_session_save(struct gw_session *session, void *block, struct gw_error *error) {
    GW_TRY(gw_session_check_begun(session, false, error));
    struct copying saving = {.to = block};
    float *residual = NULL;
    GW_TRY(read_residual(session, &residual, error));
    if (residual != NULL) {
        memcpy(saving.to + sizeof(struct header), residual, residual_bytes(session));
    }
    for (size_t g = 0; g < session->schedule->group_count && residual_bytes(session) > 0; g++) {
        const struct gw_slice *slice = &session->schedule->groups[g];
        if (!gw_way_keeps_residual(slice->way)) { /* its gradient is there */
            memset(saving.to + sizeof(struct header) + slice->first * sizeof *residual, 0,
                   slice->size.elements * sizeof *residual);
        }
    }
    GW_TRY(copy_state(&saving, session, error));
    struct header header = make_header(session);
    header.fingerprint = block_fingerprint(&header, block);
    memcpy(block, &header, sizeof header);
    return GW_OK;
}

/* ---- loading ------------------------------------------------------------------------------- */

static enum gw_status read_header(const void *block, size_t bytes, struct header *out,
                                  struct gw_error *error) {
    if (bytes < sizeof *out || memcmp(block, magic, sizeof magic) != 0) {
        return gw_fail(error, GW_BAD_INPUT,
                       "state: expected what a session of this version saved, got something else");
    }
    memcpy(out, block, sizeof *out);
    if (out->bytes != bytes) {
        return gw_fail(error, GW_BAD_INPUT, "state: expected %llu bytes, got %zu",
                       (unsigned long long)out->bytes, bytes);
    }
    return out->fingerprint == block_fingerprint(out, block)
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "state: expected it as it was saved, got a damaged one");
}

/* Members that must be equal: the tensors for any block, all for one that the session continues. */
static const struct {
    const char *what;
    size_t at;
    enum { NUMBER, FINGERPRINT, NAME } kind; /* a fingerprint says nothing to a reader */
} members[] = {
    {"tensors", offsetof(struct header, tensors), NUMBER},
    {"sizes of tensors", offsetof(struct header, sizes), FINGERPRINT},
    {"compressor", offsetof(struct header, compressor), NAME},
    {"exchange", offsetof(struct header, exchange), NAME},
    {"groups", offsetof(struct header, groups), NUMBER},
    {"plan or density", offsetof(struct header, extents), FINGERPRINT},
    {"workers", offsetof(struct header, workers), NUMBER},
    {"rank", offsetof(struct header, rank), NUMBER},
    {"seed", offsetof(struct header, seed), NUMBER},
    {"bytes", offsetof(struct header, bytes), NUMBER},
    {"means or sums", offsetof(struct header, averages), FINGERPRINT},
};
enum { OF_TENSORS = 2, MEMBERS = sizeof members / sizeof *members };

/* Fails unless the first `count` members are equal. */
static enum gw_status check_members(const struct header *own, const struct header *saved,
                                    size_t count, struct gw_error *error) {
    for (size_t i = 0; i < count; i++) {
        const char *expected = (const char *)own + members[i].at;
        const char *got = (const char *)saved + members[i].at;
        size_t bytes = members[i].kind == NAME ? NAME_SIZE : sizeof(uint64_t);
        uint64_t numbers[2];
        if (memcmp(expected, got, bytes) == 0) {
            continue;
        }
        if (members[i].kind == NAME) {
            return gw_fail(error, GW_BAD_INPUT, "state: %s: expected %s, got %s", members[i].what,
                           expected, got);
        }
        memcpy(&numbers[0], expected, bytes);
        memcpy(&numbers[1], got, bytes);
        return members[i].kind == NUMBER
                   ? gw_fail(error, GW_BAD_INPUT, "state: %s: expected %llu, got %llu",
                             members[i].what, (unsigned long long)numbers[0],
                             (unsigned long long)numbers[1])
                   : gw_fail(error, GW_BAD_INPUT, "state: %s: expected the session's, got others",
                             members[i].what);
    }
    return GW_OK;
}

enum gw_status gw_session_load(struct gw_session *session, const void *block, size_t bytes,
                               struct gw_error *error) {
    const struct header own = make_header(session);
    struct header saved;
    GW_TRY(gw_session_check_begun(session, false, error));
    GW_TRY(read_header(block, bytes, &saved, error));
    GW_TRY(check_members(&own, &saved, MEMBERS, error));
    struct copying loading = {.from = block};
    GW_TRY(write_residual(session, loading.from + sizeof saved, error));
    return copy_state(&loading, session, error);
}

/* Whether so many floats, which may lie anywhere, are zero. */
static bool all_zero(const unsigned char *values, size_t count) {
    float value = 0;
    for (size_t i = 0; i < count && value == 0; i++) {
        memcpy(&value, values + i * sizeof value, sizeof value);
    }
    return value == 0;
}

enum gw_status gw_session_add_residual(struct gw_session *session, const void *block, size_t bytes,
                                       struct gw_error *error) {
    const struct header own = make_header(session);
    struct header saved;
    GW_TRY(gw_session_check_begun(session, false, error));
    GW_TRY(read_header(block, bytes, &saved, error));
    GW_TRY(check_members(&own, &saved, OF_TENSORS, error));
    if (saved.residual > own.residual) {
        return gw_fail(error, GW_BAD_INPUT,
                       "state: expected one without a residual, as this rank keeps none");
    }
    const unsigned char *from = (const unsigned char *)block + sizeof saved;
    float *residual = NULL;
    GW_TRY(read_residual(session, &residual, error));
    for (size_t g = 0; g < session->schedule->group_count && saved.residual > 0; g++) {
        const struct gw_slice *slice = &session->schedule->groups[g];
        const unsigned char *values = from + slice->first * sizeof *residual;
        if (!gw_way_keeps_residual(slice->way) && !all_zero(values, slice->size.elements)) {
            return gw_fail(error, GW_BAD_INPUT,
                           "state: group %zu: expected no residual, as this rank keeps none of it",
                           g);
        }
    }
    for (size_t i = 0; i < saved.residual; i++) {
        float value;
        memcpy(&value, from + i * sizeof value, sizeof value);
        residual[i] += value;
    }
    return write_residual(session, residual, error);
}
