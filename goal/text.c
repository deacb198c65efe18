#include "goal/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A piece fits in the processor's cache. Zeros follow it, so that a token can be compared with any
 * expected one without a check for the end of the piece. */
enum { PIECE_SIZE = 256 * 1024, MAX_TOKEN = 2 * (GW_LONGEST_WORD + 1) };

/* ---- pieces -------------------------------------------------------------------------------- */

enum gw_status gw_scanner_open(struct gw_scanner *out, const char *path, struct gw_error *error) {
    *out = (struct gw_scanner){.name = path, .line = 1, .stream = fopen(path, "rbe")};
    if (out->stream == NULL) {
        return gw_file_unreadable(path, errno, error);
    }
    out->piece = calloc(PIECE_SIZE + MAX_TOKEN, 1);
    out->at = out->end = out->whole = out->piece;
    if (out->piece == NULL) {
        gw_scanner_close(out);
        return gw_fail_memory(error, "reading a schedule");
    }
    return GW_OK;
}

void gw_scanner_close(struct gw_scanner *scanner) {
    (void)fclose(scanner->stream);
    free(scanner->piece);
    *scanner = (struct gw_scanner){0};
}

uint64_t gw_scanner_length(const struct gw_scanner *scanner) {
    struct stat status;
    bool known = fstat(fileno(scanner->stream), &status) == 0 && S_ISREG(status.st_mode);
    return known ? (uint64_t)status.st_size : 0;
}

/* Moves the rest of the piece to its front and fills the piece up. */
static enum gw_status fill_piece(struct gw_scanner *scanner, struct gw_error *error) {
    /* Refuse a text that is too long, and endless blanks and comments. */
    if (scanner->bytes > GW_GOAL_MAX_BYTES || gw_scanner_length(scanner) > GW_GOAL_MAX_BYTES) {
        return gw_fail(error, GW_BAD_INPUT, "%s: expected at most %d GiB, got more", scanner->name,
                       (int)(GW_GOAL_MAX_BYTES >> 30));
    }
    GW_TRY(scanner->bytes - scanner->bytes_before <= GW_FILE_MAX_BYTES
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "%s:%llu: expected at most %d MiB of blanks and comments, got more",
                         scanner->name, (unsigned long long)scanner->line,
                         GW_FILE_MAX_BYTES >> 20));
    size_t kept = (size_t)(scanner->end - scanner->at);
    size_t room = PIECE_SIZE - kept;
    memmove(scanner->piece, scanner->at, kept);
    size_t added = fread(scanner->piece + kept, 1, room, scanner->stream);
    if (ferror(scanner->stream)) {
        return gw_file_unreadable(scanner->name, errno, error);
    }
    char *end = scanner->piece + kept + added;
    scanner->bytes += added;
    memset(end, 0, MAX_TOKEN);
    scanner->at = scanner->piece;
    scanner->end = end;
    scanner->last = added < room;
    scanner->whole = scanner->last ? end : end - MAX_TOKEN;
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

static inline bool at_end(const struct gw_scanner *scanner) {
    return scanner->at == scanner->end && scanner->last;
}

/* Passes `text`, which is short, if the scanner is at it. */
static inline bool pass_text(struct gw_scanner *scanner, const char *text) {
    size_t length = strlen(text);
    bool there = memcmp(scanner->at, text, length) == 0;
    scanner->at += there ? length : 0;
    return there;
}

static inline bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

