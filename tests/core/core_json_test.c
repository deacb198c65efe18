/* JSON that comes back as it was, and messages that say where. */
#include "core/core.h"
#include "tests/core/core_support.h"
#include "tests/test.h"

/* ---- JSON ---------------------------------------------------------------------------------- */

static double print_and_parse(double value) {
    cJSON *document = cJSON_CreateArray();
    assert_ok(gw_json_append(document, cJSON_CreateNumber(value), &error));
    char *text = NULL;
    assert_ok(gw_json_print(document, &text, &error));
    assert_int_equal(text[strlen(text) - 1], '\n');
    cJSON_Delete(document);
    assert_ok(gw_json_parse(text, strlen(text), "text", &document, &error));
    double result = cJSON_GetArrayItem(document, 0)->valuedouble;
    cJSON_Delete(document);
    free(text);
    return result;
}

TEST(numbers_come_back_bit_for_bit) {
    const double values[] = {0.1,
                             0.1 + 0.2,
                             1.0 / 3,
                             2.0 / 3,
                             1e-9,
                             2.18896957e-10,
                             5e-324,
                             2.2250738585072014e-308,
                             1.7976931348623157e308,
                             9007199254740991,
                             9007199254740992,
                             4503599627370497,
                             3000000001,
                             2147483647,
                             -2147483648.5,
                             1e21,
                             123456789.12345679};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        assert_true(near(print_and_parse(values[i]), values[i], 0));
    }
    struct gw_random *random = random_stream_from(1, 1);
    for (int trial = 0; trial < 5000; trial++) {
        uint64_t bits = gw_random_below(random, UINT64_C(1) << 32) << 32 |
                        gw_random_below(random, UINT64_C(1) << 32);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value)) {
            assert_true(near(print_and_parse(value), value, 0));
        }
        value = gw_random_uniform(random) + 0.001 * gw_random_uniform(random);
        assert_true(near(print_and_parse(value), value, 0));
    }
}

TEST_IN_FOLDER(printing_changes_nothing) {
    const char *text = "{\n\t\"a\":\t[0.30000000000000004, {\n\t\t\t\"b\":\tnull\n\t\t}],\n"
                       "\t\"c\":\t\"\xc3\xa4\\n\",\n\t\"d\":\t1e-07\n}\n";
    cJSON *document = NULL;
    assert_ok(gw_json_parse(text, strlen(text), "text", &document, &error));
    const char *path = path_in(*state, "document.json");
    for (int round = 0; round < 2; round++) {
        assert_ok(gw_json_write(document, path, &error));
        assert_holds(path, text, strlen(text));
    }
    assert_true(cJSON_IsNumber(cJSON_GetArrayItem(cJSON_GetObjectItem(document, "a"), 0)));
    cJSON_Delete(document);
}

TEST(broken_json_is_located) {
    const struct {
        const char *text;
        size_t line, column;
    } table[] = {
        {"", 1, 1},         {"{\"a\": }", 1, 7}, {"{\n  \"a\": 1,\n  \"b\": tru\n}\n", 3, 8},
        {"{}\n{}\n", 2, 1}, {"[1, 2", 1, 6},     {"[\n\n  1 2]", 3, 5},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        cJSON *document = NULL;
        assert_message(gw_json_parse(table[i].text, strlen(table[i].text), "f", &document, &error),
                       GW_BAD_INPUT, "f: line %zu, column %zu: expected valid JSON", table[i].line,
                       table[i].column);
        assert_null(document);
    }
    cJSON *document = NULL;
    assert_message(gw_json_parse("{\0}", 3, "f", &document, &error), GW_BAD_INPUT,
                   "f: expected JSON text, found a zero byte");
}

