/* The schedule of an iteration, from a model, a plan and a pipeline's choices. */
#include <string.h>

#include "methods/schedule.h"

static enum gw_status add_forward(const struct gw_model *model, struct gw_schedule *out,
                                  struct gw_error *error) {
    struct gw_operation forward = {.kind = GW_FORWARD,
                                   .stream = GW_STREAM_COMPUTE,
                                   .group = GW_NO_GROUP,
                                   .elements = gw_model_elements(model),
                                   .duration_s = model->forward_s};
    return gw_schedule_add(out, forward, NULL, 0, NULL, error);
}

/* *ready is the operation after which the group's gradient is ready to travel. */
static enum gw_status add_compute(const struct gw_algorithm *algorithm,
                                  const struct gw_model *model, const struct gw_group *group,
                                  uint32_t number, struct gw_schedule *out, size_t *ready,
                                  struct gw_error *error) {
    for (size_t tensor = group->first + 1; tensor-- > group->last;) {
        struct gw_operation backward = {.kind = GW_BACKWARD,
                                        .stream = GW_STREAM_COMPUTE,
                                        .group = number,
                                        .label = model->tensors[tensor].name,
                                        .elements = model->tensors[tensor].elements,
                                        .duration_s = model->tensors[tensor].backward_s};
        GW_TRY(gw_schedule_add(out, backward, NULL, 0, ready, error));
    }
    if (!gw_algorithm_is_sparse(algorithm)) {
        return GW_OK;
    }
    struct gw_operation compress = {.kind = GW_COMPRESS,
                                    .stream = GW_STREAM_COMPUTE,
                                    .group = number,
                                    .method = algorithm->compressor->name,
                                    .payload = GW_SPARSE,
                                    .elements = out->groups[number].elements};
    return gw_schedule_add(out, compress, NULL, 0, ready, error);
}

/* A server's update of a group takes the group's share of the model's. */
static enum gw_status add_server_update(const struct gw_model *model, uint32_t number, size_t after,
                                        struct gw_schedule *out, size_t *last,
                                        struct gw_error *error) {
    uint64_t elements = out->groups[number].elements;
    double share = (double)elements / (double)gw_model_elements(model);
    struct gw_operation update = {.kind = GW_UPDATE,
                                  .stream = GW_STREAM_COMMUNICATION,
                                  .group = number,
                                  .elements = elements,
                                  .duration_s = model->update_s * share};
    return gw_schedule_add(out, update, &after, 1, last, error);
}

/* The legs, each after the one before; *updated: the server has done the update. */
static enum gw_status add_exchange(const struct gw_exchange_kind *exchange,
                                   const struct gw_model *model, uint32_t number, size_t ready,
                                   struct gw_schedule *out, size_t *last, bool *updated,
                                   struct gw_error *error) {
    *last = ready;
    for (size_t i = 0; i < exchange->leg_count; i++) {
        const struct gw_leg *leg = &exchange->legs[i];
        if (leg->updates) {
            GW_TRY(add_server_update(model, number, *last, out, last, error));
            *updated = true;
        }
        struct gw_operation operation = {.kind = GW_EXCHANGE,
                                         .stream = GW_STREAM_COMMUNICATION,
                                         .group = number,
                                         .method = leg->collective,
                                         .payload = leg->payload,
                                         .elements = out->groups[number].elements};
        GW_TRY(gw_schedule_add(out, operation, last, 1, last, error));
    }
    return GW_OK;
}

/*
 * Forward; then for each group of the plan its tensors' backward, its compression (sparse only) and
 * the legs of its exchange on the communication stream; the update when the last exchange has
 * ended, unless a server has done it. It is the OMGS paper's Fig. 1 (a) to (d), depending on the
 * plan and the compressor.
 */
static enum gw_status add_operations(const struct gw_algorithm *algorithm,
                                     const struct gw_model *model, const struct gw_plan *plan,
                                     struct gw_schedule *out, struct gw_error *error) {
    out->exchange = algorithm->exchange;
    out->server = algorithm->exchange->server;
    GW_TRY(add_forward(model, out, error));
    size_t last = 0;
    bool updated = false;
    for (uint32_t number = 0; number < plan->group_count; number++) {
        size_t ready = 0;
        GW_TRY(add_compute(algorithm, model, &plan->groups[number], number, out, &ready, error));
        GW_TRY(
            add_exchange(algorithm->exchange, model, number, ready, out, &last, &updated, error));
    }
    struct gw_operation update = {.kind = GW_UPDATE,
                                  .stream = GW_STREAM_COMPUTE,
                                  .group = GW_NO_GROUP,
                                  .elements = gw_model_elements(model),
                                  .duration_s = updated ? 0 : model->update_s};
    return gw_schedule_add(out, update, &last, 1, NULL, error);
}

static enum gw_status check_fit(const struct gw_algorithm *algorithm, const struct gw_plan *plan,
                                struct gw_error *error) {
    if (strcmp(algorithm->compressor->name, plan->compressor) != 0) {
        return gw_fail(error, GW_BAD_INPUT,
                       "algorithm %s: expected a plan for compressor %s, got one for %s",
                       algorithm->name, algorithm->compressor->name, plan->compressor);
    }
    if (!gw_algorithm_overlaps(algorithm) && plan->group_count != 1) {
        return gw_fail(
            error, GW_BAD_INPUT,
            "algorithm %s: expected a plan with one group, as it does not overlap unless "
            "its policy is changed, got %zu groups",
            algorithm->name, plan->group_count);
    }
    return GW_OK;
}

enum gw_status gw_algorithm_schedule(const struct gw_algorithm *algorithm,
                                     const struct gw_model *model, const struct gw_plan *plan,
                                     struct gw_schedule *out, struct gw_error *error) {
    *out = (struct gw_schedule){0};
    GW_TRY(check_fit(algorithm, plan, error));
    GW_TRY(gw_schedule_create(out, model, plan, algorithm->compressor, error));
    enum gw_status status = add_operations(algorithm, model, plan, out, error);
    if (status != GW_OK) {
        gw_schedule_free(out);
    }
    return status;
}
