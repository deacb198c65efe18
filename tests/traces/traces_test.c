/* Documents: what is read is what is written back; bad input is refused in words that help. */
#include "tests/documents.h"
#include "tests/test.h"
#include "tests/traces/traces_support.h"

static void parse_plan(const char *text, struct gw_plan *out) {
    const char *document = quoted(text);
    assert_ok(gw_plan_parse(document, strlen(document), "f", out, &error));
}

static void assert_same_curve(const struct gw_curve *a, const struct gw_curve *b) {
    assert_true(a->fixed_s == b->fixed_s && a->per_unit_s == b->per_unit_s &&
                a->per_nlog2n_s == b->per_nlog2n_s);
    assert_int_equal(a->point_count, b->point_count);
    for (size_t i = 0; i < a->point_count; i++) {
        assert_true(a->points[i].size == b->points[i].size &&
                    a->points[i].time_s == b->points[i].time_s);
    }
}

/* ---- round trips --------------------------------------------------------------------------- */

static const char model_text[] =
    "{'schema': 'gradweave/model@1', 'name': 'tiny', 'batch_size': 16, 'bytes_per_element': 2, "
    "'forward_s': 0.30000000000000004, 'update_s': 1e-05, 'mood': ['good', null, {'really': true}],"
    "'source': {'kind': 'measured', 'note': 'n', 'device': 'd'}, 'tensors': ["
    "{'name': 'conv1', 'elements': 9007199254739001, 'backward_s': 0.1, 'layer': 'conv', 'x': 1},"
    "{'name': 'fc', 'elements': 1000, 'backward_s': 0, 'shape': [10, 100]}]}";

TEST_IN_FOLDER(a_model_is_read) {
    struct gw_model again;
    const char *path = path_in(*state, "model.json");
    const char *document = quoted(model_text);
    assert_ok(gw_file_write(path, document, strlen(document), &error));
    assert_ok(gw_model_read(path, &again, &error));
    assert_string_equal(again.name, "tiny");
    assert_true(again.batch_size == 16 && again.bytes_per_element == 2);
    assert_true(again.forward_s == 0.1 + 0.2 && again.update_s == 1e-5);
    assert_int_equal(again.tensor_count, 2);
    assert_string_equal(again.tensors[0].name, "conv1");
    assert_true(again.tensors[0].elements == 9007199254739001 &&
                again.tensors[0].backward_s == 0.1);
    assert_true(again.tensors[1].elements == 1000 && again.tensors[1].backward_s == 0);
    assert_ok(gw_fields_save(&gw_model_fields, &again, path, &error));
    gw_model_free(&again);
    assert_ok(gw_model_read(path, &again, &error));
    assert_null(again.tensors[0].shape);
    assert_int_equal(again.tensors[1].dimensions, 2);
    assert_true(again.tensors[1].shape[0] == 10 && again.tensors[1].shape[1] == 100);
    assert_true(gw_model_elements(&again) == 9007199254740001);
    assert_true(near(gw_model_backward_s(&again), 0.1, 0));
    gw_model_free(&again);
}

TEST(a_model_says_little) {
    struct gw_model model;
    parse_model(&model,
                "'forward_s': 0, 'tensors': [{'name': '', 'elements': 1, 'backward_s': 0}]");
    assert_true(model.batch_size == 0 && model.bytes_per_element == 4 && model.update_s == 0);
    gw_model_free(&model);
}

