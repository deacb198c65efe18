/* Networks over sequences: transformers of torchvision and transformers, and an LSTM. */
#include "published/building.h"

/* ---- parts of transformers ------------------------------------------------------------------- */

struct transformer {
    uint64_t layers, width;
    uint64_t inner;  /* width between the two products of a feed-forward part */
    uint64_t keys;   /* width of all keys, and of all values */
    uint64_t words;  /* of the vocabulary */
    uint64_t tokens; /* of a sample */
};

const struct transformer gw_vit_b_16 = {12, 768, 3072, 768, CLASSES, 197};
const struct transformer gw_bert_base = {12, 768, 3072, 768, 30522, 512};
const struct transformer gw_bert_large = {24, 1024, 4096, 1024, 30522, 512};
const struct transformer gw_gpt2 = {12, 768, 3072, 768, 50257, 1024};
const struct transformer gw_gpt2_medium = {24, 1024, 4096, 1024, 50257, 1024};
const struct transformer gw_gpt2_large = {36, 1280, 5120, 1280, 50257, 1024};
const struct transformer gw_gpt2_xl = {48, 1600, 6400, 1600, 50257, 1024};
const struct transformer gw_llama_1b = {22, 2048, 5632, 256, 32000, 2048};
const struct transformer gw_llama_7b = {32, 4096, 11008, 4096, 32000, 2048};

static void rms_norm(struct builder *b, const char *layer, const struct transformer *t) {
    add_parameter(b, layer, ".weight", t->width, 0);
    move(b, LAYER_NORM * t->width * t->tokens);
}

static void layer_norm(struct builder *b, const char *layer, const struct transformer *t) {
    rms_norm(b, layer, t);
    add_parameter(b, layer, ".bias", t->width, 0);
}

/* Looks up an entry for each token, and adds it to the others unless it is the first. */
static void embed(struct builder *b, const char *layer, uint64_t entries,
                  const struct transformer *t, bool first) {
    add_parameter(b, layer, ".weight", entries, t->width);
    move(b, COPY * t->width * t->tokens);
    move(b, first ? 0 : ADDITION * t->width * t->tokens);
}

/* Adds scores and weighted sums: one kernel that moves q, k, v and o, masked pairs skipped. */
static void attend(struct builder *b, const struct transformer *t, bool causal) {
    uint64_t pairs = causal ? t->tokens * (t->tokens + 1) / 2 : t->tokens * t->tokens;
    multiply(b, 2 * pairs * t->width);
    move(b, 2 * (t->width + t->keys) * t->tokens);
}

/* Adds a layer back to the network's width, and passes over its output. */
static void linear_back(struct builder *b, const char *layer, uint64_t inputs,
                        const struct transformer *t, uint64_t passes) {
    linear(b, layer, inputs, t->width, t->tokens);
    move(b, passes * t->width * t->tokens);
}

static void feed_forward(struct builder *b, const char *widen, const char *narrow,
                         const struct transformer *t, uint64_t passes) {
    linear(b, widen, t->width, t->inner, t->tokens);
    move(b, ACTIVATION * t->inner * t->tokens);
    linear_back(b, narrow, t->inner, t, passes);
}

/* Adds the head's products and the loss of all tokens' logits. */
static void add_prediction_head(struct builder *b, const struct transformer *t) {
    multiply(b, t->width * t->words * t->tokens);
    move(b, LOSS * t->words * t->tokens);
}

/* ---- ViT ------------------------------------------------------------------------------------- */

static void add_vision_layer(struct builder *b, const struct transformer *t) {
    layer_norm(b, "ln_1", t);
    add_parameter(b, "self_attention.in_proj", "_weight", 3 * t->width, t->width);
    multiply(b, 3 * t->width * t->width * t->tokens);
    add_parameter(b, "self_attention.in_proj", "_bias", 3 * t->width, 0);
    attend(b, t, false);
    linear_back(b, "self_attention.out_proj", t->width, t, ADDITION);
    layer_norm(b, "ln_2", t);
    feed_forward(b, "mlp.0", "mlp.3", t, ADDITION);
}

