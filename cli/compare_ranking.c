/* Predicts every pipeline, ranks those that can be, and writes that down for programs. */
#include <stdlib.h>

#include "cli/compare.h"

/* ---- predicting ---------------------------------------------------------------------------- */

struct prediction {
    const struct gw_contest *contest;
    struct gw_answer *answers;
};

static void predict(size_t part, void *context) {
    const struct prediction *prediction = context;
    const struct gw_contest *contest = prediction->contest;
    struct gw_answer *answer = &prediction->answers[part];
    struct gw_algorithm algorithm;
    answer->status =
        gw_algorithm_change(contest->algorithms[part], &contest->changes, &algorithm, &answer->why);
    if (answer->status == GW_OK) {
        answer->status = gw_contest_predict_one(contest, &algorithm, &answer->result, &answer->why);
    }
}

enum gw_status gw_contest_predict(const struct gw_contest *contest, struct gw_answer *answers,
                                  struct gw_error *error) {
    struct prediction prediction = {.contest = contest, .answers = answers};
    gw_parallel(contest->count, gw_cores(), predict, &prediction);
    for (size_t i = 0; i < contest->count; i++) {
        if (answers[i].status != GW_OK && answers[i].status != GW_BAD_INPUT) {
            return gw_fail(error, answers[i].status, "%s", answers[i].why.message);
        }
    }
    return GW_OK;
}

double gw_contest_alone_s(const struct gw_contest *contest) {
    const struct gw_model *model = &contest->question->model;
    return model->forward_s + gw_model_backward_s(model) + model->update_s;
}

/* ---- ranking ------------------------------------------------------------------------------- */

/* Inserts a result behind those that are as fast or faster, which keeps equals in their order. */
static void insert(const struct gw_result *result, struct gw_ranking *ranking) {
    size_t place = ranking->count++;
    for (; place > 0 && result->iteration_s < ranking->results[place - 1].iteration_s; place--) {
        ranking->results[place] = ranking->results[place - 1];
    }
    ranking->results[place] = *result;
}

static void rank(const struct gw_answer *answers, struct gw_ranking *ranking) {
    const struct gw_contest *contest = ranking->contest;
    for (size_t i = 0; i < contest->count; i++) {
        if (answers[i].status == GW_OK) {
            insert(&answers[i].result, ranking);
        } else {
            ranking->infeasible[ranking->infeasible_count++] = (struct gw_infeasible){
                .algorithm = contest->algorithms[i]->name, .why = answers[i].why};
        }
    }
}

static size_t count_equals(const struct gw_ranking *ranking) {
    size_t count = 0;
    while (count < ranking->count && ranking->results[count].iteration_s <=
                                         ranking->results[0].iteration_s * (1 + GW_COMPARE_SAME)) {
        count++;
    }
    return count;
}

/* The reason of the first stands for all. */
static enum gw_status refuse(const struct gw_ranking *ranking, struct gw_error *error) {
    const struct gw_infeasible *first = &ranking->infeasible[0];
    return ranking->infeasible_count == 1
               ? gw_fail(error, GW_BAD_INPUT, "%s", first->why.message)
               : gw_fail(error, GW_BAD_INPUT,
                         "expected a pipeline that can be predicted, got none of %zu; %s: %.400s",
                         ranking->infeasible_count, first->algorithm, first->why.message);
}

static enum gw_status fill(struct gw_answer *answers, struct gw_ranking *ranking,
                           struct gw_error *error) {
    if (answers == NULL || ranking->results == NULL || ranking->infeasible == NULL) {
        return gw_fail_memory(error, "comparing");
    }
    GW_TRY(gw_contest_predict(ranking->contest, answers, error));
    rank(answers, ranking);
    ranking->equal_count = count_equals(ranking);
    return ranking->count > 0 ? GW_OK : refuse(ranking, error);
}

enum gw_status gw_ranking_open(const struct gw_contest *contest, struct gw_ranking *out,
                               struct gw_error *error) {
    *out = (struct gw_ranking){.contest = contest,
                               .results = calloc(contest->count, sizeof *out->results),
                               .infeasible = calloc(contest->count, sizeof *out->infeasible)};
    struct gw_answer *answers = calloc(contest->count, sizeof *answers);
    enum gw_status status = fill(answers, out, error);
    free(answers);
    if (status != GW_OK) {
        gw_ranking_close(out);
    }
    return status;
}

void gw_ranking_close(struct gw_ranking *ranking) {
    free(ranking->results);
    free(ranking->infeasible);
    *ranking = (struct gw_ranking){0};
}

/* ---- document ------------------------------------------------------------------------------ */

static enum gw_status put_results(const struct gw_ranking *ranking, cJSON *document,
                                  struct gw_error *error) {
    cJSON *list = cJSON_CreateArray();
    GW_TRY(gw_json_put(document, "results", list, error));
    for (size_t i = 0; i < ranking->count; i++) {
        cJSON *result = NULL;
        GW_TRY(gw_result_document(&ranking->results[i], &result, error));
        GW_TRY(gw_json_append(list, result, error));
    }
    return GW_OK;
}

static enum gw_status put_infeasible(const struct gw_ranking *ranking, cJSON *document,
                                     struct gw_error *error) {
    cJSON *list = cJSON_CreateArray();
    GW_TRY(gw_json_put(document, "infeasible", list, error));
    for (size_t i = 0; i < ranking->infeasible_count; i++) {
        cJSON *entry = cJSON_CreateObject();
        GW_TRY(gw_json_append(list, entry, error));
        GW_TRY(gw_json_put_text(entry, "algorithm", ranking->infeasible[i].algorithm, error));
        GW_TRY(gw_json_put_text(entry, "reason", ranking->infeasible[i].why.message, error));
    }
    return GW_OK;
}

enum gw_status gw_contest_put_note(const struct gw_contest *contest, cJSON *document,
                                   struct gw_error *error) {
    char *notes[] = {(char *)contest->note};
    return gw_json_put_texts(document, "notes", notes, contest->note[0] == '\0' ? 0 : 1, error);
}

static enum gw_status put_document(const struct gw_ranking *ranking, cJSON *document,
                                   struct gw_error *error) {
    char *why = NULL;
    GW_TRY(gw_json_put_text(document, "schema", "gradweave/comparison@1", error));
    GW_TRY(gw_json_put_text(document, "best", ranking->results[0].algorithm, error));
    GW_TRY(gw_ranking_explain(ranking, &why, error));
    enum gw_status status = why[0] == '\0' ? GW_OK : gw_json_put_text(document, "why", why, error);
    free(why);
    GW_TRY(status);
    GW_TRY(gw_json_put_number(document, "single_worker_s", gw_contest_alone_s(ranking->contest),
                              error));
    GW_TRY(put_results(ranking, document, error));
    GW_TRY(put_infeasible(ranking, document, error));
    return gw_contest_put_note(ranking->contest, document, error);
}

enum gw_status gw_ranking_print_json(const struct gw_ranking *ranking, struct gw_error *error) {
    cJSON *document = cJSON_CreateObject();
    return gw_print_filled(document, put_document(ranking, document, error), error);
}
