/* Documents: what is read is what is written back; bad input is refused in words that help. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "bad_documents.h"
#include "traces_support.h"

static void parse_model(const char *text, struct gw_model *out) {
    const char *document = quoted(text);
    assert_int_equal(gw_model_parse(document, strlen(document), "f", out, &error), GW_OK);
}

static void parse_plan(const char *text, struct gw_plan *out) {
    const char *document = quoted(text);
    assert_int_equal(gw_plan_parse(document, strlen(document), "f", out, &error), GW_OK);
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

static void a_model_comes_back(void **state) {
    struct gw_model model;
    struct gw_model again;
    const char *path = path_in(*state, "model.json");
    parse_model(model_text, &model);
    assert_int_equal(gw_model_write(&model, path, &error), GW_OK);
    assert_same_document(path, model_text);
    assert_int_equal(gw_model_read(path, &again, &error), GW_OK);
    assert_string_equal(again.name, "tiny");
    assert_true(again.batch_size == 16 && again.bytes_per_element == 2);
    assert_true(again.forward_s == 0.1 + 0.2 && again.update_s == 1e-5);
    assert_int_equal(again.tensor_count, 2);
    assert_string_equal(again.tensors[0].name, "conv1");
    assert_true(again.tensors[0].elements == 9007199254739001 &&
                again.tensors[0].backward_s == 0.1);
    assert_true(again.tensors[1].elements == 1000 && again.tensors[1].backward_s == 0);
    assert_true(gw_model_elements(&again) == 9007199254740001);
    assert_true(near(gw_model_backward_s(&again), 0.1, 0));
    gw_model_free(&model);
    gw_model_free(&again);
}

static void a_model_says_little(void **state) {
    struct gw_model model;
    const char *path = path_in(*state, "model.json");
    parse_model(MODEL_OF("'name': 'm', 'forward_s': 0, 'tensors': "
                         "[{'name': '', 'elements': 1, 'backward_s': 0}]"),
                &model);
    assert_true(model.batch_size == 0 && model.bytes_per_element == 4 && model.update_s == 0);
    gw_model_free(&model);
    struct gw_tensor tensor = {.name = "t", .elements = 5, .backward_s = 0.25};
    struct gw_model made = {
        .name = "made", .bytes_per_element = 4, .tensor_count = 1, .tensors = &tensor};
    assert_int_equal(gw_model_write(&made, path, &error), GW_OK);
    assert_same_document(path, MODEL_OF("'name': 'made', 'bytes_per_element': 4, 'forward_s': 0, "
                                        "'update_s': 0, 'tensors': "
                                        "[{'name': 't', 'elements': 5, 'backward_s': 0.25}]"));
}

static const char cluster_text[] =
    "{'schema': 'gradweave/cluster@1', 'name': 'c', 'workers': 16, 'workers_per_node': 4, "
    "'rack': {'row': 3}, 'collectives': {"
    "'allgather': [{'workers': 16, 'alpha_s': 0.0034, 'beta_s_per_byte': 2.72e-7, 'note': 'x'},"
    "{'workers': 4, 'points': [[1024, 0.0011], [1048576, 0.30000000000000004], [2e6, 0]]}],"
    "'broadcast': [{'workers': 2, 'alpha_s': 0, 'beta_s_per_byte': 0}]}, 'compressors': {"
    "'topk': {'fixed_s': 0, 'per_nlog2n_s': 2.18896957e-10, 'source': {'kind': 'published'}},"
    "'gaussiank': {'fixed_s': 2e-5, 'per_element_s': 1.1e-11},"
    "'randk': {'points': [[1, 0.5], [2, 0.25]], 'provenance': 7}}}";

static void a_cluster_comes_back(void **state) {
    struct gw_cluster cluster;
    struct gw_cluster again;
    const char *path = path_in(*state, "cluster.json");
    parse_cluster(cluster_text, &cluster);
    assert_int_equal(gw_cluster_write(&cluster, path, &error), GW_OK);
    assert_same_document(path, cluster_text);
    assert_int_equal(gw_cluster_read(path, &again, &error), GW_OK);
    assert_string_equal(again.name, "c");
    assert_string_equal(again.path, path);
    assert_true(again.workers == 16 && again.workers_per_node == 4);
    assert_int_equal(again.collective_count, 3);
    assert_int_equal(again.compressor_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(again.collectives[i].name, cluster.collectives[i].name);
        assert_int_equal(again.collectives[i].workers, cluster.collectives[i].workers);
        assert_same_curve(&again.collectives[i].curve, &cluster.collectives[i].curve);
        assert_string_equal(again.compressors[i].name, cluster.compressors[i].name);
        assert_same_curve(&again.compressors[i].curve, &cluster.compressors[i].curve);
    }
    assert_true(again.collectives[0].curve.fixed_s == 0.0034);
    assert_true(again.collectives[1].curve.points[1].time_s == 0.1 + 0.2);
    assert_true(again.compressors[1].curve.per_unit_s == 1.1e-11);
    gw_cluster_free(&cluster);
    gw_cluster_free(&again);
}

static void a_cluster_is_built(void **state) {
    struct gw_cluster cluster;
    const char *path = path_in(*state, "cluster.json");
    struct gw_curve_point *points = calloc(2, sizeof *points);
    assert_non_null(points);
    points[0] = (struct gw_curve_point){1, 2};
    points[1] = (struct gw_curve_point){3, 4};
    cJSON *details = cJSON_CreateObject();
    assert_int_equal(gw_json_put_text(details, "note", "n", &error), GW_OK);
    assert_int_equal(gw_json_put_number(details, "fixed_s", 99, &error), GW_OK);
    assert_int_equal(gw_cluster_create(&cluster, "b", 2, 1, &error), GW_OK);
    struct gw_curve measured = {.point_count = 2, .points = points};
    struct gw_curve fitted = {.fixed_s = 1, .per_unit_s = 2};
    cJSON *straight = cJSON_CreateObject();
    assert_int_equal(gw_json_put_number(straight, "alpha_s", 99, &error), GW_OK);
    assert_int_equal(
        gw_cluster_add_collective(&cluster, "allreduce", 2, measured, straight, &error), GW_OK);
    assert_int_equal(gw_cluster_add_collective(&cluster, "allgather", 2, fitted, NULL, &error),
                     GW_OK);
    assert_int_equal(gw_cluster_add_compressor(&cluster, "topk", fitted, details, &error), GW_OK);
    assert_int_equal(gw_cluster_write(&cluster, path, &error), GW_OK);
    assert_same_document(
        path, "{'schema': 'gradweave/cluster@1', 'name': 'b', 'workers': 2, 'workers_per_node': 1, "
              "'collectives': {'allreduce': [{'workers': 2, 'points': [[1, 2], [3, 4]]}], "
              "'allgather': [{'workers': 2, 'alpha_s': 1, 'beta_s_per_byte': 2}]}, "
              "'compressors': {'topk': {'note': 'n', 'fixed_s': 1, 'per_element_s': 2}}}");
    gw_cluster_free(&cluster);
}

static const char plan_text[] =
    "{'schema': 'gradweave/plan@1', 'model': 'tiny', 'policy': 'omgs', 'compressor': 'topk', "
    "'density': 0.001, 'workers': 16, 'groups': [[4, 3], [2], [1, 0]], "
    "'iteration_s': 0.30000000000000004, 'lower_bound_s': 0.0213, 'notes': ['derived'], 'by': "
    "'me'}";

static void a_plan_comes_back(void **state) {
    struct gw_plan plan;
    struct gw_plan again;
    const char *path = path_in(*state, "plan.json");
    parse_plan(plan_text, &plan);
    assert_int_equal(gw_plan_write(&plan, path, &error), GW_OK);
    assert_same_document(path, plan_text);
    assert_int_equal(gw_plan_read(path, &again, &error), GW_OK);
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

/* The first of two notes counts; the second must not take its place when they are written back. */
static void a_plan_that_repeats_a_key_comes_back(void **state) {
    struct gw_plan plan;
    const char *path = path_in(*state, "plan.json");
    parse_plan(PLAN_WITH("0.1", "4", "[[0]]", TIMES ", 'notes': [], 'notes': ['derived']"), &plan);
    assert_int_equal(plan.note_count, 0);
    assert_int_equal(gw_plan_write(&plan, path, &error), GW_OK);
    assert_same_document(path, PLAN_WITH("0.1", "4", "[[0]]", TIMES));
    gw_plan_free(&plan);
}

