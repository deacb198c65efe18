#include "exec/outcome.h"

#include <string.h>

/* ---- aggregates ---------------------------------------------------------------------------- */

/* One step of a multiplicative hash over 32-bit words; the order of words matters. */
static uint64_t hash_word(uint64_t hash, uint32_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

static uint32_t float_bits(float value) {
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

static uint64_t hash_element(uint64_t hash, const float *aggregate, uint32_t index) {
    return hash_word(hash_word(hash, index), float_bits(aggregate[index]));
}

/* Hashes the elements that the group's exchange wrote, and their bits. */
static enum gw_status checksum_aggregate(struct gw_worker *worker, struct gw_group_state *group,
                                         uint64_t *out, struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    size_t count = group->listed_count;
    uint64_t hash = group->seed;
    void *copy = NULL;
    gw_group_decode(worker, group);
    GW_TRY(memory->does->read(memory, gw_worker_aggregate(worker, group),
                              group->slice->size.elements * sizeof(float), &worker->dense_copy,
                              &copy, error));
    const float *aggregate = copy;
    if (group->written != GW_WRITTEN_LISTED) {
        for (size_t i = 0; i < group->slice->size.elements; i++) {
            hash = hash_word(hash, float_bits(aggregate[i]));
        }
    } else if (group->listed != NULL) {
        GW_TRY(memory->does->read(memory, group->listed, count * sizeof *group->listed,
                                  &worker->list_copy, &copy, error));
        const struct gw_entry *entries = copy;
        for (size_t i = 0; i < count; i++) {
            hash = hash_element(hash, aggregate, entries[i].index);
        }
    } else {
        GW_TRY(memory->does->read(memory, gw_group_common(group), count * sizeof(uint32_t),
                                  &worker->list_copy, &copy, error));
        const uint32_t *indices = copy;
        for (size_t i = 0; i < count; i++) {
            hash = hash_element(hash, aggregate, indices[i]);
        }
    }
    *out = hash;
    return GW_OK;
}

enum gw_status gw_aggregate_clear(const struct gw_worker *worker,
                                  const struct gw_group_state *group, struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    float *aggregate = gw_worker_aggregate(worker, group);
    if (group->written == GW_WRITTEN_LAYERS) {
        return memory->does->clear(memory, aggregate,
                                   group->slice->size.elements * sizeof *aggregate, error);
    }
    return group->listed != NULL ? memory->does->clear_entries(
                                       memory, group->listed, group->listed_count, aggregate, error)
                                 : memory->does->put(memory, aggregate, gw_group_common(group),
                                                     group->listed_count, NULL, error);
}

/* ---- outcomes of all ranks ----------------------------------------------------------------- */

enum gw_status gw_outcome_open(struct gw_outcome *out, const struct gw_worker *worker,
                               struct gw_error *error) {
    struct gw_arena *arena = worker->arena;
    size_t groups = worker->schedule->group_count;
    size_t ranks = (size_t)worker->hosts->size;
    out->own = gw_arena_zeros(arena, groups, sizeof *out->own);
    out->of = gw_arena_zeros(arena, ranks * groups, sizeof *out->of);
    out->selected = gw_arena_zeros(arena, groups * worker->workers, sizeof *out->selected);
    out->counts = gw_arena_zeros(arena, worker->workers, sizeof *out->counts);
    out->extents = gw_arena_zeros(arena, groups, sizeof *out->extents);
    return gw_arena_check(arena, "opening an executor", error);
}

static enum gw_status compare_checksums(const struct gw_outcome *outcome,
                                        const struct gw_worker *worker, struct gw_error *error) {
    size_t groups = worker->schedule->group_count;
    for (size_t i = 0; i < worker->workers * groups; i++) {
        if (outcome->of[i].checksum != outcome->of[i % groups].checksum) {
            return gw_fail(error, GW_FAILED,
                           "execution: group %zu: expected the same aggregate on every worker, "
                           "but rank %zu differs from rank 0",
                           i % groups, i / groups);
        }
    }
    return GW_OK;
}

/* Counts the selections of one group; ignores the server's own outcome. */
static void count_selected(struct gw_outcome *outcome, const struct gw_worker *worker, size_t g) {
    size_t groups = worker->schedule->group_count;
    uint64_t sum = 0;
    struct gw_selected *extent = &outcome->extents[g];
    *extent = (struct gw_selected){.all = outcome->of[g].all};
    for (size_t i = 0; i < worker->workers; i++) {
        uint64_t selected = outcome->of[i * groups + g].selected;
        outcome->selected[g * worker->workers + i] = selected;
        outcome->counts[i] = selected;
        extent->most = selected > extent->most ? selected : extent->most;
        sum += selected;
    }
    extent->mean = gw_mean_selected(sum, worker->workers);
}

/* Exchanges the outcomes of all ranks. */
static enum gw_status gather_outcomes(struct gw_outcome *outcome, struct gw_worker *worker,
                                      bool with_checksums, struct gw_error *error) {
    struct gw_communicator *communicator = worker->hosts;
    size_t groups = worker->schedule->group_count;
    for (size_t g = 0; g < groups; g++) {
        struct gw_group_state *group = &worker->groups[g];
        struct gw_group_outcome *own = &outcome->own[g];
        *own = (struct gw_group_outcome){.selected = group->selected, .all = group->all};
        if (with_checksums && !worker->serves) {
            GW_TRY(checksum_aggregate(worker, group, &own->checksum, error));
        }
    }
    return gw_allgather(communicator, outcome->own, groups * sizeof *outcome->own, outcome->of,
                        error);
}

static void count_groups(struct gw_outcome *outcome, struct gw_worker *worker, bool observes) {
    for (size_t g = 0; g < worker->schedule->group_count; g++) {
        const struct gw_group_state *group = &worker->groups[g];
        count_selected(outcome, worker, g);
        if (observes) {
            gw_state_observe(group->compressor, group->state, outcome->counts);
        }
    }
}

enum gw_status gw_outcome_share_counts(struct gw_outcome *outcome, struct gw_worker *worker,
                                       struct gw_error *error) {
    GW_TRY(gather_outcomes(outcome, worker, false, error));
    count_groups(outcome, worker, true);
    return GW_OK;
}

enum gw_status gw_outcome_conclude(struct gw_outcome *outcome, struct gw_worker *worker,
                                   struct gw_error *error) {
    GW_TRY(gather_outcomes(outcome, worker, true, error));
    count_groups(outcome, worker, true);
    return compare_checksums(outcome, worker, error);
}

enum gw_status gw_outcome_compare(struct gw_outcome *outcome, struct gw_worker *worker,
                                  struct gw_error *error) {
    GW_TRY(gather_outcomes(outcome, worker, true, error));
    count_groups(outcome, worker, false);
    return compare_checksums(outcome, worker, error);
}
