#include "goal/scanner.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>

/*
 * A piece stays in the processor's cache. Behind it are zeros, so that a token can be compared with
 * any that is expected without looking for the end first.
 */
enum { piece_size = 256 * 1024, token_room = 2 * (GW_LONGEST_WORD + 1) };

/* ---- pieces -------------------------------------------------------------------------------- */

static enum gw_status open_piece(struct gw_scanner *scanner, struct gw_error *error) {
    scanner->line = 1;
    scanner->piece = calloc(piece_size + token_room, 1);
    scanner->at = scanner->end = scanner->whole = scanner->piece;
    return scanner->piece == NULL ? gw_fail_memory(error, "reading a schedule") : GW_OK;
}

enum gw_status gw_scanner_open(struct gw_scanner *out, const char *path, struct gw_error *error) {
    *out = (struct gw_scanner){.name = path, .stream = fopen(path, "rb")};
    if (out->stream == NULL) {
        return gw_fail(error, GW_BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno));
    }
    enum gw_status status = open_piece(out, error);
    if (status != GW_OK) {
        gw_scanner_close(out);
    }
    return status;
}

enum gw_status gw_scanner_open_text(struct gw_scanner *out, const char *text, size_t length,
                                    const char *name, struct gw_error *error) {
    *out = (struct gw_scanner){.name = name, .rest = text, .rest_length = length};
    return open_piece(out, error);
}

void gw_scanner_close(struct gw_scanner *scanner) {
    if (scanner->stream != NULL) {
        (void)fclose(scanner->stream);
    }
    free(scanner->piece);
    *scanner = (struct gw_scanner){0};
}

uint64_t gw_scanner_length(const struct gw_scanner *scanner) {
    struct stat status;
    if (scanner->stream == NULL) {
        return scanner->rest_length;
    }
    bool known = fstat(fileno(scanner->stream), &status) == 0 && S_ISREG(status.st_mode);
    return known ? (uint64_t)status.st_size : 0;
}

static size_t copy_rest(struct gw_scanner *scanner, char *out, size_t room) {
    size_t length = room < scanner->rest_length ? room : scanner->rest_length;
    if (length > 0) {
        memcpy(out, scanner->rest, length);
        scanner->rest += length;
        scanner->rest_length -= length;
    }
    return length;
}

/* Moves what is left of the piece to its front and fills it up. */
static enum gw_status read_on(struct gw_scanner *scanner, struct gw_error *error) {
    size_t kept = (size_t)(scanner->end - scanner->at);
    size_t room = piece_size - kept;
    memmove(scanner->piece, scanner->at, kept);
    size_t added = scanner->stream == NULL ? copy_rest(scanner, scanner->piece + kept, room)
                                           : fread(scanner->piece + kept, 1, room, scanner->stream);
    if (scanner->stream != NULL && ferror(scanner->stream)) {
        return gw_fail(error, GW_BAD_INPUT, "%s: cannot be read: %s", scanner->name,
                       strerror(errno));
    }
    char *end = scanner->piece + kept + added;
    memset(end, 0, token_room);
    scanner->at = scanner->piece;
    scanner->end = end;
    scanner->last = added < room;
    scanner->whole = scanner->last ? end : end - token_room;
    return GW_OK;
}

/* ---- messages ------------------------------------------------------------------------------ */

static enum gw_status fail_at(const struct gw_scanner *scanner, uint64_t line, const char *expected,
                              const char *got, struct gw_error *error) {
    return gw_fail(error, GW_BAD_INPUT, "%s:%llu: expected %s%s%s", scanner->name,
                   (unsigned long long)line, expected, got[0] == '\0' ? "" : ", got ", got);
}

enum gw_status gw_scanner_fail(const struct gw_scanner *scanner, uint64_t line,
                               struct gw_error *error, const char *format, ...) {
    char expected[400];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(expected, sizeof expected, format, arguments);
    va_end(arguments);
    return fail_at(scanner, line, expected, "", error);
}

/* How many bytes from `at` on a reader would take for one thing. */
static size_t measure_token(const struct gw_scanner *scanner) {
    const char *at = scanner->at;
    size_t length = *at == '-' ? 1 : 0;
    while (at + length < scanner->end && gw_is_of_word(at[length])) {
        length++;
    }
    return length == 0 ? 1 : length;
}

static void describe_token(const struct gw_scanner *scanner, char *out, size_t size) {
    enum { most_shown = 40 };
    const char *at = scanner->at;
    if (gw_scanner_at_end(scanner)) {
        (void)snprintf(out, size, "the end of the file");
    } else if (*at == '\n') {
        (void)snprintf(out, size, "the end of the line");
    } else if (!isgraph((unsigned char)*at)) {
        (void)snprintf(out, size, "the byte 0x%02x", (unsigned)(unsigned char)*at);
    } else {
        size_t length = measure_token(scanner);
        bool cut = length > most_shown;
        (void)snprintf(out, size, "%.*s%s", cut ? most_shown : (int)length, at, cut ? "..." : "");
    }
}

