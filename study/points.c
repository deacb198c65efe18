#include "study/points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gradients/emulation.h"

/* ---- points of this process ------------------------------------------------------------------ */

/* Factors on the workers' compute times: NULL if all are alike. The caller frees. */
static enum gw_status make_slowdown(const struct gw_scenario *scenario, double **out,
                                    struct gw_error *error) {
    *out = NULL;
    if (scenario->straggler == 1) {
        return GW_OK;
    }
    GW_TRY(gw_simulation_check_lanes(scenario->workers, error));
    *out = calloc(scenario->workers + 1, sizeof **out);
    if (*out == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    for (size_t worker = 0; worker < scenario->workers; worker++) {
        (*out)[worker] = worker == 0 ? scenario->straggler : 1;
    }
    return GW_OK;
}

void gw_answer_scenario(const struct gw_scenario *scenario, const struct gw_algorithm *algorithm,
                        struct gw_prediction_options options, struct gw_prediction *out) {
    double *slowdown = NULL;
    *out = (struct gw_prediction){0};
    out->status = make_slowdown(scenario, &slowdown, &out->why);
    if (out->status == GW_OK) {
        options.simulation.slowdown = slowdown;
        options.simulation.compute_noise =
            (struct gw_noise){.kind = scenario->noise > 0 ? GW_NOISE_LOGNORMAL : GW_NOISE_NONE,
                              .sigma = scenario->noise};
        out->status = gw_predict(scenario, algorithm, &options, &out->result, &out->why);
    }
    free(slowdown);
}

struct asked {
    const struct gw_comparison *comparison;
    const struct gw_scenario *scenarios;
    struct gw_compressor_curves curves;
    struct gw_prediction *predictions;
};

static void answer_asked(size_t number, void *context) {
    struct asked *asked = context;
    const struct gw_comparison *comparison = asked->comparison;
    struct gw_scenario scenario = asked->scenarios[number / comparison->count];
    const struct gw_algorithm *preset = comparison->algorithms[number % comparison->count];
    struct gw_prediction *prediction = &asked->predictions[number];
    struct gw_algorithm algorithm;
    prediction->status =
        gw_algorithm_change(preset, &comparison->changes, &algorithm, &prediction->why);
    if (prediction->status != GW_OK) {
        return;
    }
    struct gw_prediction_options options = {.interval = comparison->intervals};
    if (comparison->trained && gw_counts_depend_on_data(algorithm.compressor)) {
        options.simulation.seed = 1;
        options.simulation.threads = 1;
        options.iterations = GW_COMPARISON_TRAINED;
        options.counts.name = "trained";
        options.counts.gradients = comparison->gradients;
    }
    if (comparison->learning != NULL && !comparison->trained) {
        scenario.sent_density =
            gw_learning_sent_density(comparison->learning, &algorithm, scenario.density);
    }
    scenario.curves = &asked->curves;
    gw_answer_scenario(&scenario, &algorithm, options, prediction);
}

enum gw_status gw_answer_points(const struct gw_comparison *comparison,
                                const struct gw_scenario *scenarios, size_t scenario_count,
                                struct gw_prediction *predictions, struct gw_error *error) {
    struct asked asked = {.comparison = comparison,
                          .scenarios = scenarios,
                          .curves.mutex = PTHREAD_MUTEX_INITIALIZER,
                          .predictions = predictions};
    size_t count = scenario_count * comparison->count;
    gw_parallel(count, gw_cores(), answer_asked, &asked);
    gw_compressor_curves_free(&asked.curves);
    for (size_t i = 0; i < count; i++) {
        if (predictions[i].status != GW_OK && predictions[i].status != GW_BAD_INPUT) {
            return gw_fail(error, predictions[i].status, "%s", predictions[i].why.message);
        }
    }
    return GW_OK;
}

/* ---- rounds of shared points ------------------------------------------------------------------
 */

/* Points of a rank in a round: at least so many per thread, so that no thread waits long for the
 * last one, and at most so many in all. */
enum { LEAST_PER_THREAD = 8, MOST = 4096 };

/* Intended duration of a round. */
static const double round_s = 0.2;

/* ---- answers of a rank ----------------------------------------------------------------------- */

struct answer {
    enum gw_status status;
    struct gw_error why;
    char *text;
    size_t length;
};

/* Points first, first + step, .. that a rank answers in a round. */
struct part {
    const struct gw_shared_points *points;
    uint64_t first;
    size_t step, count;
    struct answer *answers; /* [count] */
};

static void answer_point(size_t i, void *context) {
    const struct part *part = context;
    const struct gw_shared_points *points = part->points;
    struct answer *answer = &part->answers[i];
    struct gw_text text;
    FILE *stream = gw_text_open(&text);
    enum gw_status status = GW_OK;
    if (stream != NULL) {
        status =
            points->answer(part->first + i * part->step, stream, points->context, &answer->why);
    }
    struct gw_error *why = status == GW_OK ? &answer->why : NULL;
    enum gw_status closed = gw_text_close(&text, "sweeping", why);
    answer->status = status == GW_OK ? closed : status;
    answer->text = text.text;
    answer->length = text.length;
}

/* Answers the part. *out: the answers one after the other, each after its length; the caller's. */
static enum gw_status answer_part(const struct part *part, char **out, size_t *bytes,
                                  struct gw_error *error) {
    enum gw_status status = GW_OK;
    gw_parallel(part->count, part->points->threads, answer_point, (void *)(uintptr_t)part);
    struct gw_text text;
    FILE *stream = gw_text_open(&text);
    for (size_t i = 0; i < part->count; i++) {
        struct answer *answer = &part->answers[i];
        if (answer->status != GW_OK && status == GW_OK) {
            status = gw_fail(error, answer->status, "%s", answer->why.message);
        }
        if (stream != NULL) {
            (void)fwrite(&answer->length, sizeof answer->length, 1, stream);
            (void)fwrite(answer->text, 1, answer->text == NULL ? 0 : answer->length, stream);
        }
        free(answer->text);
    }
    enum gw_status closed = gw_text_close(&text, "sweeping", status == GW_OK ? error : NULL);
    *out = text.text;
    *bytes = text.length;
    return status == GW_OK ? closed : status;
}

/* ---- rounds of all ranks --------------------------------------------------------------------- */

/* A rank's part of a round, as all ranks learn of it. */
struct round_report {
    double seconds;
    size_t bytes; /* of its answers */
};

struct point_sharing {
    const struct gw_shared_points *points;
    struct gw_communicator *communicator; /* NULL: alone */
    size_t rank, size;
    uint64_t begin, end;          /* of the round's points */
    size_t count;                 /* of a rank's points in a round */
    struct round_report *reports; /* [size] */
    const char **texts;           /* [size]: each rank's answers; on rank 0 */
    char *received;               /* those of the other ranks; on rank 0 */
    size_t received_capacity;
};

/* All ranks fail if one has failed. */
static enum gw_status agree_on_status(const struct point_sharing *sharing, enum gw_status status,
                                      struct gw_error *error) {
    return sharing->communicator == NULL ? status : gw_agree(sharing->communicator, status, error);
}

/* Makes room on rank 0 for the others' answers. */
static enum gw_status make_room(struct point_sharing *sharing, struct gw_error *error) {
    size_t bytes = 0;
    for (size_t rank = 1; rank < sharing->size; rank++) {
        bytes += sharing->reports[rank].bytes;
    }
    char *room = gw_grow(sharing->received, bytes + 1, &sharing->received_capacity, 1);
    sharing->received = room == NULL ? sharing->received : room;
    return room == NULL ? gw_fail_memory(error, "gathering answers") : GW_OK;
}

/* Sends this rank's answers to rank 0, which receives those of all. */
static enum gw_status gather_answers(struct point_sharing *sharing, const char *own,
                                     struct gw_error *error) {
    if (sharing->rank != 0) {
        return gw_send(sharing->communicator, 0, own, sharing->reports[sharing->rank].bytes, error);
    }
    char *end = sharing->received;
    sharing->texts[0] = own;
    for (size_t rank = 1; rank < sharing->size; rank++) {
        size_t bytes = sharing->reports[rank].bytes;
        GW_TRY(gw_receive(sharing->communicator, (int)rank, end, bytes, error));
        sharing->texts[rank] = end;
        end += bytes;
    }
    return GW_OK;
}

/* Takes the round's answers in the order of the points, on rank 0. */
static enum gw_status take_answers(const struct point_sharing *sharing, struct gw_error *error) {
    const struct gw_shared_points *points = sharing->points;
    for (uint64_t point = sharing->begin; point < sharing->end; point++) {
        const char **text = &sharing->texts[(point - sharing->begin) % sharing->size];
        size_t length = 0;
        memcpy(&length, *text, sizeof length);
        const char *answer = *text + sizeof length;
        *text = answer + length;
        GW_TRY(
            points->take(point, answer, length, point + 1 == sharing->end, points->context, error));
    }
    return GW_OK;
}

/* Sets how many points each rank answers in the next round, so that the slowest takes round_s. */
static void choose_count(struct point_sharing *sharing, size_t least) {
    double slowest_s = 0;
    for (size_t rank = 0; rank < sharing->size; rank++) {
        slowest_s = fmax(slowest_s, sharing->reports[rank].seconds);
    }
    double count = (double)sharing->count * round_s / slowest_s;
    sharing->count = (size_t)fmax(fmin(count, MOST), (double)least);
}

/* Answers this rank's part of a round and gathers all parts on rank 0, in sharing->texts. */
static enum gw_status answer_round(struct point_sharing *sharing, enum gw_status taken, char **own,
                                   struct gw_error *error) {
    struct gw_arena arena = {0};
    struct round_report *report = &sharing->reports[sharing->rank];
    uint64_t points = sharing->end - sharing->begin;
    struct part part = {.points = sharing->points,
                        .first = sharing->begin + sharing->rank,
                        .step = sharing->size,
                        .count = (size_t)(points / sharing->size) +
                                 (sharing->rank < points % sharing->size)};
    double start_s = gw_clock_now_s();
    part.answers = gw_arena_zeros(&arena, part.count, sizeof *part.answers);
    enum gw_status status = taken;
    status = status == GW_OK ? gw_arena_check(&arena, "sweeping", error) : status;
    status = status == GW_OK ? answer_part(&part, own, &report->bytes, error) : status;
    gw_arena_free(&arena);
    report->seconds = gw_clock_now_s() - start_s;
    if (sharing->communicator != NULL) {
        const struct round_report mine = *report;
        GW_TRY(gw_allgather(sharing->communicator, &mine, sizeof mine, sharing->reports, error));
    }
    status = status == GW_OK && sharing->rank == 0 ? make_room(sharing, error) : status;
    GW_TRY(agree_on_status(sharing, status, error));
    return gather_answers(sharing, *own, error);
}

/* Answers all points. Rank 0 takes a round's answers while the other ranks answer the next one. */
static enum gw_status answer_rounds(struct point_sharing *sharing, struct gw_error *error) {
    enum gw_status taken = GW_OK;
    const uint64_t count = sharing->points->count;
    size_t least = LEAST_PER_THREAD * sharing->points->threads;
    if (sharing->communicator != NULL) {
        GW_TRY(gw_broadcast(sharing->communicator, 0, &least, sizeof least, error));
    }
    sharing->count = least;
    for (uint64_t begin = sharing->points->first; begin < count; begin = sharing->end) {
        char *own = NULL;
        uint64_t points = (uint64_t)sharing->count * sharing->size;
        sharing->begin = begin;
        sharing->end = count - begin < points ? count : begin + points;
        enum gw_status status = answer_round(sharing, taken, &own, error);
        if (status == GW_OK && sharing->rank == 0) {
            taken = take_answers(sharing, error);
        }
        free(own);
        GW_TRY(status);
        choose_count(sharing, least);
    }
    return agree_on_status(sharing, taken, error);
}

enum gw_status gw_share_points(const struct gw_shared_points *points,
                               struct gw_communicator *communicator, struct gw_error *error) {
    struct gw_arena arena = {0};
    struct point_sharing sharing = {.points = points,
                                    .communicator = communicator,
                                    .rank = communicator == NULL ? 0 : (size_t)communicator->rank,
                                    .size = communicator == NULL ? 1 : (size_t)communicator->size};
    sharing.reports = gw_arena_zeros(&arena, sharing.size, sizeof *sharing.reports);
    sharing.texts = gw_arena_zeros(&arena, sharing.size, sizeof *sharing.texts);
    enum gw_status status =
        agree_on_status(&sharing, gw_arena_check(&arena, "sweeping", error), error);
    status = status == GW_OK ? answer_rounds(&sharing, error) : status;
    free(sharing.received);
    gw_arena_free(&arena);
    return status;
}
