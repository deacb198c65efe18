/* Reads the rows of a table that nccl-tests print, also those that other output has cut. */
#include <ctype.h>
#include <string.h>

#include "traces/import_nccl.h"

/* ---- columns --------------------------------------------------------------------------------- */

/* Tells whether the columns from `first` up to `end` begin with the time of a collective. */
static bool is_group(char *const *words, size_t first, size_t end) {
    return end - first >= 4 && strcmp(words[first], "time") == 0 &&
           strcmp(words[first + 1], "algbw") == 0 && strcmp(words[first + 2], "busbw") == 0 &&
           (strcmp(words[first + 3], "#wrong") == 0 || strcmp(words[first + 3], "error") == 0);
}

static size_t find_word(char *const *words, size_t first, size_t end, const char *word) {
    while (first < end && strcmp(words[first], word) != 0) {
        first++;
    }
    return first;
}

/* Reads also a timestamp, one name for a date and a time, and RCCL's algorithm and protocol. */
bool gw_nccl_read_layout(char *const *words, size_t count, struct gw_nccl_layout *out) {
    bool has_stamp = count > 0 && strcmp(words[count - 1], "timestamp") == 0;
    size_t end = count - has_stamp;
    size_t first = find_word(words, 0, end, "time");
    size_t second = find_word(words, first + 1, end, "time");
    size_t operation = find_word(words, 0, first, "redop");
    if (first < 3 || second > end || !is_group(words, first, second)) {
        return false;
    }
    *out = (struct gw_nccl_layout){.fixed = first,
                                   .group = second - first,
                                   .groups = second < end ? 2 : 1,
                                   .operation = operation < first ? operation : 0,
                                   .has_wrong = strcmp(words[first + 3], "#wrong") == 0};
    size_t behind = 0;
    if (second < end) {
        if (!is_group(words, second, end) || end - second < out->group) {
            return false;
        }
        behind = end - second - out->group;
    } else if (strcmp(words[end - 1], "nchannels") == 0) {
        behind = 3;
        out->group -= behind;
    }
    out->behind = behind + (has_stamp ? 2 : 0);
    return true;
}

/* ---- a row ----------------------------------------------------------------------------------- */

/* Checks a time, and the count of wrong results: "N/A" where they were not looked at. */
static enum gw_status check_group(const struct gw_import_text *text,
                                  const struct gw_nccl_layout *layout, char *const *group,
                                  struct gw_error *error) {
    double time_us = 0;
    double wrong = 0;
    bool is_checked = strcmp(group[3], "N/A") != 0;
    if (!gw_import_number(group[0], &time_us) || time_us > GW_IMPORT_MAX_US) {
        return gw_import_bad(text, error, "expected a time in us, up to 1e12, got %s", group[0]);
    }
    if (is_checked && !gw_import_number(group[3], &wrong)) {
        return gw_import_bad(text, error, "expected N/A or a number of errors, got %s", group[3]);
    }
    if (layout->has_wrong && wrong != 0) {
        return gw_import_bad(text, error, "expected right results, got %s wrong", group[3]);
    }
    return GW_OK;
}

static enum gw_status add_row(const struct gw_import_text *text,
                              const struct gw_nccl_layout *layout, char *const *words,
                              struct gw_nccl_run *run, struct gw_error *error) {
    double bytes = 0;
    double elements = 0;
    if (!gw_import_integer(words[0], &bytes) || !gw_import_integer(words[1], &elements)) {
        return gw_import_bad(text, error,
                             "expected a size in bytes and a count of elements, got %s and %s",
                             words[0], words[1]);
    }
    if (!gw_nccl_is_size_of(run, bytes, elements, words[2])) {
        return gw_import_bad(text, error,
                             "expected the size that %s elements of %s have in %s among %zu, got "
                             "%s: is it that test?",
                             words[1], words[2], run->test->name, run->ranks, words[0]);
    }
    const char *operation = layout->operation > 0 ? words[layout->operation] : "";
    return gw_nccl_put_type(run, words[2], operation)
               ? gw_nccl_add_row(run, bytes, strtod(words[layout->fixed], NULL), error)
               : GW_OK;
}

static size_t words_of_row(const struct gw_nccl_layout *layout, size_t groups) {
    return layout->fixed + groups * layout->group + layout->behind;
}

/* Reads the first group, out of place; where a row leaves one of two blank, the group it has. */
static enum gw_status read_words(const struct gw_import_text *text,
                                 const struct gw_nccl_layout *layout, char *line,
                                 struct gw_nccl_run *run, struct gw_error *error) {
    char *words[GW_NCCL_MAX_WORDS];
    size_t expected = words_of_row(layout, layout->groups);
    size_t count = gw_import_words(line, words, GW_NCCL_MAX_WORDS);
    if (count > GW_NCCL_MAX_WORDS || (count != expected && count != words_of_row(layout, 1))) {
        return gw_import_bad(text, error, "expected %zu columns, got %zu", expected, count);
    }
    for (size_t at = layout->fixed; at + layout->behind < count; at += layout->group) {
        GW_TRY(check_group(text, layout, &words[at], error));
    }
    return add_row(text, layout, words, run, error);
}

/* ---- rows that are cut ----------------------------------------------------------------------- */

static char *skip_back(const char *line, char *at, bool to_blanks) {
    while (at > line && (strchr(" \t", at[-1]) != NULL) != to_blanks) {
        at--;
    }
    return at;
}

