/* Reads lists of parameters. */
#include <math.h>
#include <unistd.h>

#include "tests/test.h"
#include "tests/traces/traces_support.h"
#include "traces/imports.h"

static enum gw_status import_list(const char *folder, const char *text, double forward_s,
                                  struct gw_model *out) {
    const char *path = path_in(folder, "sizes.txt");
    const struct gw_sizes_request request = {
        .name = "own", .backward_s = 0.45, .forward_s = forward_s, .batch_size = 8};
    cJSON *document = NULL;
    assert_ok(gw_file_write(path, text, strlen(text), &error));
    GW_TRY(gw_import_sizes(path, &request, &document, &error));
    return gw_model_take(document, path, out, &error);
}

/* Shares the pass out by roots of 3600, 900, 100, 1 and 4 elements, 103 parts in all. */
TEST_IN_FOLDER(a_list_is_shared_out_by_roots_of_sizes) {
    static const double elements[] = {3600, 900, 100, 1, 4};
    struct gw_model model;
    assert_ok(import_list(*state,
                          "# of my network\n\nconv.weight torch.Size([60, 60])\n"
                          "  a: 3x300\r\nb,[25,4]\nscale ()\nlast\t2 2",
                          0, &model));
    assert_int_equal(model.tensor_count, 5);
    assert_string_equal(model.tensors[0].name, "conv.weight");
    assert_string_equal(model.tensors[1].name, "a");
    assert_string_equal(model.tensors[4].name, "last");
    for (size_t i = 0; i < 5; i++) {
        assert_true((double)model.tensors[i].elements == elements[i]);
        assert_true(near(model.tensors[i].backward_s, 0.45 * sqrt(elements[i]) / 103, 1e-12));
    }
    assert_true(near(model.forward_s, 0.225, 1e-12));
    assert_true(model.batch_size == 8 && model.uncertainty > 0);
    assert_string_equal(model.kind, "given");
    gw_model_free(&model);
    assert_ok(import_list(*state, "a 1", 0.125, &model));
    assert_true(model.forward_s == 0.125);
    gw_model_free(&model);
}

