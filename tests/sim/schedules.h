/* Schedules that tests write operation by operation. */
#ifndef GW_TESTS_SCHEDULES_H
#define GW_TESTS_SCHEDULES_H

#include "methods/schedule.h"
#include "tests/support.h"

/* Appends an operation that depends on the `count` earlier ones in `after`; returns its number. */
static inline size_t append_operation(struct gw_schedule *schedule, struct gw_operation operation,
                                      const size_t *after, size_t count) {
    size_t index = schedule->operation_count;
    schedule->operations =
        realloc(schedule->operations, (index + 1) * sizeof *schedule->operations);
    schedule->dependencies =
        realloc(schedule->dependencies, (schedule->dependency_count + count) * sizeof(size_t) + 1);
    assert_true(schedule->operations != NULL && schedule->dependencies != NULL);
    operation.first_dependency = schedule->dependency_count;
    operation.dependency_count = count;
    operation.label = operation.label != NULL    ? operation.label
                      : operation.method != NULL ? operation.method
                                                 : "";
    for (size_t i = 0; i < count; i++) {
        assert_true(after[i] < index);
        schedule->dependencies[schedule->dependency_count++] = after[i];
    }
    schedule->operations[schedule->operation_count++] = operation;
    return index;
}

#endif
