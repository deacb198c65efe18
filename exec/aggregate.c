#include "exec/aggregate.h"

#include <string.h>

/* One step of a multiplicative hash over 32-bit words; its order of words matters. */
static uint64_t absorb(uint64_t hash, uint32_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

static uint32_t bits(float value) {
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

static uint64_t absorb_element(uint64_t hash, const float *aggregate, uint32_t index) {
    return absorb(absorb(hash, index), bits(aggregate[index]));
}

enum gw_status gw_aggregate_checksum(struct gw_worker *worker, const struct gw_parcel *parcel,
                                     uint64_t *out, struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    size_t count = parcel->listed_count;
    uint64_t hash = parcel->seed;
    void *copy = NULL;
    GW_TRY(memory->does->read(memory, gw_worker_aggregate(worker, parcel),
                              parcel->slice->elements * sizeof(float), &worker->dense_copy, &copy,
                              error));
    const float *aggregate = copy;
    if (parcel->written != GW_WRITTEN_LISTED) {
        for (size_t i = 0; i < parcel->slice->elements; i++) {
            hash = absorb(hash, bits(aggregate[i]));
        }
    } else if (parcel->listed != NULL) {
        GW_TRY(memory->does->read(memory, parcel->listed, count * sizeof *parcel->listed,
                                  &worker->list_copy, &copy, error));
        const struct gw_entry *entries = copy;
        for (size_t i = 0; i < count; i++) {
            hash = absorb_element(hash, aggregate, entries[i].index);
        }
    } else {
        GW_TRY(memory->does->read(memory, gw_parcel_known(parcel), count * sizeof(uint32_t),
                                  &worker->list_copy, &copy, error));
        const uint32_t *indices = copy;
        for (size_t i = 0; i < count; i++) {
            hash = absorb_element(hash, aggregate, indices[i]);
        }
    }
    *out = hash;
    return GW_OK;
}

enum gw_status gw_aggregate_clear(const struct gw_worker *worker, const struct gw_parcel *parcel,
                                  struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    float *aggregate = gw_worker_aggregate(worker, parcel);
    if (parcel->written == GW_WRITTEN_LAYERS) {
        return memory->does->clear(memory, aggregate, parcel->slice->elements * sizeof *aggregate,
                                   error);
    }
    return parcel->listed != NULL
               ? memory->does->clear_entries(memory, parcel->listed, parcel->listed_count,
                                             aggregate, error)
               : memory->does->put(memory, aggregate, gw_parcel_known(parcel), parcel->listed_count,
                                   NULL, error);
}
