#include <stdlib.h>

#include "sim/simulator.h"

/* last_use[operation] is the last one of another stream that waits for it, or 0: none does. */
static enum gw_status find_last_uses(const struct gw_schedule *schedule, size_t *last_use,
                                     struct gw_error *error) {
    for (size_t i = 0; i < schedule->operation_count; i++) {
        const struct gw_operation *operation = &schedule->operations[i];
        for (size_t d = 0; d < operation->dependency_count; d++) {
            size_t before = schedule->dependencies[operation->first_dependency + d];
            if (before >= i) {
                return gw_fail(error, GW_FAILED,
                               "simulation: operation %zu: expected it to depend on operations "
                               "before it, got %zu: the schedule waits for itself",
                               i, before);
            }
            if (schedule->operations[before].stream != operation->stream) {
                last_use[before] = i;
            }
        }
    }
    return GW_OK;
}

/* Slots that nobody waits for any more, the last one freed on top. */
struct free_slots {
    size_t count;
    size_t *slots;
};

/* Once each: an operation may name another one twice. */
static void free_used_up(const struct gw_schedule *schedule, size_t i, size_t *last_use,
                         const size_t *slots, struct free_slots *stack) {
    const struct gw_operation *operation = &schedule->operations[i];
    for (size_t d = 0; d < operation->dependency_count; d++) {
        size_t before = schedule->dependencies[operation->first_dependency + d];
        if (last_use[before] == i) {
            stack->slots[stack->count++] = slots[before];
            last_use[before] = 0;
        }
    }
}

enum gw_status gw_slots_assign(const struct gw_schedule *schedule, size_t *slots,
                               size_t *slot_count, struct gw_error *error) {
    size_t count = schedule->operation_count;
    size_t *last_use = calloc(count + 1, sizeof *last_use);
    struct free_slots stack = {.slots = calloc(count + 1, sizeof *stack.slots)};
    enum gw_status status = last_use == NULL || stack.slots == NULL
                                ? gw_fail_memory(error, "opening a simulation")
                                : find_last_uses(schedule, last_use, error);
    *slot_count = 0;
    for (size_t i = 0; i < count && status == GW_OK; i++) {
        bool awaited = last_use[i] > 0;
        free_used_up(schedule, i, last_use, slots, &stack);
        slots[i] = !awaited          ? GW_NO_SLOT
                   : stack.count > 0 ? stack.slots[--stack.count]
                                     : (*slot_count)++;
    }
    free(last_use);
    free(stack.slots);
    return status;
}
