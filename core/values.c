#include "core/values.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/curve.h"

/* The maximum length of a user's text in messages. */
enum { MAX_SHOWN = 60 };

/* ---- numbers ------------------------------------------------------------------------------- */

static enum gw_status expected_number(const struct gw_values_rule *rule, const char *text,
                                      size_t length, struct gw_error *error) {
    int shown = length < MAX_SHOWN ? (int)length : MAX_SHOWN;
    if (rule->whole) {
        return gw_fail(error, GW_BAD_INPUT, "expected positive integers, such as %s, got \"%.*s\"",
                       rule->example, shown, text);
    }
    const char *least = rule->zero || rule->minimum > 0 ? ">=" : "above";
    return gw_fail(error, GW_BAD_INPUT,
                   "expected numbers %s %g%s and at most %g%s, such as %s, got \"%.*s\"", least,
                   rule->minimum, rule->suffix, rule->maximum, rule->suffix, rule->example, shown,
                   text);
}

/* Reads "k", "Ki", "M", ..: their size and their length, which is 0 if there is none. */
static size_t read_prefix(const char *text, size_t length, double *size) {
    static const char prefixes[] = "kmgtp";
    const char *found =
        length == 0 || text[0] == '\0' ? NULL : strchr(prefixes, tolower((unsigned char)text[0]));
    *size = 1;
    if (found == NULL) {
        return 0;
    }
    bool binary = length > 1 && text[1] == 'i';
    *size = pow(binary ? 1024 : 1000, (double)(found - prefixes + 1));
    return binary ? 2 : 1;
}

bool gw_rate_unit(const char *text, size_t length, double *bit_per_s) {
    static const char *const bits[] = {"bit", "bits", "bit/s", "bits/s", "bitps"};
    size_t prefix = read_prefix(text, length, bit_per_s);
    const char *unit = text + prefix;
    size_t rest = length - prefix;
    bool ethernet = rest == 0 || (rest == 1 && *unit == 'b') ||
                    (rest == 2 && *unit == 'b' && tolower((unsigned char)unit[1]) == 'e');
    if (prefix == 1 && ethernet) {
        return true;
    }
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        if (rest == strlen(bits[i]) && strncasecmp(unit, bits[i], rest) == 0) {
            return true;
        }
    }
    bool each =
        rest == 3 && (strncasecmp(unit + 1, "/s", 2) == 0 || strncmp(unit + 1, "ps", 2) == 0);
    *bit_per_s *= each && unit[0] == 'B' ? 8 : 1;
    return each && (unit[0] == 'B' || unit[0] == 'b');
}

/* Parses a whole number that a double holds exactly, followed by "k", "Mi" ..; returns the rest of
 * the text. */
static const char *parse_whole(const char *text, double *out) {
    const char *unit = text + strspn(text, "0123456789.eE+");
    double size = 1;
    size_t prefix = read_prefix(unit, strlen(unit), &size);
    char *end = NULL;
    long double exact = strtold(text, &end) * size;
    bool known = strspn(text, "0123456789.") > 0 && end == unit && exact > 0 && exact <= 0x1p53L &&
                 floorl(exact) == exact;
    *out = known ? (double)exact : 0;
    return known ? unit + prefix : NULL;
}

bool gw_parse_size(const char *text, double *bytes) {
    const char *rest = parse_whole(text, bytes);
    return rest != NULL && rest[*rest == 'B' || *rest == 'b'] == '\0';
}