TEST_IN_FOLDER(bad_lists_are_refused) {
    static const char *const cases[][2] = {
        {"", "sizes.txt: expected a line for each parameter"},
        {"# nothing\n", "sizes.txt: expected a line for each parameter"},
        {"a 3\nb\n", "sizes.txt:2: expected a parameter's name and its shape, such as "
                     "'conv1.weight 64 3 7 7', got 'b'"},
        {"a 0 3\n", "got 'a 0 3'"},
        {"a -3\n", "got 'a -3'"},
        {"a 0x1F\n", "got 'a 0x1F'"},
        {"a 1.5\n", "got 'a 1.5'"},
        {"a 3 float32\n", "got 'a 3 float32'"},
        {", 3\n", "got ', 3'"},
        {"a 3\nb 4 x\n", "sizes.txt:2: expected a parameter's name and its shape"},
        {"a 128x784x\n", "sizes.txt:1: expected a parameter's name and its shape"},
        {"a 9007199254740992\nb 1\n", "sizes.txt:2: expected at most 2^53 elements"},
        {"a 99999999999 99999999999\n", "sizes.txt:1: expected at most 2^53 elements"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_model model;
        assert_int_equal(import_list(*state, cases[i][0], 0, &model), GW_BAD_INPUT);
        if (strstr(error.message, cases[i][1]) == NULL) {
            fail_msg("%s", error.message);
        }
    }
}

/* ---- pasted lists ---------------------------------------------------------------------------- */

/* Reads one list in many shapes: tensors of 64 x 64 x 3 x 3, 64, 2048 x 64 and 2048 elements. */
TEST_IN_FOLDER(lists_are_read_as_they_are_pasted) {
    static const char *const cases[] = {
        "a.weight 64 64 3 3\na.bias 64\nb.weight 2048 64\nb.bias 2048\n",
        "a.weight 64,64,3,3\na.bias 64\nb.weight 2048,64\nb.bias 2048\n",
        "a.weight: 36,864\na.bias: 64\nb.weight: 131,072\nb.bias: 2,048\n",
        "a.weight 36_864\na.bias 64\nb.weight 131_072\nb.bias 2_048\n",
        "a.weight torch.Size([64, 64, 3, 3]) torch.float32 True\na.bias torch.Size([64]) "
        "torch.float32 True\nb.weight torch.Size([2048, 64]) torch.bfloat16 True\n"
        "b.bias torch.Size([2048]) torch.float16 True\nb.frozen torch.Size([9]) torch.float32 "
        "False\nb.mask torch.Size([9]) torch.bool\n",
        "[('a.weight', torch.Size([64, 64, 3, 3])),\n ('a.bias', torch.Size([64])),\n"
        " ('b.weight', torch.Size([2048, 64])),\n ('b.bias', torch.Size([2048])),\n]\n",
        "{'a.weight': (64, 64, 3, 3),\n 'a.bias': (64,),\n 'b.weight': (2048, 64),\n 'b.bias': "
        "(2048,)}\n",
        "0: a.weight 64 64 3 3\n1: a.weight 64 64 3 3\n0: a.bias 64\n0: b.weight 2048 64\n"
        "1: a.bias 64\n1: b.weight 2048 64\n1: b.bias 2048\n0: b.bias 2048\n",
        "[1,0]<stdout>:a.weight 64 64 3 3\n[1,0]<stdout>:a.bias 64\n[1,0]<stdout>:b.weight 2048 "
        "64\n[1,0]<stdout>:b.bias 2048\n",
        "[rank0]: INFO: a.weight 64 64 3 3\n[rank0]: INFO: a.bias 64\n[rank0]: INFO: b.weight 2048 "
        "64\n[rank0]: INFO: b.bias 2048\n",
        "> a.weight 64x64x3x3\n> a.bias 64\n> b.weight 2048x64\n> b.bias 2048\n",
        "\x1b[32ma.weight\x1b[0m 64 64 3 3\n\x1b[32ma.bias\x1b[0m 64\nb.weight 2048 64\nb.bias "
        "2048\n",
        "a.weight 36864\na.bias 64\na.running_mean 64\na.num_batches_tracked torch.Size([])\n"
        "b.weight 131072\nb.inv_freq 32\nb.bias 2048\nTotal: 170048\n",
        "a.weight torch.Size([64, 64, 3, 3]) 36864\na.bias torch.Size([64]) True 64\n"
        "b.weight torch.Size([2048, 64]) 131,072\nb.bias (2048,) 2_048\n",
        "a.weight 64 64 3 3 36864\na.bias 64 64\nb.weight 2048 64 131072\nb.bias 2048 2048\n",
        "a.weight 64 x 576\na.bias 64\nb.weight 2,048 x 64\nb.bias 2,048\n",
        "a.weight 64,576\na.bias 64\nb.weight 2048,64\nb.bias 2048\ntotal 170,048\n",
    };
    static const double elements[] = {36864, 64, 131072, 2048};
    static const char *const names[] = {"a.weight", "a.bias", "b.weight", "b.bias"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_model model;
        if (import_list(*state, cases[i], 0, &model) != GW_OK) {
            fail_msg("%s: %s", cases[i], error.message);
        }
        assert_int_equal(model.tensor_count, 4);
        for (size_t k = 0; k < 4; k++) {
            assert_string_equal(model.tensors[k].name, names[k]);
            assert_true((double)model.tensors[k].elements == elements[k]);
        }
        gw_model_free(&model);
    }
}

/* Multiplies numbers that are counts on some lines alone, or could be dimensions on all. */
TEST_IN_FOLDER(shapes_that_end_in_a_product_are_shapes) {
    static const char *const cases[] = {"a 9 9\nb 9 9\n", "a 3 3 9\nb 81\n", "a 1 9 9\nb 9 9\n"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_model model;
        assert_ok(import_list(*state, cases[i], 0, &model));
        assert_true((double)model.tensors[0].elements == 81);
        assert_true((double)model.tensors[1].elements == 81);
        gw_model_free(&model);
    }
}

/* Refuses commas that no line explains, and tables of layers, which lack sizes of parameters. */
TEST_IN_FOLDER(lists_that_could_mean_two_things_are_refused) {
    static const char *const cases[][2] = {
        {"a: 2,359,296\nb: 64\n", "sizes.txt:1: expected shapes (64x3x7x7) or numbers without "
                                  "commas, got commas that may be of thousands (a: 2359296 "
                                  "elements, or 212528?)"},
        {"a: 1,048,576\nb 2048\n", "sizes.txt:1: expected shapes"},
        {"a torch.Size([64, 3]) 191\n", "got 'a torch.Size([64, 3]) 191'"},
        {"a 192 (64, 3)\n", "got 'a 192 (64, 3)'"},
        {"a 1,024 x 64,3\n", "got 'a 1,024 x 64,3'"},
        {"a 3\nb 4\na 4\n", "sizes.txt:3: expected one size of a, got 4 elements after 3"},
        {"0: a 3\nb 4\n", "sizes.txt:2: expected the same before each name ('0: '), got 'b 4'"},
        {"====\nLayer (type:depth-idx)   Output Shape   Param #\n====\n├─Linear: 1-1  [1, 9]  90\n",
         "expected a line for each parameter, as 'for name, p in model.named_parameters(): "
         "print(name, *p.shape)' prints them, got a table of torchinfo"},
        {"----\n        Layer (type)     Output Shape   Param #\n====\n  Linear-1  [-1, 9]  90\n",
         "got a table of torchsummary or Keras"},
        {"Net(\n  (fc): Linear(in_features=9, out_features=9, bias=True)\n)\n",
         "got a printed model, without sizes of its parameters"},
        {"{\"metadata\": {\"total_size\": 9},\n\"weight_map\": {\"a\": \"b\"}}\n",
         "got an index of files, without sizes of its parameters"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_model model;
        assert_int_equal(import_list(*state, cases[i][0], 0, &model), GW_BAD_INPUT);
        if (strstr(error.message, cases[i][1]) == NULL) {
            fail_msg("%s", error.message);
        }
    }
}

/* Asserts the notes that a list gets, and the number of its tensors. */
static void assert_notes(const char *folder, const char *text, int tensors, const char *notes) {
    const char *path = path_in(folder, "sizes.txt");
    const struct gw_sizes_request request = {.name = "own", .backward_s = 0.45};
    cJSON *document = NULL;
    assert_ok(gw_file_write(path, text, strlen(text), &error));
    assert_ok(gw_import_sizes(path, &request, &document, &error));
    const cJSON *source = cJSON_GetObjectItem(document, "source");
    assert_same_json(cJSON_Duplicate(cJSON_GetObjectItem(source, "notes"), 1), notes);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(document, "tensors")), tensors);
    cJSON_Delete(document);
}