static void a_plan_belongs_to_its_model(void **state) {
    (void)state;
    struct gw_plan plan;
    struct gw_tensor tensors[6] = {{.elements = 1}, {.elements = 20}, {.elements = 300}};
    struct gw_model model = {.name = "tiny", .tensor_count = 5, .tensors = tensors};
    parse_plan(plan_text, &plan);
    assert_int_equal(gw_plan_check(&plan, &model, "p.json", &error), GW_OK);
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

static void unreadable_documents_are_bad_input(void **state) {
    const char *path = path_in(*state, "missing.json");
    char message[600];
    (void)snprintf(message, sizeof message, "%s: cannot be read: No such file or directory", path);
    struct gw_model model;
    struct gw_cluster cluster;
    struct gw_plan plan;
    assert_int_equal(gw_model_read(path, &model, &error), GW_BAD_INPUT);
    assert_string_equal(error.message, message);
    assert_int_equal(gw_cluster_read(path, &cluster, &error), GW_BAD_INPUT);
    assert_string_equal(error.message, message);
    assert_int_equal(gw_plan_read(path, &plan, &error), GW_BAD_INPUT);
    assert_string_equal(error.message, message);
}

static enum gw_status parse_any(enum document_kind kind, const char *text) {
    struct gw_model model;
    struct gw_cluster cluster;
    struct gw_plan plan;
    size_t length = strlen(text);
    error = (struct gw_error){0};
    switch (kind) {
    case MODEL:
        return gw_model_parse(text, length, "f", &model, &error);
    case CLUSTER:
        return gw_cluster_parse(text, length, "f", &cluster, &error);
    default:
        return gw_plan_parse(text, length, "f", &plan, &error);
    }
}

static void bad_documents_are_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad_documents / sizeof *bad_documents; i++) {
        const struct bad_document *bad = &bad_documents[i];
        char message[sizeof error.message];
        (void)snprintf(message, sizeof message, "f: %s", quoted(bad->message));
        enum gw_status status = parse_any(bad->kind, quoted(bad->text));
        if (status != GW_BAD_INPUT || strcmp(error.message, message) != 0) {
            fail_msg("%s: status %d, got \"%s\", expected \"%s\"", bad->text, (int)status,
                     error.message, message);
        }
    }
}

