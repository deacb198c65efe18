/* Makes models from shapes: times of a network's passes by a GPU's published figures. */
#include <math.h>
#include <string.h>

#include "published/published.h"

enum { BYTES_PER_VALUE = 4 }; /* of gradients, in any precision of products */

/* Bytes per value that operations other than products move. */
static const double bytes_moved[GW_PRECISIONS] = {
    [GW_FP32] = 4, [GW_TF32] = 4, [GW_FP16] = 2, [GW_BF16] = 2};

/*
 * A backward pass has two products per forward product, for gradients of weights and inputs, and
 * reads and writes twice as much.
 */
static const double backward_over_forward = 2;

/*
 * Bytes that SGD with momentum and weight decay, not fused, reads and writes per parameter:
 * measured for ResNet-50, VGG-16 and BERT-large on an H200 (the update_s of
 * traces/models/(name)-h200.json times its memory's bandwidth).
 */
static const double update_bytes_per_element = 34;

/* A GPU's rates in training: multiply-adds, and values and bytes moved, per second. */
struct gpu_pace {
    double multiply_adds_per_s, values_per_s, bytes_per_s;
};

static double forward_s(const struct gw_tensor_shape *shape, double samples,
                        const struct gpu_pace *pace) {
    return samples *
           (shape->multiply_adds / pace->multiply_adds_per_s + shape->moved / pace->values_per_s);
}

static double all_forward_s(const struct gw_tensor_shapes *shapes, double samples,
                            const struct gpu_pace *pace) {
    double seconds = 0;
    for (size_t i = 0; i < shapes->count; i++) {
        seconds += forward_s(&shapes->list[i], samples, pace);
    }
    return seconds;
}

/* ---- a GPU ----------------------------------------------------------------------------------- */

/* A GPU and the precision of its products. */
struct use {
    const struct gw_published_gpu *gpu;
    enum gw_precision precision;
};

/* The GPU if none is named: then only the tensors' shares of the work depend on it. */
static const char usual_gpu[] = "a100";

/* The typical or the slow end of a GPU's ranges. */
enum end { TYPICAL, SLOW };

static struct gpu_pace pace_at(const struct use *use, enum end end) {
    const struct gw_range *compute = &use->gpu->compute_efficiency[use->precision];
    const struct gw_range *memory = &use->gpu->memory_efficiency;
    double flops_share = end == TYPICAL ? compute->typical : compute->low;
    double memory_share = end == TYPICAL ? memory->typical : memory->low;
    double bytes_per_s = use->gpu->bytes_per_s * memory_share;
    return (struct gpu_pace){.multiply_adds_per_s =
                                 use->gpu->flops[use->precision] / 2 * flops_share,
                             .values_per_s = bytes_per_s / bytes_moved[use->precision],
                             .bytes_per_s = bytes_per_s};
}

/* ---- times ----------------------------------------------------------------------------------- */

/* A model's times, before they are written. */
struct times {
    double batch_size, forward_s, backward_s, update_s, uncertainty;
    const char *precision;     /* beside a device */
    const char *device, *note; /* the arena's */
};

/* Computes times by a GPU; their uncertainty is the relative time that its slow end adds. */
static enum gw_status time_on_gpu(const struct use *use, const struct gw_architecture *architecture,
                                  const struct gw_tensor_shapes *shapes, struct gw_arena *arena,
                                  struct times *out, struct gw_error *error) {
    const struct gw_published_gpu *gpu = use->gpu;
    struct gpu_pace typical = pace_at(use, TYPICAL);
    struct gpu_pace slow = pace_at(use, SLOW);
    out->forward_s = all_forward_s(shapes, out->batch_size, &typical);
    out->backward_s = backward_over_forward * out->forward_s;
    double elements = 0;
    for (size_t i = 0; i < shapes->count; i++) {
        elements += (double)shapes->list[i].elements;
    }
    out->update_s = update_bytes_per_element * elements / typical.bytes_per_s;
    out->uncertainty = all_forward_s(shapes, out->batch_size, &slow) / out->forward_s - 1;
    out->device = gpu->title;
    out->precision = gw_precision_names[use->precision];
    out->note = gw_arena_format(
        arena,
        "%s: %s. Sizes are exact. Times are assumed, not measured: multiply-adds and bytes by the "
        "published peaks of %s in %s and by the share of them that training reaches (%s); the "
        "backward pass "
        "taken to be twice the forward pass.",
        architecture->title, architecture->paper, gpu->title, gw_precision_names[use->precision],
        gpu->source);
    return gw_arena_check(arena, "making a model", error);
}

