#include "core/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum gw_status gw_fail(struct gw_error *error, enum gw_status status, const char *format, ...) {
    if (error != NULL) {
        error->status = status;
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
    }
    return status;
}

enum gw_status gw_fail_memory(struct gw_error *error, const char *what) {
    return gw_fail(error, GW_FAILED, "out of memory while %s", what);
}

void gw_error_prefix(struct gw_error *error, const char *prefix) {
    if (error == NULL) {
        return;
    }
    char message[sizeof error->message];
    memcpy(message, error->message, sizeof message);
    int used = snprintf(error->message, sizeof error->message, "%s: ", prefix);
    if (used >= 0 && (size_t)used < sizeof error->message) {
        snprintf(error->message + used, sizeof error->message - (size_t)used, "%s", message);
    }
}
