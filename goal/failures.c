#include "goal/run.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "goal/text.h"

/* ---- descriptions of operations -------------------------------------------------------------- */

/* The size of the description of an operation. */
enum { PLACE_SIZE = 160 };

static enum gw_status find_operation(struct gw_goal_text *text, uint32_t index,
                                     char out[PLACE_SIZE], struct gw_error *error) {
    struct gw_statement statement;
    uint32_t count = 0;
    for (;;) {
        GW_TRY(gw_statement_read(text, &statement, error));
        if (statement.kind == GW_STATEMENT_END) {
            return gw_scanner_expected(&text->scanner, error, "more than %u operations", index);
        }
        if (statement.kind == GW_STATEMENT_OPERATION && count++ == index) {
            enum { max_shown = 40 };
            const struct gw_word *label = &statement.label;
            bool cut = label->length > max_shown;
            char operation[GW_OPERATION_TEXT_SIZE];
            (void)gw_operation_format(&statement.operation, operation);
            (void)snprintf(out, PLACE_SIZE, "line %llu: %.*s%s%s%s",
                           (unsigned long long)statement.line, cut ? max_shown : (int)label->length,
                           label->bytes, cut ? "..." : "", label->length > 0 ? ": " : "",
                           operation);
            return GW_OK;
        }
    }
}

/*
 * Describes operation `index`: "line 12: l3: recv 8b from 2 tag 0". Labels and lines are not kept
 * in memory: the file, which must still exist, is read again. For a pipe, and without a path
 * (NULL): "operation 11".
 */
static enum gw_status find_place(const char *path, uint32_t index, char out[PLACE_SIZE],
                                 struct gw_error *error) {
    struct gw_goal_text text = {0};
    out[0] = '\0';
    struct stat about;
    bool is_readable =
        path != NULL && (stat(path, &about) == 0 ? S_ISREG(about.st_mode) : errno == ENOENT);
    if (!is_readable) { /* a pipe has been read already */
        (void)snprintf(out, PLACE_SIZE, "operation %u", index);
        return GW_OK;
    }
    GW_TRY(gw_scanner_open(&text.scanner, path, error));
    enum gw_status status = find_operation(&text, index, out, error);
    gw_scanner_close(&text.scanner);
    return status;
}

/* ---- the largest time ------------------------------------------------------------------------ */

static const char *schedule_name(const char *path) {
    return path == NULL ? "GOAL schedule" : path;
}

enum gw_status gw_goal_check_times(const struct gw_goal *goal, const struct gw_loggops *parameters,
                                   const char *path, struct gw_error *error) {
    const struct {
        const char *name;
        uint64_t ns;
    } all[] = {{"L", parameters->L},
               {"o", parameters->o},
               {"g", parameters->g},
               {"O", parameters->O},
               {"G", parameters->G}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].ns > GW_GOAL_LONGEST_NS) {
            return gw_fail(error, GW_BAD_INPUT,
                           "LogGOPS parameters: %s: expected at most 2^62 ns, got %llu",
                           all[i].name, (unsigned long long)all[i].ns);
        }
    }
    uint64_t per_byte = parameters->O > parameters->G ? parameters->O : parameters->G;
    per_byte += parameters->O_part > 0 || parameters->G_part > 0;
    const uint64_t most[] = {[GW_GOAL_SEND] =
                                 per_byte == 0 ? UINT64_MAX : GW_GOAL_LONGEST_NS / per_byte + 1,
                             [GW_GOAL_RECEIVE] = UINT64_MAX,
                             [GW_GOAL_CALC] = GW_GOAL_LONGEST_NS};
    for (uint32_t i = 0; i < goal->operation_count; i++) {
        if (goal->operations[i].size > most[goal->operations[i].kind]) {
            char place[PLACE_SIZE];
            GW_TRY(find_place(path, i, place, error));
            return gw_fail(error, GW_BAD_INPUT,
                           "%s: %s: expected no operation longer than 2^62 ns (146 years), got "
                           "one",
                           schedule_name(path), place);
        }
    }
    return GW_OK;
}

enum gw_status gw_goal_fail_late(const char *path, uint32_t operation, struct gw_error *error) {
    char place[PLACE_SIZE];
    GW_TRY(find_place(path, operation, place, error));
    return gw_fail(error, GW_BAD_INPUT,
                   "%s: %s: expected times of at most 2^62 ns (146 years), got a later one",
                   schedule_name(path), place);
}

enum gw_status gw_goal_fail_late_rank(const char *path, uint32_t rank, struct gw_error *error) {
    return gw_fail(error, GW_BAD_INPUT,
                   "%s: rank %u: expected an end of at most 2^62 ns (146 years), got a later one",
                   schedule_name(path), rank);
}

/* ---- deadlocks ------------------------------------------------------------------------------- */

static bool is_waiting(const struct gw_goal_operation *operation) {
    if (operation->kind == GW_GOAL_SEND && (operation->state & STARTED) != 0) {
        return (operation->state & ARRIVED) == 0;
    }
    return (operation->state & ENDED) == 0;
}

/* Finds an operation at `from` or later that waits: for a message (free_ones), or for other
 * operations. */
static uint32_t find_waiting(const struct gw_goal *goal, bool free_ones, uint32_t from) {
    for (uint32_t i = from; i < goal->operation_count; i++) {
        const struct gw_goal_operation *operation = &goal->operations[i];
        if (is_waiting(operation) && ((operation->state & FREE) != 0) == free_ones) {
            return i;
        }
    }
    return goal->operation_count;
}

enum gw_status gw_goal_check_ended(const struct gw_goal *goal, const char *path,
                                   struct gw_error *error) {
    enum { MAX_NAMED = 4 };
    uint64_t waiting = 0;
    for (uint32_t i = 0; i < goal->operation_count; i++) {
        waiting += is_waiting(&goal->operations[i]);
    }
    if (waiting == 0) {
        return GW_OK;
    }
    char text[MAX_NAMED * (PLACE_SIZE + 80)] = "";
    size_t length = 0;
    uint64_t named = 0;
    for (int free_ones = 1; free_ones >= 0; free_ones--) {
        uint32_t i = find_waiting(goal, free_ones, 0);
        for (; i < goal->operation_count && named < MAX_NAMED;
             i = find_waiting(goal, free_ones, i + 1), named++) {
            char place[PLACE_SIZE] = "";
            uint32_t rank = 0;
            const char *reason = free_ones == 0 ? "what it requires never happens"
                                 : goal->operations[i].kind == GW_GOAL_SEND ? "nobody receives it"
                                                                            : "nobody sends it";
            GW_TRY(find_place(path, i, place, error));
            while (i - goal->ranks[rank].first >= goal->ranks[rank].count) {
                rank++;
            }
            int printed = snprintf(text + length, sizeof text - length, "%srank %u, %s: %s",
                                   named > 0 ? "; " : "", rank, place, reason);
            length += (size_t)printed;
        }
    }
    return gw_fail(error, GW_BAD_INPUT, "%s: deadlock: %llu operation%s wait%s for ever: %s%s",
                   schedule_name(path), (unsigned long long)waiting, waiting == 1 ? "" : "s",
                   waiting == 1 ? "s" : "", text, waiting > named ? "; and others" : "");
}