/* Takes the user's times: backward, divided by tensors' work; forward, or half of it. */
static enum gw_status time_as_told(const struct gw_model_request *request,
                                   const struct gw_architecture *architecture,
                                   struct gw_arena *arena, struct times *out,
                                   struct gw_error *error) {
    out->backward_s = request->backward_s;
    out->forward_s =
        request->forward_s > 0 ? request->forward_s : request->backward_s / backward_over_forward;
    out->note =
        gw_arena_format(arena,
                        "%s: %s. Sizes are exact. The backward pass as it was given, shared "
                        "out among the tensors by their work%s.",
                        architecture->title, architecture->paper,
                        request->forward_s > 0 ? "; the forward pass as it was given"
                                               : "; the forward pass taken to be half of it");
    return gw_arena_check(arena, "making a model", error);
}

/* ---- the document ---------------------------------------------------------------------------- */

static enum gw_status write_model(const char *name, const struct gw_tensor_shapes *shapes,
                                  const struct gpu_pace *pace, const struct times *times,
                                  cJSON **out, struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", "gradweave/model@1");
    gw_writer_text(&writer, "name", name);
    gw_writer_number(&writer, "batch_size", times->batch_size);
    gw_writer_number(&writer, "bytes_per_element", BYTES_PER_VALUE);
    gw_writer_number(&writer, "forward_s", times->forward_s);
    gw_writer_number(&writer, "update_s", times->update_s);
    if (times->uncertainty > 0) {
        gw_writer_number(&writer, "uncertainty", times->uncertainty);
    }
    gw_writer_object(&writer, "source");
    gw_writer_text(&writer, "kind", times->device != NULL ? "assumed" : "given");
    if (times->device != NULL) {
        gw_writer_text(&writer, "device", times->device);
        gw_writer_text(&writer, "precision", times->precision);
    }
    gw_writer_text(&writer, "note", times->note);
    gw_writer_end(&writer);
    double all_s = all_forward_s(shapes, 1, pace);
    gw_writer_array(&writer, "tensors");
    for (size_t i = 0; i < shapes->count; i++) {
        const struct gw_tensor_shape *shape = &shapes->list[i];
        gw_writer_object(&writer, NULL);
        gw_writer_text(&writer, "name", shape->name);
        gw_writer_number(&writer, "elements", (double)shape->elements);
        gw_writer_array(&writer, "shape");
        for (size_t d = 0; d < 4 && shape->sizes[d] > 0; d++) {
            gw_writer_number(&writer, NULL, (double)shape->sizes[d]);
        }
        gw_writer_end(&writer);
        gw_writer_number(&writer, "backward_s",
                         times->backward_s * forward_s(shape, 1, pace) / all_s);
        gw_writer_end(&writer);
    }
    gw_writer_end(&writer);
    return gw_writer_finish(&writer, out, error);
}

static enum gw_status make_model(const struct gw_model_request *request,
                                 const struct gw_architecture *architecture, struct gw_arena *arena,
                                 cJSON **out, struct gw_error *error) {
    struct gw_tensor_shapes shapes;
    struct use use;
    struct times times = {.batch_size = request->batch_size > 0 ? request->batch_size
                                                                : architecture->batch_size};
    GW_TRY(gw_published_gpu_find(request->gpu == NULL ? usual_gpu : request->gpu, &use.gpu, error));
    use.precision = request->precision;
    if (request->precision == GW_PRECISIONS) {
        use.precision = use.gpu->flops[GW_TF32] > 0 ? GW_TF32 : GW_FP32;
    }
    GW_TRY(use.gpu->flops[use.precision] > 0
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "--precision: expected one that %s has, got \"%s\"",
                         use.gpu->title, gw_precision_names[use.precision]));
    GW_TRY(architecture->build(architecture, arena, &shapes, error));
    GW_TRY(request->backward_s > 0
               ? time_as_told(request, architecture, arena, &times, error)
               : time_on_gpu(&use, architecture, &shapes, arena, &times, error));
    struct gpu_pace pace = pace_at(&use, TYPICAL);
    return write_model(architecture->name, &shapes, &pace, &times, out, error);
}

enum gw_status gw_model_make(const struct gw_model_request *request, cJSON **out,
                             struct gw_error *error) {
    const struct gw_architecture *architecture = NULL;
    struct gw_arena arena = {0};
    GW_TRY(gw_architecture_find(request->architecture, &architecture, error));
    enum gw_status status = make_model(request, architecture, &arena, out, error);
    gw_arena_free(&arena);
    return status;
}
