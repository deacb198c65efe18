/* Names of policies, algorithms and compressors as options take them. */
#include <string.h>

#include "study/plans.h"
#include "study/predict.h"

const char *gw_policy_text(const struct gw_policy *policy, uint64_t argument,
                           char out[GW_POLICY_TEXT_SIZE]) {
    if (policy->argument == NULL || (policy->is_optional && argument == policy->default_argument)) {
        snprintf(out, GW_POLICY_TEXT_SIZE, "%s", policy->name);
    } else {
        snprintf(out, GW_POLICY_TEXT_SIZE, "%s:%llu", policy->name, (unsigned long long)argument);
    }
    return out;
}

enum gw_status gw_algorithms_parse(const char *text, struct gw_arena *arena,
                                   const struct gw_algorithm ***out, size_t *count,
                                   struct gw_error *error) {
    size_t capacity = strlen(text) + 1;
    for (const struct gw_algorithm *row = gw_algorithms; row->name != NULL; row++) {
        capacity++;
    }
    *out = gw_arena_zeros(arena, capacity, sizeof **out);
    char *rest = gw_arena_text(arena, text);
    if (*out == NULL || rest == NULL) {
        return gw_fail_memory(error, "reading names");
    }
    *count = 0;
    if (strcmp(text, "all") == 0) {
        for (const struct gw_algorithm *row = gw_algorithms; row->name != NULL; row++) {
            (*out)[(*count)++] = row;
        }
        return GW_OK;
    }
    for (char *name = strsep(&rest, ","); name != NULL; name = strsep(&rest, ",")) {
        const struct gw_algorithm **found = &(*out)[*count];
        GW_TRY(gw_algorithm_find(name, found, error));
        size_t first = 0;
        while ((*out)[first] != *found) {
            first++;
        }
        *count += first == *count;
    }
    return GW_OK;
}

enum gw_status gw_compressors_parse(const char *text, const struct gw_compressor **out,
                                    struct gw_error *error) {
    size_t count = 0;
    if (strcmp(text, "all") == 0) {
        for (; gw_compressors[count] != NULL; count++) {
            out[count] = gw_compressors[count];
        }
        text = NULL;
    }
    while (text != NULL) {
        char name[64];
        size_t length = strcspn(text, ",");
        snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), text);
        const struct gw_compressor *found = gw_compressor_find(name);
        size_t first = 0;
        while (first < count && out[first] != found) {
            first++;
        }
        if (found == NULL || first < count) {
            return gw_fail(error, GW_BAD_INPUT,
                           "compressor: expected some of those that gradweave list compressors "
                           "shows, each once, got \"%s\"",
                           name);
        }
        out[count++] = found;
        text = text[length] == ',' ? text + length + 1 : NULL;
    }
    out[count] = NULL;
    return GW_OK;
}