/* ---- costs --------------------------------------------------------------------------------- */

static void elements_kept_and_bytes_exchanged(void **state) {
    (void)state;
    const struct {
        uint64_t n;
        double density;
        uint64_t kept;
    } table[] = {{1, 0.001, 1},
                 {999, 0.001, 1},
                 {2000, 0.001, 2},
                 {2999, 0.001, 2},
                 {25557032, 0.001, 25557},
                 {10, 1, 10},
                 {7, 0.5, 3},
                 {1, 1e-300, 1},
                 {UINT64_C(1) << 53, 1, UINT64_C(1) << 53},
                 {UINT64_C(1) << 53, 0.25, UINT64_C(1) << 51}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_true(gw_elements_kept(table[i].n, table[i].density) == table[i].kept);
        assert_true(gw_exchange_bytes(true, 4, table[i].n, table[i].density) == 8 * table[i].kept);
        assert_true(gw_exchange_bytes(false, 2, table[i].n, table[i].density) == 2 * table[i].n);
    }
}

static const char measured_text[] =
    "{'schema': 'gradweave/cluster@1', 'name': 'c', 'workers': 8, 'collectives': {"
    "'allgather': [{'workers': 4, 'alpha_s': 3, 'beta_s_per_byte': 0.5}],"
    "'allreduce': [{'workers': 4, 'alpha_s': 3, 'beta_s_per_byte': 0.75}],"
    "'reduce': [{'workers': 16, 'points': [[10, 31], [20, 32]]}],"
    "'gather': [{'workers': 3, 'alpha_s': 4, 'beta_s_per_byte': 0.2}],"
    "'alltoall': [{'workers': 3, 'alpha_s': 4, 'beta_s_per_byte': 0.2}],"
    "'broadcast': [{'workers': 1, 'alpha_s': 1, 'beta_s_per_byte': 1}]}, "
    "'compressors': {'topk': {'fixed_s': 1}}}";

