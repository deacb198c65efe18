/* Networks of convolutions, as torchvision defines them. */
#include "published/building.h"

/* ---- residual networks ----------------------------------------------------------------------- */

struct residual {
    size_t blocks[4];
    bool bottleneck; /* three convolutions in a block, the last one with four times the channels */
};

const struct residual gw_resnet18 = {{2, 2, 2, 2}, false};
const struct residual gw_resnet34 = {{3, 4, 6, 3}, false};
const struct residual gw_resnet50 = {{3, 4, 6, 3}, true};
const struct residual gw_resnet101 = {{3, 4, 23, 3}, true};
const struct residual gw_resnet152 = {{3, 8, 36, 3}, true};

static struct image add_residual_block(struct builder *b, struct image image, uint64_t width,
                                       uint64_t stride, bool bottleneck) {
    const char *const convolutions[] = {"conv1", "conv2", "conv3"};
    const char *const norms[] = {"bn1", "bn2", "bn3"};
    const struct filter narrow[] = {square(width, 1, 1), square(width, 3, stride),
                                    square(4 * width, 1, 1)};
    const struct filter basic[] = {square(width, 3, stride), square(width, 3, 1)};
    const struct filter *filters = bottleneck ? narrow : basic;
    struct image output = image;
    for (size_t i = 0; i < (bottleneck ? 3 : 2); i++) {
        if (i > 0) {
            move(b, ACTIVATION * size_of(output));
        }
        output = convolve_and_norm(b, convolutions[i], norms[i], output, filters[i]);
    }
    if (stride != 1 || image.channels != output.channels) {
        (void)convolve_and_norm(b, "downsample.0", "downsample.1", image,
                                square(output.channels, 1, stride));
    }
    move(b, (ADDITION + ACTIVATION) * size_of(output));
    return output;
}

enum gw_status gw_build_residual(const struct gw_architecture *self, struct gw_arena *arena,
                                 struct gw_tensor_shapes *out, struct gw_error *error) {
    const struct residual *r = self->details;
    struct builder b = {.arena = arena};
    struct image image =
        convolve_and_norm(&b, "conv1", "bn1", (struct image){3, 224, 224}, square(64, 7, 2));
    move(&b, ACTIVATION * size_of(image));
    image = pool(&b, image, 3, 2, true);
    uint64_t width = 64;
    for (size_t stage = 0; stage < 4; stage++) {
        for (size_t block = 0; block < r->blocks[stage]; block++) {
            enter(&b, "layer%zu.%zu.", stage + 1, block);
            image = add_residual_block(&b, image, width, stage > 0 && block == 0 ? 2 : 1,
                                       r->bottleneck);
        }
        width *= 2;
    }
    enter(&b, "%s", "");
    classify(&b, "fc", image, 0);
    return finish(&b, out, error);
}

/* ---- VGG ------------------------------------------------------------------------------------- */

struct stacked {
    size_t convolutions[5]; /* before each pooling */
};

const struct stacked gw_vgg16 = {{2, 2, 3, 3, 3}};

enum gw_status gw_build_stacked(const struct gw_architecture *self, struct gw_arena *arena,
                                struct gw_tensor_shapes *out, struct gw_error *error) {
    const struct stacked *s = self->details;
    struct builder b = {.arena = arena};
    struct image image = {3, 224, 224};
    uint64_t channels = 64;
    size_t index = 0; /* in the sequence convolution, ReLU, ..., pooling */
    for (size_t stage = 0; stage < 5; stage++) {
        for (size_t i = 0; i < s->convolutions[stage]; i++) {
            enter(&b, "features.%zu", index);
            image = convolve_with_bias(&b, "", image, square(channels, 3, 1));
            move(&b, ACTIVATION * size_of(image));
            index += 2;
        }
        image = pool(&b, image, 2, 2, false);
        channels = channels < 512 ? 2 * channels : channels;
        index++;
    }
    move(&b, COPY * size_of(image)); /* a pooling to 7 x 7, which the image has already */
    enter(&b, "%s", "");
    const uint64_t hidden = 4096;
    linear(&b, "classifier.0", size_of(image), hidden, 1);
    move(&b, (ACTIVATION + DROPOUT) * hidden);
    linear(&b, "classifier.3", hidden, hidden, 1);
    move(&b, (ACTIVATION + DROPOUT) * hidden);
    linear(&b, "classifier.6", hidden, CLASSES, 1);
    move(&b, LOSS * CLASSES);
    return finish(&b, out, error);
}

/* ---- Inception ------------------------------------------------------------------------------- */

/* Input of a convolution in a block. */
enum source {
    BLOCK,  /* the block's */
    POOLED, /* that, averaged over 3 x 3 */
    LAST,   /* the output of the convolution before it */
    FORKED, /* the input of the convolution before it, which it is concatenated with */
};

struct branch {
    const char *name;
    enum source source;
    struct filter filter; /* without channels: as many as the block says */
};

