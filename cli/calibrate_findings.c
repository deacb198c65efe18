/* Growth laws, overlap factors and warnings of a calibration, from its document. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/calibrate_report.h"
#include "cli/cli.h"

static const cJSON *at(const cJSON *object, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static const char *text_at(const cJSON *object, const char *key) {
    const char *text = cJSON_GetStringValue(at(object, key));
    return text == NULL ? "" : text;
}

static void print_share(struct gw_table *table, double share) {
    if (isfinite(share)) {
        gw_table_cell(table, "%.1f%%", 100 * share);
    } else {
        gw_table_cell(table, "-");
    }
}

/* ---- growth -------------------------------------------------------------------------------- */

/* "2, 3, 4". */
static void print_numbers(struct gw_table *table, const cJSON *array) {
    char text[48];
    size_t used = 0;
    const cJSON *number = NULL;
    text[0] = '\0';
    cJSON_ArrayForEach(number, array) {
        int length = snprintf(text + used, sizeof text - used, "%s%.6g", used == 0 ? "" : ", ",
                              cJSON_GetNumberValue(number));
        if (length < 0 || used + (size_t)length + sizeof "..." > sizeof text) {
            (void)snprintf(text + used, sizeof text - used, "...");
            break;
        }
        used += (size_t)length;
    }
    gw_table_cell(table, "%s", text);
}

void gw_calibrate_print_growth(const cJSON *document) {
    static const char *const headings[] = {"growth with P", "startup",    "per byte",
                                           "measured at P", "left out P", "largest left out"};
    const cJSON *growth = at(document, "growth");
    if (!cJSON_IsObject(growth) || cJSON_GetArraySize(growth) == 0) {
        return;
    }
    struct gw_table *table = gw_table_open(headings, "lllrrr");
    const cJSON *law = NULL;
    cJSON_ArrayForEach(law, growth) {
        gw_table_cell(table, "%s", law->string);
        gw_table_cell(table, "%s", text_at(at(law, "startup"), "law"));
        gw_table_cell(table, "%s", text_at(at(law, "bandwidth"), "law"));
        print_numbers(table, at(law, "workers"));
        print_share(table, cJSON_GetNumberValue(at(law, "left_out_error")));
        print_share(table, cJSON_GetNumberValue(at(law, "largest_left_out_error")));
    }
    printf("\n");
    gw_table_print_and_close(table);
}

/* ---- overlap ------------------------------------------------------------------------------- */

static void print_factor(struct gw_table *table, const cJSON *factor) {
    double value = cJSON_GetNumberValue(at(factor, "factor"));
    double low = cJSON_GetNumberValue(at(factor, "low"));
    double high = cJSON_GetNumberValue(at(factor, "high"));
    if (!isfinite(value)) {
        gw_table_cell(table, "-");
    } else if (isfinite(low) && isfinite(high)) {
        gw_table_cell(table, "%.2f (%.2f to %.2f)", value, low, high);
    } else {
        gw_table_cell(table, "%.2f", value);
    }
}

static void print_pair(struct gw_table *table, const cJSON *collective, const cJSON *pair) {
    const cJSON *point = NULL;
    cJSON_ArrayForEach(point, pair) {
        char bytes[GW_UNITS_SIZE];
        gw_table_cell(table, "%s", collective->string);
        gw_table_cell(table, "%s", pair->string);
        gw_table_cell(table, "%s",
                      gw_format_bytes(cJSON_GetNumberValue(at(point, "bytes")), bytes));
        print_factor(table, at(point, "compute"));
        print_factor(table, at(point, "communication"));
    }
}

void gw_calibrate_print_overlap(const cJSON *document) {
    static const char *const headings[] = {"at once", "and", "bytes", "compute takes",
                                           "exchange takes"};
    const cJSON *factors = at(at(document, "overlap"), "factors");
    if (!cJSON_IsObject(factors) || cJSON_GetArraySize(factors) == 0) {
        return;
    }
    struct gw_table *table = gw_table_open(headings, "llrrr");
    const cJSON *collective = NULL;
    cJSON_ArrayForEach(collective, factors) {
        const cJSON *pair = NULL;
        cJSON_ArrayForEach(pair, collective) {
            print_pair(table, collective, pair);
        }
    }
    printf("\n");
    gw_table_print_and_close(table);
    printf("Factors on what each takes alone: medians of rounds (95%% intervals; of 5 or fewer, "
           "ranges).\n");
}

/* ---- warnings ------------------------------------------------------------------------------ */

/* Lines of at most 100 columns, broken at spaces; all but the first are indented. */
static void print_wrapped(const char *first, const char *indent, const char *text) {
    enum { COLUMNS = 100 };
    const char *start = first;
    while (*text != '\0') {
        size_t room = COLUMNS - strlen(start);
        size_t length = strlen(text);
        if (length > room) {
            length = room;
            while (length > 0 && text[length] != ' ') {
                length--;
            }
            length = length > 0 ? length : strcspn(text, " "); /* a word longer than a line */
        }
        printf("%s%.*s\n", start, (int)length, text);
        text += length;
        text += strspn(text, " ");
        start = indent;
    }
}

void gw_calibrate_print_warnings(const cJSON *document) {
    const cJSON *warnings = at(at(document, "source"), "warnings");
    const cJSON *warning = NULL;
    if (cJSON_GetArraySize(warnings) > 0) {
        printf("\n");
    }
    cJSON_ArrayForEach(warning, warnings) {
        if (cJSON_IsString(warning)) {
            print_wrapped("warning: ", "         ", warning->valuestring);
        }
    }
}
