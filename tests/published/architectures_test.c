/* Networks have the sizes and the work that are published, and are those that were measured. */
#include "published/published.h"
#include "tests/test.h"

static struct gw_error error;

/* Builds a network as written down; with the arena. */
static const struct gw_architecture *build(const char *name, struct gw_arena *arena,
                                           struct gw_tensor_shapes *shapes) {
    const struct gw_architecture *found = NULL;
    assert_ok(gw_architecture_find(name, &found, &error));
    assert_ok(found->build(found, arena, shapes, &error));
    return found;
}

static uint64_t count_elements(const struct gw_tensor_shapes *shapes) {
    uint64_t total = 0;
    for (size_t i = 0; i < shapes->count; i++) {
        total += shapes->list[i].elements;
    }
    return total;
}

static double count_multiply_adds(const struct gw_tensor_shapes *shapes) {
    double total = 0;
    for (size_t i = 0; i < shapes->count; i++) {
        total += shapes->list[i].multiply_adds;
    }
    return total;
}

static const struct gw_tensor_shape *shape_of(const struct gw_tensor_shapes *shapes,
                                              const char *name) {
    for (size_t i = 0; i < shapes->count; i++) {
        if (strcmp(shapes->list[i].name, name) == 0) {
            return &shapes->list[i];
        }
    }
    return NULL;
}

/*
 * Parameters and tensors as the libraries count them. Multiply-adds of images as torchvision's
 * documentation gives them; of language as Kaplan et al. (2020) count them, Table 1: a parameter
 * that is no embedding has one for each token, and in each layer as many tokens as a token sees,
 * by the width, count once for scores and once for sums. Then those of the head.
 */
static const struct {
    const char *name;
    size_t tensors;
    uint64_t elements;
    double multiply_adds;
} published[] = {
    {"resnet18", 62, 11689512, 1.81e9},
    {"resnet34", 110, 21797672, 3.66e9},
    {"resnet50", 161, 25557032, 4.09e9},
    {"resnet101", 314, 44549160, 7.80e9},
    {"resnet152", 467, 60192808, 11.51e9},
    {"vgg16", 32, 138357544, 15.47e9},
    {"inception-v3", 292, 27161264, 5.71e9},
    {"mobilenet-v2", 158, 3504872, 0.30e9},
    {"vit-b-16", 152, 86567656, 17.56e9},
    {"bert-base", 202, 109514298, 512 * (85.1e6 + 12 * 2 * 512 * 768.0 + 768 * 30522.0)},
    {"bert-large", 394, 335174458, 512 * (302.3e6 + 24 * 2 * 512 * 1024.0 + 1024 * 30522.0)},
    {"gpt2", 148, 124439808, 1024 * (85.1e6 + 12 * 1024 * 768.0 + 768 * 50257.0)},
    {"gpt2-medium", 292, 354823168, 1024 * (302.3e6 + 24 * 1024 * 1024.0 + 1024 * 50257.0)},
    {"gpt2-large", 436, 774030080, 1024 * (708.4e6 + 36 * 1024 * 1280.0 + 1280 * 50257.0)},
    {"gpt2-xl", 580, 1557611200, 1024 * (1475.6e6 + 48 * 1024 * 1600.0 + 1600 * 50257.0)},
    {"llama-1b", 201, 1100048384, 2048 * (968.9e6 + 22 * 2048 * 2048.0 + 2048 * 32000.0)},
    {"llama-7b", 291, 6738415616, 2048 * (6476.3e6 + 32 * 2048 * 4096.0 + 4096 * 32000.0)},
    {"lstm", 11, 66034000, 35 * 51e6},
};

