/* Measurements of GPUs: bench and calibrate with --device cuda. Without a GPU the refusals are
 * tested; an emulated one shows that documents are whole, not how fast it is. */

#include "tests/cli/program.h"
#include "tests/test.h"

static bool have_gpu(const char *folder) {
    struct answer answer = ask(folder, "gradweave bench compressors --device cuda -n 100 -r 1 "
                                       "-c hard-threshold --json");
    bool had = answer.status == 0;
    assert_true(had || (answer.status == 2 && strstr(answer.err, "expected a GPU") != NULL));
    return had;
}

static void need_gpu(const char *folder) {
    if (!have_gpu(folder)) {
        print_message("skipped: there is no GPU\n");
        skip();
    }
}

/* Half of a copy is the pass that all is counted in, and a selection reads all there is. */
static void check_row(const cJSON *document, const cJSON *row) {
    double pass_s = number_at(document, "copy_s") / 2;
    double elements = number_at(document, "elements");
    double median_s = number_at(row, "median_s");
    assert_true(number_at(row, "p5_s") <= median_s && median_s <= number_at(row, "p95_s"));
    assert_true(number_at(row, "passes") > 0 && number_at(row, "with_residual_passes") > 0);
    assert_true(number_at(row, "with_residual_p5_s") <= number_at(row, "with_residual_s"));
    assert_true(near(number_at(row, "bytes_per_s"), 4 * elements / median_s, 1e-9));
    assert_true(cJSON_IsBool(item_at(row, "waits")));
    assert_true(pass_s > 0);
    const cJSON *target = cJSON_GetObjectItemCaseSensitive(row, "target_passes");
    if (target != NULL) {
        bool met = number_at(row, "passes") <= target->valuedouble;
        assert_int_equal(cJSON_IsTrue(item_at(row, "met")), met);
    }
}

static cJSON *measure(const char *folder, const char *device) {
    return ask_for(folder, "gradweave/bench@1",
                   "gradweave bench compressors --device %s -n 3001 -d 0.01 -r 3 --seed %llu "
                   "-c topk,hard-threshold,gaussiank,dgc --json --quiet",
                   device, (unsigned long long)seed);
}

/* Selections do not depend on the device: the CPU's figures are the same. */
TEST_IN_FOLDER(a_gpu_s_compressors_are_measured) {
    const char *folder = *state;
    need_gpu(folder);
    cJSON *document = measure(folder, "cuda");
    cJSON *cpu = measure(folder, "cpu");
    assert_string_equal(text_at(document, "device"), "cuda");
    assert_true(text_at(document, "gpu")[0] != '\0');
    for (int i = 0; i < 4; i++) {
        const cJSON *row = cJSON_GetArrayItem(item_at(document, "compressors"), i);
        const cJSON *same = cJSON_GetArrayItem(item_at(cpu, "compressors"), i);
        check_row(document, row);
        assert_string_equal(text_at(row, "compressor"), text_at(same, "compressor"));
        assert_true(number_at(row, "count_ratio") == number_at(same, "count_ratio"));
        assert_true(number_at(row, "energy_ratio") == number_at(same, "energy_ratio"));
    }
}

TEST_IN_FOLDER(a_gpu_s_compressors_are_printed) {
    const char *folder = *state;
    need_gpu(folder);
    check_says(folder,
               "gradweave bench compressors --device cuda:0 -n 2000 -r 1 "
               "--quiet -c hard-threshold",
               "2,000 elements (normal), density 0.001, ", "hard-threshold", "1.3: ", NULL);
}
