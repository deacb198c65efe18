#include "traces/validation.h"

#include "traces/parts.h"

static enum gw_status read_iteration(const struct gw_json *side, struct gw_validated_iteration *out,
                                     struct gw_error *error) {
    static const char *const keys[] = {"forward_s", "backward_s", "compress_s", "exposed_comm_s"};
    struct gw_breakdown *breakdown = &out->breakdown;
    double *const parts[] = {&breakdown->forward_s, &breakdown->backward_s, &breakdown->compress_s,
                             &breakdown->exposed_comm_s};
    struct gw_json iteration = gw_json_member(side, "iteration_s");
    struct gw_json place = gw_json_member(side, "breakdown");
    GW_TRY(gw_json_not_negative(&iteration, &out->iteration_s, error));
    breakdown->other_s = out->iteration_s;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct gw_json part = gw_json_member(&place, keys[i]);
        GW_TRY(gw_json_not_negative(&part, parts[i], error));
        breakdown->other_s -= *parts[i];
    }
    return GW_OK;
}

static enum gw_status read_result(const struct gw_json *result, struct gw_validated *out,
                                  size_t *bad, struct gw_error *error) {
    struct gw_json name = gw_json_member(result, "algorithm");
    struct gw_json predicted = gw_json_member(result, "predicted");
    struct gw_json measured = gw_json_member(result, "measured");
    GW_TRY(gw_json_object(result, error));
    struct gw_json changed = gw_json_member(result, "changed");
    out->policy = cJSON_GetStringValue(gw_json_member(&changed, "policy").node);
    out->compressor = cJSON_GetStringValue(gw_json_member(&changed, "compressor").node);
    out->exchange = cJSON_GetStringValue(gw_json_member(&changed, "exchange").node);
    GW_TRY(gw_read_on(gw_json_text(&name, &out->algorithm, error), bad, error));
    GW_TRY(gw_read_on(read_iteration(&predicted, &out->predicted, error), bad, error));
    return read_iteration(&measured, &out->measured, error);
}

static enum gw_status read_results(const struct gw_json *root, struct gw_arena *arena,
                                   struct gw_validation_document *out, size_t *bad,
                                   struct gw_error *error) {
    struct gw_json results = gw_json_member(root, "results");
    const cJSON *node = NULL;
    GW_TRY(gw_json_array(&results, error));
    size_t most = (size_t)cJSON_GetArraySize(results.node);
    out->results = gw_arena_zeros(arena, most, sizeof *out->results);
    GW_TRY(gw_arena_check(arena, "reading a validation", error));
    cJSON_ArrayForEach(node, results.node) {
        struct gw_json result = gw_json_item(&results, node, out->count);
        struct gw_validated *place = &out->results[out->count++];
        GW_TRY(gw_read_on(read_result(&result, place, bad, error), bad, error));
    }
    return GW_OK;
}

enum gw_status gw_validation_read(const cJSON *document, const char *path, struct gw_arena *arena,
                                  struct gw_validation_document *out, struct gw_error *error) {
    struct gw_json root;
    size_t bad = 0;
    *out = (struct gw_validation_document){0};
    GW_TRY(gw_json_root(document, path, "gradweave/validation@1", &root, error));
    struct gw_json model = gw_json_member(&root, "model");
    struct gw_json workers = gw_json_member(&root, "workers");
    GW_TRY(gw_read_on(gw_json_text(&model, &out->model, error), &bad, error));
    const cJSON *density = gw_json_member(&root, "density").node;
    out->density = cJSON_IsNumber(density) ? density->valuedouble : 0;
    out->cluster = cJSON_GetStringValue(gw_json_member(&root, "cluster").node);
    GW_TRY(gw_read_on(gw_json_integer(&workers, 1, &out->workers, error), &bad, error));
    GW_TRY(gw_read_on(read_results(&root, arena, out, &bad, error), &bad, error));
    return bad == 0 ? GW_OK : GW_BAD_INPUT; /* of which the last is in the error */
}
