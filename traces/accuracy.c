#include "traces/accuracy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/parts.h"

enum { MOST_TRAININGS = 10000 };

/* ---- trainings that differ by their seeds --------------------------------------------------- */

static int by_number(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Each reached the goal since the judgement before the one that says so. */
static void summarise(double *iterations, size_t count, double judged_every,
                      struct gw_trainings *out) {
    qsort(iterations, count, sizeof *iterations, by_number);
    out->count = count;
    for (size_t i = 0; i < count; i++) {
        out->reached += isfinite(iterations[i]) ? 1 : 0;
    }
    out->iterations = (iterations[(count - 1) / 2] + iterations[count / 2]) / 2;
    out->low = isfinite(iterations[0]) ? fmax(0, iterations[0] - judged_every) : INFINITY;
    out->high = iterations[count - 1];
}

static enum gw_status read_numbers(const struct gw_json *list, double *out,
                                   struct gw_error *error) {
    size_t index = 0;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, list->node) {
        struct gw_json place = gw_json_item(list, node, index);
        uint64_t number = 0;
        if (!cJSON_IsNull(node)) {
            GW_TRY(gw_json_integer(&place, 1, &number, error));
        }
        out[index++] = cJSON_IsNull(node) ? INFINITY : (double)number;
    }
    return GW_OK;
}

static enum gw_status read_iterations(const struct gw_json *place, double judged_every,
                                      struct gw_trainings *out, struct gw_error *error) {
    struct gw_json list = gw_json_member(place, "iterations");
    GW_TRY(gw_json_array(&list, error));
    size_t count = (size_t)cJSON_GetArraySize(list.node);
    if (count == 0) {
        return gw_json_expected(&list, "a list that is not empty", error);
    }
    double *iterations = calloc(count, sizeof *iterations);
    if (iterations == NULL) {
        return gw_fail_memory(error, "reading what was learnt");
    }
    enum gw_status status = read_numbers(&list, iterations, error);
    if (status == GW_OK) {
        summarise(iterations, count, judged_every, out);
    }
    free(iterations);
    return status;
}

/* ---- the document --------------------------------------------------------------------------- */

static bool are_alike(const struct gw_trainings *a, const struct gw_trainings *b) {
    return strcmp(a->algorithm, b->algorithm) == 0 && a->density == b->density &&
           a->workers == b->workers;
}

static enum gw_status read_trainings(const struct gw_json *place, double judged_every,
                                     struct gw_accuracy *accuracy, struct gw_error *error) {
    struct gw_trainings *out = &accuracy->trainings[accuracy->count];
    struct gw_json algorithm = gw_json_member(place, "algorithm");
    struct gw_json density = gw_json_member(place, "density");
    struct gw_json workers = gw_json_member(place, "workers");
    *out = (struct gw_trainings){.density = 1};
    GW_TRY(gw_json_object(place, error));
    GW_TRY(gw_json_text(&algorithm, &out->algorithm, error));
    if (density.node != NULL) {
        GW_TRY(gw_json_positive(&density, &out->density, error));
        if (out->density > 1) {
            return gw_json_expected(&density, "a number above 0 and at most 1", error);
        }
    }
    GW_TRY(gw_json_integer(&workers, 1, &out->workers, error));
    GW_TRY(read_iterations(place, judged_every, out, error));
    for (size_t i = 0; i < accuracy->count; i++) {
        if (are_alike(&accuracy->trainings[i], out)) {
            return gw_json_expected(place, "one entry for each algorithm, density and workers",
                                    error);
        }
    }
    return GW_OK;
}

static enum gw_status read_all_trainings(const struct gw_json *root, double judged_every,
                                         struct gw_accuracy *out, size_t *bad,
                                         struct gw_error *error) {
    struct gw_json list = gw_json_member(root, "trainings");
    const cJSON *node = NULL;
    GW_TRY(gw_json_array(&list, error));
    size_t most = (size_t)cJSON_GetArraySize(list.node);
    if (most == 0 || most > MOST_TRAININGS) {
        return gw_json_expected(&list, "a list of 1 to 10,000", error);
    }
    out->trainings = calloc(most, sizeof *out->trainings);
    if (out->trainings == NULL) {
        return gw_fail_memory(error, "reading what was learnt");
    }
    size_t index = 0;
    cJSON_ArrayForEach(node, list.node) {
        struct gw_json place = gw_json_item(&list, node, index++);
        size_t before = *bad;
        GW_TRY(gw_read_on(read_trainings(&place, judged_every, out, error), bad, error));
        out->count += *bad == before;
    }
    return GW_OK;
}

static enum gw_status read_document(struct gw_accuracy *out, struct gw_error *error) {
    struct gw_json root;
    size_t bad = 0;
    uint64_t judged_every = 1;
    GW_TRY(gw_json_root(out->document, out->path, "gradweave/accuracy@1", &root, error));
    struct gw_json model = gw_json_member(&root, "model");
    struct gw_json goal = gw_json_member(&root, "goal");
    struct gw_json every = gw_json_member(&root, "judged_every");
    GW_TRY(gw_read_on(gw_json_text(&model, &out->model, error), &bad, error));
    GW_TRY(gw_read_on(gw_json_positive(&goal, &out->goal, error), &bad, error));
    if (out->goal > 1) {
        enum gw_status status = gw_json_expected(&goal, "a share, above 0 and at most 1", error);
        GW_TRY(gw_read_on(status, &bad, error));
    }
    if (every.node != NULL) {
        GW_TRY(gw_read_on(gw_json_integer(&every, 1, &judged_every, error), &bad, error));
    }
    GW_TRY(
        gw_read_on(read_all_trainings(&root, (double)judged_every, out, &bad, error), &bad, error));
    return bad == 0 ? GW_OK : GW_BAD_INPUT; /* of which the last is in the error */
}

/* Takes the document. */
static enum gw_status read_or_free(cJSON *document, const char *path, struct gw_accuracy *out,
                                   struct gw_error *error) {
    out->document = document;
    out->path = strdup(path);
    enum gw_status status = out->path == NULL ? gw_fail_memory(error, "reading what was learnt")
                                              : read_document(out, error);
    if (status != GW_OK) {
        gw_accuracy_free(out);
    }
    return status;
}

enum gw_status gw_accuracy_parse(const char *text, size_t length, const char *path,
                                 struct gw_accuracy *out, struct gw_error *error) {
    cJSON *document = NULL;
    *out = (struct gw_accuracy){0};
    GW_TRY(gw_json_parse(text, length, path, &document, error));
    return read_or_free(document, path, out, error);
}

enum gw_status gw_accuracy_read(const char *path, struct gw_accuracy *out, struct gw_error *error) {
    cJSON *document = NULL;
    *out = (struct gw_accuracy){0};
    GW_TRY(gw_json_read(path, &document, error));
    return read_or_free(document, path, out, error);
}

void gw_accuracy_free(struct gw_accuracy *accuracy) {
    free(accuracy->path);
    free(accuracy->trainings);
    cJSON_Delete(accuracy->document);
    *accuracy = (struct gw_accuracy){0};
}