static const char cluster_text[] =
    "{'schema': 'gradweave/cluster@1', 'name': 'c', 'workers': 16, 'workers_per_node': 4, "
    "'rack': {'row': 3}, 'collectives': {"
    "'allgather': [{'workers': 16, 'alpha_s': 0.0034, 'beta_s_per_byte': 2.72e-7, 'note': 'x'},"
    "{'workers': 4, 'points': [[1024, 0.0011], [1048576, 0.30000000000000004], [2e6, 0.29]]}],"
    "'broadcast': [{'workers': 2, 'alpha_s': 0, 'beta_s_per_byte': 0}]}, 'compressors': {"
    "'topk': {'fixed_s': 0, 'per_nlog2n_s': 2.18896957e-10, 'source': {'kind': 'published'}},"
    "'gaussiank': {'fixed_s': 2e-5, 'per_element_s': 1.1e-11, 'together': {'points': [[1, 2], [3, "
    "4]], 'raw': 5}},"
    "'randk': {'points': [[1, 0.5], [2, 0.75]], 'provenance': 7}}, "
    "'aggregation': {'sum': {'fixed_s': 0, 'per_element_s': 2e-10, 'together': {'fixed_s': 0, "
    "'per_element_s': 3e-10}}}, "
    "'sharing': {'ranks': 5, 'processors': 2, 'together': 4}}";

TEST_IN_FOLDER(a_cluster_comes_back) {
    struct gw_cluster cluster;
    struct gw_cluster again;
    const char *path = path_in(*state, "cluster.json");
    parse_whole(cluster_text, &cluster);
    assert_cluster(&cluster, cluster_text);
    assert_ok(gw_cluster_write(&cluster, path, &error));
    assert_ok(gw_cluster_read(path, &again, &error));
    assert_string_equal(again.name, "c");
    assert_string_equal(again.path, path);
    assert_true(again.workers == 16 && again.workers_per_node == 4);
    assert_int_equal(again.collective_count, 3);
    assert_int_equal(again.compressors.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(again.collectives[i].name, cluster.collectives[i].name);
        assert_int_equal(again.collectives[i].workers, cluster.collectives[i].workers);
        assert_same_curve(&again.collectives[i].curve, &cluster.collectives[i].curve);
        assert_string_equal(again.compressors.list[i].name, cluster.compressors.list[i].name);
        assert_same_curve(&again.compressors.list[i].curve, &cluster.compressors.list[i].curve);
        assert_same_curve(&again.compressors.list[i].together,
                          &cluster.compressors.list[i].together);
        assert_true(gw_kernel_shares(&again.compressors.list[i]) == (i == 1));
    }
    assert_true(again.compressors.list[1].together.points[1].time_s == 4);
    assert_int_equal(again.aggregation.count, 1);
    assert_string_equal(again.aggregation.list[0].name, "sum");
    assert_true(again.aggregation.list[0].curve.per_unit_s == 2e-10);
    assert_true(again.aggregation.list[0].together.per_unit_s == 3e-10);
    assert_true(again.sharing.ranks == 5 && again.sharing.processors == 2);
    assert_int_equal(again.sharing.together, 4);
    assert_true(again.collectives[0].curve.fixed_s == 0.0034);
    assert_true(again.collectives[1].curve.points[1].time_s == 0.1 + 0.2);
    assert_true(again.compressors.list[1].curve.per_unit_s == 1.1e-11);
    gw_cluster_free(&cluster);
    gw_cluster_free(&again);
}

TEST(a_cluster_is_built) {
    struct gw_cluster cluster;
    struct gw_curve_point *points = calloc(2, sizeof *points);
    assert_non_null(points);
    points[0] = (struct gw_curve_point){1, 2};
    points[1] = (struct gw_curve_point){3, 4};
    cJSON *details = cJSON_CreateObject();
    assert_ok(gw_json_put_text(details, "note", "n", &error));
    assert_ok(gw_json_put_number(details, "fixed_s", 99, &error));
    assert_ok(gw_cluster_create(&cluster, "b", 2, 1, &error));
    struct gw_curve measured = {.point_count = 2, .points = points};
    struct gw_curve fitted = {.fixed_s = 1, .per_unit_s = 2};
    cJSON *straight = cJSON_CreateObject();
    assert_ok(gw_json_put_number(straight, "alpha_s", 99, &error));
    assert_ok(gw_cluster_add_collective(&cluster, "allreduce", 2, measured, straight, &error));
    assert_ok(gw_cluster_add_collective(&cluster, "allgather", 2, fitted, NULL, &error));
    assert_ok(gw_kernel_costs_add(&cluster.compressors, "topk", fitted, details, &error));
    assert_cluster(
        &cluster,
        "{'schema': 'gradweave/cluster@1', 'name': 'b', 'workers': 2, 'workers_per_node': 1, "
        "'collectives': {'allreduce': [{'workers': 2, 'points': [[1, 2], [3, 4]]}], "
        "'allgather': [{'workers': 2, 'alpha_s': 1, 'beta_s_per_byte': 2}]}, "
        "'compressors': {'topk': {'note': 'n', 'fixed_s': 1, 'per_element_s': 2}}}");
    gw_cluster_free(&cluster);
}

