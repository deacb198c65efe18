/* Errors are values: a function that can fail returns a status and leaves a message in `error`. */
#ifndef GW_CORE_STATUS_H
#define GW_CORE_STATUS_H

/* The values are the exit statuses of the command line (contract: 2 = bad input, 3 = run failed).
 */
enum gw_status {
    GW_OK = 0,
    GW_BAD_INPUT = 2,
    GW_FAILED = 3,
};

struct gw_error {
    enum gw_status status;
    char message[512];
};

/* Fills `error` (may be NULL) and returns `status`, so that callers write `return gw_fail(...)`. */
enum gw_status gw_fail(struct gw_error *error, enum gw_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* GW_FAILED, "out of memory while <what>". */
enum gw_status gw_fail_memory(struct gw_error *error, const char *what);

/* Puts "<prefix>: " before the message that is there. */
void gw_error_prefix(struct gw_error *error, const char *prefix);

/* Leaves the calling function if `call` fails. For functions that own nothing yet. */
#define GW_TRY(call)                                                                               \
    do {                                                                                           \
        enum gw_status gw_try_status = (call);                                                     \
        if (gw_try_status != GW_OK) {                                                              \
            return gw_try_status;                                                                  \
        }                                                                                          \
    } while (0)

#endif
