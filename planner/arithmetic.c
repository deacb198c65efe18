/* The contract's arithmetic: OMGS paper, (2)-(9) and (17), with the slips of (9) mended. */
#include "planner/planner.h"

uint64_t gw_planning_bytes(const struct gw_planning *planning, uint64_t n) {
    return gw_exchange_bytes(planning->compress != NULL, planning->model->bytes_per_element, n,
                             planning->density);
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
