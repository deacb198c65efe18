/*
 * Reads text of other projects' programs line by line, and takes off a terminal's colours and the
 * prefixes that launchers, containers and mail put before lines.
 */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "traces/import_parts.h"

static const char blanks[] = " \t";

/* ---- files ----------------------------------------------------------------------------------- */

enum { MOST_START = 16 };

/* Reads the beginning of a regular file; a pipe can be read only once. */
static size_t peek_start(const char *path, char start[MOST_START]) {
    struct stat about;
    FILE *stream = stat(path, &about) == 0 && S_ISREG(about.st_mode) ? fopen(path, "rbe") : NULL;
    if (stream == NULL) {
        return 0;
    }
    size_t length = fread(start, 1, MOST_START, stream);
    (void)fclose(stream);
    return length;
}

/* Names the kind of a file that is no text by its first bytes; NULL: not known. */
static const char *find_kind(const char *start, size_t length) {
    static const struct {
        size_t at;
        const char *mark;
        size_t length;
        const char *kind;
    } kinds[] = {
        {0, "\xff\xfe", 2, "UTF-16 (save it as UTF-8)"},
        {0, "\xfe\xff", 2, "UTF-16 (save it as UTF-8)"},
        /* the header's length in eight bytes, the upper ones zero, and the header, a JSON object */
        {6, "\0\0{\"", 4, "a .safetensors file (list the names and shapes of its tensors)"},
        {0, "PK\3\4", 4, "a zip archive, as torch.save writes (list names and shapes)"},
        {0, "\x1f\x8b", 2, "a file that gzip compressed"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (length >= kinds[i].at + kinds[i].length &&
            memcmp(start + kinds[i].at, kinds[i].mark, kinds[i].length) == 0) {
            return kinds[i].kind;
        }
    }
    return NULL;
}

enum gw_status gw_import_open(const char *path, gw_import_header *is_header,
                              struct gw_import_text *out, struct gw_error *error) {
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, at the beginning */
    char start[MOST_START];
    const char *kind = find_kind(start, peek_start(path, start));
    *out = (struct gw_import_text){.path = path, .is_header = is_header};
    if (kind == NULL) {
        GW_TRY(gw_file_read(path, &out->text, &out->length, error));
        out->next = out->text + (strncmp(out->text, mark, strlen(mark)) == 0 ? strlen(mark) : 0);
        kind = find_kind(out->text, out->length);
    }
    if (kind != NULL || memchr(out->text, '\0', out->length) != NULL) {
        gw_import_close(out);
        return gw_fail(error, GW_BAD_INPUT, "%s: expected text, got %s", path,
                       kind == NULL ? "zero bytes" : kind);
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

/* ---- prefixes of lines --------------------------------------------------------------- */

/* Counts letters and digits from a place on, and tells whether they are digits alone. */
static size_t word_length(const char *at, bool *is_number) {
    size_t length = 0;
    *is_number = true;
    for (; isalnum((unsigned char)at[length]); length++) {
        *is_number = *is_number && isdigit((unsigned char)at[length]);
    }
    return length;
}

/*
 * Measures how much of the line has the shape of the prefix: the same marks around other numbers
 * and words, with more blanks or fewer. 0: it has another shape.
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

/* Measures a terminal's sequence, such as that of a colour. */
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
static void clean_line(char *line) {
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

/*
 * Finds where a header begins in the line, with its "#" and the blanks before it; NULL: nowhere. A
 * header that begins further on than a prefix may be long is none.
 */
static const char *find_header(const struct gw_import_text *text, const char *line) {
    for (const char *at = line; *at != '\0' && at - line < GW_IMPORT_MAX_PREFIX; at++) {
        if (text->is_header(at)) {
            while (at > line && strchr(blanks, at[-1]) != NULL) {
                at--;
            }
            while (at > line && at[-1] == '#') {
                at--;
            }
            return at;
        }
    }
    return NULL;
}

bool gw_import_next_line(struct gw_import_text *text) {
    if (*text->next == '\0') {
        return false;
    }
    char *line = text->next;
    size_t length = strcspn(line, "\n");
    text->next = line[length] == '\0' ? line + length : line + length + 1;
    line[length] = '\0';
    clean_line(line);
    const char *header = text->is_header == NULL ? NULL : find_header(text, line);
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

bool gw_import_is_last(const struct gw_import_text *text) {
    return text->next[strspn(text->next, " \t\r\n")] == '\0';
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

bool gw_import_begins(const char *line, const char *with) {
    return strncmp(line, with, strlen(with)) == 0;
}

bool gw_import_integer(const char *word, double *out) {
    *out = strtod(word, NULL);
    return word[0] != '\0' && word[strspn(word, "0123456789")] == '\0' &&
           *out <= GW_IMPORT_MAX_EXACT;
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