/* Texts that cJSON accepts although they are not JSON. */
TEST(json_is_not_lenient) {
    static const char *const bad[] = {"01",   "00012", "-01", "-.5", "1.",   "-1.",
                                      "1.e5", "-00.5", "00",  "-0.", "1.E-3"};
    static const char *const good[] = {"0",    "-0",   "10",     "0.5",  "-0.25e+3",
                                       "1E-3", "1e05", "12.0e0", "null", "\"01 1. \\\\u0000\"",
                                       "true", "{}",   "-7"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[64];
        cJSON *document = NULL;
        (void)snprintf(text, sizeof text, "{\"a\": \"-01\",\n \"b\": [1, %s]}", bad[i]);
        assert_message(gw_json_parse(text, strlen(text), "f", &document, &error), GW_BAD_INPUT,
                       "f: line 2, column 11: expected a number as JSON writes it, got %s", bad[i]);
        assert_null(document);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char text[64];
        cJSON *document = NULL;
        (void)snprintf(text, sizeof text, "[%s, %s]", good[i], good[i]);
        assert_ok(gw_json_parse(text, strlen(text), "f", &document, &error));
        cJSON_Delete(document);
    }
    static const char *const zeros[] = {"{\"a\\u0000b\": 1}", "[\"\\\\\\u0000\"]"};
    for (size_t i = 0; i < 2; i++) {
        cJSON *document = NULL;
        assert_message(gw_json_parse(zeros[i], strlen(zeros[i]), "f", &document, &error),
                       GW_BAD_INPUT,
                       "f: line 1, column %d: expected text without zero characters, got \\u0000",
                       i == 0 ? 4 : 5);
        assert_null(document);
    }
}

/* Lone, cut and over-long sequences, surrogates and what lies beyond Unicode (RFC 3629). */
/* cJSON's limit, which a file's depth is held to. */
TEST(depth_is_limited) {
    for (size_t depth = 999; depth <= 1001; depth++) {
        char text[2048];
        cJSON *document = NULL;
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        text[2 * depth] = '\0';
        enum gw_status status = gw_json_parse(text, 2 * depth, "deep.json", &document, &error);
        assert_int_equal(status, depth <= 1000 ? GW_OK : GW_BAD_INPUT);
        cJSON_Delete(document);
    }
    assert_string_equal(error.message,
                        "deep.json: line 1, column 1001: expected at most 1000 arrays "
                        "and objects within each other, got more");
}

/* Names in keys and in values. */
TEST(names_have_a_limit) {
    static const struct {
        const char *format, *message;
    } names[] = {{"{\"schema\": \"s\", \"name\": \"%0*d\"}",
                  "long.json: name: expected at most 1024 bytes of text, got "
                  "\"0000000000000000000000000000000000000000...\""},
                 {"{\"schema\": \"s\", \"name\": {\"%0*d\": 1}}",
                  "long.json: name: expected keys of at most 1024 bytes, got "
                  "\"0000000000000000000000000000000000000000...\""}};
    for (size_t i = 0; i < 2 * sizeof names / sizeof *names; i++) {
        char text[2048];
        cJSON *document = NULL;
        const char *name = NULL;
        error = (struct gw_error){0};
        int length = snprintf(text, sizeof text, names[i / 2].format, 1024 + (int)(i % 2), 0);
        enum gw_status status = gw_json_parse(text, (size_t)length, "long.json", &document, &error);
        if (status == GW_OK && i < 2) {
            struct gw_json root = {.node = document, .file = "long.json"};
            struct gw_json place = gw_json_member(&root, "name");
            status = gw_json_text(&place, &name, &error);
        }
        assert_int_equal(status, i % 2 == 0 ? GW_OK : GW_BAD_INPUT);
        assert_string_equal(error.message, i % 2 == 0 ? "" : names[i / 2].message);
        cJSON_Delete(document);
    }
}

/* Controls that cJSON writes as they are: a terminal would take them for its own. */
TEST(controls_are_escaped) {
    cJSON *document = cJSON_CreateString("\033\177\302\233 \303\204\n\u202e\u2028\U000e0041");
    char *text = NULL;
    cJSON *again = NULL;
    assert_ok(gw_json_print(document, &text, NULL));
    assert_string_equal(text,
                        "\"\\u001b\\u007f\\u009b \303\204\\n\\u202e\\u2028\\udb40\\udc41\"\n");
    assert_ok(gw_json_parse(text, strlen(text), "text", &again, NULL));
    assert_true(cJSON_Compare(document, again, true));
    cJSON_Delete(document);
    cJSON_Delete(again);
    free(text);
}

