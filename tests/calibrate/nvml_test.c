/* What the management library tells of GPUs; a fake one is before NVIDIA's in the search path. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "calibrate/hosts/nvml.h"

static struct gw_error error;

/* Takes the object. */
static void assert_printed(cJSON *object, const char *expected) {
    char *text = NULL;
    assert_int_equal(gw_json_print_compact(object, &text, &error), GW_OK);
    text[strcspn(text, "\n")] = '\0';
    assert_string_equal(text, expected);
    free(text);
    cJSON_Delete(object);
}

static void a_gpu_is_described(void **state) {
    (void)state;
    cJSON *gpu = cJSON_CreateObject();
    assert_int_equal(gw_nvml_put_gpu("0000:3B:00.0", gpu, &error), GW_OK);
    assert_printed(gpu,
                   "{\"clocks\":{\"sm_application_hz\":1410000000,\"sm_maximum_hz\":1980000000,"
                   "\"memory_application_hz\":2619000000,\"memory_maximum_hz\":2619000000},"
                   "\"power_limit_w\":700,\"pcie\":{\"generation\":5,\"width\":16},\"nvlinks\":3,"
                   "\"mig\":false}");
    cJSON *rank = cJSON_CreateObject();
    assert_int_equal(gw_nvml_put_now("0000:3B:00.0", rank, &error), GW_OK);
    assert_printed(rank, "{\"gpu_sm_hz\":345000000,\"gpu_memory_hz\":2619000000,"
                         "\"gpu_pcie_generation\":1}");
}

static void what_is_not_told_is_left_out(void **state) {
    (void)state;
    static const char *const places[] = {"0000:86:00.0", "0000:00:00.0", ""};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        cJSON *gpu = cJSON_CreateObject();
        assert_int_equal(gw_nvml_put_gpu(places[i], gpu, &error), GW_OK);
        assert_int_equal(gw_nvml_put_now(places[i], gpu, &error), GW_OK);
        assert_printed(gpu, "{}");
    }
}

static void a_host_is_described(void **state) {
    (void)state;
    cJSON *gpus = cJSON_Parse("[{\"pci\":\"0000:3B:00.0\"},{\"name\":\"no place\"},"
                              "{\"pci\":\"0000:86:00.0\"}]");
    cJSON *node = cJSON_CreateObject();
    assert_int_equal(gw_nvml_put_node(gpus, node, &error), GW_OK);
    assert_printed(node, "{\"gpu_paths\":[{\"gpus\":[0,2],\"path\":\"SYS\"}],"
                         "\"gpu_driver\":\"580.159.03\",\"cuda_driver\":\"13.1\"}");
    node = cJSON_Parse("{\"gpu_driver\":\"535.1\"}");
    cJSON *none = cJSON_CreateArray();
    assert_int_equal(gw_nvml_put_node(none, node, &error), GW_OK);
    assert_printed(node, "{\"gpu_driver\":\"535.1\",\"cuda_driver\":\"13.1\"}");
    cJSON_Delete(none);
    cJSON_Delete(gpus);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpu_is_described),
        cmocka_unit_test(what_is_not_told_is_left_out),
        cmocka_unit_test(a_host_is_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
