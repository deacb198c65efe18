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

uint64_t gw_aggregate_checksum(const struct gw_worker *worker, const struct gw_parcel *parcel) {
    const float *aggregate = gw_worker_aggregate(worker, parcel);
    uint64_t hash = parcel->seed;
    if (parcel->written != GW_WRITTEN_LISTED) {
        for (size_t i = 0; i < parcel->slice->elements; i++) {
            hash = absorb(hash, bits(aggregate[i]));
        }
        return hash;
    }
    for (size_t i = 0; i < parcel->listed_count; i++) {
        uint32_t index = parcel->listed[i * parcel->stride];
        hash = absorb(absorb(hash, index), bits(aggregate[index]));
    }
    return hash;
}

void gw_aggregate_clear(const struct gw_worker *worker, const struct gw_parcel *parcel) {
    float *aggregate = gw_worker_aggregate(worker, parcel);
    if (parcel->written == GW_WRITTEN_LAYERS) {
        memset(aggregate, 0, parcel->slice->elements * sizeof *aggregate);
    }
    for (size_t i = 0; i < parcel->listed_count; i++) {
        aggregate[parcel->listed[i * parcel->stride]] = 0;
    }
}