/* Builds ViT, whose tokens are an image's patches and one for its class; its dropout is 0. */
enum gw_status gw_build_vision(const struct gw_architecture *self, struct gw_arena *arena,
                               struct gw_tensor_shapes *out, struct gw_error *error) {
    const struct transformer *t = self->details;
    const struct filter patch = {t->width, 16, 16, 16, .padded = false};
    struct builder b = {.arena = arena};
    (void)convolve_with_bias(&b, "conv_proj", (struct image){3, 224, 224}, patch);
    add_parameter(&b, "class_token", "", 1, t->width);
    move(&b, COPY * t->width * t->tokens);
    add_parameter(&b, "encoder.pos_embedding", "", 1, t->width * t->tokens);
    move(&b, ADDITION * t->width * t->tokens);
    for (uint64_t i = 0; i < t->layers; i++) {
        enter(&b, "encoder.layers.encoder_layer_%zu.", (size_t)i);
        add_vision_layer(&b, t);
    }
    enter(&b, "%s", "");
    layer_norm(&b, "encoder.ln", t);
    linear(&b, "heads.head", t->width, t->words, 1);
    move(&b, LOSS * t->words);
    return finish(&b, out, error);
}

/* ---- BERT ------------------------------------------------------------------------------------ */

static void add_bert_layer(struct builder *b, const struct transformer *t) {
    linear(b, "attention.self.query", t->width, t->width, t->tokens);
    linear(b, "attention.self.key", t->width, t->keys, t->tokens);
    linear(b, "attention.self.value", t->width, t->keys, t->tokens);
    attend(b, t, false);
    linear_back(b, "attention.output.dense", t->width, t, DROPOUT + ADDITION);
    layer_norm(b, "attention.output.LayerNorm", t);
    feed_forward(b, "intermediate.dense", "output.dense", t, DROPOUT + ADDITION);
    layer_norm(b, "output.LayerNorm", t);
}

enum gw_status gw_build_bert(const struct gw_architecture *self, struct gw_arena *arena,
                             struct gw_tensor_shapes *out, struct gw_error *error) {
    const struct transformer *t = self->details;
    struct builder b = {.arena = arena};
    enter(&b, "bert.embeddings.");
    embed(&b, "word_embeddings", t->words, t, true);
    embed(&b, "token_type_embeddings", 2, t, false);
    embed(&b, "position_embeddings", t->tokens, t, false);
    layer_norm(&b, "LayerNorm", t);
    move(&b, DROPOUT * t->width * t->tokens);
    for (uint64_t i = 0; i < t->layers; i++) {
        enter(&b, "bert.encoder.layer.%zu.", (size_t)i);
        add_bert_layer(&b, t);
    }
    enter(&b, "cls.predictions.");
    linear_back(&b, "transform.dense", t->width, t, ACTIVATION);
    layer_norm(&b, "transform.LayerNorm", t);
    add_parameter(&b, "bias", "", t->words, 0);
    add_prediction_head(&b, t); /* by the words' embedding */
    return finish(&b, out, error);
}

/* ---- GPT-2 ----------------------------------------------------------------------------------- */

enum gw_status gw_build_gpt2(const struct gw_architecture *self, struct gw_arena *arena,
                             struct gw_tensor_shapes *out, struct gw_error *error) {
    const struct transformer *t = self->details;
    struct builder b = {.arena = arena};
    enter(&b, "transformer.");
    embed(&b, "wte", t->words, t, true);
    embed(&b, "wpe", t->tokens, t, false);
    move(&b, DROPOUT * t->width * t->tokens);
    for (uint64_t i = 0; i < t->layers; i++) {
        enter(&b, "transformer.h.%zu.", (size_t)i);
        layer_norm(&b, "ln_1", t);
        linear(&b, "attn.c_attn", t->width, t->width + 2 * t->keys, t->tokens);
        attend(&b, t, true);
        linear_back(&b, "attn.c_proj", t->width, t, DROPOUT + ADDITION);
        layer_norm(&b, "ln_2", t);
        feed_forward(&b, "mlp.c_fc", "mlp.c_proj", t, DROPOUT + ADDITION);
    }
    enter(&b, "transformer.");
    layer_norm(&b, "ln_f", t);
    add_prediction_head(&b, t); /* by the words' embedding */
    return finish(&b, out, error);
}