TEST(sizes_and_work_are_those_published) {
    size_t count = 0;
    for (const struct gw_architecture *row = gw_architectures; row->name != NULL; row++) {
        struct gw_arena arena = {0};
        struct gw_tensor_shapes shapes;
        assert_true(count < sizeof published / sizeof *published);
        assert_string_equal(row->name, published[count].name);
        assert_ok(row->build(row, &arena, &shapes, &error));
        assert_int_equal(shapes.count, published[count].tensors);
        assert_int_equal(count_elements(&shapes), published[count].elements);
        assert_int_equal(row->parameters, published[count].elements);
        assert_true(near(count_multiply_adds(&shapes), published[count].multiply_adds, 0.02));
        for (size_t i = 0; i < shapes.count; i++) {
            const struct gw_tensor_shape *shape = &shapes.list[i];
            assert_true(isfinite(shape->moved) && shape->moved >= 0);
            assert_ptr_equal(shape_of(&shapes, shape->name), shape); /* the only one of its name */
        }
        gw_arena_free(&arena);
        count++;
    }
    assert_int_equal(count, sizeof published / sizeof *published);
}

/* Those measured stand in the order of their gradients, where a norm's bias is before its weight.
 */
TEST(parameters_are_those_of_the_models_that_ship) {
    const struct {
        const char *architecture, *model;
        bool ordered;
    } table[] = {{"resnet50", "resnet50", true},
                 {"resnet50", "resnet50-h200", false},
                 {"vgg16", "vgg16-h200", false},
                 {"bert-large", "bert-large-h200", false},
                 {"lstm", "lstm-ptb", true}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct gw_arena arena = {0};
        struct gw_tensor_shapes shapes;
        struct gw_model model;
        char *path = NULL;
        const struct gw_architecture *found = build(table[i].architecture, &arena, &shapes);
        assert_ok(gw_data_resolve(GW_DATA_MODELS, table[i].model, &path, &error));
        assert_ok(gw_model_read(path, &model, &error));
        assert_int_equal(shapes.count, model.tensor_count);
        for (size_t j = 0; j < shapes.count; j++) {
            const struct gw_tensor *tensor = &model.tensors[j];
            const struct gw_tensor_shape *shape = shape_of(&shapes, tensor->name);
            assert_non_null(shape);
            assert_int_equal(shape->elements, tensor->elements);
            assert_true(!table[i].ordered || shape == &shapes.list[j]);
        }
        assert_true(strcmp(found->name, "lstm") != 0 || found->batch_size == model.batch_size);
        gw_model_free(&model);
        free(path);
        gw_arena_free(&arena);
    }
}

struct expected_work {
    const char *name;
    double multiply_adds, moved;
};

static void check_work(const char *architecture, const struct expected_work *work, size_t count) {
    struct gw_arena arena = {0};
    struct gw_tensor_shapes shapes;
    (void)build(architecture, &arena, &shapes);
    for (size_t i = 0; i < count; i++) {
        const struct gw_tensor_shape *shape = shape_of(&shapes, work[i].name);
        assert_non_null(shape);
        assert_true(near(shape->multiply_adds, work[i].multiply_adds, 0));
        assert_true(near(shape->moved, work[i].moved, 0));
    }
    gw_arena_free(&arena);
}

TEST(convolutions_norms_and_what_follows_count_with_their_parameters) {
    const double large = 64 * 112 * 112;
    const double small = 64 * 56 * 56;
    const double last = 512 * 7 * 7;
    const struct expected_work work[] = {
        {"conv1.weight", 147 * large, 0},
        {"bn1.weight", 0, 3 * large},
        {"bn1.bias", 0, 2 * large + large + small}, /* ReLU, pooling */
        {"layer1.0.conv1.weight", 9 * 64 * small, 0},
        {"layer1.0.bn1.bias", 0, 2 * small},
        {"layer1.0.bn2.bias", 0, 3 * small + 2 * small}, /* addition, ReLU */
        {"layer2.0.bn2.bias", 0, 0},                     /* the shortcut is next */
        {"layer2.0.downsample.0.weight", 64 * small / 2, 0},
        {"layer2.0.downsample.1.bias", 0, 5 * small / 2},
        {"layer4.1.bn2.bias", 0, 5 * last + last + 512},
        {"fc.weight", 512 * 1000, 0},
        {"fc.bias", 0, 3 * 1000},
    };
    check_work("resnet18", work, sizeof work / sizeof *work);
}

