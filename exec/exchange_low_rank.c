/* The exchange of PowerSGD's factors, and of the tensors that it leaves whole (kernels/low_rank.h).
 */
#include "exec/exchange.h"
#include "kernels/low_rank.h"

static struct gw_low_rank *factors_of(const struct gw_group_state *group) {
    return group->state;
}

static enum gw_status start_factors(struct gw_worker *worker, struct gw_group_state *group,
                                    struct gw_error *error) {
    const struct gw_task task = gw_worker_task(worker, group);
    return worker->compute.does->project(&worker->compute, factors_of(group), &task,
                                         &group->selection, error);
}

/* Waits for a GPU's factors, which can be refused. */
static enum gw_status finish_factors(struct gw_worker *worker, struct gw_group_state *group,
                                     struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    return memory->does->finish_project(memory, factors_of(group), &group->selection, error);
}

static const struct gw_compression compress_factors = {
    .start = start_factors, .pack = finish_factors, .preset = start_factors};

static enum gw_status prepare_factors(struct gw_worker *worker, struct gw_group_state *group,
                                      struct gw_error *error) {
    const struct gw_low_rank *factors = factors_of(group);
    size_t most = factors->raw_count > factors->p_count ? factors->raw_count : factors->p_count;
    most = most > factors->q_count ? most : factors->q_count;
    return gw_group_reserve(worker, group, 0, most * sizeof(float), error);
}

/* Sums numbers over workers, times a factor, in their place. */
static enum gw_status sum_numbers(struct gw_worker *worker, struct gw_group_state *group,
                                  float *numbers, float times, size_t count, uint64_t *bytes,
                                  struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    float *sums = group->received.memory;
    *bytes = count * sizeof *numbers;
    GW_TRY(gw_allreduce(worker->communicator, GW_NUMBER_FLOAT, numbers, sums, count, error));
    return memory->does->copy_scaled(memory, numbers, GW_NUMBER_FLOAT, sums, times, count, error);
}

/* Writes the sum over workers, and leaves the difference to the mean in the residual. */
static enum gw_status finish_group(struct gw_worker *worker, struct gw_group_state *group,
                                   struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    const struct gw_task task = gw_worker_task(worker, group);
    group->written = GW_WRITTEN_ALL;
    return memory->does->expand(memory, factors_of(group), &task, (float)worker->workers,
                                gw_worker_aggregate(worker, group), error);
}

static enum gw_status sum_raw(struct gw_worker *worker, struct gw_group_state *group,
                              uint64_t *bytes, struct gw_error *error) {
    struct gw_low_rank *factors = factors_of(group);
    GW_TRY(sum_numbers(worker, group, factors->raw, 1, factors->raw_count, bytes, error));
    return factors->matrix_count == 0 ? finish_group(worker, group, error) : GW_OK;
}

static enum gw_status sum_p(struct gw_worker *worker, struct gw_group_state *group, uint64_t *bytes,
                            struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    struct gw_low_rank *factors = factors_of(group);
    const struct gw_task task = gw_worker_task(worker, group);
    GW_TRY(sum_numbers(worker, group, factors->p, 1, factors->p_count, bytes, error));
    return memory->does->factor(memory, factors, &task, error);
}

static enum gw_status average_q(struct gw_worker *worker, struct gw_group_state *group,
                                uint64_t *bytes, struct gw_error *error) {
    struct gw_low_rank *factors = factors_of(group);
    GW_TRY(sum_numbers(worker, group, factors->q, 1 / (float)worker->workers, factors->q_count,
                       bytes, error));
    return finish_group(worker, group, error);
}

const struct gw_leg_runner gw_low_rank_legs[] = {
    {.payload = GW_RAW,
     .collective = "allreduce",
     .compression = &compress_factors,
     .prepare = prepare_factors,
     .run = sum_raw},
    {.payload = GW_FACTOR_P,
     .collective = "allreduce",
     .compression = &compress_factors,
     .prepare = prepare_factors,
     .run = sum_p},
    {.payload = GW_FACTOR_Q, .collective = "allreduce", .run = average_q},
    {0},
};