/* Cuts the line before "HOST:PID:TID [DEVICE] NCCL INFO ...", and before a time in brackets. */
static bool cut_log(char *line) {
    static const char mark[] = "] NCCL ";
    char *at = strstr(line, mark);
    if (at == NULL) {
        return false;
    }
    while (at > line && *at != '[') {
        at--;
    }
    at = skip_back(line, skip_back(line, at, false), true);
    char *word = at + (*at == '-'); /* a column that a host's name may follow: "-1node-a:17:17" */
    size_t digits = strspn(word, "0123456789");
    at = digits > 0 && isalpha((unsigned char)word[digits]) ? word + digits : at;
    char *end = skip_back(line, at, false);
    char *open = NULL;
    if (end > line && end[-1] == ']') {
        *end = '\0';
        open = strrchr(line, '[');
    }
    *(open == NULL ? at : open) = '\0';
    return true;
}

static size_t count_words(const char *line) {
    size_t count = 0;
    for (line += strspn(line, " \t"); *line != '\0'; line += strspn(line, " \t")) {
        line += strcspn(line, " \t");
        count++;
    }
    return count;
}

/* Takes prefixes out of the line, and cuts it at a prefix that other output follows. */
static bool cut_prefixes(const struct gw_import_text *text, char *line) {
    size_t length = 0;
    double number = 0;
    for (char *at = gw_import_next_prefix(text, line, &length); at != NULL;
         at = gw_import_next_prefix(text, at + length, &length)) {
        memset(at, ' ', length);
        const char *first = at + strspn(at, " \t");
        char word[32];
        (void)snprintf(word, sizeof word, "%.*s", (int)sizeof word - 1, first);
        word[strcspn(word, " \t")] = '\0';
        bool is_number = gw_import_number(word, &number) || strcmp(word, "N/A") == 0;
        if (!is_number) {
            *at = '\0';
            return true;
        }
    }
    return false;
}

/* Tells whether a line has columns of groups alone: numbers and N/A, and columns behind groups. */
static bool is_rest(const struct gw_nccl_layout *layout, const char *line, size_t count) {
    char copy[512];
    char *words[GW_NCCL_MAX_WORDS];
    double number = 0;
    if (count == 0 || count > GW_NCCL_MAX_WORDS || strlen(line) >= sizeof copy) {
        return false;
    }
    (void)snprintf(copy, sizeof copy, "%s", line);
    (void)gw_import_words(copy, words, GW_NCCL_MAX_WORDS);
    size_t behind = count % layout->group == layout->behind % layout->group ? layout->behind : 0;
    for (size_t i = 0; i + behind < count; i++) {
        if (!gw_import_number(words[i], &number) && strcmp(words[i], "N/A") != 0) {
            return false;
        }
    }
    return true;
}

/* Tells whether a size and a count begin the line; of a last line that was cut, a size alone. */
static bool begins_row(const char *line, bool is_last) {
    const char *second = line + strspn(line, " \t");
    second += strcspn(second, " \t");
    second += strspn(second, " \t");
    size_t digits = strspn(second, "0123456789");
    bool has_count = digits > 0 && strchr(" \t", second[digits]) != NULL;
    return gw_import_is_row(line) && (has_count || (is_last && *second == '\0'));
}

enum gw_status gw_nccl_end_rows(const struct gw_import_text *text, struct gw_nccl_rows *rows,
                                struct gw_nccl_run *run, struct gw_error *error) {
    struct gw_import_text place = *text;
    size_t count = count_words(rows->part);
    char part[sizeof rows->part];
    if (count == 0) {
        return GW_OK;
    }
    memcpy(part, rows->part, sizeof part);
    rows->part[0] = '\0';
    place.number = rows->part_line;
    if (count == words_of_row(&rows->layout, 1)) {
        return read_words(&place, &rows->layout, part, run, error);
    }
    return gw_import_bad(&place, error,
                         "expected %zu columns, got %zu: other output cuts the row (send NCCL's "
                         "log elsewhere, by NCCL_DEBUG_FILE)",
                         words_of_row(&rows->layout, rows->layout.groups), count);
}

enum gw_status gw_nccl_read_row(struct gw_import_text *text, struct gw_nccl_rows *rows,
                                struct gw_nccl_run *run, struct gw_error *error) {
    const struct gw_nccl_layout *layout = &rows->layout;
    char *line = text->line;
    size_t whole = words_of_row(layout, layout->groups);
    bool is_cut = cut_log(line);
    bool is_odd = count_words(line) != whole || strpbrk(line, "[<|") != NULL;
    if (is_odd && (begins_row(line, false) || rows->part[0] != '\0')) {
        is_cut = cut_prefixes(text, line) || is_cut;
    }
    size_t count = count_words(line);
    size_t before = count_words(rows->part);
    if (before > 0 && before + count <= whole && is_rest(layout, line, count)) {
        size_t length = strlen(rows->part);
        (void)snprintf(rows->part + length, sizeof rows->part - length, " %s", line);
        if (before + count < whole) {
            return GW_OK;
        }
        struct gw_import_text place = *text;
        char part[sizeof rows->part];
        memcpy(part, rows->part, sizeof part);
        rows->part[0] = '\0';
        place.number = rows->part_line;
        return read_words(&place, layout, part, run, error);
    }
    bool is_last = count < whole && gw_import_is_row(line) && gw_import_is_last(text);
    if (!begins_row(line, is_last)) {
        return GW_OK;
    }
    GW_TRY(gw_nccl_end_rows(text, rows, run, error));
    bool is_part = count == layout->fixed || (is_cut && count == layout->fixed + layout->group) ||
                   (is_last && count != words_of_row(layout, 1));
    if (is_part && count < whole && strlen(line) < sizeof rows->part / 2) {
        (void)snprintf(rows->part, sizeof rows->part, "%s", line);
        rows->part_line = text->number;
        return GW_OK;
    }
    return read_words(text, layout, line, run, error);
}