/* Notes each thing that is left out, and weights that may be one. */
TEST_IN_FOLDER(lists_have_notes) {
    static const struct {
        const char *text;
        int tensors;
        const char *notes;
    } cases[] = {
        {"wte.weight 50257 768\nbn.running_var 768\nlm_head.weight 50257 768\n"
         "wte.weight 50257 768\n",
         2,
         "['1 without gradients left out, such as bn.running_var', '1 names that come again, as of "
         "several ranks, count once', 'lm_head.weight is as large as wte.weight: where one is the "
         "other (tied), take one out']"},
        {"a 9 9\nb 9\nTotal: 90\n", 2, "['1 lines with totals left out, such as Total 90']"},
        {"0: a 999 9\n1: a 999 9\n0: total 8,991\n1: total 8,991\n", 1,
         "['1 names that come again, as of several ranks, count once', '2 lines with totals left "
         "out, such as total 8991']"},
        /* as of a sum over all of a state_dict */
        {"a 9 9\nb.weight 9\nb.running_mean 9\ntotal 99\n", 2,
         "['1 without gradients left out, such as b.running_mean', '1 lines with totals left out, "
         "such as total 99; the parameters that are left have 90 elements']"},
        {"a 9 9\nb 9\n0: Total params: 90\nTrainable params: 90\n", 2,
         "['2 lines with totals left out, such as 0: Total params: 90']"},
        {"trainable params: 9 || all params: 90 || trainable%: 10\na 9\n", 1,
         "['1 lines with totals left out, such as trainable params: 9 || all params: 90 || "
         "trainable%: 10']"},
        /* causal masks, by shape and beside a masked_bias, and biases that are none */
        {"h.0.attn.bias torch.Size([1, 1, 1024, 1024])\nh.0.attn.c_attn.bias 2304\n"
         "h.1.attention.bias 1 1 64 64\nh.1.attention.out.bias 1 1 8 8\nh.2.attn.bias 1 1 4 8\n",
         3, "['2 without gradients left out, such as h.0.attn.bias']"},
        {"h.0.attn.bias 1048576\nh.0.attn.masked_bias 1\nh.1.attn.bias 768\n", 1,
         "['2 without gradients left out, such as h.0.attn.bias']"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_notes(*state, cases[i].text, cases[i].tensors, cases[i].notes);
    }
}

/* Keeps eight notes of many heads, and how many more there were. */
TEST_IN_FOLDER(notes_without_room_are_counted) {
    char text[4096] = "embed.weight 9 9\n", name[64];
    for (int i = 0; i < 30; i++) {
        (void)snprintf(name, sizeof name, "%d.head.weight 9 9\n", i);
        (void)strcat(text, name);
    }
    const char *path = path_in(*state, "sizes.txt");
    const struct gw_sizes_request request = {.name = "own", .backward_s = 0.45};
    cJSON *document = NULL;
    assert_ok(gw_file_write(path, text, strlen(text), &error));
    assert_ok(gw_import_sizes(path, &request, &document, &error));
    const cJSON *notes = cJSON_GetObjectItem(cJSON_GetObjectItem(document, "source"), "notes");
    assert_int_equal(cJSON_GetArraySize(notes), 9);
    assert_string_equal(cJSON_GetArrayItem(notes, 8)->valuestring, "and 22 more");
    cJSON_Delete(document);
}

/* Reads lines of a million words that could be names or shapes, in time linear in their length. */
TEST_IN_FOLDER(long_lists_take_time_by_their_length) {
    static const char *const parts[][2] = {{"[", "a "},  {"[", "1 "}, {"a ", "1x"},
                                           {"a ", "1,"}, {"a ", "["}, {"a", ">:"}};
    enum { count = 1000000 };
    char *text = malloc(4 * count);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char *at = stpcpy(text, parts[i][0]);
        for (size_t k = 0; k < count; k++) {
            at = stpcpy(at, parts[i][1]);
        }
        (void)strcpy(at, "z");
        struct gw_model model;
        assert_int_equal(import_list(*state, text, 0, &model), GW_BAD_INPUT);
    }
    char *at = text;
    for (int i = 0; i < 100000; i++) {
        at += sprintf(at, "%d.head.weight %d\n", i, i % 2 == 0 ? 9 : 100000 + i);
    }
    struct gw_model model;
    assert_ok(import_list(*state, text, 0, &model));
    gw_model_free(&model);
    free(text);
}

