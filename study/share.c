/* Points of a sweep, shared among the threads of this process and the ranks of a job. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/sweep.h"

/* A rank's part of a round: at least so many points per thread, that none waits long for the last
 * one, and at most so many in all. */
enum { LEAST_PER_THREAD = 8, MOST = 4096 };

/* As long as a round shall take. */
static const double round_s = 0.1;

struct answer {
    enum gw_status status;
    struct gw_error why;
    char *text;
    size_t length;
};

/* What a rank has answered in a round. */
struct share {
    size_t bytes;
    double seconds; /* that it took */
};

struct round {
    const struct gw_shared_points *points;
    struct gw_communicator *communicator; /* NULL: alone */
    size_t rank, size;
    uint64_t first;         /* point of all ranks */
    size_t each;            /* points of a rank; behind the last point of all there are none */
    struct answer *answers; /* of this rank, one for each of its points */
    struct share *shares;   /* of each rank */
    char *received;         /* on rank 0: the answers of all ranks but itself, behind each other */
    const char **texts;     /* where each rank's answers are */
};

static void answer_point(size_t part, void *context) {
    const struct round *round = context;
    const struct gw_shared_points *points = round->points;
    struct answer *answer = &round->answers[part];
    uint64_t point = round->first + part * round->size + round->rank;
    *answer = (struct answer){0};
    if (point >= points->count) {
        return;
    }
    FILE *stream = open_memstream(&answer->text, &answer->length);
    answer->status = stream == NULL ? gw_fail_memory(&answer->why, "sweeping")
                                    : points->answer(point, stream, points->context, &answer->why);
    if (stream != NULL && fclose(stream) != 0 && answer->status == GW_OK) {
        answer->status = gw_fail_memory(&answer->why, "sweeping");
    }
}

/* This rank's answers behind each other, each below its length; the caller's. */
static enum gw_status answer_points(struct round *round, char **out, struct gw_error *error) {
    double start_s = gw_clock_now_s();
    enum gw_status status = GW_OK;
    struct share *own = &round->shares[round->rank];
    *own = (struct share){0};
    gw_parallel(round->each, round->points->threads, answer_point, round);
    FILE *stream = open_memstream(out, &own->bytes);
    for (size_t i = 0; i < round->each; i++) {
        struct answer *answer = &round->answers[i];
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
    bool kept = stream != NULL && fclose(stream) == 0;
    own->seconds = gw_clock_now_s() - start_s;
    return kept || status != GW_OK ? status : gw_fail_memory(error, "sweeping");
}

/* Rank 0 takes the answers of all, in the order of the points. */
static enum gw_status take_answers(const struct round *round, struct gw_error *error) {
    const struct gw_shared_points *points = round->points;
    for (size_t i = 0; i < round->each * round->size; i++) {
        uint64_t point = round->first + i;
        const char **text = &round->texts[i % round->size];
        size_t length = 0;
        if (point >= points->count) {
            return GW_OK;
        }
        memcpy(&length, *text, sizeof length);
        bool last = point + 1 == points->count || i + 1 == round->each * round->size;
        GW_TRY(points->take(point, *text + sizeof length, length, last, points->context, error));
        *text += sizeof length + length;
    }
    return GW_OK;
}

/* ---- between ranks -------------------------------------------------------------------------- */

/* All ranks learn how much each has answered, and whether one has failed. */
static enum gw_status compare_shares(struct round *round, enum gw_status status,
                                     struct gw_error *error) {
    const struct share own = round->shares[round->rank];
    size_t bytes = 0;
    GW_TRY(gw_allgather(round->communicator, &own, sizeof own, round->shares, error));
    for (size_t rank = 1; rank < round->size; rank++) {
        bytes += round->shares[rank].bytes;
    }
    if (round->rank == 0 && status == GW_OK) {
        round->received = malloc(bytes + 1);
        status = round->received == NULL ? gw_fail_memory(error, "gathering answers") : GW_OK;
    }
    return gw_agree(round->communicator, status, error);
}

/* The answers of all ranks come to rank 0. */
static enum gw_status gather_answers(struct round *round, const char *own, struct gw_error *error) {
    if (round->rank != 0) {
        return gw_send(round->communicator, 0, own, round->shares[round->rank].bytes, error);
    }
    char *end = round->received;
    for (size_t rank = 1; rank < round->size; rank++) {
        size_t bytes = round->shares[rank].bytes;
        GW_TRY(gw_receive(round->communicator, (int)rank, end, bytes, error));
        round->texts[rank] = end;
        end += bytes;
    }
    return GW_OK;
}

/* ---- rounds --------------------------------------------------------------------------------- */

/*
 * `taken`: how rank 0 fared with the answers so far, which the others learn here. What is returned
 * all ranks have agreed on; how rank 0 fares with this round's answers is in *taken then.
 */
static enum gw_status go_round(struct round *round, enum gw_status *taken, struct gw_error *error) {
    char *own = NULL;
    enum gw_status status = *taken == GW_OK ? answer_points(round, &own, error) : *taken;
    if (round->communicator != NULL) {
        status = compare_shares(round, status, error);
        status = status == GW_OK ? gather_answers(round, own, error) : status;
    }
    if (status == GW_OK && round->rank == 0) {
        round->texts[0] = own;
        *taken = take_answers(round, error);
    }
    free(round->received);
    round->received = NULL;
    free(own);
    return status;
}

/* As many points as take as long as a round shall, by the slowest rank of the last one. */
static size_t next_size(const struct round *round) {
    double seconds = 0;
    for (size_t rank = 0; rank < round->size; rank++) {
        seconds = fmax(seconds, round->shares[rank].seconds);
    }
    size_t least = LEAST_PER_THREAD * round->points->threads;
    double each = fmin((double)round->each * fmin(round_s / seconds, MOST), MOST);
    return each > (double)least ? (size_t)each : least;
}

static enum gw_status go_rounds(struct round *round, struct gw_error *error) {
    enum gw_status taken = GW_OK;
    round->each = LEAST_PER_THREAD * round->points->threads;
    while (round->first < round->points->count) {
        GW_TRY(go_round(round, &taken, error));
        round->first += round->each * round->size;
        round->each = next_size(round);
        if (round->communicator == NULL || round->first >= round->points->count) {
            GW_TRY(taken);
        }
    }
    return GW_OK;
}

enum gw_status gw_share_points(const struct gw_shared_points *points,
                               struct gw_communicator *communicator, struct gw_error *error) {
    struct round round = {.points = points,
                          .communicator = communicator,
                          .rank = communicator == NULL ? 0 : (size_t)communicator->rank,
                          .size = communicator == NULL ? 1 : (size_t)communicator->size,
                          .first = points->first};
    size_t most = MOST + LEAST_PER_THREAD * points->threads;
    round.answers = calloc(most, sizeof *round.answers);
    round.shares = calloc(round.size, sizeof *round.shares);
    round.texts = calloc(round.size, sizeof *round.texts);
    enum gw_status status = round.answers == NULL || round.shares == NULL || round.texts == NULL
                                ? gw_fail_memory(error, "sweeping")
                                : GW_OK;
    status = communicator == NULL ? status : gw_agree(communicator, status, error);
    status = status == GW_OK ? go_rounds(&round, error) : status;
    free(round.answers);
    free(round.shares);
    free(round.texts);
    return status;
}
