/* Errors are values: a function that can fail returns a status and leaves a message in `error`. */
#ifndef GW_CORE_STATUS_H
#define GW_CORE_STATUS_H

#include <stddef.h>
#include <stdlib.h>

/* The values are the program's exit statuses. */
enum gw_status {
    GW_OK = 0,
    GW_BAD_INPUT = 2,
    GW_FAILED = 3,
};

struct gw_error {
    enum gw_status status;
    char message[512];
};

/* Sets `error`, which may be NULL. */
void gw_error_set(struct gw_error *error, enum gw_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* An enumeration constant as its enum, since C gives enumeration constants the type int. */
static inline enum gw_status gw_status_of(enum gw_status status) {
    return status;
}

/* Sets `error` and has the value `status`, so that callers write `return gw_fail(...)`. A macro, so
 * that readers of the code, people and analyzers, see the status. */
#define gw_fail(error, status, ...)                                                                \
    (gw_error_set((error), (status), __VA_ARGS__), gw_status_of(status))

/* Fails with GW_FAILED and "out of memory while <what>". */
#define gw_fail_memory(error, what) gw_fail((error), GW_FAILED, "out of memory while %s", (what))

/* Puts "<prefix>: " before the message. */
void gw_error_prefix(struct gw_error *error, const char *prefix);

/* Returns from the calling function if `call` fails. For functions that own nothing yet. */
#define GW_TRY(call)                                                                               \
    do {                                                                                           \
        enum gw_status gw_try_status = (call);                                                     \
        if (gw_try_status != GW_OK) {                                                              \
            return gw_try_status;                                                                  \
        }                                                                                          \
    } while (0)

/* Ends the program if `found` is NULL, which only a bug causes. */
static inline const void *gw_needed(const void *found) {
    if (found == NULL) {
        abort();
    }
    return found;
}

/* Appends a name to a list "a, b", as far as its `size` bytes allow. */
void gw_list_name(char *list, size_t size, const char *name);

#endif
