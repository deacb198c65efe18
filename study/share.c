/* Points of a sweep, shared among the threads of this process and the ranks of a job. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/sweep.h"

/* A rank's part of a round: at least so many points per thread, that none waits long for the last
 * one, and at most so many in all. */
enum { LEAST_PER_THREAD = 8, MOST = 4096 };

/* As long as a round shall take. */
static const double round_s = 0.2;

struct answer {
    enum gw_status status;
    struct gw_error why;
    char *text;
    size_t length;
};

/* What a rank is to answer in a round, as rank 0 tells it, unless some rank has failed. */
struct part {
    struct gw_error failure;
    uint64_t first;
    size_t count;
    uint64_t begin, end; /* of all ranks' parts */
};

/* What came of it, as the rank tells rank 0. */
struct report {
    struct gw_error failure;
    double seconds;
    size_t bytes; /* of its answers */
};

struct sharing {
    const struct gw_shared_points *points;
    struct gw_communicator *communicator; /* NULL: alone */
    size_t rank, size;
    struct part part;       /* of this rank */
    struct answer *answers; /* one for each of its points */
    /* Of each rank, on rank 0. */
    struct part *parts, *next;
    struct report *reports;
    char *received; /* the answers of the others, behind each other */
};

/* ---- answers ------------------------------------------------------------------------------- */

static void answer_point(size_t i, void *context) {
    const struct sharing *sharing = context;
    const struct gw_shared_points *points = sharing->points;
    struct answer *answer = &sharing->answers[i];
    *answer = (struct answer){0};
    struct gw_text text;
    FILE *stream = gw_text_open(&text);
    enum gw_status status = GW_OK;
    if (stream != NULL) {
        status = points->answer(sharing->part.first + i, stream, points->context, &answer->why);
    }
    struct gw_error *why = status == GW_OK ? &answer->why : NULL;
    enum gw_status closed = gw_text_close(&text, "sweeping", why);
    answer->status = status == GW_OK ? closed : status;
    answer->text = text.text;
    answer->length = text.length;
}

/* This rank's answers behind each other, each below its length; the caller's. */
static enum gw_status answer_part(struct sharing *sharing, char **out, size_t *bytes,
                                  struct gw_error *error) {
    enum gw_status status = GW_OK;
    gw_parallel(sharing->part.count, sharing->points->threads, answer_point, sharing);
    struct gw_text part;
    FILE *stream = gw_text_open(&part);
    for (size_t i = 0; i < sharing->part.count; i++) {
        struct answer *answer = &sharing->answers[i];
        if (answer->status != GW_OK && status == GW_OK) {
            status = gw_fail(error, answer->status, "%s", answer->why.message);
        }
        if (stream != NULL) {
            (void)fwrite(&answer->length, sizeof answer->length, 1, stream);
            if (answer->length > 0) {
                (void)fwrite(answer->text, 1, answer->length, stream);
            }
        }
        free(answer->text);
    }
    enum gw_status closed = gw_text_close(&part, "sweeping", status == GW_OK ? error : NULL);
    *out = part.text;
    *bytes = part.length;
    return status == GW_OK ? closed : status;
}

/* Rank 0 takes a rank's answers. */
static enum gw_status take_part(const struct gw_shared_points *points, const struct part *part,
                                const char *text, struct gw_error *error) {
    for (uint64_t point = part->first; point < part->first + part->count; point++) {
        size_t length = 0;
        memcpy(&length, text, sizeof length);
        text += sizeof length;
        GW_TRY(points->take(point, text, length, point + 1 == part->end, points->context, error));
        text += length;
    }
    return GW_OK;
}

/* ---- parts --------------------------------------------------------------------------------- */

/* The parts' counts are given, of points from `first` on; behind the last point there are none. */
static void deal(const struct sharing *sharing, uint64_t first, struct part *parts) {
    uint64_t end = first;
    for (size_t rank = 0; rank < sharing->size; rank++) {
        uint64_t left = sharing->points->count - end;
        size_t count = parts[rank].count < left ? parts[rank].count : (size_t)left;
        parts[rank] = (struct part){.first = end, .count = count};
        end += count;
    }
    for (size_t rank = 0; rank < sharing->size; rank++) {
        parts[rank].begin = first;
        parts[rank].end = end;
    }
}

static void deal_first(const struct sharing *sharing) {
    for (size_t rank = 0; rank < sharing->size; rank++) {
        sharing->parts[rank].count = LEAST_PER_THREAD * sharing->points->threads;
    }
    deal(sharing, sharing->points->first, sharing->parts);
}

/*
 * Each rank gets as many points as take it as long as a round shall, at the pace of its last part,
 * so that none waits long for a slower one; of the last points each gets its share.
 */
static void deal_next(const struct sharing *sharing) {
    const double least = LEAST_PER_THREAD * (double)sharing->points->threads;
    uint64_t first = sharing->parts[0].end;
    double left = (double)(sharing->points->count - first);
    double all = 0;
    for (size_t rank = 0; rank < sharing->size; rank++) {
        double pace = (double)sharing->parts[rank].count / sharing->reports[rank].seconds;
        sharing->next[rank].count = (size_t)fmax(fmin(pace * round_s, MOST), least);
        all += (double)sharing->next[rank].count;
    }
    for (size_t rank = 0; rank < sharing->size && all > left; rank++) {
        double count = (double)sharing->next[rank].count;
        sharing->next[rank].count = (size_t)ceil(count * left / all);
    }
    deal(sharing, first, sharing->next);
}

/* ---- between ranks -------------------------------------------------------------------------- */

/*
 * On rank 0, once all have reported: makes room for their answers and the parts that come next, or
 * has the failure of the lowest rank that has one in all of them, as gw_agree tells it.
 */