/* Startup and value at 100 bytes, worked out by hand from the usual algorithms' laws. */
static void collectives_are_derived(void **state) {
    (void)state;
    const struct {
        const char *name;
        size_t workers;
        double startup_s, time_s;
        size_t from;
        const char *algorithm;
    } table[] = {{"allgather", 4, 3, 53, 0, ""},
                 {"allgather", 7, 6, 106, 4, "ring algorithm"},
                 {"allgather", 2, 1, 1 + 50. / 3, 4, "ring algorithm"},
                 {"allreduce", 4, 3, 78, 0, ""},
                 {"allreduce", 2, 1, 51, 4, "ring algorithm"},
                 {"allreduce", 7, 6, 6 + 75 * (6. / 7) / 0.75, 4, "ring algorithm"},
                 {"allreduce", 16, 15, 15 + 75 * (15. / 16) / 0.75, 4, "ring algorithm"},
                 {"reduce", 16, 30, 40, 0, ""},
                 {"reduce", 8, 22.5, 30, 16, "binomial tree"},
                 {"reduce", 64, 45, 60, 16, "binomial tree"},
                 {"gather", 4, 6, 36, 3, "linear algorithm"},
                 {"alltoall", 4, 6, 36, 3, "ring algorithm"}};
    struct gw_cluster cluster;
    parse_cluster(measured_text, &cluster);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char derivation[GW_DERIVATION_SIZE];
        char expected[GW_DERIVATION_SIZE] = "";
        struct gw_curve curve;
        assert_int_equal(gw_cluster_collective(&cluster, table[i].name, table[i].workers, &curve,
                                               derivation, &error),
                         GW_OK);
        assert_true(near(gw_curve_startup(&curve), table[i].startup_s, 1e-14));
        assert_true(near(gw_curve_time(&curve, 100), table[i].time_s, 1e-14));
        if (table[i].from != 0) {
            (void)snprintf(expected, sizeof expected,
                           "%s: %zu workers not measured; derived from %zu by the %s's growth "
                           "law; how far off is not known",
                           table[i].name, table[i].workers, table[i].from, table[i].algorithm);
        }
        assert_string_equal(derivation, expected);
        gw_curve_free(&curve);
    }
    gw_cluster_free(&cluster);
}

/* A message between two does not know of others; the curves of two, and of any one other number. */
static void a_message_takes_as_long_among_any_number(void **state) {
    (void)state;
    static const char *const texts[] = {
        "{'schema': 'gradweave/cluster@1', 'name': 'c', 'workers': 8, 'collectives': {'sendrecv': "
        "[{'workers': 2, 'alpha_s': 3, 'beta_s_per_byte': 0.5}]}, 'compressors': {}}",
        "{'schema': 'gradweave/cluster@1', 'name': 'c', 'workers': 8, 'collectives': {'sendrecv': "
        "[{'workers': 4, 'alpha_s': 3, 'beta_s_per_byte': 0.5}]}, 'compressors': {}}"};
    for (size_t t = 0; t < 2; t++) {
        struct gw_cluster cluster;
        parse_cluster(texts[t], &cluster);
        for (size_t workers = 2; workers <= 64; workers *= 2) {
            char derivation[GW_DERIVATION_SIZE];
            struct gw_curve curve;
            double uncertainty = 1;
            assert_int_equal(
                gw_cluster_collective(&cluster, "sendrecv", workers, &curve, derivation, &error),
                GW_OK);
            assert_true(near(gw_curve_startup(&curve), 3, 0));
            assert_true(near(gw_curve_time(&curve, 100), 53, 0));
            gw_curve_free(&curve);
            assert_int_equal(
                gw_cluster_uncertainty(&cluster, "sendrecv", workers, &uncertainty, &error), GW_OK);
            if (t == 0) {
                assert_string_equal(derivation, "");
                assert_true(near(uncertainty, 0, 0));
            }
        }
        gw_cluster_free(&cluster);
    }
}

