#include "calibrate/hosts/hosts.h"

#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a number of at most 6 digits, so that nothing overflows. */
static bool read_number(const char **text, size_t *out) {
    size_t digits = strspn(*text, "0123456789");
    if (digits == 0 || digits > 6) {
        return false;
    }
    *out = (size_t)strtoul(*text, NULL, 10);
    *text += digits;
    return *out < GW_MAX_CPUS;
}

static bool read_range(const char **text, struct gw_cpus *out) {
    size_t first = 0;
    if (!read_number(text, &first)) {
        return false;
    }
    size_t last = first;
    if (**text == '-') {
        (*text)++;
        if (!read_number(text, &last) || last < first) {
            return false;
        }
    }
    memset(out->has + first, 1, last - first + 1);
    return true;
}

bool gw_cpus_parse(const char *text, struct gw_cpus *out) {
    bool sound = true;
    memset(out, 0, sizeof *out);
    do {
        sound = read_range(&text, out);
    } while (sound && *text++ == ',');
    if (!sound || (text[-1] != '\0' && !isspace((unsigned char)text[-1]))) {
        memset(out, 0, sizeof *out);
        return false;
    }
    return true;
}

void gw_cpus_print(const struct gw_cpus *cpus, char text[GW_CPUS_TEXT_SIZE]) {
    enum { LONGEST_RANGE = 16 };
    size_t used = 0;
    text[0] = '\0';
    for (size_t first = 0; first < GW_MAX_CPUS; first++) {
        if (!cpus->has[first]) {
            continue;
        }
        size_t last = first;
        while (last + 1 < GW_MAX_CPUS && cpus->has[last + 1]) {
            last++;
        }
        const char *comma = used == 0 ? "" : ",";
        if (used + LONGEST_RANGE > GW_CPUS_TEXT_SIZE) {
            (void)snprintf(text + used, GW_CPUS_TEXT_SIZE - used, "%s...", comma);
            return;
        }
        used += (size_t)(last == first ? snprintf(text + used, LONGEST_RANGE, "%s%zu", comma, first)
                                       : snprintf(text + used, LONGEST_RANGE, "%s%zu-%zu", comma,
                                                  first, last));
        first = last;
    }
}

size_t gw_cpus_count(const struct gw_cpus *cpus) {
    size_t count = 0;
    for (size_t i = 0; i < GW_MAX_CPUS; i++) {
        count += cpus->has[i];
    }
    return count;
}

bool gw_cpus_contain(const struct gw_cpus *outer, const struct gw_cpus *inner) {
    for (size_t i = 0; i < GW_MAX_CPUS; i++) {
        if (inner->has[i] && !outer->has[i]) {
            return false;
        }
    }
    return true;
}

void gw_cpus_usable(struct gw_cpus *out) {
    memset(out, 0, sizeof *out);
    cpu_set_t *set = CPU_ALLOC(GW_MAX_CPUS);
    size_t bytes = CPU_ALLOC_SIZE(GW_MAX_CPUS);
    if (set == NULL) {
        return;
    }
    CPU_ZERO_S(bytes, set);
    if (sched_getaffinity(0, bytes, set) == 0) {
        for (size_t i = 0; i < GW_MAX_CPUS; i++) {
            out->has[i] = CPU_ISSET_S(i, bytes, set) != 0;
        }
    }
    CPU_FREE(set);
}
