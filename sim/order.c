#include "sim/order.h"

/* Number of operations of the other stream that must have ended. */
static size_t count_awaited(const struct gw_schedule *schedule, size_t index,
                            const size_t *places) {
    const struct gw_operation *operation = &schedule->operations[index];
    size_t awaited = 0;
    for (size_t d = 0; d < operation->dependency_count; d++) {
        size_t before = schedule->dependencies[operation->first_dependency + d];
        bool other_stream = schedule->operations[before].stream != operation->stream;
        awaited = other_stream && places[before] + 1 > awaited ? places[before] + 1 : awaited;
    }
    return awaited;
}

static void lay_out(struct gw_order *order, const struct gw_schedule *schedule, size_t *places) {
    for (size_t i = 0; i <= schedule->operation_count; i++) {
        order->first_waiting[i] = GW_NO_EXCHANGE;
    }
    for (size_t i = 0; i < schedule->operation_count; i++) {
        size_t awaited = count_awaited(schedule, i, places);
        if (gw_operation_is_shared(&schedule->operations[i])) {
            places[i] = order->exchange_count++;
            order->exchanges[places[i]] = i;
            order->awaited_computes[places[i]] = awaited;
            order->next_waiting[places[i]] = order->first_waiting[awaited];
            order->first_waiting[awaited] = places[i];
        } else {
            places[i] = order->compute_count++;
            order->computes[places[i]] = i;
            order->awaited_exchanges[places[i]] = awaited;
        }
    }
}

enum gw_status gw_order_open(struct gw_order *out, const struct gw_schedule *schedule,
                             struct gw_arena *arena, struct gw_error *error) {
    size_t count = schedule->operation_count + 1;
    size_t *places = gw_arena_zeros(arena, count, sizeof *places);
    *out = (struct gw_order){
        .computes = gw_arena_zeros(arena, count, sizeof *out->computes),
        .exchanges = gw_arena_zeros(arena, count, sizeof *out->exchanges),
        .awaited_exchanges = gw_arena_zeros(arena, count, sizeof *out->awaited_exchanges),
        .awaited_computes = gw_arena_zeros(arena, count, sizeof *out->awaited_computes),
        .first_waiting = gw_arena_zeros(arena, count, sizeof *out->first_waiting),
        .next_waiting = gw_arena_zeros(arena, count, sizeof *out->next_waiting)};
    GW_TRY(gw_arena_check(arena, "simulating", error));
    lay_out(out, schedule, places);
    return GW_OK;
}