struct network_block {
    const char *name;
    const struct branch *branches; /* ended by one without a name */
    uint64_t channels;
    bool reduces; /* and concatenates its pooled input with the branches */
};

#define SAME(channels, height, width)                                                              \
    { (channels), (height), (width), 1, true, false }
#define VALID(channels, length, stride)                                                            \
    { (channels), (length), (length), (stride), false, false }

static const struct branch inception_a[] = {
    {"branch1x1", BLOCK, SAME(64, 1, 1)},     {"branch5x5_1", BLOCK, SAME(48, 1, 1)},
    {"branch5x5_2", LAST, SAME(64, 5, 5)},    {"branch3x3dbl_1", BLOCK, SAME(64, 1, 1)},
    {"branch3x3dbl_2", LAST, SAME(96, 3, 3)}, {"branch3x3dbl_3", LAST, SAME(96, 3, 3)},
    {"branch_pool", POOLED, SAME(0, 1, 1)},   {.name = NULL}};
static const struct branch inception_b[] = {{"branch3x3", BLOCK, VALID(384, 3, 2)},
                                            {"branch3x3dbl_1", BLOCK, SAME(64, 1, 1)},
                                            {"branch3x3dbl_2", LAST, SAME(96, 3, 3)},
                                            {"branch3x3dbl_3", LAST, VALID(96, 3, 2)},
                                            {.name = NULL}};
static const struct branch inception_c[] = {{"branch1x1", BLOCK, SAME(192, 1, 1)},
                                            {"branch7x7_1", BLOCK, SAME(0, 1, 1)},
                                            {"branch7x7_2", LAST, SAME(0, 1, 7)},
                                            {"branch7x7_3", LAST, SAME(192, 7, 1)},
                                            {"branch7x7dbl_1", BLOCK, SAME(0, 1, 1)},
                                            {"branch7x7dbl_2", LAST, SAME(0, 7, 1)},
                                            {"branch7x7dbl_3", LAST, SAME(0, 1, 7)},
                                            {"branch7x7dbl_4", LAST, SAME(0, 7, 1)},
                                            {"branch7x7dbl_5", LAST, SAME(192, 1, 7)},
                                            {"branch_pool", POOLED, SAME(192, 1, 1)},
                                            {.name = NULL}};
static const struct branch inception_d[] = {{"branch3x3_1", BLOCK, SAME(192, 1, 1)},
                                            {"branch3x3_2", LAST, VALID(320, 3, 2)},
                                            {"branch7x7x3_1", BLOCK, SAME(192, 1, 1)},
                                            {"branch7x7x3_2", LAST, SAME(192, 1, 7)},
                                            {"branch7x7x3_3", LAST, SAME(192, 7, 1)},
                                            {"branch7x7x3_4", LAST, VALID(192, 3, 2)},
                                            {.name = NULL}};
static const struct branch inception_e[] = {
    {"branch1x1", BLOCK, SAME(320, 1, 1)},      {"branch3x3_1", BLOCK, SAME(384, 1, 1)},
    {"branch3x3_2a", LAST, SAME(384, 1, 3)},    {"branch3x3_2b", FORKED, SAME(384, 3, 1)},
    {"branch3x3dbl_1", BLOCK, SAME(448, 1, 1)}, {"branch3x3dbl_2", LAST, SAME(384, 3, 3)},
    {"branch3x3dbl_3a", LAST, SAME(384, 1, 3)}, {"branch3x3dbl_3b", FORKED, SAME(384, 3, 1)},
    {"branch_pool", POOLED, SAME(192, 1, 1)},   {.name = NULL}};

static const struct network_block inception_v3[] = {
    {"Mixed_5b", inception_a, 32, false},  {"Mixed_5c", inception_a, 64, false},
    {"Mixed_5d", inception_a, 64, false},  {"Mixed_6a", inception_b, 0, true},
    {"Mixed_6b", inception_c, 128, false}, {"Mixed_6c", inception_c, 160, false},
    {"Mixed_6d", inception_c, 160, false}, {"Mixed_6e", inception_c, 192, false},
    {"Mixed_7a", inception_d, 0, true},    {"Mixed_7b", inception_e, 0, false},
    {"Mixed_7c", inception_e, 0, false},   {.name = NULL}};

static struct image add_unit(struct builder *b, struct image image, struct filter filter) {
    struct image output = convolve_and_norm(b, "conv", "bn", image, filter);
    move(b, ACTIVATION * size_of(output));
    return output;
}