/* ---- Llama ----------------------------------------------------------------------------------- */

static void add_llama_layer(struct builder *b, const struct transformer *t) {
    uint64_t size = t->width * t->tokens;
    rms_norm(b, "input_layernorm", t);
    project(b, "self_attn.q_proj", t->width, t->width, t->tokens);
    project(b, "self_attn.k_proj", t->width, t->keys, t->tokens);
    project(b, "self_attn.v_proj", t->width, t->keys, t->tokens);
    move(b, ACTIVATION * (t->width + t->keys) * t->tokens); /* queries and keys are rotated */
    attend(b, t, true);
    project(b, "self_attn.o_proj", t->width, t->width, t->tokens);
    move(b, ADDITION * size);
    rms_norm(b, "post_attention_layernorm", t);
    project(b, "mlp.gate_proj", t->width, t->inner, t->tokens);
    move(b, ACTIVATION * t->inner * t->tokens);
    project(b, "mlp.up_proj", t->width, t->inner, t->tokens);
    move(b, ADDITION * t->inner * t->tokens); /* a product, which moves as much */
    project(b, "mlp.down_proj", t->inner, t->width, t->tokens);
    move(b, ADDITION * size);
}

enum gw_status gw_build_llama(const struct gw_architecture *self, struct gw_arena *arena,
                              struct gw_tensor_shapes *out, struct gw_error *error) {
    const struct transformer *t = self->details;
    struct builder b = {.arena = arena};
    embed(&b, "model.embed_tokens", t->words, t, true);
    for (uint64_t i = 0; i < t->layers; i++) {
        enter(&b, "model.layers.%zu.", (size_t)i);
        add_llama_layer(&b, t);
    }
    enter(&b, "%s", "");
    rms_norm(&b, "model.norm", t);
    add_parameter(&b, "lm_head", ".weight", t->words, t->width);
    add_prediction_head(&b, t);
    return finish(&b, out, error);
}

/* ---- LSTM ------------------------------------------------------------------------------------ */

struct recurrent {
    uint64_t layers, width, words, steps;
};

const struct recurrent gw_lstm_ptb = {.layers = 2, .width = 1500, .words = 10000, .steps = 35};

/* Adds a layer: a kernel reads both products and the cell, and writes gates, cell and output. */
static void add_recurrent_layer(struct builder *b, const struct recurrent *r, uint64_t layer) {
    const uint64_t gates = 4 * r->width;
    const uint64_t moved = 3 * gates + 3 * r->width + DROPOUT * r->width;
    char suffix[24];
    (void)snprintf(suffix, sizeof suffix, "_l%zu", (size_t)layer);
    add_parameter(b, "weight_ih", suffix, gates, r->width);
    multiply(b, gates * r->width * r->steps);
    add_parameter(b, "weight_hh", suffix, gates, r->width);
    multiply(b, gates * r->width * r->steps);
    add_parameter(b, "bias_ih", suffix, gates, 0);
    add_parameter(b, "bias_hh", suffix, gates, 0);
    move(b, moved * r->steps);
}

enum gw_status gw_build_recurrent(const struct gw_architecture *self, struct gw_arena *arena,
                                  struct gw_tensor_shapes *out, struct gw_error *error) {
    const struct recurrent *r = self->details;
    struct builder b = {.arena = arena};
    add_parameter(&b, "encoder", ".weight", r->words, r->width);
    move(&b, (COPY + DROPOUT) * r->width * r->steps);
    enter(&b, "rnn.");
    for (uint64_t layer = 0; layer < r->layers; layer++) {
        add_recurrent_layer(&b, r, layer);
    }
    enter(&b, "%s", "");
    linear(&b, "decoder", r->width, r->words, r->steps);
    move(&b, LOSS * r->words * r->steps);
    return finish(&b, out, error);
}