static void curves_are_found_by_name_and_workers(void **state) {
    (void)state;
    struct gw_cluster cluster;
    parse_cluster(measured_text, &cluster);
    const struct gw_collective_cost *reduce = gw_cluster_find_collective(&cluster, "reduce", 16);
    assert_non_null(reduce);
    assert_string_equal(reduce->name, "reduce");
    assert_int_equal(reduce->workers, 16);
    assert_ptr_equal(gw_cluster_find_collective(&cluster, "reduce", 0), reduce);
    assert_null(gw_cluster_find_collective(&cluster, "reduce", 4));
    assert_null(gw_cluster_find_collective(&cluster, "topk", 0));
    const struct gw_compressor_cost *topk = gw_cluster_find_compressor(&cluster, "topk");
    assert_ptr_equal(topk, &cluster.compressors[0]);
    assert_null(gw_cluster_find_compressor(&cluster, "reduce"));
    gw_cluster_free(&cluster);
}

/* Sums by hand; of one's own curve no sum is made. */
static void collectives_are_composed(void **state) {
    (void)state;
    static const char text[] =
        "{'schema': 'gradweave/cluster@1', 'name': 'c', 'workers': 5, 'collectives': {"
        "'sendrecv': [{'workers': 2, 'alpha_s': 0.25, 'beta_s_per_byte': 0.5}],"
        "'broadcast': [{'workers': 5, 'points': [[4, 2], [8, 3]]}, {'workers': 2, 'points': [[4, "
        "1], [8, 2]]}],"
        "'gather': [{'workers': 6, 'alpha_s': 3, 'beta_s_per_byte': 1}],"
        "'sketch': [{'workers': 5, 'alpha_s': 7, 'beta_s_per_byte': 0}]},"
        "'compressors': {}}";
    static const struct {
        const char *name;
        size_t workers;
        double bytes, time_s;
        const char *derivation;
    } table[] = {
        {"gtopk", 5, 6, 3 * (0.25 + 3) + 2.5,
         "gtopk: not measured; made up of 3 sendrecv + broadcast"},
        {"gtopk", 2, 4, 0.25 + 2 + 1, "gtopk: not measured; made up of sendrecv + broadcast"},
        {"gtopk", 1, 4, 0, "gtopk: one worker exchanges nothing"},
        {"push", 5, 2, 5,
         "push: not measured; made up of gather among 6 ranks, the server one of them"},
        {"sketch", 5, 1e9, 7, ""},
    };
    struct gw_cluster cluster;
    char derivation[GW_DERIVATION_SIZE];
    struct gw_curve curve;
    double uncertainty = -1;
    parse_cluster(text, &cluster);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_int_equal(gw_cluster_collective(&cluster, table[i].name, table[i].workers, &curve,
                                               derivation, &error),
                         GW_OK);
        assert_true(near(gw_curve_time(&curve, table[i].bytes), table[i].time_s, 1e-15));
        assert_string_equal(derivation, table[i].derivation);
        assert_int_equal(
            gw_cluster_uncertainty(&cluster, table[i].name, table[i].workers, &uncertainty, &error),
            GW_OK);
        assert_true(uncertainty == 0);
        gw_curve_free(&curve);
    }
    /* Among 3, of a broadcast that is derived, and so uncertain. */
    double of_broadcast = 0;
    assert_int_equal(gw_cluster_collective(&cluster, "gtopk", 3, &curve, derivation, &error),
                     GW_OK);
    assert_non_null(strstr(derivation, "; broadcast: 3 workers not measured; from 2, 5 by growth"));
    gw_curve_free(&curve);
    assert_int_equal(gw_cluster_uncertainty(&cluster, "broadcast", 3, &of_broadcast, &error),
                     GW_OK);
    assert_int_equal(gw_cluster_uncertainty(&cluster, "gtopk", 3, &uncertainty, &error), GW_OK);
    assert_true(uncertainty > 0 && uncertainty == of_broadcast);
    assert_int_equal(gw_cluster_uncertainty(&cluster, "push", 3, &uncertainty, &error), GW_OK);
    assert_true(isnan(uncertainty));
    assert_int_equal(gw_cluster_collective(&cluster, "pull", 5, &curve, derivation, &error),
                     GW_BAD_INPUT);
    assert_string_equal(error.message,
                        "pull: f: collectives.scatter: expected a measured curve, got nothing "
                        "(gradweave calibrate --only scatter --add measures it)");
    gw_cluster_free(&cluster);
}