static void judge(struct sharing *sharing) {
    struct gw_error failure = {0};
    size_t bytes = 0;
    for (size_t rank = sharing->size; rank-- > 0;) {
        const struct report *report = &sharing->reports[rank];
        bytes += report->bytes;
        if (report->failure.status != GW_OK) {
            gw_error_set(&failure, report->failure.status, "rank %zu: %.480s", rank,
                         report->failure.message);
        }
    }
    sharing->received = calloc(bytes + 1, 1);
    if (sharing->received == NULL && failure.status == GW_OK) {
        (void)gw_fail_memory(&failure, "gathering answers");
    }
    deal_next(sharing);
    for (size_t rank = 0; rank < sharing->size; rank++) {
        sharing->next[rank].failure = failure;
    }
}

/*
 * Rank 0 hears how all ranks have fared, and tells each what comes next. Whoever waits leaves its
 * core to those that still work. A rank that has failed keeps its own message.
 */
static enum gw_status compare(struct sharing *sharing, const struct report *own, struct part *next,
                              struct gw_error *error) {
    struct gw_communicator *ranks = sharing->communicator;
    sharing->reports[0] = *own;
    if (sharing->rank != 0) {
        GW_TRY(gw_send(ranks, 0, own, sizeof *own, error));
        GW_TRY(gw_receive_resting(ranks, 0, next, sizeof *next, error));
    } else {
        for (size_t rank = 1; rank < sharing->size; rank++) {
            GW_TRY(
                gw_receive_resting(ranks, (int)rank, &sharing->reports[rank], sizeof *own, error));
        }
        judge(sharing);
        for (size_t rank = 1; rank < sharing->size; rank++) {
            GW_TRY(gw_send(ranks, (int)rank, &sharing->next[rank], sizeof *next, error));
        }
        *next = sharing->next[0];
    }
    if (own->failure.status != GW_OK) {
        return own->failure.status;
    }
    return next->failure.status == GW_OK
               ? GW_OK
               : gw_fail(error, next->failure.status, "%s", next->failure.message);
}

/* The answers of all ranks come to rank 0, which takes them: *taken is how it fares with them. */
static enum gw_status gather(struct sharing *sharing, const char *own, size_t bytes,
                             enum gw_status *taken, struct gw_error *error) {
    if (sharing->rank != 0) {
        return gw_send(sharing->communicator, 0, own, bytes, error);
    }
    char *end = sharing->received;
    for (size_t rank = 1; rank < sharing->size; rank++) {
        GW_TRY(
            gw_receive(sharing->communicator, (int)rank, end, sharing->reports[rank].bytes, error));
        end += sharing->reports[rank].bytes;
    }
    const char *text = sharing->received;
    *taken = take_part(sharing->points, &sharing->parts[0], own, error);
    for (size_t rank = 1; rank < sharing->size && *taken == GW_OK; rank++) {
        *taken = take_part(sharing->points, &sharing->parts[rank], text, error);
        text += sharing->reports[rank].bytes;
    }
    return GW_OK;
}

/* ---- rounds --------------------------------------------------------------------------------- */

/*
 * `taken`: how rank 0 fared with the answers so far, which the others learn here. What is returned
 * all ranks have agreed on.
 */
static enum gw_status go_round(struct sharing *sharing, enum gw_status *taken, struct part *next,
                               struct gw_error *error) {
    char *own = NULL;
    struct report report = {0};
    double start_s = gw_clock_now_s();
    enum gw_status status =
        *taken == GW_OK ? answer_part(sharing, &own, &report.bytes, error) : *taken;
    report.seconds = gw_clock_now_s() - start_s;
    if (status != GW_OK) {
        report.failure = *error;
        report.failure.status = status;
    }
    status = compare(sharing, &report, next, error);
    status = status == GW_OK ? gather(sharing, own, report.bytes, taken, error) : status;
    free(sharing->received);
    sharing->received = NULL;
    free(own);
    return status;
}

static enum gw_status go_rounds(struct sharing *sharing, struct gw_error *error) {
    enum gw_status taken = GW_OK;
    deal_first(sharing);
    sharing->part = sharing->parts[sharing->rank];
    while (sharing->part.begin < sharing->part.end) {
        struct part next;
        GW_TRY(go_round(sharing, &taken, &next, error));
        sharing->part = next;
        struct part *dealt = sharing->parts;
        sharing->parts = sharing->next;
        sharing->next = dealt;
        if (sharing->communicator == NULL) {
            GW_TRY(taken);
        }
    }
    return taken;
}

enum gw_status gw_share_points(const struct gw_shared_points *points,
                               struct gw_communicator *communicator, struct gw_error *error) {
    struct gw_arena arena = {0};
    struct sharing sharing = {.points = points,
                              .communicator = communicator,
                              .rank = communicator == NULL ? 0 : (size_t)communicator->rank,
                              .size = communicator == NULL ? 1 : (size_t)communicator->size};
    size_t most = MOST + LEAST_PER_THREAD * points->threads;
    sharing.answers = gw_arena_zeros(&arena, most, sizeof *sharing.answers);
    sharing.parts = gw_arena_zeros(&arena, sharing.size, sizeof *sharing.parts);
    sharing.next = gw_arena_zeros(&arena, sharing.size, sizeof *sharing.next);
    sharing.reports = gw_arena_zeros(&arena, sharing.size, sizeof *sharing.reports);
    enum gw_status status = gw_arena_check(&arena, "sweeping", error);
    status = communicator == NULL ? status : gw_agree(communicator, status, error);
    status = status == GW_OK ? go_rounds(&sharing, error) : status;
    gw_arena_free(&arena);
    return status;
}
