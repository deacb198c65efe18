/* Reads the JSON that nccl-tests write with --output_file. */
#include <string.h>

#include "traces/import_nccl.h"

/* Finds the test in the command that is kept in the file, or in the file's name. */
static enum gw_status read_arguments(const struct gw_json *root, struct gw_nccl_run *run,
                                     struct gw_error *error) {
    struct gw_json arguments = gw_json_member(root, "args");
    struct gw_json program = gw_json_item(&arguments, cJSON_GetArrayItem(arguments.node, 0), 0);
    const char *name = "";
    GW_TRY(gw_json_text(&program, &name, error));
    const struct gw_nccl_test *test = gw_nccl_find_program(name);
    run->test = test == NULL ? gw_nccl_find_in_name(root->file) : test;
    if (run->test == NULL || run->test->collective == NULL) {
        return gw_json_expected(&program, gw_nccl_supported, error);
    }
    return GW_OK;
}

static enum gw_status read_device_row(const struct gw_json *device, size_t step,
                                      struct gw_nccl_run *run, struct gw_error *error) {
    struct gw_json rank_place = gw_json_member(device, "rank");
    struct gw_json group_place = gw_json_member(device, "group");
    struct gw_json host_place = gw_json_member(device, "hostname");
    uint64_t rank = 0;
    uint64_t group = 0;
    const char *host = "";
    GW_TRY(gw_json_integer(&rank_place, 0, &rank, error));
    GW_TRY(gw_json_integer(&group_place, 0, &group, error));
    GW_TRY(gw_json_text(&host_place, &host, error));
    const char *expected = NULL;
    GW_TRY(gw_nccl_add_ranks(run, (size_t)rank, step, (int)group, host, &expected, error));
    return expected == NULL ? GW_OK : gw_json_expected(device, expected, error);
}

/*
 * Reads the list of devices. Versions so far list the first rank of each process alone: the next
 * device is then as many ranks further on as a process has.
 */
static enum gw_status read_devices(const struct gw_json *config, struct gw_nccl_run *run,
                                   struct gw_error *error) {
    struct gw_json threads_place = gw_json_member(config, "nthreads");
    struct gw_json gpus_place = gw_json_member(config, "ngpus");
    uint64_t threads = 0;
    uint64_t gpus = 0;
    size_t index = 0;
    struct gw_json devices = gw_json_member(config, "devices");
    const cJSON *node = NULL;
    GW_TRY(gw_json_integer(&threads_place, 1, &threads, error));
    GW_TRY(gw_json_integer(&gpus_place, 1, &gpus, error));
    if (!gw_nccl_is_process(threads, gpus)) {
        char expected[32];
        (void)snprintf(expected, sizeof expected, "at most %d", GW_NCCL_MAX_IN_PROCESS);
        return gw_json_expected(threads > gpus ? &threads_place : &gpus_place, expected, error);
    }
    GW_TRY(gw_json_array(&devices, error));
    gw_nccl_put_processes(run, threads, gpus);
    const cJSON *second = cJSON_GetArrayItem(devices.node, 1);
    bool lists_all = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(second, "rank")) == 1;
    cJSON_ArrayForEach(node, devices.node) {
        struct gw_json device = gw_json_item(&devices, node, index++);
        GW_TRY(read_device_row(&device, lists_all ? 1 : threads * gpus, run, error));
    }
    return run->ranks > 0 && run->ranks % (threads * gpus) == 0
               ? GW_OK
               : gw_json_expected(&devices, "all ranks of each process", error);
}

/* Reads the time out of place, or in place where that is null. */
static enum gw_status read_times(const struct gw_json *result, double *time_us,
                                 struct gw_error *error) {
    static const char *const keys[] = {"in_place", "out_of_place"};
    bool is_there = false;
    for (size_t i = 0; i < 2; i++) {
        struct gw_json times = gw_json_member(result, keys[i]);
        struct gw_json time = gw_json_member(&times, "time");
        struct gw_json wrong = gw_json_member(&times, "nwrong");
        if (times.node == NULL || cJSON_IsNull(times.node)) {
            continue;
        }
        if (gw_json_member(&times, "cpu_time").node != NULL) {
            return gw_json_expected(&times, "time, not cpu_time (-C 1)", error);
        }
        GW_TRY(gw_json_not_negative(&time, time_us, error));
        if (*time_us > GW_IMPORT_MAX_US) {
            return gw_json_expected(&time, "at most 1e12 us", error);
        }
        if (!cJSON_IsNull(wrong.node) && cJSON_GetNumberValue(wrong.node) != 0) {
            return gw_json_expected(&wrong, "right results, 0 or null", error);
        }
        is_there = true;
    }
    return is_there ? GW_OK : gw_json_expected(result, "out_of_place or in_place", error);
}

