#include "goal/statement.h"

/*
 * The grammar is that of LogGOPSim's txt2bin, where keywords after the first word of a statement
 * need no blanks around them ("8bto 1 tag 0cpu 2"). Beyond it, comments and blanks may stand
 * between any two tokens, `tag`, `cpu` and `nic` in any order, and `{` on the next line.
 */

/* ---- tokens -------------------------------------------------------------------------------- */

static enum gw_status read_number(struct gw_scanner *scanner, const struct gw_number *expected,
                                  uint64_t *out, struct gw_error *error) {
    GW_TRY(gw_scanner_skip(scanner, error));
    return gw_scanner_number(scanner, expected, out, error);
}

static inline enum gw_status pass(struct gw_scanner *scanner, const char *token,
                                  struct gw_error *error) {
    GW_TRY(gw_scanner_skip(scanner, error));
    return gw_scanner_take(scanner, token) ? GW_OK
                                           : gw_scanner_expected(scanner, error, "%s", token);
}

/* Passes the keyword if it is all of the word that stands there. */
static bool take_word(struct gw_scanner *scanner, const char *keyword) {
    const char *before = scanner->at;
    if (gw_scanner_take(scanner, keyword) && !gw_is_of_word(*scanner->at)) {
        return true;
    }
    scanner->at = before;
    return false;
}

/* ---- operations ---------------------------------------------------------------------------- */

static enum gw_status read_byte_sized(struct gw_scanner *scanner, uint8_t *out, const char *what,
                                      struct gw_error *error) {
    uint64_t number = 0;
    struct gw_number expected = {.what = what, .most = UINT8_MAX};
    GW_TRY(read_number(scanner, &expected, &number, error));
    *out = (uint8_t)number;
    return GW_OK;
}

static enum gw_status read_tag(struct gw_scanner *scanner, uint32_t *out, struct gw_error *error) {
    uint64_t number = 0;
    static const struct gw_number expected = {.what = "a tag", .most = UINT32_MAX - 1, .any = true};
    GW_TRY(read_number(scanner, &expected, &number, error));
    *out = (uint32_t)number;
    return GW_OK;
}

/* tag, cpu and nic, each at most once, up to the end of the line or of the rank. */
static enum gw_status read_options(struct gw_scanner *scanner, struct gw_goal_operation *out,
                                   struct gw_error *error) {
    bool is_calc = out->kind == GW_GOAL_CALC;
    bool tag = !is_calc;
    bool nic = !is_calc;
    bool cpu = true;
    for (;;) {
        GW_TRY(gw_scanner_skip(scanner, error));
        if (*scanner->at == '\n' || *scanner->at == '}' || gw_scanner_at_end(scanner)) {
            return GW_OK;
        }
        if (tag && gw_scanner_take(scanner, "tag")) {
            tag = false;
            GW_TRY(read_tag(scanner, &out->tag, error));
        } else if (cpu && gw_scanner_take(scanner, "cpu")) {
            cpu = false;
            GW_TRY(read_byte_sized(scanner, &out->cpu, "a cpu", error));
        } else if (nic && gw_scanner_take(scanner, "nic")) {
            nic = false;
            GW_TRY(read_byte_sized(scanner, &out->nic, "a nic", error));
        } else {
            return gw_scanner_expected(scanner, error, "%s%s%sthe end of the line",
                                       tag ? "tag or " : "", cpu ? "cpu or " : "",
                                       nic ? "nic or " : "");
        }
    }
}

static enum gw_status read_calc(struct gw_goal_text *text, struct gw_goal_operation *out,
                                struct gw_error *error) {
    static const struct gw_number time = {.what = "a time in nanoseconds", .most = UINT64_MAX};
    GW_TRY(read_number(&text->scanner, &time, &out->size, error));
    return read_options(&text->scanner, out, error);
}

static enum gw_status read_message(struct gw_goal_text *text, enum gw_goal_kind kind,
                                   struct gw_goal_operation *out, struct gw_error *error) {
    static const struct gw_number size = {.what = "a number of bytes", .most = UINT64_MAX};
    const struct gw_number rank = {
        .what = "a rank", .least = 0, .most = text->rank_count - 1, .any = kind == GW_GOAL_RECEIVE};
    uint64_t peer = 0;
    GW_TRY(read_number(&text->scanner, &size, &out->size, error));
    GW_TRY(pass(&text->scanner, "b", error));
    GW_TRY(kind == GW_GOAL_SEND ? pass(&text->scanner, "to", error)
                                : pass(&text->scanner, "from", error));
    GW_TRY(read_number(&text->scanner, &rank, &peer, error));
    out->peer = (uint32_t)peer;
    return read_options(&text->scanner, out, error);
}

/* What follows send, recv or calc. */
static enum gw_status read_operation(struct gw_goal_text *text, enum gw_goal_kind kind,
                                     struct gw_statement *out, struct gw_error *error) {
    out->kind = GW_STATEMENT_OPERATION;
    memset(&out->operation, 0, sizeof out->operation);
    out->operation.kind = (uint8_t)kind;
    return kind == GW_GOAL_CALC ? read_calc(text, &out->operation, error)
                                : read_message(text, kind, &out->operation, error);
}

