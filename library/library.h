/* Declares conversions of answers and errors for the library's files; private to this room. */
#ifndef GW_LIBRARY_LIBRARY_H
#define GW_LIBRARY_LIBRARY_H

#include <stdio.h>

#include "core/core.h"
#include "library/gradweave.h"
#include "study/study.h"

/* Copies the message, unless there is no error or `out` is NULL. Returns the status. */
static inline enum gradweave_status
gw_library_finish(enum gw_status status, const struct gw_error *from, struct gradweave_error *to) {
    if (status != GW_OK && to != NULL) {
        snprintf(to->message, sizeof to->message, "%s", from->message);
    }
    return (enum gradweave_status)status;
}

/* Reads the model and the cluster of a question. */
enum gw_status gw_library_ask(const struct gradweave_question *question, struct gw_scenario *out,
                              struct gw_error *error);

struct gradweave_prediction gw_library_prediction(const struct gw_result *result);

/*
 * Copies the caller's groups into a plan; none: one group of all tensors. Fails unless they lead
 * from the last tensor down to the first without gaps.
 */
enum gw_status gw_library_copy_groups(const struct gradweave_group *groups, size_t group_count,
                                      size_t tensor_count, struct gw_plan *plan,
                                      struct gw_error *error);

/*
 * Finds a pipeline, with the given compressor and exchange in place of its own (NULL: its own).
 * Exchanges of several groups overlap under any policy.
 */
enum gw_status gw_library_choose(const char *name, const char *compressor, const char *exchange,
                                 size_t group_count, struct gw_algorithm *out,
                                 struct gw_error *error);

#endif
