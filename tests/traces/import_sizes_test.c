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
        assert_non_null(model.tensors[i].shape);
        assert_int_equal(model.tensors[i].dimensions, i == 3 ? 0 : 2);
        assert_true((double)model.tensors[i].elements == elements[i]);
        assert_true(near(model.tensors[i].backward_s, 0.45 * sqrt(elements[i]) / 103, 1e-12));
    }
    assert_true(near(model.forward_s, 0.225, 1e-12));
    assert_true(model.batch_size == 8 && model.uncertainty > 0);
    assert_string_equal(model.kind, "given");
    assert_true(model.tensors[1].shape[0] == 3 && model.tensors[1].shape[1] == 300);
    gw_model_free(&model);
    assert_ok(import_list(*state, "a 1\nb 64", 0.125, &model)); /* numbers of elements, perhaps */
    assert_true(model.forward_s == 0.125 && model.tensors[1].shape == NULL);
    gw_model_free(&model);
    assert_ok(import_list(*state, "a 64 3 192\nb 8 8 64\nc 5 2 10", 0, &model)); /* and counts */
    assert_true(model.tensors[0].elements == 192 && model.tensors[0].dimensions == 2);
    assert_true(model.tensors[2].elements == 10 && model.tensors[2].shape[1] == 2);
    gw_model_free(&model);
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
