/*
 * Text that others' programs printed, line by line, without what launchers, containers and mail put
 * before each line and without a terminal's colours.
 */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "traces/import_parts.h"

static const char blanks[] = " \t";

/* ---- files ----------------------------------------------------------------------------------- */

enum gw_status gw_import_open(const char *path, gw_import_header *find_header,
                              struct gw_import_text *out, struct gw_error *error) {
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, at the beginning */
    *out = (struct gw_import_text){.path = path, .find_header = find_header};
    GW_TRY(gw_file_read(path, &out->text, &out->length, error));
    out->next = out->text + (strncmp(out->text, mark, strlen(mark)) == 0 ? strlen(mark) : 0);
    if (memchr(out->text, '\0', out->length) != NULL) {
        gw_import_close(out);
        return gw_fail(error, GW_BAD_INPUT, "%s: expected text, got zero bytes", path);
    }
    return GW_OK;
}

void gw_import_close(struct gw_import_text *text) {
    free(text->text);
    *text = (struct gw_import_text){0};
}

enum gw_status gw_import_bad(const struct gw_import_text *text, struct gw_error *error,
                             const char *format, ...) {
    char message[sizeof error->message] = "";
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return gw_fail(error, GW_BAD_INPUT, "%s:%zu: %s", text->path, text->number, message);
}

/* ---- what stands before a line --------------------------------------------------------------- */

/* Letters and digits; whether they are digits alone. */
static size_t word_length(const char *at, bool *is_number) {
    size_t length = 0;
    *is_number = true;
    for (; isalnum((unsigned char)at[length]); length++) {
        *is_number = *is_number && isdigit((unsigned char)at[length]);
    }
    return length;
}

/*
 * How much of the line has the shape of the prefix: the same marks around other numbers and other
 * words, with more blanks or fewer. 0: it has another one.
 */
static size_t prefix_length(const char *prefix, const char *line) {
    const char *at = line;
    while (*prefix != '\0') {
        bool is_number = false, is_also = false;
        size_t length = word_length(prefix, &is_number);
        if (strchr(blanks, *prefix) != NULL) {
            prefix += strspn(prefix, blanks);
            at += strspn(at, blanks);
        } else if (length > 0) {
            size_t here = word_length(at, &is_also);
            if (here == 0 || is_number != is_also) {
                return 0;
            }
            prefix += length;
            at += here;
        } else if (*prefix++ != *at++) {
            return 0;
        }
    }
    return (size_t)(at - line);
}

bool gw_import_is_prefix(const char *prefix, const char *line, size_t length) {
    bool is_blank = prefix[strspn(prefix, blanks)] == '\0';
    return prefix_length(prefix, line) == length && (length > 0 || is_blank);
}

/* The length of a terminal's sequence, such as that of a colour. */
static size_t escape_length(const char *at) {
    size_t length = 2;
    if (at[0] != '\x1b' || at[1] == '\0') {
        return at[0] == '\x1b' ? 1 : 0;
    }
    if (at[1] == '[') {
        length += strspn(at + length, "0123456789;:?<=>!\"' ");
        return at[length] == '\0' ? length : length + 1;
    }
    return length;
}

/* Takes out colours and ends of lines, and makes blanks of the non-breaking ones of pages. */
static void clean(char *line) {
    static const char no_break[] = "\xc2\xa0";
    char *begin = line, *out = line;
    while (*line != '\0') {
        size_t escape = escape_length(line);
        if (escape > 0) {
            line += escape;
        } else if (strncmp(line, no_break, strlen(no_break)) == 0) {
            *out++ = ' ';
            line += strlen(no_break);
        } else {
            *out++ = *line++;
        }
    }
    while (out > begin && out[-1] == '\r') {
        out--;
    }
    *out = '\0';
}

bool gw_import_next_line(struct gw_import_text *text) {
    if (*text->next == '\0') {
        return false;
    }
    char *line = text->next;
    size_t length = strcspn(line, "\n");
    text->next = line[length] == '\0' ? line + length : line + length + 1;
    line[length] = '\0';
    clean(line);
    const char *header = text->find_header == NULL ? NULL : text->find_header(line);
    if (header != NULL) {
        length = (size_t)(header - line);
        (void)snprintf(text->prefix, sizeof text->prefix, "%.*s", (int)length, line);
    } else {
        length = prefix_length(text->prefix, line);
    }
    text->line = line + length;
    text->number++;
    return true;
}

char *gw_import_next_prefix(const struct gw_import_text *text, char *from, size_t *length) {
    const char *prefix = text->prefix + strspn(text->prefix, blanks);
    bool is_word = isalnum((unsigned char)prefix[0]);
    if (strpbrk(prefix, "[<|:") == NULL) { /* numbers and words could be columns */
        return NULL;
    }
    for (char *at = from; *at != '\0'; at++) {
        bool begins = !is_word || at == from || !isalnum((unsigned char)at[-1]);
        *length = begins ? prefix_length(prefix, at) : 0;
        if (*length > 0) {
            return at;
        }
    }
    return NULL;
}

/* ---- words ----------------------------------------------------------------------------------- */

size_t gw_import_words(char *line, char **words, size_t most) {
    size_t count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(line, blanks, &rest); word != NULL;
         word = strtok_r(NULL, blanks, &rest)) {
        if (count < most) {
            words[count] = word;
        }
        count++;
    }
    return count;
}

bool gw_import_is_row(const char *line) {
    line += strspn(line, blanks);
    size_t length = 0;
    while (isalnum((unsigned char)line[length])) {
        length++;
    }
    return isdigit((unsigned char)line[0]) && strchr(blanks, line[length]) != NULL;
}

bool gw_import_integer(const char *word, double *out) {
    static const double largest_exact = 9007199254740992.0;
    *out = strtod(word, NULL);
    return word[0] != '\0' && word[strspn(word, "0123456789")] == '\0' && *out <= largest_exact;
}

bool gw_import_number(const char *word, double *out) {
    char *end = NULL;
    *out = strtod(word, &end);
    return end != word && *end == '\0' && isfinite(*out) && *out >= 0;
}

const char *gw_import_behind_mark(const char *line) {
    line += strspn(line, blanks);
    line += strspn(line, "#");
    return line + strspn(line, blanks);
}
