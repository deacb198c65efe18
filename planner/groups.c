#include <stdlib.h>

#include "planner/policies.h"

struct gw_group *gw_groups_ended(const bool *ends, size_t tensor_count, size_t *group_count) {
    size_t count = 0;
    for (size_t tensor = 0; tensor < tensor_count; tensor++) {
        count += ends[tensor];
    }
    struct gw_group *groups = calloc(count, sizeof *groups);
    *group_count = count;
    if (groups == NULL) {
        return NULL;
    }
    struct gw_group *group = groups;
    size_t first = tensor_count - 1;
    for (size_t tensor = tensor_count; tensor-- > 0;) {
        if (ends[tensor]) {
            *group++ = (struct gw_group){.first = first, .last = tensor};
            first = tensor - 1;
        }
    }
    return groups;
}