/* Names files that are no text, also those that are too large to be read. */
TEST_IN_FOLDER(files_that_are_no_text_are_named) {
    static const struct {
        const char *start;
        size_t length;
        off_t size;
        const char *kind;
    } cases[] = {
        {"\x20\1\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\"}}", 27, 300 << 20, ".safetensors"},
        {"\xff\xfe\x61\0\x20\0\x39\0", 8, 8, "UTF-16 (save it as UTF-8)"},
        {"\xfe\xff\0\x61\0\x20\0\x39", 8, 8, "UTF-16 (save it as UTF-8)"},
        {"PK\3\4\0\0", 6, 6, "a zip archive, as torch.save writes"},
        {"\x1f\x8b\x08", 3, 3, "a file that gzip compressed"},
        {"a 9\0", 4, 4, "zero bytes"},
    };
    const char *path = path_in(*state, "sizes.bin");
    const struct gw_sizes_request request = {.name = "own", .backward_s = 0.45};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cJSON *document = NULL;
        assert_ok(gw_file_write(path, cases[i].start, cases[i].length, &error));
        assert_int_equal(truncate(path, cases[i].size), 0);
        assert_int_equal(gw_import_sizes(path, &request, &document, &error), GW_BAD_INPUT);
        if (strstr(error.message, "sizes.bin: expected text, got ") == NULL ||
            strstr(error.message, cases[i].kind) == NULL) {
            fail_msg("%s", error.message);
        }
    }
}
