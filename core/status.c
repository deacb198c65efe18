#include "core/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void gw_error_set(struct gw_error *error, enum gw_status status, const char *format, ...) {
    if (error != NULL) {
        error->status = status;
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
    }
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

void gw_list_name(char *list, size_t size, const char *name) {
    size_t used = strlen(list);
    (void)snprintf(list + used, size - used, "%s%s", used == 0 ? "" : ", ", name);
}
