#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "goal/text.h"

/* ---- operations ------------------------------------------------------------------------------ */

static char *put_text(char *at, const char *text) {
    size_t length = strlen(text);
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): more text follows */
    memcpy(at, text, length);
    return at + length;
}

/* Formats a number. printf takes five times as long, and schedules have millions of lines. */
static char *put_number(char *at, uint64_t number) {
    char digits[20];
    size_t first = sizeof digits;
    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    memcpy(at, digits + first, sizeof digits - first);
    return at + sizeof digits - first;
}

/* Formats a rank or a tag. */
static char *put_rank(char *at, uint32_t number) {
    return number == GW_GOAL_ANY ? put_text(at, "-1") : put_number(at, number);
}

static char *put_option(char *at, const char *name, uint8_t number) {
    return number == 0 ? at : put_number(put_text(at, name), number);
}

size_t gw_operation_format(const struct gw_goal_operation *operation,
                           char out[GW_OPERATION_TEXT_SIZE]) {
    char *at = out;
    if (operation->kind == GW_GOAL_CALC) {
        at = put_number(put_text(at, "calc "), operation->size);
    } else {
        bool sends = operation->kind == GW_GOAL_SEND;
        at = put_number(put_text(at, sends ? "send " : "recv "), operation->size);
        at = put_rank(put_text(at, sends ? "b to " : "b from "), operation->peer);
        at = put_rank(put_text(at, " tag "), operation->tag);
    }
    at = put_option(at, " cpu ", operation->cpu);
    at = operation->kind == GW_GOAL_CALC ? at : put_option(at, " nic ", operation->nic);
    *at = '\0';
    return (size_t)(at - out);
}

/* ---- a writer -------------------------------------------------------------------------------- */

struct gw_goal_writer {
    FILE *stream;
    char *path, *temporary;
    int failure; /* errno of the first write that failed, or 0 */
    bool in_rank;
    uint32_t operation_count; /* of the rank */
    char buffer[256 * 1024];
};

static enum gw_status fail_to_write(const char *path, int cause, struct gw_error *error) {
    return gw_fail(error, GW_FAILED, "%s: cannot be written: %s", path, strerror(cause));
}

static void free_writer(struct gw_goal_writer *writer) {
    free(writer->path);
    free(writer->temporary);
    free(writer);
}

static void write_text(struct gw_goal_writer *writer, const char *text, const char *end) {
    size_t length = (size_t)(end - text);
    if (writer->failure == 0 && fwrite_unlocked(text, 1, length, writer->stream) != length) {
        writer->failure = errno;
    }
}

static enum gw_status check_writes(const struct gw_goal_writer *writer, struct gw_error *error) {
    return writer->failure == 0 ? GW_OK : fail_to_write(writer->path, writer->failure, error);
}

/* ---- the file ------------------------------------------------------------------------------ */

static enum gw_status open_stream(struct gw_goal_writer *writer, struct gw_error *error) {
    if (writer->path == NULL) {
        return gw_fail_memory(error, "writing a schedule");
    }
    GW_TRY(gw_file_temporary(writer->path, &writer->temporary, error));
    writer->stream = fopen(writer->temporary, "wbe");
    if (writer->stream == NULL) {
        int cause = errno;
        gw_file_discard(writer->temporary);
        return fail_to_write(writer->path, cause, error);
    }
    (void)setvbuf(writer->stream, writer->buffer, _IOFBF, sizeof writer->buffer);
    return GW_OK;
}

enum gw_status gw_goal_writer_open(struct gw_goal_writer **out, const char *path,
                                   uint32_t rank_count, struct gw_error *error) {
    *out = NULL;
    struct gw_goal_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) {
        return gw_fail_memory(error, "writing a schedule");
    }
    writer->path = strdup(path);
    enum gw_status status = open_stream(writer, error);
    if (status != GW_OK) {
        free_writer(writer);
        return status;
    }
    char line[64];
    char *at = put_number(put_text(line, "num_ranks "), rank_count);
    write_text(writer, line, put_text(at, "\n"));
    *out = writer;
    return GW_OK;
}

void gw_goal_write_loggp(struct gw_goal_writer *writer, const char *loggp) {
    char line[GW_GOAL_LOGGP_SIZE + 16];
    char *at = put_text(put_text(line, "// loggp "), loggp);
    write_text(writer, line, put_text(at, "\n"));
}

static void end_rank(struct gw_goal_writer *writer) {
    static const char end[] = "}\n";
    if (writer->in_rank) {
        write_text(writer, end, end + strlen(end));
    }
    writer->in_rank = false;
}

enum gw_status gw_goal_writer_close(struct gw_goal_writer *writer, struct gw_error *error) {
    end_rank(writer);
    if (fflush(writer->stream) != 0 && writer->failure == 0) {
        writer->failure = errno;
    }
    if (fclose(writer->stream) != 0 && writer->failure == 0) {
        writer->failure = errno;
    }
    enum gw_status status = check_writes(writer, error);
    if (status == GW_OK) {
        status = gw_file_replace(writer->temporary, writer->path, error);
    } else {
        gw_file_discard(writer->temporary);
    }
    free_writer(writer);
    return status;
}

void gw_goal_writer_discard(struct gw_goal_writer *writer) {
    if (writer != NULL) {
        (void)fclose(writer->stream);
        gw_file_discard(writer->temporary);
        free_writer(writer);
    }
}

/* ---- statements ---------------------------------------------------------------------------- */

enum gw_status gw_goal_write_rank(struct gw_goal_writer *writer, uint32_t rank,
                                  struct gw_error *error) {
    char line[64];
    end_rank(writer);
    char *at = put_number(put_text(line, "\nrank "), rank);
    write_text(writer, line, put_text(at, " {\n"));
    writer->in_rank = true;
    writer->operation_count = 0;
    return check_writes(writer, error);
}

static char *put_label(char *at, uint32_t label) {
    return put_number(put_text(at, "l"), label);
}

uint32_t gw_goal_write_operation(struct gw_goal_writer *writer,
                                 const struct gw_goal_operation *operation) {
    char line[GW_OPERATION_TEXT_SIZE + 32];
    uint32_t label = ++writer->operation_count;
    char *at = put_text(put_label(line, label), ": ");
    at += gw_operation_format(operation, at);
    write_text(writer, line, put_text(at, "\n"));
    return label;
}

void gw_goal_write_requires(struct gw_goal_writer *writer, uint32_t label, uint32_t other) {
    char line[64];
    char *at = put_text(put_label(line, label), " requires ");
    write_text(writer, line, put_text(put_label(at, other), "\n"));
}
