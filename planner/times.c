/* What groups of tensors take: OMGS paper, (2)-(9) and (17), with the slips of (9) mended. */
#include "planner/search.h"

uint64_t gw_planning_bytes(const struct gw_planning *planning, uint64_t n) {
    return gw_exchange_bytes(planning->compress != NULL, planning->model->bytes_per_element, n,
                             planning->density);
}

double gw_planning_compress_s(const struct gw_planning *planning, uint64_t n) {
    return planning->compress == NULL ? 0 : gw_curve_time(planning->compress, (double)n);
}

double gw_planning_exchange_s(const struct gw_planning *planning, uint64_t n, size_t tensors) {
    const struct gw_planning_legs *legs = planning->legs;
    return legs != NULL ? legs->exchange_s(legs->context, n, tensors)
                        : gw_curve_time(planning->exchange, (double)gw_planning_bytes(planning, n));
}

double gw_planning_startup_s(const struct gw_planning *planning) {
    return planning->legs != NULL ? planning->legs->startup_s
                                  : gw_curve_startup(planning->exchange);
}

double gw_planning_update_s(const struct gw_planning *planning) {
    return planning->legs != NULL ? planning->legs->update_s : planning->model->update_s;
}

struct gw_group_times gw_planning_group_times(const struct gw_planning *planning,
                                              const struct gw_group *group,
                                              const struct gw_group_times *before) {
    const struct gw_model *model = planning->model;
    double compute_clock = before == NULL ? gw_model_ahead_s(model) : before->compressed_s;
    double communication_clock = before == NULL ? 0 : before->exchange_end_s;
    struct gw_group_times times = {.backward_start_s = compute_clock};
    for (size_t tensor = group->first + 1; tensor-- > group->last;) {
        compute_clock += model->tensors[tensor].backward_s;
    }
    uint64_t n = gw_group_elements(group, model);
    times.ready_s = compute_clock;
    times.compressed_s = times.ready_s + gw_planning_compress_s(planning, n);
    times.exchange_start_s =
        times.compressed_s > communication_clock ? times.compressed_s : communication_clock;
    times.exchange_end_s = times.exchange_start_s +
                           gw_planning_exchange_s(planning, n, group->first - group->last + 1);
    return times;
}

double gw_planning_iteration_s(const struct gw_planning *planning, const struct gw_group *groups,
                               size_t group_count) {
    struct gw_group_times times = gw_planning_group_times(planning, &groups[0], NULL);
    for (size_t g = 1; g < group_count; g++) {
        times = gw_planning_group_times(planning, &groups[g], &times);
    }
    return times.exchange_end_s + gw_planning_update_s(planning);
}

double gw_marks_exchanged_s(const struct gw_planning *planning, const bool *ends) {
    struct gw_group_times times = {0};
    size_t last = planning->model->tensor_count - 1;
    struct gw_group group = {.first = last};
    for (size_t tensor = last + 1; tensor-- > 0;) {
        if (ends[tensor]) {
            group.last = tensor;
            times = gw_planning_group_times(planning, &group, group.first == last ? NULL : &times);
            group.first = tensor - 1;
        }
    }
    return times.exchange_end_s;
}

double gw_marks_iteration_s(const struct gw_planning *planning, const bool *ends) {
    return gw_marks_exchanged_s(planning, ends) + gw_planning_update_s(planning);
}
