#include "core/terminal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- characters ------------------------------------------------------------------------------ */

size_t gw_utf8_length(const unsigned char *c) {
    size_t length = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    if (c[0] > 0xf4) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((c[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool too_long = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xf0 && c[1] < 0x90);
    bool outside = (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf4 && c[1] > 0x8f);
    return too_long || outside ? 0 : length;
}

/*
 * Those of C0, DEL, C1; and those that turn the direction of text, break lines, or are invisible.
 */
static const uint32_t controls[][2] = {
    {0x01, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},   {0x180e, 0x180e}, {0x200b, 0x200f},
    {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};

uint32_t gw_control_at(const unsigned char *c) {
    size_t length = gw_utf8_length(c);
    uint32_t code = length < 2 ? c[0] : c[0] & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        code = code << 6 | (c[i] & 0x3fU);
    }
    for (size_t i = 0; i < sizeof controls / sizeof *controls && length > 0; i++) {
        if (code >= controls[i][0] && code <= controls[i][1]) {
            return code;
        }
    }
    return 0;
}

static size_t columns_of(const char *text, size_t bytes) {
    size_t columns = 0;
    for (size_t i = 0; i < bytes; i++) {
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return columns;
}

/* ---- printing -------------------------------------------------------------------------------- */

static char failure[512];

const char *gw_print_failure(void) {
    return failure[0] == '\0' ? NULL : failure;
}

void gw_print_lost(const char *why) {
    if (failure[0] == '\0') {
        (void)snprintf(failure, sizeof failure, "%s",
                       why == NULL ? "out of memory while printing an answer" : why);
    }
}

enum { ESCAPE_SIZE = 12 };

/* Writes the character at `c` in a form that is safe for a terminal; returns its length in the
 * text. */
static size_t escape_character(const unsigned char *c, char out[ESCAPE_SIZE]) {
    size_t length = gw_utf8_length(c);
    uint32_t control = gw_control_at(c);
    if (length > 0 && control == 0) {
        memcpy(out, c, length);
        out[length] = '\0';
        return length;
    }
    (void)(length < 2   ? snprintf(out, ESCAPE_SIZE, "\\x%02x", c[0])
           : length < 4 ? snprintf(out, ESCAPE_SIZE, "\\u%04" PRIx32, control)
                        : snprintf(out, ESCAPE_SIZE, "\\U%08" PRIx32, control));
    return length < 2 ? 1 : length;
}

/* Prints text; `newline` stands for a line feed. Writes short text in one piece, to a stream that
 * is not buffered, because other processes write to it too. */
static void print_escaped(FILE *stream, const char *text, char newline) {
    const unsigned char *c = (const unsigned char *)text;
    char piece[1024];
    size_t used = 0;
    while (*c != '\0') {
        char shown[ESCAPE_SIZE] = "\n";
        c += *c == (unsigned char)newline ? 1 : escape_character(c, shown);
        if (used + sizeof shown > sizeof piece) {
            (void)fwrite(piece, 1, used, stream);
            used = 0;
        }
        used = (size_t)(stpcpy(piece + used, shown) - piece);
    }
    (void)fwrite(piece, 1, used, stream);
}

void gw_visible(const char *text, char *out, size_t size) {
    const unsigned char *c = (const unsigned char *)text;
    size_t used = 0;
    out[0] = '\0';
    while (*c != '\0') {
        char shown[ESCAPE_SIZE];
        c += escape_character(c, shown);
        size_t length = strlen(shown);
        if (used + length >= size) {
            return;
        }
        memcpy(out + used, shown, length + 1);
        used += length;
    }
}

static size_t count_newlines(const char *text) {
    size_t count = 0;
    for (const char *c = text; *c != '\0'; c++) {
        count += *c == '\n';
    }
    return count;
}

/* A control character that is not in the text. */
static char find_unused(const char *text) {
    char unused = 1;
    while (unused < 31 && (unused == '\n' || strchr(text, unused) != NULL)) {
        unused++;
    }
    return unused;
}

/* The text of the format, with `newline` in place of its own line feeds; NULL without memory. */
static char *format_marked(const char *format, char newline, va_list arguments) {
    char *marked = strdup(format);
    char *text = NULL;
    for (char *c = marked; c != NULL && *c != '\0'; c++) {
        if (*c == '\n') {
            *c = newline;
        }
    }
    if (marked != NULL && vasprintf(&text, marked, arguments) < 0) {
        text = NULL;
    }
    free(marked);
    return text;
}

/*
 * Line feeds of the format end lines; line feeds in arguments are part of names, and are escaped.
 */
__attribute__((format(printf, 2, 0))) static void print_arguments(FILE *stream, const char *format,
                                                                  va_list arguments) {
    char *text = NULL;
    char newline = '\n';
    va_list again;
    va_copy(again, arguments);
    if (vasprintf(&text, format, arguments) < 0) {
        text = NULL;
    }
    if (text != NULL && count_newlines(text) > count_newlines(format)) {
        newline = find_unused(text);
        free(text);
        text = format_marked(format, newline, again);
    }
    va_end(again);
    if (text == NULL) {
        gw_print_lost(NULL);
        return;
    }
    print_escaped(stream, text, newline);
    free(text);
}

void gw_print_to(FILE *stream, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_arguments(stream, format, arguments);
    va_end(arguments);
}

void gw_print(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_arguments(stdout, format, arguments);
    va_end(arguments);
}

/* ---- the terminal ---------------------------------------------------------------------------- */

size_t gw_terminal_width(void) {
    enum { usual = 80, least = 40 };
    struct winsize size = {0};
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 ||
        size.ws_col == 0) {
        return usual;
    }
    return size.ws_col > least ? size.ws_col : least;
}

bool gw_terminal_erases(void) {
    const char *kind = getenv("TERM");
    return kind != NULL && kind[0] != '\0' && strcmp(kind, "dumb") != 0;
}

void gw_print_wrapped(const char *first, const char *text, size_t width) {
    size_t indent = columns_of(first, strlen(first));
    size_t column = indent;
    gw_print("%s", first);
    for (const char *word = text + strspn(text, " "); *word != '\0';) {
        size_t length = strcspn(word, " ");
        size_t columns = columns_of(word, length);
        bool begins = column == indent;
        if (!begins && column + 1 + columns > width) {
            gw_print("\n%*s", (int)indent, "");
            column = indent;
            begins = true;
        }
        gw_print("%s%.*s", begins ? "" : " ", (int)length, word);
        column += columns + !begins;
        word += length;
        word += strspn(word, " ");
    }
    gw_print("\n");
}
