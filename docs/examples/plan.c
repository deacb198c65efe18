/* Prints the best plan for a network: cc plan.c $(pkg-config --cflags --libs gradweave) */
#include <gradweave.h>
#include <stdio.h>

int main(void) {
    const uint64_t elements[] = {9408, 36864, 589824, 2048000, 1000}; /* in forward order */
    const double backward_s[] = {6e-3, 4e-3, 3e-3, 2e-3, 1e-4};
    const struct gradweave_network network = {
        .tensor_count = 5, .elements = elements, .backward_s = backward_s, .forward_s = 8e-3};
    const struct gradweave_point allreduce[] = {{1e3, 8e-4}, {1e6, 2.3e-3}, {1e7, 1.5e-2}};
    const struct gradweave_costs costs = {.density = 1,
                                          .exchange = {.points = allreduce, .point_count = 3}};
    struct gradweave_group groups[5];
    struct gradweave_plan plan;
    struct gradweave_error error;

    if (gradweave_plan(&network, &costs, "optimal", groups, &plan, &error) != GRADWEAVE_OK) {
        return fprintf(stderr, "%s\n", error.message), 1;
    }
    for (size_t g = 0; g < plan.group_count; g++) {
        printf("group %zu: tensors %zu to %zu\n", g, groups[g].first, groups[g].last);
    }
    printf("%.2f ms, and no plan takes less\n", 1e3 * plan.iteration_s);
}