static enum gw_status read_result(const struct gw_json *result, struct gw_nccl_run *run,
                                  struct gw_error *error) {
    struct gw_json size = gw_json_member(result, "size");
    struct gw_json count = gw_json_member(result, "count");
    struct gw_json type = gw_json_member(result, "type");
    uint64_t bytes = 0;
    uint64_t elements = 0;
    const char *name = "";
    double time_us = 0;
    GW_TRY(gw_json_object(result, error));
    GW_TRY(gw_json_integer(&size, 0, &bytes, error));
    GW_TRY(gw_json_integer(&count, 0, &elements, error));
    GW_TRY(gw_json_text(&type, &name, error));
    GW_TRY(read_times(result, &time_us, error));
    const char *operation = cJSON_GetStringValue(gw_json_member(result, "redop").node);
    if (!gw_nccl_is_size_of(run, (double)bytes, (double)elements, name)) {
        return gw_json_expected(&size, "the size of `count` elements in this test", error);
    }
    return gw_nccl_put_type(run, name, operation == NULL ? "" : operation)
               ? gw_nccl_add_row(run, (double)bytes, time_us, error)
               : GW_OK;
}

static enum gw_status read_results(const struct gw_json *root, struct gw_nccl_run *run,
                                   struct gw_error *error) {
    struct gw_json results = gw_json_member(root, "results");
    struct gw_json bounds = gw_json_member(root, "out_of_bounds");
    struct gw_json wrong = gw_json_member(&bounds, "count");
    size_t index = 0;
    const cJSON *node = NULL;
    GW_TRY(gw_json_array(&results, error));
    cJSON_ArrayForEach(node, results.node) {
        struct gw_json result = gw_json_item(&results, node, index++);
        GW_TRY(read_result(&result, run, error));
    }
    bool is_right = wrong.node == NULL || cJSON_GetNumberValue(wrong.node) == 0;
    return is_right ? GW_OK : gw_json_expected(&wrong, "right results, 0", error);
}

static void put_count(char setting[GW_IMPORT_MAX_SETTING], const char *name,
                      const struct gw_json *place) {
    char word[64];
    if (cJSON_IsNumber(place->node)) {
        (void)snprintf(word, sizeof word, "%s=%.0f", name, place->node->valuedouble);
        gw_import_put_word(setting, word);
    }
}

/* Keeps the variables of NCCL in the environment, which is there whole. */
static void read_variables(const struct gw_json *environment, char setting[GW_IMPORT_MAX_SETTING]) {
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, environment->node) {
        if (cJSON_IsString(node) && gw_nccl_is_variable(node->valuestring)) {
            char word[GW_IMPORT_MAX_SETTING];
            (void)snprintf(word, sizeof word, "%s", node->valuestring);
            for (char *at = strchr(word, ' '); at != NULL; at = strchr(at, ' ')) {
                *at = '_';
            }
            gw_import_put_word(setting, word);
        }
    }
    if (cJSON_IsArray(environment->node) && setting[0] == '\0') {
        gw_import_put_word(setting, "none");
    }
}

/* Keeps the settings that are there, in the same words as those of text. */
static void read_settings(const struct gw_json *root, const struct gw_json *config,
                          struct gw_import_table *table) {
    struct gw_json aggregated = gw_json_member(config, "aggregated_iterations");
    struct gw_json graph = gw_json_member(config, "graph");
    struct gw_json blocking = gw_json_member(config, "blocking_collectives");
    struct gw_json devices = gw_json_member(config, "devices");
    struct gw_json first = gw_json_item(&devices, cJSON_GetArrayItem(devices.node, 0), 0);
    struct gw_json device = gw_json_member(&first, "device_info");
    struct gw_json library = gw_json_member(root, "nccl_version");
    struct gw_json environment = gw_json_member(root, "env");
    put_count(table->settings[GW_IMPORT_REPEATS], "agg_iters", &aggregated);
    put_count(table->settings[GW_IMPORT_REPEATS], "graph", &graph);
    put_count(table->settings[GW_IMPORT_BUILD], "nccl-library", &library);
    read_variables(&environment, table->settings[GW_IMPORT_COMMAND]);
    if (cJSON_IsString(blocking.node)) {
        bool waits = strcmp(blocking.node->valuestring, "false") != 0;
        (void)snprintf(table->settings[GW_IMPORT_BLOCKING], GW_IMPORT_MAX_SETTING, "%s",
                       waits ? "yes" : "no");
    }
    if (cJSON_IsString(device.node)) {
        (void)snprintf(table->settings[GW_IMPORT_DEVICE], GW_IMPORT_MAX_SETTING, "%s",
                       device.node->valuestring);
    }
}

static enum gw_status read_document(const struct gw_json *root, struct gw_nccl_run *run,
                                    struct gw_error *error) {
    struct gw_json config = gw_json_member(root, "config");
    struct gw_json start = gw_json_member(root, "start_time");
    GW_TRY(read_arguments(root, run, error));
    GW_TRY(gw_json_object(&config, error));
    GW_TRY(read_devices(&config, run, error));
    read_settings(root, &config, &run->table);
    gw_nccl_begin_table(run);
    if (cJSON_IsString(start.node)) {
        (void)snprintf(run->table.date, sizeof run->table.date, "%s", start.node->valuestring);
    }
    return read_results(root, run, error);
}

enum gw_status gw_nccl_read_json(const struct gw_import_text *text, struct gw_nccl_run *run,
                                 struct gw_cluster *cluster, struct gw_error *error) {
    struct gw_json root = {.file = text->path};
    cJSON *document = NULL;
    GW_TRY(gw_json_parse(text->text, text->length, text->path, &document, error));
    root.node = document;
    enum gw_status status = read_document(&root, run, error);
    cJSON_Delete(document);
    GW_TRY(status);
    return gw_nccl_end_table(run, text->path, cluster, error);
}
