#include <sys/stat.h>

#include "goal/format.h"
#include "goal/statement.h"

static void describe(const struct gw_statement *statement, char out[GW_GOAL_PLACE_SIZE]) {
    enum { most_shown = 40 };
    const struct gw_word *label = &statement->label;
    bool cut = label->length > most_shown;
    char operation[GW_OPERATION_TEXT_SIZE];
    (void)gw_operation_format(&statement->operation, operation);
    (void)snprintf(out, GW_GOAL_PLACE_SIZE, "line %llu: %.*s%s%s%s",
                   (unsigned long long)statement->line, cut ? most_shown : (int)label->length,
                   label->bytes, cut ? "..." : "", label->length > 0 ? ": " : "", operation);
}

static enum gw_status find(struct gw_goal_text *text, uint32_t index, char out[GW_GOAL_PLACE_SIZE],
                           struct gw_error *error) {
    struct gw_statement statement;
    uint32_t count = 0;
    for (;;) {
        GW_TRY(gw_statement_read(text, &statement, error));
        if (statement.kind == GW_STATEMENT_END) {
            return gw_scanner_expected(&text->scanner, error, "more than %u operations", index);
        }
        if (statement.kind == GW_STATEMENT_OPERATION && count++ == index) {
            describe(&statement, out);
            return GW_OK;
        }
    }
}

/* A pipe has been used up, and would wait for ever for someone to write to it again. */
static bool is_pipe(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && !S_ISREG(about.st_mode);
}

enum gw_status gw_goal_place(const char *path, uint32_t index, char out[GW_GOAL_PLACE_SIZE],
                             struct gw_error *error) {
    struct gw_goal_text text = {0};
    out[0] = '\0';
    if (path == NULL || is_pipe(path)) {
        (void)snprintf(out, GW_GOAL_PLACE_SIZE, "operation %u", index);
        return GW_OK;
    }
    GW_TRY(gw_scanner_open(&text.scanner, path, error));
    enum gw_status status = find(&text, index, out, error);
    gw_scanner_close(&text.scanner);
    return status;
}
