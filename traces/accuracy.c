#include "traces/accuracy.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- trainings that differ by their seeds --------------------------------------------------- */

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

static enum gw_status read_iterations(const struct gw_json *list, void *out,
                                      struct gw_error *error) {
    size_t count = 0;
    GW_TRY(gw_json_length(list, 0, &count, error));
    double *iterations = calloc(count, sizeof *iterations);
    if (iterations == NULL) {
        return gw_fail_memory(error, "reading what was learnt");
    }
    enum gw_status status = read_numbers(list, iterations, error);
    struct gw_trainings *trainings = out;
    gsl_sort(iterations, 1, count);
    trainings->count = count;
    for (size_t i = 0; i < count; i++) {
        trainings->reached += isfinite(iterations[i]) ? 1 : 0;
    }
    trainings->iterations = (iterations[(count - 1) / 2] + iterations[count / 2]) / 2;
    trainings->low = iterations[0];
    trainings->high = iterations[count - 1];
    trainings->first = iterations[0];
    trainings->last = trainings->reached == 0 ? INFINITY : iterations[trainings->reached - 1];
    free(iterations);
    return status;
}

/* ---- the document --------------------------------------------------------------------------- */

/* Extends ranges to the judgement before the goal, and refuses trainings listed twice. */
static enum gw_status check_accuracy(const struct gw_json *root, void *out,
                                     struct gw_error *error) {
    struct gw_accuracy *accuracy = out;
    struct gw_json list = gw_json_member(root, "trainings");
    for (size_t i = 0; i < accuracy->count; i++) {
        struct gw_trainings *one = &accuracy->trainings[i];
        one->low = fmax(0, one->low - (double)accuracy->judged_every);
        for (size_t before = 0; before < i; before++) {
            const struct gw_trainings *other = &accuracy->trainings[before];
            if (strcmp(other->algorithm, one->algorithm) == 0 && other->density == one->density &&
                other->workers == one->workers) {
                struct gw_json place =
                    gw_json_item(&list, cJSON_GetArrayItem(list.node, (int)i), i);
                return gw_json_expected(&place, "one entry for each algorithm, density and workers",
                                        error);
            }
        }
    }
    return GW_OK;
}

static const struct gw_field training_rows[] = {
    {"algorithm", GW_AS_TEXT, .at = offsetof(struct gw_trainings, algorithm), .text = "a pipeline"},
    {"density", GW_AS_POSITIVE, .at = offsetof(struct gw_trainings, density), .optional = true,
     .otherwise = 1, .maximum = 1, .expected = "a number above 0 and at most 1",
     .text = "that was asked for; absent where nothing is compressed"},
    {"workers", GW_AS_COUNT, .at = offsetof(struct gw_trainings, workers), .text = "that trained"},
    {"iterations", GW_AS_BY_HAND, .read = read_iterations,
     .text = "a number for each training: at which judgement it had reached the goal; null: never"},
    {"sent", GW_AS_POSITIVE, .at = offsetof(struct gw_trainings, sent), .optional = true,
     .text = "bytes that a worker sent, over those of as many elements as were asked for"},
    {0}};

static const struct gw_fields training_fields = {sizeof(struct gw_trainings),
                                                 .rows = training_rows};

static const struct gw_field rows[] = {
    {"", GW_AS_FILE_NAME, .at = offsetof(struct gw_accuracy, path)},
    {"model", GW_AS_TEXT, .at = offsetof(struct gw_accuracy, model),
     .text = "that learnt, by its name"},
    {"goal", GW_AS_POSITIVE, .at = offsetof(struct gw_accuracy, goal), .maximum = 1,
     .expected = "a share, above 0 and at most 1", .text = "the accuracy that was to be reached"},
    {"judged_every", GW_AS_COUNT, .at = offsetof(struct gw_accuracy, judged_every),
     .optional = true, .otherwise = 1, .text = "iterations between judgements"},
    {"trained", GW_AS_COUNT, .at = offsetof(struct gw_accuracy, trained), .optional = true,
     .text = "iterations of each training; absent: not known"},
    {"optimizer", GW_AS_TEXT, .at = offsetof(struct gw_accuracy, optimizer), .optional = true,
     .text = "its kind, rate, warm-up, clipping"},
    {"batch_size", .optional = true, .text = "samples of all workers in an iteration"},
    {"source", .optional = true, .text = "free"},
    {"trainings", GW_AS_LIST, .at = offsetof(struct gw_accuracy, trainings),
     .count_at = offsetof(struct gw_accuracy, count), .maximum = 10000,
     .expected = "a list of 1 to 10,000", .of = &training_fields,
     .text = "one for each pipeline, density and number of workers"},
    {0}};

const struct gw_fields gw_accuracy_fields = {sizeof(struct gw_accuracy), .rows = rows,
                                             .schema = "gradweave/accuracy@1",
                                             .check = check_accuracy};
