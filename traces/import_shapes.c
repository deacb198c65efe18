/* Parses a parameter's name and shape, in all the ways in which lines of lists have them. */
#include <ctype.h>
#include <math.h>
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

struct shape {
    bool is_open, is_closed; /* a bracket was opened, and the shape has come to its end */
    bool has_mark;           /* "x" stands between numbers */
    bool ends_in_mark;       /* the last one so far stands behind a number alone */
    double largest;          /* of all numbers but the last */
};

static void add_dimension(struct shape *shape, double dimension, struct gw_import_parameter *out) {
    shape->largest = fmax(shape->largest, out->last);
    if (out->numbers < GW_IMPORT_MOST_DIMENSIONS) {
        out->dimensions[out->numbers] = dimension;
    }
    out->numbers++;
    out->elements *= dimension;
    out->last = dimension;
}

/*
 * Adds a number to the shape; behind the shape it must be the number of all elements. False: it is
 * not, or has other commas than numbers before.
 */
static bool add_number(struct shape *shape, const char *at, size_t length,
                       struct gw_import_parameter *out) {
    double whole = 0;
    double part = 0;
    for (size_t i = 0; i < length; i++) {
        if (at[i] == ',' && !shape->is_closed) {
            add_dimension(shape, part, out);
            part = 0;
        } else if (isdigit((unsigned char)at[i])) {
            part = 10 * part + (at[i] - '0');
            whole = 10 * whole + (at[i] - '0');
        }
    }
    if (shape->is_closed) {
        return whole == out->elements;
    }
    bool has_commas = memchr(at, ',', length) != NULL;
    enum gw_import_commas here = has_commas ? find_commas(at, length) : GW_IMPORT_NO_COMMAS;
    bool is_first = out->commas == GW_IMPORT_NO_COMMAS;
    bool fits = is_first || !has_commas || (out->commas & here) != 0;
    out->commas = is_first ? here : has_commas ? out->commas & here : out->commas;
    out->digits *= whole;
    shape->ends_in_mark = false;
    add_dimension(shape, part, out);
    return fits;
}

/* Reads a mark between numbers, or a bracket; false: one that no shape has there. */
static bool read_mark(struct shape *shape, char mark, const struct gw_import_parameter *out) {
    if (strchr("[({", mark) != NULL) {
        shape->is_open = true;
        return out->numbers == 0 || shape->is_closed;
    }
    shape->is_closed = shape->is_closed || strchr("])}", mark) != NULL;
    shape->has_mark = shape->has_mark || mark == 'x';
    shape->ends_in_mark = shape->ends_in_mark || mark == 'x';
    return true;
}

/* Settles what the numbers of a whole line say together. */
static void settle_numbers(const struct shape *shape, struct gw_import_parameter *out) {
    const double *sizes = out->dimensions;
    out->is_mask =
        out->numbers == 4 && sizes[0] == 1 && sizes[1] == 1 && sizes[2] > 1 && sizes[2] == sizes[3];
    out->is_counted = !shape->is_open && out->commas == GW_IMPORT_NO_COMMAS &&
                      out->last * out->last == out->elements;
    out->has_count = out->is_counted && out->numbers > 2 && out->last > shape->largest;
    if (shape->has_mark && out->commas == GW_IMPORT_EITHER) {
        out->commas = GW_IMPORT_THOUSANDS;
    }
    if (out->commas == GW_IMPORT_NO_COMMAS && out->numbers == 1 && out->elements >= 1000) {
        out->commas = GW_IMPORT_DIMENSIONS; /* a number without commas that could have some */
    }
}

/*
 * Parses "64 3 7 7", "64,3,7,7", "[64, 3, 7, 7]", "torch.Size([64, 3, 7, 7])", "64x3x7x7", "9408",
 * "9_408", "1,000 x 2,048" or "()", with a type behind it, whether it has gradients, or the number
 * of its elements. False: it is none of these.
 */
static bool parse_shape(const char *at, struct gw_import_parameter *out) {
    static const char prefix[] = "torch.Size";
    static const char marks[] = " \t,x[](){}";
    struct shape shape = {0};
    at += strncmp(at, prefix, strlen(prefix)) == 0 ? strlen(prefix) : 0;
    bool is_empty = *at == '\0';
    out->elements = 1;
    out->digits = 1;
    while (*at != '\0') {
        size_t length = 1;
        if (isdigit((unsigned char)*at)) {
            bool has_commas = !shape.is_open || shape.is_closed; /* that digits follow */
            length = strspn(at, "0123456789_");
            while (has_commas && at[length] == ',' && isdigit((unsigned char)at[length + 1])) {
                length += 1 + strspn(at + length + 1, "0123456789_");
            }
            if (!add_number(&shape, at, length, out)) {
                return false;
            }
        } else if (strchr(marks, *at) != NULL) {
            if (!read_mark(&shape, *at, out)) {
                return false;
            }
        } else {
            bool has_gradient = true;
            length = strcspn(at, " \t,)");
            if (!is_kind(at, length, &has_gradient)) {
                return false;
            }
            out->is_left_out = out->is_left_out || !has_gradient;
            shape.is_closed = shape.is_closed || out->numbers > 0;
        }
        at += length;
    }
    settle_numbers(&shape, out);
    return !is_empty && !shape.ends_in_mark &&
           (out->commas == GW_IMPORT_THOUSANDS ? out->digits : out->elements) >= 1;
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
    return *length > 0 && *length <= GW_JSON_MAX_TEXT;
}

bool gw_import_find_parameter(const char *line, const char **name, size_t *length,
                              struct gw_import_parameter *out) {
    const char *first = line + strspn(line, " \t([{'\"");
    const char *mark = line + strcspn(line, "[<|:>)");
    const char *word = line + strspn(line, " \t");
    while (*word != '\0' && word - line < GW_IMPORT_MAX_PREFIX) {
        size_t width = strcspn(word, " \t,");
        const char *shape = word + width + strspn(word + width, " \t,");
        *out = (struct gw_import_parameter){0};
        *length = width;
        bool is_name = cut_name(word, name, length);
        bool has_letter = false;
        for (size_t i = 0; is_name && i < *length; i++) {
            has_letter = has_letter || isalpha((unsigned char)(*name)[i]);
        }
        is_name = is_name && (*name == first || (mark < *name && has_letter));
        if (is_name && parse_shape(shape, out)) {
            return true;
        }
        word = shape;
    }
    return false;
}
