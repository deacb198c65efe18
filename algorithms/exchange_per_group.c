#include "algorithms/presets.h"

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
                                    .method = algorithm->compressor,
                                    .payload = GW_SPARSE,
                                    .elements = out->groups[number].elements};
    return gw_schedule_add(out, compress, NULL, 0, ready, error);
}

static enum gw_status add_exchange(const struct gw_algorithm *algorithm,
                                   const struct gw_model *model, double density, uint32_t number,
                                   size_t ready, struct gw_schedule *out, size_t *last,
                                   struct gw_error *error) {
    const struct gw_slice *slice = &out->groups[number];
    bool sparse = gw_algorithm_is_sparse(algorithm);
    struct gw_operation exchange = {
        .kind = GW_EXCHANGE,
        .stream = GW_STREAM_COMMUNICATION,
        .group = number,
        .method = algorithm->exchange,
        .payload = sparse ? GW_SPARSE : GW_DENSE,
        .elements = slice->elements,
        .bytes = gw_exchange_bytes(sparse, model->bytes_per_element, slice->elements, density)};
    return gw_schedule_add(out, exchange, &ready, 1, last, error);
}

enum gw_status gw_build_exchange_per_group(const struct gw_algorithm *algorithm,
                                           const struct gw_model *model, const struct gw_plan *plan,
                                           struct gw_schedule *out, struct gw_error *error) {
    GW_TRY(add_forward(model, out, error));
    size_t last = 0;
    for (uint32_t number = 0; number < plan->group_count; number++) {
        size_t ready = 0;
        GW_TRY(add_compute(algorithm, model, &plan->groups[number], number, out, &ready, error));
        GW_TRY(add_exchange(algorithm, model, plan->density, number, ready, out, &last, error));
    }
    struct gw_operation update = {.kind = GW_UPDATE,
                                  .stream = GW_STREAM_COMPUTE,
                                  .group = GW_NO_GROUP,
                                  .elements = gw_model_elements(model),
                                  .duration_s = model->update_s};
    return gw_schedule_add(out, update, &last, 1, NULL, error);
}
