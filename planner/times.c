/* Times of groups of tensors: OMGS paper, (2)-(9) and (17), with the slips of (9) mended. */
#include "planner/search.h"

struct gw_group_times gw_plan_group_times(const struct gw_costs *costs,
                                          const struct gw_group *group,
                                          const struct gw_group_times *before) {
    const struct gw_model *model = costs->model;
    double compute_clock = before == NULL ? gw_model_ahead_s(model) : before->compressed_s;
    double communication_clock = before == NULL ? 0 : before->exchange_end_s;
    struct gw_group_times times = {.backward_start_s = compute_clock};
    struct gw_size size = {0};
    for (size_t tensor = group->first + 1; tensor-- > group->last;) {
        compute_clock += model->tensors[tensor].backward_s;
        gw_costs_add_tensor(costs, tensor, &size);
    }
    times.ready_s = compute_clock;
    times.compressed_s = times.ready_s + gw_costs_compress_s(costs, size.elements);
    times.exchange_start_s =
        times.compressed_s > communication_clock ? times.compressed_s : communication_clock;
    times.exchange_end_s = times.exchange_start_s + gw_costs_exchange_s(costs, &size);
    return times;
}

double gw_plan_iteration_s(const struct gw_costs *costs, const struct gw_group *groups,
                           size_t group_count) {
    struct gw_group_times times = gw_plan_group_times(costs, &groups[0], NULL);
    for (size_t g = 1; g < group_count; g++) {
        times = gw_plan_group_times(costs, &groups[g], &times);
    }
    return times.exchange_end_s + gw_costs_update_s(costs);
}

double gw_marks_exchanged_s(const struct gw_mix *choices, const size_t *marks) {
    struct gw_group_times times = {0};
    size_t last = choices->costs->model->tensor_count - 1;
    struct gw_group group = {.first = last};
    for (size_t tensor = last + 1; tensor-- > 0;) {
        if (marks[tensor] > 0) {
            group.last = tensor;
            times = gw_plan_group_times(&choices->costs[marks[tensor] - 1], &group,
                                        group.first == last ? NULL : &times);
            group.first = tensor - 1;
        }
    }
    return times.exchange_end_s;
}

double gw_marks_lost(const struct gw_mix *choices, const size_t *marks) {
    size_t count = choices->costs->model->tensor_count;
    size_t mark = 0;
    double lost = 0;
    for (size_t tensor = 0; choices->lost != NULL && tensor < count; tensor++) {
        mark = marks[tensor] > 0 ? marks[tensor] : mark;
        lost += choices->lost[(mark - 1) * count + tensor];
    }
    return lost;
}