bool gw_parse_seconds(const char *text, double *seconds) {
    static const struct gw_values_unit units[] = {
        {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {0}};
    char number[64];
    size_t digits = strspn(text, "0123456789.eE+-");
    const struct gw_values_unit *unit = units;
    while (unit->name != NULL && strcmp(unit->name, text + digits) != 0) {
        unit++;
    }
    if (unit->name == NULL || digits >= sizeof number) {
        return false;
    }
    memcpy(number, text, digits);
    number[digits] = '\0';
    bool is_number = gw_parse_number(number, seconds);
    *seconds *= unit->size;
    return is_number && *seconds > 0 && *seconds <= GW_MAX_SECONDS;
}

bool gw_parse_count(const char *text, uint64_t *out) {
    double value = 0;
    const char *rest = parse_whole(text, &value);
    *out = (uint64_t)value;
    return rest != NULL && *rest == '\0';
}

bool gw_parse_number(const char *text, double *out) {
    char *end = NULL;
    errno = 0;
    *out = strtod(text, &end);
    bool decimal = text[strspn(text, "0123456789.eE+-")] == '\0';
    return decimal && end != text && *end == '\0' && errno == 0 && isfinite(*out);
}

/* Finds the number's unit at the end of `length` characters, and its size; false: it has none. */
static bool find_unit(const char *text, size_t length, const struct gw_values_rule *rule,
                      size_t *unit_length, double *size) {
    *size = 1;
    if (rule->rates) {
        size_t number = strspn(text, "0123456789.eE+-");
        *unit_length = number < length ? length - number : 0;
        return number > 0 && number < length && gw_rate_unit(text + number, *unit_length, size);
    }
    if (rule->whole) {
        size_t number = strspn(text, "0123456789.eE+-");
        *unit_length = read_prefix(text + number, number < length ? length - number : 0, size);
        return number + *unit_length == length;
    }
    if (rule->units == NULL) {
        *unit_length = strlen(rule->suffix);
        return length > *unit_length &&
               memcmp(text + length - *unit_length, rule->suffix, *unit_length) == 0;
    }
    size_t digits = strspn(text, "0123456789.eE+-");
    for (const struct gw_values_unit *unit = rule->units; unit->name != NULL; unit++) {
        *unit_length = strlen(unit->name);
        *size = unit->size;
        if (digits > 0 && length == digits + *unit_length &&
            strncasecmp(text + digits, unit->name, *unit_length) == 0) {
            return true;
        }
    }
    return false;
}

/* Parses the number in `length` characters of text; only decimal ones, without spaces. */
static enum gw_status parse_list_number(const char *text, size_t length,
                                        const struct gw_values_rule *rule, double *out,
                                        struct gw_error *error) {
    char digits[64];
    size_t unit_length = 0;
    double size = 1;
    if (!find_unit(text, length, rule, &unit_length, &size) ||
        length - unit_length >= sizeof digits) {
        return expected_number(rule, text, length, error);
    }
    memcpy(digits, text, length - unit_length);
    digits[length - unit_length] = '\0';
    char *end = NULL;
    errno = 0;
    *out = strtod(digits, &end) * size;
    bool decimal = strspn(digits, "0123456789.eE+-") == length - unit_length;
    bool complete = end == digits + (length - unit_length) && errno == 0;
    bool least = *out > 0 || (rule->zero && *out == 0 && !signbit(*out));
    bool exact = floor(*out) == *out && strtold(digits, NULL) * size == *out;
    bool within = least && *out >= rule->minimum && *out <= rule->maximum;
    return decimal && complete && within && (!rule->whole || exact)
               ? GW_OK
               : expected_number(rule, text, length, error);
}

/* ---- ranges -------------------------------------------------------------------------------- */

struct value_range {
    double from, to;
    size_t count;
    bool logarithmic;
    double step; /* from value to value; 0: all values, INFINITY: doubles */
};

/* "log20", "lin5". */
static bool parse_steps(const char *text, struct value_range *range) {
    enum { MAX_DIGITS = 5 };
    range->logarithmic = strncmp(text, "log", 3) == 0;
    if (!range->logarithmic && strncmp(text, "lin", 3) != 0) {
        return false;
    }
    size_t digits = strspn(text + 3, "0123456789");
    if (digits == 0 || digits > MAX_DIGITS || text[3 + digits] != '\0') {
        return false;
    }
    range->count = strtoul(text + 3, NULL, 10);
    return range->count >= 2 && range->count <= GW_MAX_VALUES;
}

static double next_value(const struct value_range *range, double value) {
    return isinf(range->step) ? 2 * value : value + range->step;
}

/* Parses FROM:TO alone, or for whole numbers FROM:TO:STEP; `steps` is NULL or STEP. */
static bool parse_plain_range(const char *text, size_t from_length, size_t to_length,
                              const char *steps, const struct gw_values_rule *rule,
                              struct value_range *range) {
    const char *to = text + from_length + 1;
    struct gw_error unused;
    if (rule->plain == NULL || (steps != NULL && !rule->whole) ||
        parse_list_number(text, from_length, rule, &range->from, &unused) != GW_OK ||
        parse_list_number(to, to_length, rule, &range->to, &unused) != GW_OK) {
        return false;
    }
    if (!rule->whole) {
        const double per_decade = 5;
        double decades = fabs(log10(range->to / range->from));
        range->logarithmic = true;
        range->count = (size_t)fmax(1, round(per_decade * decades)) + 1;
        return true;
    }
    range->step = INFINITY;
    return steps == NULL ||
           parse_list_number(steps, strlen(steps), rule, &range->step, &unused) == GW_OK;
}

/* Counts the values of a range by its step, up to the maximum. */
static enum gw_status count_steps(struct value_range *range, struct gw_error *error) {
    range->count = 1;
    double value = range->from;
    while (value < range->to) {
        value = next_value(range, value);
        if (++range->count > GW_MAX_VALUES) {
            return gw_fail(error, GW_BAD_INPUT, "expected at most %d values, got more",
                           GW_MAX_VALUES);
        }
    }
    return GW_OK;
}

static enum gw_status parse_range(const char *text, const struct gw_values_rule *rule,
                                  struct value_range *range, struct gw_error *error) {
    const char *to = strchr(text, ':') + 1;
    size_t from_length = (size_t)(to - text) - 1;
    size_t to_length = strcspn(to, ":");
    const char *steps = to[to_length] == '\0' ? NULL : to + to_length + 1;
    const char *example = rule->example;
    if (steps != NULL && parse_steps(steps, range)) {
        GW_TRY(parse_list_number(text, from_length, rule, &range->from, error));
        GW_TRY(parse_list_number(to, to_length, rule, &range->to, error));
    } else if (parse_plain_range(text, from_length, to_length, steps, rule, range)) {
        example = rule->plain;
    } else {
        if (steps == NULL && rule->plain != NULL &&
            from_length * to_length > 0) { /* one of them is no such number */
            GW_TRY(parse_list_number(text, from_length, rule, &range->from, error));
            GW_TRY(parse_list_number(to, to_length, rule, &range->to, error));
        }
        return gw_fail(error, GW_BAD_INPUT,
                       "expected FROM:TO:logN or FROM:TO:linN with N from 2 to %d, such as %s, "
                       "got \"%.*s\"",
                       GW_MAX_VALUES, rule->example, MAX_SHOWN, text);
    }
    if (range->logarithmic && range->from == 0) {
        return gw_fail(error, GW_BAD_INPUT,
                       "expected a logarithmic range to begin above 0, got \"%.*s\"", MAX_SHOWN,
                       text);
    }
    if (range->from >= range->to) {
        return gw_fail(error, GW_BAD_INPUT,
                       "expected a range that ascends, such as %s, got \"%.*s\"", example,
                       MAX_SHOWN, text);
    }
    return range->step > 0 ? count_steps(range, error) : GW_OK;
}

/* Uses powers of ten, so that decades are exact. */
static double range_value(const struct value_range *range, size_t step) {
    double last = (double)(range->count - 1);
    double from = range->logarithmic ? log10(range->from) : range->from;
    double to = range->logarithmic ? log10(range->to) : range->to;
    double value = from + (to - from) * (double)step / last;
    return range->logarithmic ? pow(10, value) : value;
}

/* ---- lists --------------------------------------------------------------------------------- */

static enum gw_status fill_list(const char *text, const struct gw_values_rule *rule, double *values,
                                struct gw_error *error) {
    size_t length = 0;
    for (const char *item = text; item != NULL;
         item = item[length] == ',' ? item + length + 1 : NULL) {
        length = strcspn(item, ",");
        GW_TRY(parse_list_number(item, length, rule, values++, error));
    }
    return GW_OK;
}

/* ---- values -------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

enum gw_status gw_values_parse(const char *text, const struct gw_values_rule *rule, double **values,
                               size_t *count, struct gw_error *error) {
    struct value_range range = {.count = 1};
    for (const char *c = text; *c != '\0'; c++) {
        range.count += *c == ',';
    }
    bool is_range = strchr(text, ':') != NULL;
    if (is_range) {
        GW_TRY(parse_range(text, rule, &range, error));
    } else if (range.count > GW_MAX_VALUES) {
        return gw_fail(error, GW_BAD_INPUT, "expected at most %d values, got %zu", GW_MAX_VALUES,
                       range.count);
    }
    double *found = calloc(range.count, sizeof *found);
    if (found == NULL) {
        return gw_fail_memory(error, "reading values");
    }
    if (is_range) {
        double stepped = range.from;
        for (size_t i = 0; i < range.count; i++) {
            double value = range.step > 0 ? stepped : range_value(&range, i);
            value = fmin(fmax(value, range.from), range.to);
            found[i] = rule->whole ? round(value) : value;
            stepped = next_value(&range, stepped);
        }
        found[0] = range.from;
        found[range.count - 1] = range.to;
    } else if (fill_list(text, rule, found, error) != GW_OK) {
        free(found);
        return GW_BAD_INPUT;
    }
    qsort(found, range.count, sizeof *found, by_size);
    *count = 1;
    for (size_t i = 1; i < range.count; i++) {
        if (found[i] > found[*count - 1]) {
            found[(*count)++] = found[i];
        }
    }
    *values = found;
    return GW_OK;
}