static struct image add_block(struct builder *b, const struct network_block *block,
                              struct image image) {
    struct image input = image;
    struct image output = image;
    struct image all = {.channels = block->reduces ? image.channels : 0};
    for (const struct branch *branch = block->branches; branch->name != NULL; branch++) {
        struct filter filter = branch->filter;
        filter.channels = filter.channels == 0 ? block->channels : filter.channels;
        if (branch->source == POOLED) {
            (void)pool(b, image, 3, 1, true);
        }
        if (branch->source != FORKED) {
            input = branch->source == LAST ? output : image;
        }
        enter(b, "%s.%s.", block->name, branch->name);
        output = add_unit(b, input, filter);
        if (branch->source == FORKED) {
            move(b, COPY * 2 * size_of(output));
        }
        if (branch[1].name == NULL || branch[1].source != LAST) { /* nothing else reads it */
            all = (struct image){all.channels + output.channels, output.height, output.width};
        }
    }
    if (block->reduces) {
        (void)pool(b, image, 3, 2, false);
    }
    move(b, COPY * size_of(all));
    return all;
}

static struct image add_stem(struct builder *b) {
    static const struct {
        const char *name;
        struct filter filter;
        bool then_pool;
    } stem[] = {
        {"Conv2d_1a_3x3", VALID(32, 3, 2), false}, {"Conv2d_2a_3x3", VALID(32, 3, 1), false},
        {"Conv2d_2b_3x3", SAME(64, 3, 3), true},   {"Conv2d_3b_1x1", SAME(80, 1, 1), false},
        {"Conv2d_4a_3x3", VALID(192, 3, 1), true},
    };
    struct image image = {3, 299, 299};
    for (size_t i = 0; i < sizeof stem / sizeof *stem; i++) {
        enter(b, "%s.", stem[i].name);
        image = add_unit(b, image, stem[i].filter);
        image = stem[i].then_pool ? pool(b, image, 3, 2, false) : image;
    }
    return image;
}

static void add_auxiliary_head(struct builder *b, struct image image) {
    image = pool(b, image, 5, 3, false);
    enter(b, "AuxLogits.conv0.");
    image = add_unit(b, image, square(128, 1, 1));
    enter(b, "AuxLogits.conv1.");
    image = add_unit(b, image, (struct filter)VALID(768, 5, 1));
    enter(b, "AuxLogits.");
    classify(b, "fc", image, 0);
}

enum gw_status gw_build_inception(const struct gw_architecture *self, struct gw_arena *arena,
                                  struct gw_tensor_shapes *out, struct gw_error *error) {
    (void)self; /* has no other members */
    struct builder b = {.arena = arena};
    struct image image = add_stem(&b);
    for (const struct network_block *block = inception_v3; block->name != NULL; block++) {
        if (block->branches == inception_d) {
            add_auxiliary_head(&b, image);
        }
        image = add_block(&b, block, image);
    }
    enter(&b, "%s", "");
    classify(&b, "fc", image, DROPOUT);
    return finish(&b, out, error);
}

/* ---- MobileNet ------------------------------------------------------------------------------- */

struct inverted {
    uint64_t expansion, channels, blocks, stride;
};

/* Table 2 of the paper. */
static const struct inverted mobilenet_v2[] = {
    {1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2},  {6, 64, 4, 2},
    {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}, {.blocks = 0},
};

static struct image add_inverted_block(struct builder *b, struct image image,
                                       const struct inverted *row, uint64_t stride) {
    bool expands = row->expansion != 1;
    uint64_t channels = image.channels * row->expansion;
    struct filter depthwise = square(channels, 3, stride);
    depthwise.depthwise = true;
    struct image wide = image;
    if (expands) {
        wide = convolve_and_norm(b, "0.0", "0.1", image, square(channels, 1, 1));
        move(b, ACTIVATION * size_of(wide));
    }
    wide = convolve_and_norm(b, expands ? "1.0" : "0.0", expands ? "1.1" : "0.1", wide, depthwise);
    move(b, ACTIVATION * size_of(wide));
    struct image output = convolve_and_norm(b, expands ? "2" : "1", expands ? "3" : "2", wide,
                                            square(row->channels, 1, 1));
    if (stride == 1 && image.channels == output.channels) {
        move(b, ADDITION * size_of(output));
    }
    return output;
}

enum gw_status gw_build_inverted(const struct gw_architecture *self, struct gw_arena *arena,
                                 struct gw_tensor_shapes *out, struct gw_error *error) {
    (void)self; /* has no other members */
    struct builder b = {.arena = arena};
    size_t index = 0;
    enter(&b, "features.%zu.", index++);
    struct image image =
        convolve_and_norm(&b, "0", "1", (struct image){3, 224, 224}, square(32, 3, 2));
    move(&b, ACTIVATION * size_of(image));
    for (const struct inverted *row = mobilenet_v2; row->blocks != 0; row++) {
        for (size_t block = 0; block < row->blocks; block++) {
            enter(&b, "features.%zu.conv.", index++);
            image = add_inverted_block(&b, image, row, block == 0 ? row->stride : 1);
        }
    }
    enter(&b, "features.%zu.", index);
    image = convolve_and_norm(&b, "0", "1", image, square(1280, 1, 1));
    move(&b, ACTIVATION * size_of(image));
    enter(&b, "classifier.");
    classify(&b, "1", image, DROPOUT);
    return finish(&b, out, error);
}