TEST(text_must_be_utf8) {
    static const char *const bad[] = {"\"\xff\"",
                                      "\"\x80\"",
                                      "\"\xc3\"",
                                      "\"\xc0\xaf\"",
                                      "\"\xe0\x80\xaf\"",
                                      "\"\xed\xa0\x80\"",
                                      "\"\xf4\x90\x80\x80\"",
                                      "\"\xf0\x8f\xbf\xbf\""};
    static const char *const good[] = {"\"\xc3\xa9\"", "\"\xe2\x82\xac\"", "\"\xed\x9f\xbf\"",
                                       "\"\xf0\x9f\x98\x80\""};
    cJSON *document = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_message(gw_json_parse(bad[i], strlen(bad[i]), "f", &document, &error), GW_BAD_INPUT,
                       "f: byte 1: expected UTF-8, got 0x%02x", (unsigned char)bad[i][1]);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_ok(gw_json_parse(good[i], strlen(good[i]), "f", &document, &error));
        cJSON_Delete(document);
    }
}

/* One document, and what is expected of each of its places. */
TEST(places_are_named) {
    const char *text = "{\"schema\": \"s\", \"a\": [1, {\"b\": -2.5}, true, null, [], "
                       "\"a string of more than forty characters, which is cut\", 1e999, false]}";
    const char *descriptions[] = {
        "1",    "an object",      "true",
        "null", "an empty array", "\"a string of more than forty characters, ...\"",
        "inf",  "false"};
    const struct gw_fields s = {.schema = "s"};
    const struct gw_fields t = {.schema = "t"};
    cJSON *document = NULL;
    struct gw_json root;
    assert_ok(gw_json_parse(text, strlen(text), "f", &document, &error));
    assert_ok(gw_fields_root(&s, document, "f", &root, &error));
    struct gw_json array = gw_json_member(&root, "a");
    for (size_t i = 0; i < sizeof descriptions / sizeof *descriptions; i++) {
        struct gw_json item = gw_json_item(&array, cJSON_GetArrayItem(array.node, (int)i), i);
        assert_message(gw_json_expected(&item, "this", &error), GW_BAD_INPUT,
                       "f: a[%zu]: expected this, got %s", i, descriptions[i]);
    }
    struct gw_json inner = gw_json_item(&array, cJSON_GetArrayItem(array.node, 1), 1);
    struct gw_json b = gw_json_member(&inner, "b");
    double number = 0;
    assert_message(gw_json_not_negative(&b, &number, &error), GW_BAD_INPUT,
                   "f: a[1].b: expected a finite number >= 0, got -2.5");
    struct gw_json nowhere = gw_json_member(&b, "c");
    assert_message(gw_json_positive(&nowhere, &number, &error), GW_BAD_INPUT,
                   "f: a[1].b.c: expected a finite number > 0, got nothing");
    assert_message(gw_fields_root(&t, document, "f", &root, &error), GW_BAD_INPUT,
                   "f: schema: expected \"t\", got \"s\"");
    assert_message(gw_fields_root(&t, array.node, "f", &root, &error), GW_BAD_INPUT,
                   "f: expected an object, got an array");
    cJSON_Delete(document);
}

TEST(integers_are_exact) {
    const struct {
        double value;
        uint64_t minimum;
        bool good;
    } table[] = {{0, 0, true},           {0, 1, false},        {1, 1, true},
                 {-1, 0, false},         {1.5, 1, false},      {0x1p53, 1, true},
                 {0x1p53 + 2, 1, false}, {INFINITY, 1, false}, {NAN, 0, false}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        cJSON *node = cJSON_CreateNumber(table[i].value);
        struct gw_json place = {.node = node, .file = "f"};
        uint64_t out = 99;
        enum gw_status status = gw_json_integer(&place, table[i].minimum, &out, &error);
        assert_int_equal(status, table[i].good ? GW_OK : GW_BAD_INPUT);
        assert_true(out == (table[i].good ? (uint64_t)table[i].value : 99));
        cJSON_Delete(node);
    }
}