static const char plan_text[] =
    "{'schema': 'gradweave/plan@1', 'model': 'tiny', 'policy': 'omgs', 'compressor': 'topk', "
    "'density': 0.001, 'workers': 16, 'groups': [[4, 3], [2], [1, 0]], "
    "'iteration_s': 0.30000000000000004, 'lower_bound_s': 0.0213, 'notes': ['derived']}";

TEST_IN_FOLDER(a_plan_comes_back) {
    struct gw_plan plan;
    struct gw_plan again;
    const char *path = path_in(*state, "plan.json");
    parse_plan(plan_text, &plan);
    assert_ok(gw_plan_write(&plan, path, &error));
    assert_same_document(path, plan_text);
    assert_ok(gw_plan_read(path, &again, &error));
    assert_string_equal(again.model, "tiny");
    assert_string_equal(again.policy, "omgs");
    assert_string_equal(again.compressor, "topk");
    assert_true(again.density == 0.001 && again.workers == 16);
    assert_true(again.iteration_s == 0.1 + 0.2 && again.lower_bound_s == 0.0213);
    const struct gw_group groups[] = {{4, 3}, {2, 2}, {1, 0}};
    assert_int_equal(again.group_count, 3);
    assert_memory_equal(again.groups, groups, sizeof groups);
    assert_int_equal(again.note_count, 1);
    assert_string_equal(again.notes[0], "derived");
    gw_plan_free(&plan);
    gw_plan_free(&again);
}

TEST_IN_FOLDER(a_mixed_plan_comes_back) {
    static const char text[] =
        "{'schema': 'gradweave/plan@1', 'model': 'tiny', 'policy': 'optimal', 'compressor': "
        "'mixed', 'density': 0.5, 'workers': 16, 'groups': [[2], [1, 0]], 'ways': [{'choice': "
        "'dense', 'compressor': 'none', 'exchange': 'allreduce', 'density': 1}, {'choice': "
        "'topk:0.01', 'compressor': 'topk', 'exchange': 'allgather', 'density': 0.01}], "
        "'iteration_s': 2, 'lower_bound_s': 1}";
    struct gw_plan plan;
    const char *path = path_in(*state, "plan.json");
    parse_plan(text, &plan);
    assert_ok(gw_plan_write(&plan, path, &error));
    assert_same_document(path, text);
    assert_int_equal(plan.way_count, 2);
    assert_string_equal(plan.ways[1].choice, "topk:0.01");
    assert_string_equal(plan.ways[1].exchange, "allgather");
    assert_true(plan.ways[0].density == 1 && plan.ways[1].density == 0.01);
    gw_plan_free(&plan);
}

TEST(a_plan_belongs_to_its_model) {
    struct gw_plan plan;
    struct gw_tensor tensors[6] = {{.elements = 1}, {.elements = 20}, {.elements = 300}};
    struct gw_model model = {.name = "tiny", .tensor_count = 5, .tensors = tensors};
    parse_plan(plan_text, &plan);
    assert_ok(gw_plan_check(&plan, &model, "p.json", &error));
    for (size_t count = 4; count <= 6; count += 2) {
        char message[128];
        (void)snprintf(
            message, sizeof message,
            "p.json: groups[0]: expected to begin with tensor %zu, the last of model tiny, "
            "got 4",
            count - 1);
        model.tensor_count = count;
        assert_int_equal(gw_plan_check(&plan, &model, "p.json", &error), GW_BAD_INPUT);
        assert_string_equal(error.message, message);
    }
    model.tensor_count = 5;
    model.name = "other";
    assert_int_equal(gw_plan_check(&plan, &model, "p.json", &error), GW_BAD_INPUT);
    assert_string_equal(error.message, "p.json: model: expected \"other\", got \"tiny\"");
    assert_int_equal(gw_group_elements(&plan.groups[2], &model), 21);
    assert_int_equal(gw_group_elements(&plan.groups[1], &model), 300);
    gw_plan_free(&plan);
}

