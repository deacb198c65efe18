#include "core/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "core/arena.h"

static ssize_t append_bytes(void *cookie, const char *bytes, size_t length) {
    struct gw_text *text = cookie;
    char *larger =
        text->is_cut ? NULL : gw_grow(text->text, text->length + length + 1, &text->capacity, 1);
    if (larger == NULL) {
        text->is_cut = true;
        return 0;
    }
    text->text = larger;
    memcpy(larger + text->length, bytes, length);
    text->length += length;
    larger[text->length] = '\0';
    return (ssize_t)length;
}

/* Only gives the position of the stream, for ftello. */
static int tell_position(void *cookie, off64_t *position, int whence) {
    const struct gw_text *text = cookie;
    if (whence != SEEK_CUR || *position != 0) {
        return -1;
    }
    *position = (off64_t)text->length;
    return 0;
}

FILE *gw_text_open(struct gw_text *text) {
    *text = (struct gw_text){.text = calloc(1, 1), .capacity = 1};
    if (text->text != NULL) {
        text->stream = fopencookie(
            text, "w", (cookie_io_functions_t){.write = append_bytes, .seek = tell_position});
    }
    if (text->stream == NULL) {
        free(text->text);
        text->text = NULL;
    }
    return text->stream;
}

enum gw_status gw_text_close(struct gw_text *text, const char *what, struct gw_error *error) {
    bool is_whole = text->stream != NULL;
    if (text->stream != NULL) {
        is_whole = ferror(text->stream) == 0;
        is_whole = fclose(text->stream) == 0 && is_whole && !text->is_cut;
    }
    text->stream = NULL;
    if (!is_whole) {
        free(text->text);
        text->text = NULL;
        text->length = 0;
    }
    return is_whole ? GW_OK : gw_fail_memory(error, what);
}
