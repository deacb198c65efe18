/*
 * Networks by their parameters: names, sizes and the work around each, as torchvision and Hugging
 * Face's transformers define them. Nothing here is measured.
 *
 * A network is described in the order of its forward pass, even if its parameters are registered in
 * another one (BERT's embeddings and head, ViT's class token, Llama's norms). An operation's work
 * counts for the parameter added last: a layer's products for its weight, the operations after the
 * layer for its bias, if it has one. A head that shares the embedding's weight has its gradient
 * ready only with the embedding's; its products count for the last parameter before the loss.
 *
 * Every operation that moves elements is modelled as one kernel, attention too, which therefore
 * never writes its scores. Activations that a library composes of several kernels (GPT-2's GELU,
 * Llama's rotations and norms in transformers without compilation) move more than is counted here.
 */
#ifndef GW_PUBLISHED_BUILDING_H
#define GW_PUBLISHED_BUILDING_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "published/published.h"

/* ---- a network, parameter by parameter ------------------------------------------------------- */

struct builder {
    struct gw_arena *arena;
    struct gw_tensor_shape *list; /* the arena's only when it is complete, as it grows */
    size_t count, capacity;
    struct gw_tensor_shape lost; /* has the work that nothing on the list can have */
    bool failed;
    char part[64]; /* of the network, the beginning of names: "layer1.0." */
};

/* Numbers of times that an operation reads or writes the size of its output. */
enum {
    BATCH_NORM = 3, /* reads for mean and variance, and again to scale */
    LAYER_NORM = 2, /* a row fits a multiprocessor */
    ACTIVATION = 2,
    ADDITION = 3,
    DROPOUT = 2,
    COPY = 2, /* looking up and concatenating are that too */
    LOSS = 3, /* of the logits: read for the largest and the sum, read and written as logarithms */
};

__attribute__((format(printf, 2, 3))) static inline void enter(struct builder *b,
                                                               const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(b->part, sizeof b->part, format, arguments);
    va_end(arguments);
}

/* Adds a parameter of `layer` of the current part, with no work yet; a vector has 0 columns. */
static inline void add_parameter(struct builder *b, const char *layer, const char *kind,
                                 uint64_t rows, uint64_t columns) {
    struct gw_tensor_shape *list = gw_grow(b->list, b->count + 1, &b->capacity, sizeof *list);
    if (list == NULL) {
        b->failed = true;
        return;
    }
    b->list = list;
    list[b->count++] =
        (struct gw_tensor_shape){.name = gw_arena_format(b->arena, "%s%s%s", b->part, layer, kind),
                                 .elements = columns == 0 ? rows : rows * columns,
                                 .sizes = {rows, columns}};
}

/* Returns the parameter that work is counted for. */
static inline struct gw_tensor_shape *last(struct builder *b) {
    return b->list == NULL ? &b->lost : &b->list[b->count - 1];
}

static inline void multiply(struct builder *b, uint64_t multiply_adds) {
    last(b)->multiply_adds += (double)multiply_adds;
}

static inline void move(struct builder *b, uint64_t elements) {
    last(b)->moved += (double)elements;
}

