/* Documents by tables of fields: read, checked, written again and freed. */
#include <string.h>

#include "core/core.h"
#include "tests/test.h"

struct part {
    char *name;
    double share;
};

struct whole {
    char *file, *title;
    double time_s;
    size_t count, part_count, word_count;
    struct part first, *parts;
    char **words;
    cJSON *kept;
    double doubled;
};

static enum gw_status check_part(const struct gw_json *place, void *out, struct gw_error *error) {
    return strcmp(((struct part *)out)->name, "none") == 0
               ? gw_json_expected(place, "a part with a name", error)
               : GW_OK;
}

static const struct gw_field part_rows[] = {
    {"name", GW_AS_TEXT, .at = offsetof(struct part, name)},
    {"share", GW_AS_POSITIVE, .at = offsetof(struct part, share), .optional = true,
     .otherwise = 0.5, .maximum = 1, .expected = "a share of at most 1"},
    {0}};

static const struct gw_fields part_fields = {sizeof(struct part), .rows = part_rows,
                                             .check = check_part};

static enum gw_status read_doubled(const struct gw_json *place, void *out, struct gw_error *error) {
    struct whole *whole = out;
    GW_TRY(gw_json_not_negative(place, &whole->doubled, error));
    whole->doubled *= (double)whole->count;
    return GW_OK;
}

static const struct gw_fields named_fields = {
    .each = &part_fields, .names = GW_KEYS("topk", "randk"), .others = true};

static const struct gw_field rows[] = {
    {"", GW_AS_FILE_NAME, .at = offsetof(struct whole, file)},
    {"title", GW_AS_TEXT, .at = offsetof(struct whole, title), .optional = true},
    {"time_s", GW_AS_SECONDS, .at = offsetof(struct whole, time_s)},
    {"count", GW_AS_COUNT, .at = offsetof(struct whole, count), .optional = true, .otherwise = 3},
    {"first", GW_AS_OBJECT, .at = offsetof(struct whole, first), .of = &part_fields},
    {"parts", GW_AS_LIST, .at = offsetof(struct whole, parts),
     .count_at = offsetof(struct whole, part_count), .maximum = 2, .expected = "one part or two",
     .of = &part_fields},
    {"words", GW_AS_TEXTS, .at = offsetof(struct whole, words),
     .count_at = offsetof(struct whole, word_count), .optional = true},
    {"doubled", GW_AS_BY_HAND, .optional = true, .depends = true, .read = read_doubled},
    {"named", .of = &named_fields},
    {"", GW_AS_KEPT, .at = offsetof(struct whole, kept)},
    {0}};

static const struct gw_fields whole_fields = {sizeof(struct whole), .rows = rows, .schema = "s@1",
                                              .unread = GW_KEYS("raw")};

static struct gw_error failure;

static enum gw_status read_whole(const char *text, struct whole *out) {
    return gw_fields_parse(&whole_fields, text, strlen(text), "f", out, &failure);
}

#define WHOLE(fields) "{\"schema\": \"s@1\", \"time_s\": 2, " fields "}"
#define FIRST "\"first\": {\"name\": \"a\"}, "
#define PARTS "\"parts\": [{\"name\": \"b\", \"share\": 1}]"

TEST(documents_are_read_and_written_by_fields) {
    struct whole whole;
    char *text = NULL;
    cJSON *document = NULL;
    assert_ok(read_whole(WHOLE(FIRST PARTS ", \"words\": [\"x\", \"y\"], \"doubled\": 4"), &whole));
    assert_string_equal(whole.file, "f");
    assert_null(whole.title);
    assert_true(whole.time_s == 2 && whole.count == 3 && whole.doubled == 12);
    assert_true(whole.first.share == 0.5 && whole.part_count == 1 && whole.parts[0].share == 1);
    assert_true(whole.word_count == 2 && strcmp(whole.words[1], "y") == 0);
    assert_ok(gw_fields_document(&whole_fields, &whole, &document, NULL));
    gw_fields_free(&whole_fields, &whole);
    assert_true(whole.parts == NULL && whole.time_s == 0);
    assert_ok(gw_json_print_compact(document, &text, NULL));
    assert_string_equal(text, "{\"schema\":\"s@1\",\"time_s\":2,\"count\":3,\"first\":{\"name\":"
                              "\"a\",\"share\":0.5},\"parts\":[{\"name\":\"b\",\"share\":1}],"
                              "\"words\":[\"x\",\"y\"]}\n");
    cJSON_Delete(document);
    free(text);
}

/* Messages that rules take, with a line end behind each. */
static void take(const char *message, void *context) {
    (void)strcat(context, message);
    (void)strcat(context, "\n");
}

TEST(lists_have_so_many_items) {
    struct whole whole;
    assert_int_equal(read_whole(WHOLE(FIRST "\"parts\": [1, 2, 3]"), &whole), GW_BAD_INPUT);
    assert_string_equal(failure.message, "f: parts: expected one part or two, got an array");
}

TEST(all_faults_and_unknown_keys_are_reported) {
    char told[1024] = "";
    struct whole whole;
    gw_key_rules = (struct gw_key_rules){.warn = take, .bad = take, .context = told};
    enum gw_status status = read_whole(
        WHOLE("\"first\": {\"nam\": 1}, \"count\": -1, \"doubled\": \"x\", \"raw\": {\"z\": 1}, "
              "\"named\": {\"mine\": {\"of\": 1}, \"topkk\": {}}, " PARTS),
        &whole);
    gw_key_rules = (struct gw_key_rules){0};
    assert_int_equal(status, GW_BAD_INPUT);
    assert_string_equal(told, "f: first: unknown key \"nam\" is ignored; did you mean \"name\"?\n"
                              "f: named.mine: unknown key \"of\" is ignored\n"
                              "f: named: unknown key \"topkk\" is ignored; did you mean \"topk\"?\n"
                              "f: count: expected a positive integer, got -1\n"
                              "f: first.name: expected a string, got nothing\n");
}