/* ---- bad documents --------------------------------------------------------------------------- */

/* The warnings, one on each line. */
static char warnings[8192];

static void note_warning(const char *message, void *context) {
    size_t *count = context;
    size_t length = strlen(warnings);
    (void)snprintf(warnings + length, sizeof warnings - length, "%s\n", message);
    ++*count;
}

static enum gw_status parse_any(const struct gw_fields *fields, const char *text) {
    void *out = calloc(1, fields->size);
    assert_non_null(out);
    error = (struct gw_error){0};
    enum gw_status status = gw_fields_parse(fields, text, strlen(text), "f", out, &error);
    gw_fields_free(fields, out);
    free(out);
    return status;
}

TEST(bad_documents_are_refused) {
    const struct bad_documents *documents = bad_documents();
    size_t wrong = 0;
    for (size_t i = 0; i < documents->count; i++) {
        const struct bad_document *bad = &documents->list[i];
        size_t count = 0;
        const char *message = bad->is_warning ? warnings : error.message;
        warnings[0] = '\0';
        gw_key_rules = (struct gw_key_rules){.warn = note_warning, .context = &count};
        enum gw_status status = parse_any(bad->kind->fields, bad->text);
        gw_key_rules = (struct gw_key_rules){.strict = true};
        if (status != (bad->is_warning ? GW_OK : GW_BAD_INPUT) || count != bad->is_warning ||
            strncmp(message, bad->message, strlen(bad->message)) != 0 ||
            parse_any(bad->kind->fields, bad->text) != GW_BAD_INPUT) {
            print_error("%s: status %d, got \"%s\", expected \"%s\"\n", bad->line, (int)status,
                        message, bad->message);
            wrong++;
        }
        gw_key_rules = (struct gw_key_rules){0};
    }
    assert_int_equal(wrong, 0);
}

TEST(good_documents_are_read) {
    const struct bad_documents *documents = bad_documents();
    gw_key_rules = (struct gw_key_rules){.strict = true};
    for (size_t i = 0; i < documents->kind_count; i++) {
        const struct document_kind *kind = &documents->kinds[i];
        if (parse_any(kind->fields, kind->good) != GW_OK) {
            fail_msg("%s: %s", kind->name, error.message);
        }
    }
    gw_key_rules = (struct gw_key_rules){0};
}

/* Tries a field of the kind's good document without a value, and with text and -1 for a number. */
static void try_field(const struct document_kind *kind, const struct gw_field *row,
                      const char *path) {
    bool is_number = row->type >= GW_AS_SECONDS && row->type <= GW_AS_COUNT;
    const char *const values[] = {NULL, "\"x\"", "-1", "[]"};
    const char *const got[] = {"nothing", "\"x\"", "-1", "an empty array"};
    for (size_t i = row->optional; i < (is_number ? 4 : 1); i++) {
        char expected[256];
        char *text = edited_document(kind->good, path, values[i]);
        enum gw_status status = parse_any(kind->fields, text);
        (void)snprintf(expected, sizeof expected, "f: %s: expected ", path);
        size_t length = strlen(error.message);
        if (status != GW_BAD_INPUT || strncmp(error.message, expected, strlen(expected)) != 0 ||
            strcmp(error.message + length - strlen(got[i]), got[i]) != 0) {
            fail_msg("%s: %s %s: %s", kind->name, path, got[i], error.message);
        }
        free(text);
    }
}