static inline enum gw_status finish(struct builder *b, struct gw_tensor_shapes *out,
                                    struct gw_error *error) {
    const char *what = "writing down a network";
    *out =
        (struct gw_tensor_shapes){.count = b->count, .list = gw_arena_own(b->arena, b->list, free)};
    return b->failed ? gw_fail_memory(error, what) : gw_arena_check(b->arena, what, error);
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* Adds a weight, and its product with a vector in each of `rows`; a bias costs no more. */
static inline void project(struct builder *b, const char *layer, uint64_t inputs, uint64_t outputs,
                           uint64_t rows) {
    add_parameter(b, layer, ".weight", outputs, inputs);
    multiply(b, inputs * outputs * rows);
}

static inline void linear(struct builder *b, const char *layer, uint64_t inputs, uint64_t outputs,
                          uint64_t rows) {
    project(b, layer, inputs, outputs, rows);
    add_parameter(b, layer, ".bias", outputs, 0);
}

struct image {
    uint64_t channels, height, width;
};

struct filter {
    uint64_t channels, height, width, stride;
    bool padded;    /* by half of it on each side */
    bool depthwise; /* of each channel one by itself */
};

static inline uint64_t size_of(struct image image) {
    return image.channels * image.height * image.width;
}

/* Returns a square filter, padded so that only the stride makes the image smaller. */
static inline struct filter square(uint64_t channels, uint64_t length, uint64_t stride) {
    return (struct filter){channels, length, length, stride, .padded = true};
}

static inline uint64_t slide(uint64_t length, uint64_t window, uint64_t stride, bool padded) {
    return (length + (padded ? window / 2 * 2 : 0) - window) / stride + 1;
}

static inline struct image convolve(struct builder *b, const char *layer, struct image image,
                                    struct filter filter) {
    uint64_t inputs = filter.depthwise ? 1 : image.channels;
    struct image output = {filter.channels,
                           slide(image.height, filter.height, filter.stride, filter.padded),
                           slide(image.width, filter.width, filter.stride, filter.padded)};
    project(b, layer, inputs * filter.height * filter.width, filter.channels,
            output.height * output.width);
    memcpy(last(b)->sizes, (uint64_t[]){filter.channels, inputs, filter.height, filter.width},
           sizeof last(b)->sizes);
    return output;
}

/* Adds a convolution and its bias, which PyTorch adds in place after cuDNN's convolution. */
static inline struct image convolve_with_bias(struct builder *b, const char *layer,
                                              struct image image, struct filter filter) {
    struct image output = convolve(b, layer, image, filter);
    add_parameter(b, layer, ".bias", output.channels, 0);
    move(b, COPY * size_of(output));
    return output;
}

static inline struct image convolve_and_norm(struct builder *b, const char *convolution,
                                             const char *norm, struct image image,
                                             struct filter filter) {
    struct image output = convolve(b, convolution, image, filter);
    add_parameter(b, norm, ".weight", output.channels, 0);
    move(b, BATCH_NORM * size_of(output));
    add_parameter(b, norm, ".bias", output.channels, 0);
    return output;
}

static inline struct image pool(struct builder *b, struct image image, uint64_t window,
                                uint64_t stride, bool padded) {
    struct image output = {image.channels, slide(image.height, window, stride, padded),
                           slide(image.width, window, stride, padded)};
    move(b, size_of(image) + size_of(output));
    return output;
}

enum { CLASSES = 1000 }; /* of ImageNet */

/* Adds a classifier of the channels' means, after `passes` over these. */
static inline void classify(struct builder *b, const char *layer, struct image image,
                            uint64_t passes) {
    move(b, size_of(image) + image.channels + passes * image.channels);
    linear(b, layer, image.channels, CLASSES, 1);
    move(b, LOSS * CLASSES);
}

/* ---- families, and their members' details ---------------------------------------------------- */

/* convolutional.c */
extern const struct residual gw_resnet18, gw_resnet34, gw_resnet50, gw_resnet101, gw_resnet152;
extern const struct stacked gw_vgg16;
enum gw_status gw_build_residual(const struct gw_architecture *self, struct gw_arena *arena,
                                 struct gw_tensor_shapes *out, struct gw_error *error);
enum gw_status gw_build_stacked(const struct gw_architecture *self, struct gw_arena *arena,
                                struct gw_tensor_shapes *out, struct gw_error *error);
enum gw_status gw_build_inception(const struct gw_architecture *self, struct gw_arena *arena,
                                  struct gw_tensor_shapes *out, struct gw_error *error);
enum gw_status gw_build_inverted(const struct gw_architecture *self, struct gw_arena *arena,
                                 struct gw_tensor_shapes *out, struct gw_error *error);

/* sequences.c */
extern const struct transformer gw_vit_b_16, gw_bert_base, gw_bert_large, gw_gpt2, gw_gpt2_medium,
    gw_gpt2_large, gw_gpt2_xl, gw_llama_1b, gw_llama_7b;
extern const struct recurrent gw_lstm_ptb;
enum gw_status gw_build_vision(const struct gw_architecture *self, struct gw_arena *arena,
                               struct gw_tensor_shapes *out, struct gw_error *error);
enum gw_status gw_build_bert(const struct gw_architecture *self, struct gw_arena *arena,
                             struct gw_tensor_shapes *out, struct gw_error *error);
enum gw_status gw_build_gpt2(const struct gw_architecture *self, struct gw_arena *arena,
                             struct gw_tensor_shapes *out, struct gw_error *error);
enum gw_status gw_build_llama(const struct gw_architecture *self, struct gw_arena *arena,
                              struct gw_tensor_shapes *out, struct gw_error *error);
enum gw_status gw_build_recurrent(const struct gw_architecture *self, struct gw_arena *arena,
                                  struct gw_tensor_shapes *out, struct gw_error *error);

#endif