enum gw_status gw_scanner_expected(const struct gw_scanner *scanner, struct gw_error *error,
                                   const char *format, ...) {
    char expected[400];
    char got[64];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(expected, sizeof expected, format, arguments);
    va_end(arguments);
    describe_token(scanner, got, sizeof got);
    return fail_at(scanner, scanner->line, expected, got, error);
}

/* ---- blanks and comments ------------------------------------------------------------------- */

/* Up to the end of the line, which stays. */
static enum gw_status skip_line_comment(struct gw_scanner *scanner, struct gw_error *error) {
    const char *newline = NULL;
    for (;;) {
        newline = memchr(scanner->at, '\n', (size_t)(scanner->end - scanner->at));
        scanner->at = newline != NULL ? newline : scanner->end;
        if (newline != NULL || scanner->last) {
            return GW_OK;
        }
        GW_TRY(read_on(scanner, error));
    }
}

static enum gw_status skip_block_comment(struct gw_scanner *scanner, struct gw_error *error) {
    uint64_t first_line = scanner->line;
    scanner->at += strlen("/*");
    for (;;) {
        if (scanner->at > scanner->whole) {
            GW_TRY(read_on(scanner, error));
        }
        if (gw_scanner_take(scanner, "*/")) {
            return GW_OK;
        }
        if (gw_scanner_at_end(scanner)) {
            return fail_at(scanner, first_line, "*/ after /*", "the end of the file", error);
        }
        scanner->line += *scanner->at == '\n' ? 1 : 0;
        scanner->at++;
    }
}

enum gw_status gw_scanner_skip_all(struct gw_scanner *scanner, bool lines, struct gw_error *error) {
    for (;;) {
        if (scanner->at > scanner->whole || scanner->at == scanner->end) {
            if (scanner->last) {
                return GW_OK;
            }
            GW_TRY(read_on(scanner, error));
        }
        char byte = *scanner->at;
        if (byte == ' ' || byte == '\t' || byte == '\r') {
            scanner->at++;
        } else if (byte == '\n' && lines) {
            scanner->line++;
            scanner->at++;
        } else if (byte == '/' && scanner->at[1] == '/') {
            GW_TRY(skip_line_comment(scanner, error));
        } else if (byte == '/' && scanner->at[1] == '*') {
            GW_TRY(skip_block_comment(scanner, error));
        } else {
            return GW_OK;
        }
    }
}

/* ---- tokens -------------------------------------------------------------------------------- */

enum gw_status gw_scanner_word(struct gw_scanner *scanner, const char *what, struct gw_word *out,
                               struct gw_error *error) {
    /* FNV-1a (Fowler, Noll, Vo), 32 bits: one multiplication a byte, and words are short. */
    const uint32_t basis = 2166136261u;
    const uint32_t prime = 16777619u;
    if (!gw_is_letter(*scanner->at)) {
        return gw_scanner_expected(scanner, error, "%s", what);
    }
    const char *first = scanner->at;
    uint32_t hash = basis;
    uint32_t length = 0;
    for (; gw_is_of_word(first[length]) && length < GW_LONGEST_WORD; length++) {
        out->bytes[length] = first[length];
        hash = (hash ^ (unsigned char)first[length]) * prime;
    }
    if (gw_is_of_word(first[length])) {
        return gw_scanner_expected(scanner, error, "a label of at most %d characters",
                                   GW_LONGEST_WORD);
    }
    out->hash = hash;
    out->length = length;
    scanner->at += length;
    return GW_OK;
}

static enum gw_status expected_number(const struct gw_scanner *scanner,
                                      const struct gw_number *expected, struct gw_error *error) {
    return gw_scanner_expected(scanner, error, "%s of %llu to %llu%s", expected->what,
                               (unsigned long long)expected->least,
                               (unsigned long long)expected->most, expected->any ? " or -1" : "");
}

/*
 * So many zeros that they do not fit into a piece end the number early; as no digit can follow a
 * number, they are refused then.
 */
enum gw_status gw_scanner_number(struct gw_scanner *scanner, const struct gw_number *expected,
                                 uint64_t *out, struct gw_error *error) {
    const char *at = scanner->at;
    if (expected->any && at[0] == '-' && at[1] == '1' && !gw_is_digit(at[2])) {
        scanner->at += strlen("-1");
        *out = UINT32_MAX;
        return GW_OK;
    }
    uint64_t value = 0;
    for (; gw_is_digit(*at); at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (value > (expected->most - digit) / 10 || digit > expected->most) {
            return expected_number(scanner, expected, error);
        }
        value = 10 * value + digit;
    }
    if (at == scanner->at || value < expected->least) {
        return expected_number(scanner, expected, error);
    }
    scanner->at = at;
    *out = value;
    return GW_OK;
}