static size_t try_fields(const struct document_kind *kind, const struct gw_fields *fields,
                         const char *path) {
    size_t tried = 0;
    for (const struct gw_field *row = fields->rows; row != NULL && row->key != NULL; row++) {
        char at[200];
        (void)snprintf(at, sizeof at, "%s%s", path, row->key);
        if (row->key[0] != '\0' && row->type >= GW_AS_TEXT && row->type <= GW_AS_LIST) {
            try_field(kind, row, at);
            tried++;
        }
        if (row->key[0] != '\0' && (row->type == GW_AS_OBJECT || row->type == GW_AS_LIST)) {
            (void)strcat(at, row->type == GW_AS_LIST ? "[0]." : ".");
            tried += try_fields(kind, row->of, at);
        }
    }
    return tried;
}

TEST(every_field_of_every_table_is_checked) {
    const struct bad_documents *documents = bad_documents();
    size_t tried = 0;
    for (size_t i = 0; i < documents->kind_count; i++) {
        tried += try_fields(&documents->kinds[i], documents->kinds[i].fields, "");
    }
    assert_true(tried > 60);
}

/* Compressors that only a cluster knows are for plans, and no mistake. */
TEST(a_cluster_has_compressors_of_its_own) {
    const char *text = quoted("{'schema': 'gradweave/cluster@1', 'name': 'c', 'workers': 1, "
                              "'collectives': {}, 'compressors': {'own': {'fixed_s': 1}}}");
    gw_key_rules = (struct gw_key_rules){.strict = true};
    assert_ok(parse_any(&gw_cluster_fields, text));
    gw_key_rules = (struct gw_key_rules){0};
}

TEST(a_few_unknown_keys_stand_for_many) {
    enum { keys = 100 };
    char text[4096] = "{'schema': 'gradweave/model@1'";
    size_t count = 0;
    for (int i = 0; i < keys; i++) {
        size_t length = strlen(text);
        (void)snprintf(text + length, sizeof text - length, ", 'k%d': 0", i);
    }
    strcat(text, ", 'name': 'm', 'forward_s': 1, 'tensors': [{'name': 'a', 'elements': 1, "
                 "'backward_s': 0}]}");
    gw_key_rules = (struct gw_key_rules){.warn = note_warning, .context = &count};
    warnings[0] = '\0';
    assert_ok(parse_any(&gw_model_fields, quoted(text)));
    assert_int_equal(count, GW_MAX_KEY_WARNINGS + 1);
    assert_non_null(strstr(warnings, "f: and 92 more unknown keys"));
    count = 0;
    gw_key_rules.all = true;
    assert_ok(parse_any(&gw_model_fields, quoted(text)));
    assert_int_equal(count, keys);
    gw_key_rules = (struct gw_key_rules){0};
}

/* Measured points that fall by what their ranges explain are taken as they are. */
TEST(points_may_fall_within_their_ranges) {
    static const char *const curves[] = {
        "{'points': [[1, 1], [2, 0.96], [3, 1.5]]}",
        "{'points': [[1, 2], [2, 1], [3, 1.5]], 'raw': [{'elements': 1, 'p5_s': 1.5, 'p95_s': 3}, "
        "{'elements': 2, 'p5_s': 0.5, 'p95_s': 1.6}]}"};
    for (size_t i = 0; i < 2; i++) {
        struct gw_cluster cluster;
        parse_cluster(&cluster, "'workers': 2, 'collectives': {}, 'compressors': {'topk': %s}",
                      curves[i]);
        assert_true(cluster.compressors.list[0].curve.points[1].time_s == (i == 0 ? 0.96 : 1));
        gw_cluster_free(&cluster);
    }
}

