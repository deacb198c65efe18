/* What the library's files share: how answers and errors leave it. Private to this room. */
#ifndef GW_LIBRARY_LIBRARY_H
#define GW_LIBRARY_LIBRARY_H

#include <stdio.h>

#include "core/core.h"
#include "library/gradweave.h"
#include "study/study.h"

/* Copies the message, if there is one and somewhere to put it; returns the status. */
static inline enum gradweave_status
gw_library_finish(enum gw_status status, const struct gw_error *from, struct gradweave_error *to) {
    if (status != GW_OK && to != NULL) {
        snprintf(to->message, sizeof to->message, "%s", from->message);
    }
    return (enum gradweave_status)status;
}

/* Reads what is asked about. */
enum gw_status gw_library_ask(const struct gradweave_question *question, struct gw_question *out,
                              struct gw_error *error);

struct gradweave_prediction gw_library_prediction(const struct gw_result *result);

/*
 * Gives a plan the caller's groups; none: one of all tensors. They lead from the last tensor down
 * to the first, without gaps.
 */
enum gw_status gw_library_copy_groups(const struct gradweave_group *groups, size_t group_count,
                                      size_t tensor_count, struct gw_plan *plan,
                                      struct gw_error *error);

/*
 * A pipeline with the compressor and exchange that are given in place of its own (NULL: its own).
 * Exchanges of several groups overlap, whatever its policy.
 */
enum gw_status gw_library_choose(const char *name, const char *compressor, const char *exchange,
                                 size_t group_count, struct gw_algorithm *out,
                                 struct gw_error *error);

#endif