TEST(members_are_set_and_replaced) {
    cJSON *document = cJSON_CreateObject();
    assert_ok(gw_json_put_number(document, "n", 1, &error));
    assert_ok(gw_json_put_text(document, "t", "one", &error));
    assert_ok(gw_json_put_number(document, "n", 2, &error));
    char *text = NULL;
    assert_ok(gw_json_print(document, &text, &error));
    assert_string_equal(text, "{\n\t\"n\":\t2,\n\t\"t\":\t\"one\"\n}\n");
    free(text);
    cJSON_Delete(document);
    assert_message(gw_json_put(NULL, "n", NULL, &error), GW_FAILED,
                   "out of memory while building JSON");
}

/* ---- errors -------------------------------------------------------------------------------- */

TEST(errors_keep_what_fits) {
    assert_int_equal(gw_fail(NULL, GW_FAILED, "nobody listens"), GW_FAILED);
    gw_error_prefix(NULL, "nobody");
    assert_message(gw_fail(&error, GW_BAD_INPUT, "%d of %s", 3, "it"), GW_BAD_INPUT, "3 of it");
    gw_error_prefix(&error, "rank 2");
    assert_string_equal(error.message, "rank 2: 3 of it");
    char text[1000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    (void)gw_fail(&error, GW_FAILED, "%s", text);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    gw_error_prefix(&error, "rank 2");
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    assert_memory_equal(error.message, "rank 2: xxx", 11);
}

TEST(written_documents_read_as_what_was_written) {
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", "x@1");
    gw_writer_array(&writer, "rows");
    for (int row = 0; row < 2; row++) {
        gw_writer_object(&writer, NULL);
        gw_writer_number(&writer, "row", row);
        gw_writer_numbers(&writer, "half", (double[]){row / 2.0, 1}, 2);
        gw_writer_end(&writer);
    }
    gw_writer_end(&writer);
    gw_writer_flag(&writer, "flag", true);
    gw_writer_null(&writer, "none");
    gw_writer_texts(&writer, "texts", (char *[]){"a", "b"}, 2);
    cJSON *document = NULL;
    assert_ok(gw_writer_finish(&writer, &document, &error));
    char *text = NULL;
    assert_ok(gw_json_print_compact(document, &text, &error));
    assert_string_equal(text, "{\"schema\":\"x@1\",\"rows\":[{\"row\":0,\"half\":[0,1]},"
                              "{\"row\":1,\"half\":[0.5,1]}],\"flag\":true,\"none\":null,"
                              "\"texts\":[\"a\",\"b\"]}\n");
    free(text);
    cJSON_Delete(document);
}

/* Each mistake is remembered until the end, whatever is written after it. */
TEST(writers_remember_their_first_error) {
    for (int mistake = 0; mistake < 5; mistake++) {
        struct gw_json_writer writer;
        gw_writer_begin(&writer);
        gw_writer_array(&writer, "items");
        switch (mistake) {
        case 0:
            gw_writer_number(&writer, "key in an array", 1);
            break;
        case 1:
            gw_writer_end(&writer);
            gw_writer_number(&writer, NULL, 1);
            gw_writer_array(&writer, "more");
            break;
        case 2:
            gw_writer_end(&writer);
            gw_writer_end(&writer);
            break;
        case 3:
            gw_writer_part(&writer, NULL, NULL);
            break;
        default:
            for (int depth = 0; depth < 2 * GW_WRITER_DEPTH; depth++) {
                gw_writer_array(&writer, NULL);
            }
            for (int depth = 0; depth < 2 * GW_WRITER_DEPTH; depth++) {
                gw_writer_end(&writer);
            }
        }
        gw_writer_end(&writer);
        gw_writer_number(&writer, "after", 1);
        cJSON *document = NULL;
        assert_int_equal(gw_writer_finish(&writer, &document, &error), GW_FAILED);
        assert_null(document);
    }
}