static inline bool is_letter(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static inline bool is_of_word(char byte) {
    return is_letter(byte) || is_digit(byte) || byte == '_';
}

static void describe_token(const struct gw_scanner *scanner, char *out, size_t size) {
    enum { max_shown = 40 };
    const char *at = scanner->at;
    if (at_end(scanner)) {
        (void)snprintf(out, size, "the end of the file");
    } else if (*at == '\n') {
        (void)snprintf(out, size, "the end of the line");
    } else if (!isgraph((unsigned char)*at)) {
        (void)snprintf(out, size, "the byte 0x%02x", (unsigned)(unsigned char)*at);
    } else {
        size_t length = *at == '-' ? 1 : 0;
        while (at + length < scanner->end && is_of_word(at[length])) {
            length++;
        }
        length = length == 0 ? 1 : length;
        bool cut = length > max_shown;
        (void)snprintf(out, size, "%.*s%s", cut ? max_shown : (int)length, at, cut ? "..." : "");
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

/* Keeps the text of the first comment that begins with "// loggp ". */
static void keep_loggp_comment(struct gw_scanner *scanner) {
    static const char first[] = "// loggp ";
    if (scanner->loggp[0] != '\0' || memcmp(scanner->at, first, strlen(first)) != 0) {
        return;
    }
    const char *text = scanner->at + strlen(first);
    size_t room = (size_t)(scanner->end - text);
    size_t length = strcspn(text, "\r\n");
    length = length < room ? length : room;
    if (length < sizeof scanner->loggp) {
        memcpy(scanner->loggp, text, length);
        scanner->loggp[length] = '\0';
    }
}

/* Skips up to the end of the line, but not the end itself. */
static enum gw_status skip_line_comment(struct gw_scanner *scanner, struct gw_error *error) {
    const char *newline = NULL;
    keep_loggp_comment(scanner);
    for (;;) {
        newline = memchr(scanner->at, '\n', (size_t)(scanner->end - scanner->at));
        scanner->at = newline != NULL ? newline : scanner->end;
        if (newline != NULL || scanner->last) {
            return GW_OK;
        }
        GW_TRY(fill_piece(scanner, error));
    }
}

static enum gw_status skip_block_comment(struct gw_scanner *scanner, struct gw_error *error) {
    uint64_t first_line = scanner->line;
    scanner->at += strlen("/*");
    for (;;) {
        if (scanner->at > scanner->whole) {
            GW_TRY(fill_piece(scanner, error));
        }
        if (pass_text(scanner, "*/")) {
            return GW_OK;
        }
        if (at_end(scanner)) {
            return fail_at(scanner, first_line, "*/ after /*", "the end of the file", error);
        }
        scanner->line += *scanner->at == '\n' ? 1 : 0;
        scanner->at++;
    }
}

/* Skips blanks and comments, and with `lines` ends of lines. Called before every token. */
static enum gw_status skip_all(struct gw_scanner *scanner, bool lines, struct gw_error *error) {
    for (;;) {
        if (scanner->at > scanner->whole || scanner->at == scanner->end) {
            if (scanner->last) {
                return GW_OK;
            }
            GW_TRY(fill_piece(scanner, error));
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

/* Skips blanks and comments in a line, where mostly one blank or none precedes the next token. */
static inline enum gw_status skip_blanks(struct gw_scanner *scanner, struct gw_error *error) {
    scanner->at += *scanner->at == ' ' ? 1 : 0;
    bool at_token = *scanner->at > '/' && scanner->at <= scanner->whole;
    return at_token ? GW_OK : skip_all(scanner, false, error);
}

/* ---- tokens -------------------------------------------------------------------------------- */

/* Reads a letter, then letters, digits and underscores. Messages call it `what`. */
static enum gw_status read_word(struct gw_scanner *scanner, const char *what, struct gw_word *out,
                                struct gw_error *error) {
    /* FNV-1a (Fowler, Noll, Vo), 32 bits: one multiplication a byte, and words are short. */
    const uint32_t basis = 2166136261u;
    const uint32_t prime = 16777619u;
    if (!is_letter(*scanner->at)) {
        return gw_scanner_expected(scanner, error, "%s", what);
    }
    const char *first = scanner->at;
    uint32_t hash = basis;
    uint32_t length = 0;
    for (; length < GW_LONGEST_WORD && is_of_word(first[length]); length++) {
        out->bytes[length] = first[length];
        hash = (hash ^ (unsigned char)first[length]) * prime;
    }
    if (is_of_word(first[length])) {
        return gw_scanner_expected(scanner, error, "a label of at most %d characters",
                                   GW_LONGEST_WORD);
    }
    out->hash = hash;
    out->length = length;
    scanner->at += length;
    return GW_OK;
}

struct number {
    const char *what; /* for messages */
    uint64_t least, most;
    bool any; /* accepts -1, which is read as UINT32_MAX */
};

static enum gw_status expected_number(const struct gw_scanner *scanner,
                                      const struct number *expected, struct gw_error *error) {
    return gw_scanner_expected(scanner, error, "%s of %llu to %llu%s", expected->what,
                               (unsigned long long)expected->least,
                               (unsigned long long)expected->most, expected->any ? " or -1" : "");
}

/* Leading zeros that fill a piece end the number early; as no digit can follow a number, they are
 * refused then. */
static enum gw_status read_number(struct gw_scanner *scanner, const struct number *expected,
                                  uint64_t *out, struct gw_error *error) {
    GW_TRY(skip_blanks(scanner, error));
    const char *at = scanner->at;
    if (expected->any && at[0] == '-' && at[1] == '1' && !is_digit(at[2])) {
        scanner->at += strlen("-1");
        *out = UINT32_MAX;
        return GW_OK;
    }
    uint64_t value = 0;
    for (; is_digit(*at); at++) {
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

static inline enum gw_status expect_text(struct gw_scanner *scanner, const char *token,
                                         struct gw_error *error) {
    GW_TRY(skip_blanks(scanner, error));
    return pass_text(scanner, token) ? GW_OK : gw_scanner_expected(scanner, error, "%s", token);
}

/* Passes the keyword if it is a whole word. */
static bool pass_word(struct gw_scanner *scanner, const char *keyword) {
    const char *before = scanner->at;
    if (pass_text(scanner, keyword) && !is_of_word(*scanner->at)) {
        return true;
    }
    scanner->at = before;
    return false;
}

/*
 * The grammar is that of LogGOPSim's txt2bin, where keywords after the first word of a statement
 * need no blanks around them ("8bto 1 tag 0cpu 2"). Beyond it, comments and blanks may stand
 * between any two tokens, `tag`, `cpu` and `nic` in any order, and `{` on the next line.
 */

/* ---- operations ---------------------------------------------------------------------------- */

/* Reads tag, cpu and nic, each at most once, up to the end of the line or of the rank. */
static enum gw_status read_options(struct gw_scanner *scanner, struct gw_goal_operation *out,
                                   struct gw_error *error) {
    static const struct {
        const char *name;
        struct number expected;
    } options[] = {{"tag", {.what = "a tag", .most = UINT32_MAX - 1, .any = true}},
                   {"cpu", {.what = "a cpu", .most = UINT8_MAX}},
                   {"nic", {.what = "a nic", .most = UINT8_MAX}}};
    enum { TAG, CPU, NIC, OPTIONS };
    bool is_calc = out->kind == GW_GOAL_CALC;
    bool may_follow[OPTIONS] = {!is_calc, true, !is_calc};
    uint64_t numbers[OPTIONS] = {0};
    for (;;) {
        size_t i = 0;
        GW_TRY(skip_blanks(scanner, error));
        if (*scanner->at == '\n' || *scanner->at == '}' || at_end(scanner)) {
            out->tag = (uint32_t)numbers[TAG];
            out->cpu = (uint8_t)numbers[CPU];
            out->nic = (uint8_t)numbers[NIC];
            return GW_OK;
        }
        while (i < OPTIONS && !(may_follow[i] && pass_text(scanner, options[i].name))) {
            i++;
        }
        if (i == OPTIONS) {
            return gw_scanner_expected(
                scanner, error, "%s%s%sthe end of the line", may_follow[TAG] ? "tag or " : "",
                may_follow[CPU] ? "cpu or " : "", may_follow[NIC] ? "nic or " : "");
        }
        may_follow[i] = false;
        GW_TRY(read_number(scanner, &options[i].expected, &numbers[i], error));
    }
}

/* Reads the rest of an operation after send, recv or calc. */
static enum gw_status read_operation(struct gw_goal_text *text, enum gw_goal_kind kind,
                                     struct gw_statement *out, struct gw_error *error) {
    static const struct number time = {.what = "a time in nanoseconds", .most = UINT64_MAX};
    static const struct number size = {.what = "a number of bytes", .most = UINT64_MAX};
    const struct number rank = {
        .what = "a rank", .least = 0, .most = text->rank_count - 1, .any = kind == GW_GOAL_RECEIVE};
    struct gw_goal_operation *operation = &out->operation;
    uint64_t peer = 0;
    out->kind = GW_STATEMENT_OPERATION;
    *operation = (struct gw_goal_operation){.kind = (uint8_t)kind};
    GW_TRY(
        read_number(&text->scanner, kind == GW_GOAL_CALC ? &time : &size, &operation->size, error));
    if (kind != GW_GOAL_CALC) {
        GW_TRY(expect_text(&text->scanner, "b", error));
        GW_TRY(expect_text(&text->scanner, kind == GW_GOAL_SEND ? "to" : "from", error));
        GW_TRY(read_number(&text->scanner, &rank, &peer, error));
        operation->peer = (uint32_t)peer;
    }
    return read_options(&text->scanner, operation, error);
}

/* Passes send, recv or calc; returns 0 if the scanner is at none of them. */
static enum gw_goal_kind pass_kind(struct gw_scanner *scanner) {
    return pass_text(scanner, "send")   ? GW_GOAL_SEND
           : pass_text(scanner, "recv") ? GW_GOAL_RECEIVE
           : pass_text(scanner, "calc") ? GW_GOAL_CALC
                                        : 0;
}

/* ---- in a rank ----------------------------------------------------------------------------- */

/* Reads the rest of a dependency after requires or irequires. */
static enum gw_status read_dependency(struct gw_scanner *scanner, bool at_start,
                                      struct gw_statement *out, struct gw_error *error) {
    out->kind = GW_STATEMENT_DEPENDENCY;
    out->at_start = at_start;
    GW_TRY(skip_blanks(scanner, error));
    GW_TRY(read_word(scanner, "a label", &out->other, error));
    GW_TRY(skip_blanks(scanner, error));
    if (*scanner->at == '\n' || *scanner->at == '}' || at_end(scanner)) {
        return GW_OK;
    }
    return gw_scanner_expected(scanner, error, "the end of the line");
}

/*
 * Reads a line that begins with a word: an operation, or a label and its operation or dependency.
 */
static enum gw_status read_line(struct gw_goal_text *text, struct gw_statement *out,
                                struct gw_error *error) {
    struct gw_scanner *scanner = &text->scanner;
    const char *before = scanner->at;
    enum gw_goal_kind kind = pass_kind(scanner);
    out->label.length = 0;
    if (kind != 0 && !is_of_word(*scanner->at)) {
        return read_operation(text, kind, out, error);
    }
    scanner->at = before;
    GW_TRY(read_word(scanner, "an operation, a label or }", &out->label, error));
    GW_TRY(skip_blanks(scanner, error));
    if (pass_text(scanner, ":")) {
        GW_TRY(skip_blanks(scanner, error));
        kind = pass_kind(scanner);
        return kind == 0 ? gw_scanner_expected(scanner, error, "send, recv or calc")
                         : read_operation(text, kind, out, error);
    }
    if (pass_text(scanner, "requires")) {
        return read_dependency(scanner, false, out, error);
    }
    if (pass_text(scanner, "irequires")) {
        return read_dependency(scanner, true, out, error);
    }
    return gw_scanner_expected(scanner, error, ":, requires or irequires");
}

static enum gw_status read_in_rank(struct gw_goal_text *text, struct gw_statement *out,
                                   struct gw_error *error) {
    struct gw_scanner *scanner = &text->scanner;
    if (pass_text(scanner, "}")) {
        text->in_rank = false;
        out->kind = GW_STATEMENT_CLOSE;
        return GW_OK;
    }
    const char *before = scanner->at;
    if (pass_word(scanner, "rank") || pass_word(scanner, "num_ranks")) {
        scanner->at = before;
        return gw_scanner_expected(scanner, error, "}");
    }
    return read_line(text, out, error);
}

/* ---- around ranks -------------------------------------------------------------------------- */

static enum gw_status read_rank(struct gw_goal_text *text, struct gw_statement *out,
                                struct gw_error *error) {
    const struct number expected = {.what = "a rank", .most = text->rank_count - 1};
    struct gw_scanner *scanner = &text->scanner;
    uint64_t number = 0;
    if (!pass_word(scanner, "rank")) {
        return gw_scanner_expected(scanner, error, "rank or the end of the file");
    }
    GW_TRY(read_number(scanner, &expected, &number, error));
    GW_TRY(skip_all(scanner, true, error));
    GW_TRY(expect_text(scanner, "{", error));
    text->in_rank = true;
    out->kind = GW_STATEMENT_RANK;
    out->number = (uint32_t)number;
    return GW_OK;
}

enum gw_status gw_statement_read(struct gw_goal_text *text, struct gw_statement *out,
                                 struct gw_error *error) {
    text->scanner.bytes_before = text->scanner.bytes;
    GW_TRY(skip_all(&text->scanner, true, error));
    out->line = text->scanner.line;
    if (text->in_rank) {
        return read_in_rank(text, out, error);
    }
    if (text->rank_count == 0) {
        const struct number expected = {.what = "a number", .least = 1, .most = UINT32_MAX};
        uint64_t number = 0;
        if (!pass_word(&text->scanner, "num_ranks")) {
            return gw_scanner_expected(&text->scanner, error, "num_ranks");
        }
        GW_TRY(read_number(&text->scanner, &expected, &number, error));
        text->rank_count = (uint32_t)number;
        out->kind = GW_STATEMENT_NUM_RANKS;
        out->number = text->rank_count;
        return GW_OK;
    }
    if (at_end(&text->scanner)) {
        out->kind = GW_STATEMENT_END;
        return GW_OK;
    }
    return read_rank(text, out, error);
}
