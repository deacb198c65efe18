/* The data that ships says what the papers say, and is found by its name. */
#include "tests/test.h"
#include "traces/traces.h"

static struct gw_error error;

TEST(shipped_models_have_the_published_sizes) {
    const struct {
        const char *name;
        size_t tensors;
        uint64_t elements;
    } table[] = {{"resnet50", 161, 25557032},        {"vgg16-cifar10", 54, 14728266},
                 {"inception-v4", 449, 42679816},    {"lstm-ptb", 11, 66034000},
                 {"resnet50-h200", 161, 25557032},   {"vgg16-h200", 32, 138357544},
                 {"bert-large-h200", 394, 335174458}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char *path = NULL;
        struct gw_model model;
        assert_ok(gw_data_resolve(GW_DATA_MODELS, table[i].name, &path, &error));
        assert_ok(gw_model_read(path, &model, &error));
        assert_int_equal(model.tensor_count, table[i].tensors);
        assert_int_equal(gw_model_elements(&model), table[i].elements);
        if (i == 0) {
            assert_true(near(model.forward_s + gw_model_backward_s(&model), 0.18, 1e-5));
            assert_true(near(gw_model_backward_s(&model), 2 * model.forward_s, 1e-5));
        }
        gw_model_free(&model);
        free(path);
    }
}

/* Also to those who refuse unknown keys. */
TEST(everything_that_ships_is_good) {
    gw_key_rules.strict = true;
    static const char *const needed[] = {"resnet50", "p102-1gbe-16", "lenet5"};
    static const enum gw_data_kind kinds[] = {GW_DATA_MODELS, GW_DATA_CLUSTERS, GW_DATA_ACCURACY};
    for (int kind = 0; kind < 3; kind++) {
        enum gw_data_kind data = kinds[kind];
        char **names = NULL;
        size_t count = 0;
        bool found = false;
        assert_ok(gw_data_list(data, &names, &count, &error));
        for (size_t i = 0; i < count; i++) {
            char *path = NULL;
            struct gw_model model = {0};
            struct gw_cluster cluster = {0};
            struct gw_accuracy accuracy = {0};
            assert_ok(gw_data_resolve(data, names[i], &path, &error));
            assert_ok(kind == 0   ? gw_model_read(path, &model, &error)
                      : kind == 1 ? gw_cluster_read(path, &cluster, &error)
                                  : gw_accuracy_read(path, &accuracy, &error));
            const char *name = kind == 0 ? model.name : kind == 1 ? cluster.name : accuracy.model;
            assert_int_equal(strncmp(name, names[i], strlen(name)), 0);
            assert_true(i == 0 || strcmp(names[i - 1], names[i]) < 0);
            found = found || strcmp(names[i], needed[kind]) == 0;
            gw_model_free(&model);
            gw_cluster_free(&cluster);
            gw_accuracy_free(&accuracy);
            free(path);
        }
        assert_true(found);
        for (size_t i = 0; i < count; i++) {
            free(names[i]);
        }
        free(names);
    }
}

TEST_IN_FOLDER(names_and_paths_are_resolved) {
    const char *named[] = {"./resnet50", "resnet50.json", path_in(*state, "x.json")};
    char *path = NULL;
    for (size_t i = 0; i < 3; i++) {
        assert_ok(gw_data_resolve(GW_DATA_MODELS, named[i], &path, &error));
        assert_string_equal(path, named[i]);
        free(path);
    }
    assert_ok(gw_data_resolve(GW_DATA_MODELS, "resnet50", &path, &error));
    assert_string_equal(path, GW_TEST_DATA "/models/resnet50.json");
    free(path);
    assert_int_equal(gw_data_resolve(GW_DATA_CLUSTERS, "resnet50", &path, &error), GW_BAD_INPUT);
    assert_string_equal(error.message, "resnet50: expected a file, or a cluster that ships "
                                       "(gradweave list clusters), found neither");
}

static int take_what_ships(void **state) {
    (void)state;
    return setenv("GRADWEAVE_DATA", GW_TEST_DATA, 1);
}

FIXTURES(take_what_ships, NULL)