/* Passes send, recv or calc; 0: none of them stands there. */
static enum gw_goal_kind take_kind(struct gw_scanner *scanner) {
    return gw_scanner_take(scanner, "send")   ? GW_GOAL_SEND
           : gw_scanner_take(scanner, "recv") ? GW_GOAL_RECEIVE
           : gw_scanner_take(scanner, "calc") ? GW_GOAL_CALC
                                              : 0;
}

static enum gw_status read_labelled(struct gw_goal_text *text, struct gw_statement *out,
                                    struct gw_error *error) {
    GW_TRY(gw_scanner_skip(&text->scanner, error));
    enum gw_goal_kind kind = take_kind(&text->scanner);
    return kind == 0 ? gw_scanner_expected(&text->scanner, error, "send, recv or calc")
                     : read_operation(text, kind, out, error);
}

/* ---- in a rank ----------------------------------------------------------------------------- */

/* What follows requires. */
static enum gw_status read_dependency(struct gw_scanner *scanner, bool at_start,
                                      struct gw_statement *out, struct gw_error *error) {
    out->kind = GW_STATEMENT_DEPENDENCY;
    out->at_start = at_start;
    GW_TRY(gw_scanner_skip(scanner, error));
    GW_TRY(gw_scanner_word(scanner, "a label", &out->other, error));
    GW_TRY(gw_scanner_skip(scanner, error));
    if (*scanner->at == '\n' || *scanner->at == '}' || gw_scanner_at_end(scanner)) {
        return GW_OK;
    }
    return gw_scanner_expected(scanner, error, "the end of the line");
}

/* What begins with a word: an operation, or a label and what is said of it. */
static enum gw_status read_line(struct gw_goal_text *text, struct gw_statement *out,
                                struct gw_error *error) {
    struct gw_scanner *scanner = &text->scanner;
    const char *before = scanner->at;
    enum gw_goal_kind kind = take_kind(scanner);
    out->label.length = 0;
    if (kind != 0 && !gw_is_of_word(*scanner->at)) {
        return read_operation(text, kind, out, error);
    }
    scanner->at = before;
    GW_TRY(gw_scanner_word(scanner, "an operation, a label or }", &out->label, error));
    GW_TRY(gw_scanner_skip(scanner, error));
    if (gw_scanner_take(scanner, ":")) {
        return read_labelled(text, out, error);
    }
    if (gw_scanner_take(scanner, "requires")) {
        return read_dependency(scanner, false, out, error);
    }
    if (gw_scanner_take(scanner, "irequires")) {
        return read_dependency(scanner, true, out, error);
    }
    return gw_scanner_expected(scanner, error, ":, requires or irequires");
}

static enum gw_status read_in_rank(struct gw_goal_text *text, struct gw_statement *out,
                                   struct gw_error *error) {
    struct gw_scanner *scanner = &text->scanner;
    if (gw_scanner_take(scanner, "}")) {
        text->in_rank = false;
        out->kind = GW_STATEMENT_CLOSE;
        return GW_OK;
    }
    const char *before = scanner->at;
    if (take_word(scanner, "rank") || take_word(scanner, "num_ranks")) {
        scanner->at = before;
        return gw_scanner_expected(scanner, error, "}");
    }
    return read_line(text, out, error);
}

/* ---- around ranks -------------------------------------------------------------------------- */

static enum gw_status read_num_ranks(struct gw_goal_text *text, struct gw_statement *out,
                                     struct gw_error *error) {
    const struct gw_number expected = {.what = "a number", .least = 1, .most = UINT32_MAX};
    uint64_t number = 0;
    if (!take_word(&text->scanner, "num_ranks")) {
        return gw_scanner_expected(&text->scanner, error, "num_ranks");
    }
    GW_TRY(read_number(&text->scanner, &expected, &number, error));
    text->rank_count = (uint32_t)number;
    out->kind = GW_STATEMENT_NUM_RANKS;
    out->number = text->rank_count;
    return GW_OK;
}

static enum gw_status read_rank(struct gw_goal_text *text, struct gw_statement *out,
                                struct gw_error *error) {
    const struct gw_number expected = {.what = "a rank", .most = text->rank_count - 1};
    struct gw_scanner *scanner = &text->scanner;
    uint64_t number = 0;
    if (!take_word(scanner, "rank")) {
        return gw_scanner_expected(scanner, error, "rank or the end of the file");
    }
    GW_TRY(read_number(scanner, &expected, &number, error));
    GW_TRY(gw_scanner_skip_all(scanner, true, error));
    GW_TRY(pass(scanner, "{", error));
    text->in_rank = true;
    out->kind = GW_STATEMENT_RANK;
    out->number = (uint32_t)number;
    return GW_OK;
}

enum gw_status gw_statement_read(struct gw_goal_text *text, struct gw_statement *out,
                                 struct gw_error *error) {
    GW_TRY(gw_scanner_skip_all(&text->scanner, true, error));
    out->line = text->scanner.line;
    if (text->in_rank) {
        return read_in_rank(text, out, error);
    }
    if (text->rank_count == 0) {
        return read_num_ranks(text, out, error);
    }
    if (gw_scanner_at_end(&text->scanner)) {
        out->kind = GW_STATEMENT_END;
        return GW_OK;
    }
    return read_rank(text, out, error);
}
