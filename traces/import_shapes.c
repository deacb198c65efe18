/* Parses a parameter's name and shape, in all the ways in which lines of lists have them. */
#include <ctype.h>
#include <string.h>

#include "traces/import_shapes.h"

static bool is_word(const char *word, size_t length, const char *text) {
    return length == strlen(text) && strncmp(word, text, length) == 0;
}

/* Tells "1,024" from "64,3": three digits behind each comma, and one to three before the first. */
static enum gw_import_commas find_commas(const char *shape, size_t length) {
    size_t first = strspn(shape, "0123456789");
    bool is_either = first >= 1 && first <= 3 && first < length;
    bool has_zero = false;
    for (size_t at = first; at < length && is_either; at += 4) {
        size_t digits = strspn(shape + at + 1, "0123456789");
        is_either = shape[at] == ',' && digits == 3 && at + 4 <= length;
        has_zero = has_zero || shape[at + 1] == '0';
    }
    return !is_either ? GW_IMPORT_DIMENSIONS : has_zero ? GW_IMPORT_THOUSANDS : GW_IMPORT_EITHER;
}

/* Tells whether a word is a type, or says whether a parameter has gradients. */
static bool is_kind(const char *word, size_t length, bool *has_gradient) {
    static const char *const without[] = {"False", "torch.int64", "torch.int32", "torch.bool"};
    for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
        if (is_word(word, length, without[i])) {
            *has_gradient = false;
            return true;
        }
    }
    return is_word(word, length, "True") || strncmp(word, "torch.float", 11) == 0 ||
           is_word(word, length, "torch.bfloat16");
}

/*
 * Parses "64 3 7 7", "64,3,7,7", "[64, 3, 7, 7]", "torch.Size([64, 3, 7, 7])", "64x3x7x7", "9408",
 * "9_408" or "()", with a type behind it or whether it has gradients. False: it is none of these.
 */
static bool parse_shape(const char *shape, struct gw_import_parameter *out) {
    static const char prefix[] = "torch.Size";
    static const char marks[] = " \t,x[](){}";
    double dimensions[4] = {0};
    size_t count = 0;
    shape += strncmp(shape, prefix, strlen(prefix)) == 0 ? strlen(prefix) : 0;
    bool is_empty = *shape == '\0';
    size_t first = strcspn(shape, " \t");
    bool is_one_word = isdigit((unsigned char)shape[0]) && memchr(shape, ',', first) != NULL;
    out->elements = 1;
    out->digits = 0;
    out->commas = is_one_word ? find_commas(shape, first) : GW_IMPORT_NO_COMMAS;
    while (*shape != '\0') {
        if (isdigit((unsigned char)*shape)) {
            double dimension = 0;
            for (; isdigit((unsigned char)*shape) || *shape == '_'; shape++) {
                int digit = *shape - '0';
                dimension = *shape == '_' ? dimension : 10 * dimension + digit;
                out->digits = *shape == '_' ? out->digits : 10 * out->digits + digit;
            }
            out->elements *= dimension;
            dimensions[count % 4] = dimension;
            count++;
        } else if (strchr(marks, *shape) != NULL) {
            shape++;
        } else {
            size_t length = strcspn(shape, " \t,)");
            bool has_gradient = true;
            if (!is_kind(shape, length, &has_gradient)) {
                return false;
            }
            out->is_left_out = out->is_left_out || !has_gradient;
            shape += length;
        }
    }
    out->is_mask = count == 4 && dimensions[0] == 1 && dimensions[1] == 1 && dimensions[2] > 1 &&
                   dimensions[2] == dimensions[3];
    if (out->commas == GW_IMPORT_NO_COMMAS && count > 0 && out->digits >= 1000 &&
        out->digits == out->elements) {
        out->commas = GW_IMPORT_DIMENSIONS; /* a number without commas that could have some */
    }
    return !is_empty && out->elements >= 1;
}

/* Cuts a label, quotes and brackets off the name in a word; false: the word has no name. */
static bool cut_name(const char *word, const char **name, size_t *length) {
    static const char *const labels[] = {">:", "]:"};
    const char *begin = word;
    const char *end = word + *length;
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        const char *label = memmem(begin, (size_t)(end - begin), labels[i], strlen(labels[i]));
        begin = label != NULL ? label + strlen(labels[i]) : begin;
    }
    while (begin < end && strchr("([{'\"", *begin) != NULL) {
        begin++;
    }
    while (end > begin && strchr(":,'\"", end[-1]) != NULL) {
        end--;
    }
    *name = begin;
    *length = (size_t)(end - begin);
    return *length > 0 && *length <= GW_JSON_MOST_TEXT;
}

bool gw_import_find_parameter(const char *line, const char **name, size_t *length,
                              struct gw_import_parameter *out) {
    const char *first = line + strspn(line, " \t([{'\"");
    const char *mark = line + strcspn(line, "[<|:>)");
    const char *word = line + strspn(line, " \t");
    while (*word != '\0' && word - line < GW_IMPORT_MOST_PREFIX) {
        size_t width = strcspn(word, " \t,");
        const char *shape = word + width + strspn(word + width, " \t,");
        *out = (struct gw_import_parameter){0};
        *length = width;
        bool is_name = cut_name(word, name, length);
        if (is_name && (*name == first || mark < *name) && parse_shape(shape, out)) {
            return true;
        }
        word = shape;
    }
    return false;
}
