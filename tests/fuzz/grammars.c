/* Properties of options' values: values, and names with numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/axes.h"
#include "tests/fuzz/readers.h"

/* ---- values, rates, sizes ------------------------------------------------------------------ */

static bool read_axis(enum gw_axis axis, const char *text) {
    struct gw_axis_values values;
    char place[32];
    (void)snprintf(place, sizeof place, "--%s", gw_axis_kinds[axis].option);
    if (!fuzz_accepted(gw_axis_parse(axis, text, place, fuzz_usual_cluster(), &values, &fuzz_error),
                       place)) {
        return false;
    }
    fuzz_expect(values.count > 0 && values.count <= GW_MAX_VALUES, "a number of values");
    for (size_t i = 0; i < values.count; i++) {
        char shown[GW_UNITS_SIZE];
        fuzz_expect(isfinite(values.values[i]) && values.values[i] >= 0, "a value");
        fuzz_expect(i == 0 || values.values[i] > values.values[i - 1], "values out of order");
        fuzz_expect(gw_axis_text(&values, values.values[i], shown)[0] != '\0', "a value's text");
    }
    free(values.values);
    return true;
}

static bool read_loggp(const char *text) {
    struct gw_loggp_text read;
    struct gw_loggops goal;
    if (!fuzz_accepted(gw_loggp_parse(text, &read, &fuzz_error), "--loggp")) {
        return false;
    }
    fuzz_expect(isfinite(read.L) && isfinite(read.G) && read.o >= 0, "a parameter");
    (void)fuzz_accepted(gw_loggp_for_goal(&read, &goal, &fuzz_error), "--loggp");
    return true;
}

bool fuzz_values(const char *text, size_t length) {
    (void)length; /* what stands before a zero is the option's value */
    double size = 0;
    bool accepted = read_loggp(text);
    for (int axis = 0; axis < GW_AXES; axis++) {
        accepted |= gw_axis_kinds[axis].rule != NULL && read_axis((enum gw_axis)axis, text);
    }
    if (gw_parse_size(text, &size)) {
        fuzz_expect(size > 0 && isfinite(size) && size == floor(size), "a size");
        accepted = true;
    }
    if (gw_rate_unit(text, strlen(text), &size)) {
        fuzz_expect(size > 0 && isfinite(size), "a rate's unit");
        accepted = true;
    }
    return accepted;
}

/* ---- names, with numbers behind them ------------------------------------------------------- */

static bool read_noise(const char *text) {
    struct gw_noise noise;
    if (strncmp(text, "sample:", strlen("sample:")) == 0 ||
        !fuzz_accepted(gw_noise_read(text, "--noise", &noise, &fuzz_error), "--noise")) {
        return false;
    }
    double factor = gw_noise_factor(&noise, 1, 2);
    fuzz_expect(isfinite(factor) && factor >= 0, "a factor of noise");
    gw_noise_free(&noise);
    return true;
}

bool fuzz_names(const char *text, size_t length) {
    (void)length;
    struct gw_arena arena = {0};
    const struct gw_algorithm **algorithms = NULL;
    const struct gw_compressor *compressors[GW_MAX_COMPRESSORS + 1];
    const struct gw_policy *policy = NULL;
    uint64_t argument = 0;
    size_t count = 0;
    bool accepted = read_noise(text);
    if (fuzz_accepted(gw_policy_parse(text, &policy, &argument, &fuzz_error), "")) {
        char again[GW_POLICY_TEXT_SIZE];
        uint64_t other = 0;
        const struct gw_policy *same = NULL;
        fuzz_expect(gw_policy_parse(gw_policy_text(policy, argument, again), &same, &other,
                                    &fuzz_error) == GW_OK &&
                        same == policy && other == argument,
                    "another policy at the second reading");
        accepted = true;
    }
    if (fuzz_accepted(gw_algorithms_parse(text, &arena, &algorithms, &count, &fuzz_error), "")) {
        fuzz_expect(count > 0, "no algorithm");
        accepted = true;
    }
    accepted |= fuzz_accepted(gw_compressors_parse(text, compressors, &fuzz_error), "");
    gw_arena_free(&arena);
    return accepted;
}
