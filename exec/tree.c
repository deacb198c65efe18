#include "exec/tree.h"

enum gw_status gw_send_up_tree(struct gw_communicator *communicator, const void *own, void *came,
                               size_t bytes, gw_tree_combine *combine, void *context,
                               struct gw_error *error) {
    int rank = communicator->rank;
    for (int apart = 1; apart < communicator->size; apart *= 2) {
        if ((rank & apart) != 0) {
            return gw_send(communicator, rank - apart, own, bytes, error);
        }
        if (rank + apart < communicator->size) {
            GW_TRY(gw_receive(communicator, rank + apart, came, bytes, error));
            GW_TRY(combine(context, error));
        }
    }
    return GW_OK;
}

struct sum {
    const struct gw_memory *memory;
    float *values;
    const float *came;
    size_t count;
};

static enum gw_status add(void *context, struct gw_error *error) {
    const struct sum *sum = context;
    return sum->memory->does->add(sum->memory, sum->values, sum->came, sum->count, error);
}

enum gw_status gw_sum_in_tree(struct gw_communicator *communicator, const struct gw_memory *memory,
                              float *values, float *came, size_t count, struct gw_error *error) {
    struct sum sum = {.memory = memory, .values = values, .came = came, .count = count};
    GW_TRY(gw_send_up_tree(communicator, values, came, count * sizeof *values, add, &sum, error));
    return communicator->transport->broadcast(communicator, 0, values, count * sizeof *values,
                                              error);
}
