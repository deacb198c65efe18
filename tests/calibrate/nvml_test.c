/* Facts from the management library; a fake one precedes NVIDIA's in the search path. */

#include "calibrate/hosts/hosts.h"
#include "tests/test.h"

static struct gw_error error;

static struct gw_json_writer writer;

static struct gw_json_writer *begin(void) {
    gw_writer_begin(&writer);
    return &writer;
}

static void assert_written(const char *expected) {
    char *text = NULL;
    cJSON *object = NULL;
    assert_ok(gw_writer_finish(&writer, &object, &error));
    assert_ok(gw_json_print_compact(object, &text, &error));
    text[strcspn(text, "\n")] = '\0';
    assert_string_equal(text, expected);
    free(text);
    cJSON_Delete(object);
}

TEST(a_gpu_is_described) {
    gw_nvml_write_gpu(begin(), "0000:3B:00.0");
    assert_written("{\"clocks\":{\"sm_application_hz\":1410000000,\"sm_maximum_hz\":1980000000,"
                   "\"memory_application_hz\":2619000000,\"memory_maximum_hz\":2619000000},"
                   "\"power_limit_w\":700,\"pcie\":{\"generation\":5,\"width\":16},\"nvlinks\":3,"
                   "\"mig\":false}");
    gw_nvml_write_now(begin(), "0000:3B:00.0");
    assert_written("{\"gpu_sm_hz\":345000000,\"gpu_memory_hz\":2619000000,"
                   "\"gpu_pcie_generation\":1}");
}

TEST(facts_that_nvml_does_not_give_are_left_out) {
    static const char *const places[] = {"0000:86:00.0", "0000:00:00.0", ""};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        gw_nvml_write_gpu(begin(), places[i]);
        gw_nvml_write_now(&writer, places[i]);
        assert_written("{}");
    }
}

TEST(a_host_is_described) {
    static const char *const pcis[] = {"0000:3B:00.0", "", "0000:86:00.0"};
    gw_nvml_write_host(begin(), pcis, 3, false);
    assert_written("{\"gpu_paths\":[{\"gpus\":[0,2],\"path\":\"SYS\"}],"
                   "\"gpu_driver\":\"580.159.03\",\"cuda_driver\":\"13.1\"}");
    gw_nvml_write_host(begin(), NULL, 0, true);
    assert_written("{\"cuda_driver\":\"13.1\"}");
}