TEST(branches_end_in_what_is_concatenated) {
    const double pixels = 35 * 35;
    const struct expected_work work[] = {
        /* ReLU, then a pooling of the block's input */
        {"Mixed_5b.branch3x3dbl_3.bn.bias", 0, 2 * 96 * pixels + 2 * 192 * pixels},
        {"Mixed_5b.branch_pool.bn.bias", 0, 2 * 32 * pixels + 2 * 256 * pixels},
        /* the larger of the block's poolings, too */
        {"Mixed_6a.branch3x3dbl_3.bn.bias", 0,
         2 * 96 * 289 + 288 * pixels + 288 * 289 + 2 * 768 * 289},
        {"Mixed_7b.branch3x3_2a.conv.weight", 3 * 384 * 384 * 64, 0},
        {"Mixed_7b.branch3x3_2b.conv.weight", 3 * 384 * 384 * 64, 0},
        {"Mixed_7b.branch3x3_2b.bn.bias", 0, 2 * 384 * 64 + 2 * 768 * 64},
        {"fc.weight", 2048 * 1000, 0},
    };
    check_work("inception-v3", work, sizeof work / sizeof *work);
}

TEST(attention_and_tied_heads_count_with_what_stands_before) {
    const double size = 512 * 768;
    const double logits = 512 * 30522.0;
    const struct expected_work bert[] = {
        {"bert.embeddings.word_embeddings.weight", 0, 2 * size},
        {"bert.encoder.layer.11.attention.self.key.weight", 768 * size, 0},
        {"bert.encoder.layer.11.attention.self.value.bias", 2 * 512 * size, 4 * size},
        {"bert.encoder.layer.11.output.dense.bias", 0, 5 * size},
        {"cls.predictions.transform.LayerNorm.bias", 0, 0},
        {"cls.predictions.bias", 768 * logits, 3 * logits},
    };
    const struct expected_work llama[] = {
        {"model.layers.0.self_attn.k_proj.weight", 2048.0 * 2048 * 256, 0},
        {"model.layers.0.mlp.up_proj.weight", 2048.0 * 2048 * 5632, 3 * 2048.0 * 5632},
        {"lm_head.weight", 2048.0 * 2048 * 32000, 3 * 2048.0 * 32000},
    };
    const struct expected_work gpt2[] = {
        {"transformer.wte.weight", 0, 2 * 1024 * 768},
        {"transformer.h.0.attn.c_attn.bias", 1025.0 * 1024 * 768, 4 * 1024 * 768},
        {"transformer.ln_f.bias", 1024 * 768 * 50257.0, 3 * 1024 * 50257.0},
    };
    check_work("bert-base", bert, sizeof bert / sizeof *bert);
    check_work("llama-1b", llama, sizeof llama / sizeof *llama);
    check_work("gpt2", gpt2, sizeof gpt2 / sizeof *gpt2);
}

TEST(unknown_names_are_refused_with_those_that_are_known) {
    const struct gw_architecture *found = NULL;
    char longest[600];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(gw_architecture_find("resnet51", &found, &error), GW_BAD_INPUT);
    assert_string_equal(error.message,
                        "architecture \"resnet51\": expected one of resnet18, resnet34, resnet50, "
                        "resnet101, resnet152, vgg16, inception-v3, mobilenet-v2, vit-b-16, "
                        "bert-base, bert-large, gpt2, gpt2-medium, gpt2-large, gpt2-xl, llama-1b, "
                        "llama-7b, lstm");
    assert_int_equal(gw_architecture_find(longest, &found, &error), GW_BAD_INPUT);
    assert_non_null(strstr(error.message, "llama-7b, lstm"));
}

static int take_what_ships(void **state) {
    (void)state;
    return setenv("GRADWEAVE_DATA", GW_TEST_DATA, 1);
}

FIXTURES(take_what_ships, NULL)
