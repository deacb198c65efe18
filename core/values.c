#include "core/values.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How much of a user's text a message repeats. */
enum { MOST_SHOWN = 60 };

/* ---- numbers ------------------------------------------------------------------------------- */

static enum gw_status expected_number(const struct gw_values_rule *rule, const char *text,
                                      size_t length, struct gw_error *error) {
    int shown = length < MOST_SHOWN ? (int)length : MOST_SHOWN;
    if (rule->whole) {
        return gw_fail(error, GW_BAD_INPUT, "expected positive integers, such as %s, got \"%.*s\"",
                       rule->example, shown, text);
    }
    return gw_fail(error, GW_BAD_INPUT,
                   "expected numbers %s 0%s and at most %g%s, such as %s, got \"%.*s\"",
                   rule->zero ? ">=" : "above", rule->suffix, rule->maximum, rule->suffix,
                   rule->example, shown, text);
}

/* The number that `text` is up to `length`; only decimal ones, without spaces. */
static enum gw_status parse_number(const char *text, size_t length,
                                   const struct gw_values_rule *rule, double *out,
                                   struct gw_error *error) {
    char digits[64];
    size_t suffix = strlen(rule->suffix);
    if (length <= suffix || length - suffix >= sizeof digits ||
        memcmp(text + length - suffix, rule->suffix, suffix) != 0) {
        return expected_number(rule, text, length, error);
    }
    memcpy(digits, text, length - suffix);
    digits[length - suffix] = '\0';
    char *end = NULL;
    errno = 0;
    *out = strtod(digits, &end);
    bool decimal = strspn(digits, "0123456789.eE+-") == length - suffix;
    bool complete = end == digits + length - suffix && errno == 0;
    bool least = *out > 0 || (rule->zero && *out == 0 && !signbit(*out));
    bool allowed = least && *out <= rule->maximum && (!rule->whole || floor(*out) == *out);
    return decimal && complete && allowed ? GW_OK : expected_number(rule, text, length, error);
}

/* ---- ranges -------------------------------------------------------------------------------- */

struct range {
    double from, to;
    size_t count;
    bool logarithmic;
};

/* "log20", "lin5". */
static bool parse_steps(const char *text, struct range *range) {
    enum { most_digits = 5 };
    range->logarithmic = strncmp(text, "log", 3) == 0;
    if (!range->logarithmic && strncmp(text, "lin", 3) != 0) {
        return false;
    }
    size_t digits = strspn(text + 3, "0123456789");
    if (digits == 0 || digits > most_digits || text[3 + digits] != '\0') {
        return false;
    }
    range->count = strtoul(text + 3, NULL, 10);
    return range->count >= 2 && range->count <= GW_MOST_VALUES;
}

static enum gw_status parse_range(const char *text, const struct gw_values_rule *rule,
                                  struct range *range, struct gw_error *error) {
    const char *to = strchr(text, ':') + 1;
    size_t to_length = strcspn(to, ":");
    if (to[to_length] == '\0' || !parse_steps(to + to_length + 1, range)) {
        return gw_fail(error, GW_BAD_INPUT,
                       "expected FROM:TO:logN or FROM:TO:linN with N from 2 to %d, such as %s, "
                       "got \"%.*s\"",
                       GW_MOST_VALUES, rule->example, MOST_SHOWN, text);
    }
    GW_TRY(parse_number(text, (size_t)(to - text) - 1, rule, &range->from, error));
    GW_TRY(parse_number(to, to_length, rule, &range->to, error));
    if (range->logarithmic && range->from == 0) {
        return gw_fail(error, GW_BAD_INPUT,
                       "expected a logarithmic range to begin above 0, got \"%.*s\"", MOST_SHOWN,
                       text);
    }
    if (range->from >= range->to) {
        return gw_fail(error, GW_BAD_INPUT,
                       "expected a range that ascends, such as %s, got \"%.*s\"", rule->example,
                       MOST_SHOWN, text);
    }
    return GW_OK;
}

/* Powers of ten rather than of e: decades come out exact. */
static double value_at(const struct range *range, size_t step) {
    double last = (double)(range->count - 1);
    double from = range->logarithmic ? log10(range->from) : range->from;
    double to = range->logarithmic ? log10(range->to) : range->to;
    double value = from + (to - from) * (double)step / last;
    return range->logarithmic ? pow(10, value) : value;
}

static void fill_range(const struct range *range, bool whole, double *values) {
    for (size_t i = 0; i < range->count; i++) {
        double value = fmin(fmax(value_at(range, i), range->from), range->to);
        values[i] = whole ? round(value) : value;
    }
    values[0] = range->from;
    values[range->count - 1] = range->to;
}

/* ---- lists --------------------------------------------------------------------------------- */

static size_t count_items(const char *text) {
    size_t count = 1;
    for (const char *c = text; *c != '\0'; c++) {
        count += *c == ',';
    }
    return count;
}

static enum gw_status fill_list(const char *text, const struct gw_values_rule *rule, double *values,
                                struct gw_error *error) {
    size_t length = 0;
    for (const char *item = text; item != NULL;
         item = item[length] == ',' ? item + length + 1 : NULL) {
        length = strcspn(item, ",");
        GW_TRY(parse_number(item, length, rule, values++, error));
    }
    return GW_OK;
}

/* ---- values -------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

static size_t sort_and_drop_doubles(double *values, size_t count) {
    size_t kept = 1;
    qsort(values, count, sizeof *values, by_size);
    for (size_t i = 1; i < count; i++) {
        if (values[i] > values[kept - 1]) {
            values[kept++] = values[i];
        }
    }
    return kept;
}

enum gw_status gw_values_parse(const char *text, const struct gw_values_rule *rule, double **values,
                               size_t *count, struct gw_error *error) {
    struct range range = {.count = count_items(text)};
    bool is_range = strchr(text, ':') != NULL;
    if (is_range) {
        GW_TRY(parse_range(text, rule, &range, error));
    } else if (range.count > GW_MOST_VALUES) {
        return gw_fail(error, GW_BAD_INPUT, "expected at most %d values, got %zu", GW_MOST_VALUES,
                       range.count);
    }
    double *found = calloc(range.count, sizeof *found);
    if (found == NULL) {
        return gw_fail_memory(error, "reading values");
    }
    if (is_range) {
        fill_range(&range, rule->whole, found);
    } else if (fill_list(text, rule, found, error) != GW_OK) {
        free(found);
        return GW_BAD_INPUT;
    }
    *count = sort_and_drop_doubles(found, range.count);
    *values = found;
    return GW_OK;
}
