#include "exec/common_elements.h"

/* ---- values -------------------------------------------------------------------------------- */

enum gw_status gw_values_reserve(const struct gw_worker *worker, struct gw_group_state *group,
                                 size_t count, struct gw_error *error) {
    GW_TRY(gw_buffer_reserve(&group->sent, &worker->exchange, count * sizeof(float), error));
    return gw_buffer_reserve(&group->received, &worker->exchange, count * sizeof(float), error);
}

enum gw_status gw_values_take(const struct gw_worker *worker, struct gw_group_state *group,
                              struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    return memory->does->take(memory, gw_worker_residual(worker, group), gw_group_common(group),
                              group->common_count, group->sent.memory, error);
}

enum gw_status gw_values_put(const struct gw_worker *worker, struct gw_group_state *group,
                             const float *sums, struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    gw_group_list_common(group);
    return memory->does->put(memory, gw_worker_aggregate(worker, group), gw_group_common(group),
                             group->common_count, sums, error);
}

/* ---- sketches ------------------------------------------------------------------------------ */

static size_t columns_of(const struct gw_group_state *group) {
    return group->slice->sketch_cells / GW_SKETCH_ROWS;
}

enum gw_status gw_sketches_open(const struct gw_worker *worker, struct gw_group_state *group,
                                struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    GW_TRY(gw_group_reserve_common(memory, group, group->slice->kept, error));
    return memory->does->open_sketch(memory, group, columns_of(group), error);
}

size_t gw_sketches_cells(const struct gw_group_state *group) {
    return GW_SKETCH_ROWS * columns_of(group);
}

enum gw_status gw_sketches_find(struct gw_worker *worker, struct gw_group_state *group,
                                struct gw_error *error) {
    group->common_count = group->slice->kept;
    return worker->exchange.does->find(&worker->exchange, group, worker->iteration,
                                       gw_group_common(group), error);
}