/* Makes measured curves rise that fall, as a cluster file may not hold them. */
TEST(one_size_that_is_off_moves_alone) {
    static const double cases[][2][6] = {
        {{1000, 10, 12, 15, 20, 30}, {10, 10, 12, 15, 20, 30}}, /* slow at first */
        {{10, 12, 1000, 15, 20, 30}, {10, 12, 15, 15, 20, 30}},
        {{10, 12, 15, 2, 20, 30}, {10, 12, 15, 15, 20, 30}},
        {{10, 12, 15, 20, 30, 2}, {10, 12, 15, 20, 30, 30}},
        {{10, 20, 12, 30, 40, 50}, {10, 12, 12, 30, 40, 50}}, /* the larger size counts */
        {{900, 800, 10, 12, 15, 20}, {10, 10, 10, 12, 15, 20}},
        {{10, 10, 10, 12, 12, 11.9}, {10, 10, 10, 12, 12, 11.9}}}; /* noise */
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct gw_cluster cluster;
        struct gw_curve curve = {.point_count = 6, .points = calloc(6, sizeof *curve.points)};
        assert_non_null(curve.points);
        for (int i = 0; i < 6; i++) {
            curve.points[i] = (struct gw_curve_point){i + 1, cases[c][0][i]};
        }
        assert_ok(gw_cluster_create(&cluster, "b", 2, 1, &error));
        assert_ok(gw_cluster_add_collective(&cluster, "allreduce", 2, curve, NULL, &error));
        for (int i = 0; i < 6; i++) {
            assert_true(cluster.collectives[0].curve.points[i].time_s == cases[c][1][i]);
        }
        gw_cluster_free(&cluster);
    }
}

/* ---- limits -------------------------------------------------------------------------------- */

/* So many names that a look at each pair of them would be noticed. */
TEST(documents_may_be_long) {
    enum { count = 60000, size = 16 << 20 };
    char *text = malloc(size);
    struct gw_cluster cluster;
    assert_non_null(text);
    size_t used = (size_t)snprintf(text, size, "%s",
                                   "{\"schema\": \"gradweave/cluster@1\", \"name\": \"c\", "
                                   "\"workers\": 2, \"collectives\": {\"allreduce\": [");
    for (int i = 0; i < count; i++) {
        used += (size_t)snprintf(text + used, size - used,
                                 "%s{\"workers\": %d, \"alpha_s\": 0, \"beta_s_per_byte\": 0}",
                                 i == 0 ? "" : ", ", i + 1);
    }
    used += (size_t)snprintf(text + used, size - used, "]}, \"compressors\": {");
    for (int i = 0; i < count; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s\"k%d\": {\"fixed_s\": 1}",
                                 i == 0 ? "" : ", ", i);
    }
    used += (size_t)snprintf(text + used, size - used,
                             "}, \"overlap\": {\"workers\": 2, \"factors\": {\"allreduce\": {");
    for (int i = 0; i < count; i++) {
        used += (size_t)snprintf(text + used, size - used,
                                 "%s\"k%d\": [{\"bytes\": 8, \"compute\": {\"factor\": 1}, "
                                 "\"communication\": {\"factor\": 1}}]",
                                 i == 0 ? "" : ", ", i);
    }
    used += (size_t)snprintf(text + used, size - used, "}}}}");
    assert_true(used < size);
    assert_ok(gw_cluster_parse(text, used, "f", &cluster, &error));
    assert_true(cluster.collective_count == count && cluster.compressors.count == count &&
                cluster.overlap->pair_count == count);
    gw_cluster_free(&cluster);
    free(text);
}

/* Values that are short make a document that is long. */
TEST(documents_have_so_many_values) {
    const size_t length = (size_t)2 * GW_JSON_MAX_VALUES + 3;
    char *text = malloc(length + 1);
    cJSON *document = NULL;
    assert_non_null(text);
    for (size_t i = 0; i < length; i++) {
        text[i] = i % 2 == 0 ? '0' : ',';
    }
    text[0] = '[';
    text[length - 1] = ']';
    text[length] = '\0';
    assert_int_equal(gw_json_parse(text, length, "f", &document, &error), GW_BAD_INPUT);
    assert_string_equal(error.message, "f: expected at most 16777216 values, got more");
    free(text);
}