static void one_worker_exchanges_nothing(void **state) {
    (void)state;
    struct gw_cluster cluster;
    parse_cluster(measured_text, &cluster);
    const char *names[] = {"allgather", "allreduce"};
    for (size_t i = 0; i < 2; i++) {
        char derivation[GW_DERIVATION_SIZE];
        struct gw_curve curve;
        assert_int_equal(gw_cluster_collective(&cluster, names[i], 1, &curve, derivation, &error),
                         GW_OK);
        assert_true(near(gw_curve_startup(&curve), 0, 0));
        assert_true(near(gw_curve_time(&curve, 1e9), 0, 0));
        gw_curve_free(&curve);
    }
    gw_cluster_free(&cluster);
}

static void missing_costs_are_named(void **state) {
    (void)state;
    struct gw_cluster cluster;
    struct gw_curve curve;
    const struct gw_curve *compressor = NULL;
    char derivation[GW_DERIVATION_SIZE];
    parse_cluster(measured_text, &cluster);
    assert_int_equal(gw_cluster_collective(&cluster, "sendrecv", 4, &curve, derivation, &error),
                     GW_BAD_INPUT);
    assert_string_equal(error.message,
                        "f: collectives.sendrecv: expected a measured curve, got "
                        "nothing (gradweave calibrate --only sendrecv --add measures "
                        "it)");
    assert_int_equal(gw_cluster_collective(&cluster, "broadcast", 4, &curve, derivation, &error),
                     GW_BAD_INPUT);
    assert_int_equal(gw_cluster_compressor(&cluster, "topk", &compressor, &error), GW_OK);
    assert_true(near(gw_curve_time(compressor, 5), 1, 0));
    assert_int_equal(gw_cluster_compressor(&cluster, "top", &compressor, &error), GW_BAD_INPUT);
    assert_string_equal(error.message, "f: compressors.top: expected a measured curve, got nothing "
                                       "(gradweave calibrate --only top --add measures it)");
    gw_cluster_free(&cluster);
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(a_model_comes_back),
        IN_A_FOLDER(a_model_says_little),
        IN_A_FOLDER(a_cluster_comes_back),
        IN_A_FOLDER(a_cluster_is_built),
        IN_A_FOLDER(a_plan_comes_back),
        IN_A_FOLDER(a_plan_that_repeats_a_key_comes_back),
        cmocka_unit_test(a_plan_belongs_to_its_model),
        IN_A_FOLDER(unreadable_documents_are_bad_input),
        cmocka_unit_test(bad_documents_are_refused),
        cmocka_unit_test(elements_kept_and_bytes_exchanged),
        cmocka_unit_test(collectives_are_derived),
        cmocka_unit_test(a_message_takes_as_long_among_any_number),
        cmocka_unit_test(curves_are_found_by_name_and_workers),
        cmocka_unit_test(collectives_are_composed),
        cmocka_unit_test(one_worker_exchanges_nothing),
        cmocka_unit_test(missing_costs_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
