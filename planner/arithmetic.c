/* The contract's arithmetic: OMGS paper, equations (2)-(9) and (17), with the slips of (9) mended.
 */
#include "planner/planner.h"

static const uint64_t sparse_entry_bytes = 8; /* a 4-byte value and a 4-byte index */

uint64_t gw_planning_bytes(const struct gw_planning *planning, uint64_t n) {
    if (planning->compress == NULL) {
        return planning->model->bytes_per_element * n;
    }
    return sparse_entry_bytes * gw_elements_kept(n, planning->density);
}

double gw_planning_compress_s(const struct gw_planning *planning, uint64_t n) {
    return planning->compress == NULL ? 0 : gw_curve_time(planning->compress, (double)n);
}

double gw_planning_exchange_s(const struct gw_planning *planning, uint64_t n) {
    return gw_curve_time(planning->exchange, (double)gw_planning_bytes(planning, n));
}

double gw_planning_iteration_s(const struct gw_planning *planning, const struct gw_group *groups,
                               size_t group_count) {
    const struct gw_model *model = planning->model;
    double compute_clock = model->forward_s;
    double communication_clock = 0;
    for (size_t g = 0; g < group_count; g++) {
        for (size_t tensor = groups[g].first + 1; tensor-- > groups[g].last;) {
            compute_clock += model->tensors[tensor].backward_s;
        }
        uint64_t n = gw_group_elements(&groups[g], model);
        compute_clock += gw_planning_compress_s(planning, n);
        if (communication_clock < compute_clock) {
            communication_clock = compute_clock;
        }
        communication_clock += gw_planning_exchange_s(planning, n);
    }
    double end = compute_clock > communication_clock ? compute_clock : communication_clock;
    return end + model->update_s;
}
