#include "collectives/layout.h"

bool gw_symmetric_always(uint32_t workers) {
    (void)workers;
    return true;
}

bool gw_symmetric_never(uint32_t workers) {
    (void)workers;
    return false;
}

bool gw_symmetric_power_of_two(uint32_t workers) {
    return (workers & (workers - 1)) == 0;
}

uint32_t gw_ranks_workers(uint32_t workers) {
    return workers;
}

uint32_t gw_ranks_with_server(uint32_t workers) {
    return workers + 1;
}

struct gw_step gw_transfer_step(const struct gw_transfer *transfer, uint32_t rank) {
    if (rank == transfer->from) {
        return (struct gw_step){.to = transfer->to,
                                .from = GW_NOBODY,
                                .send_bytes = transfer->bytes,
                                .send = transfer->blocks};
    }
    return (struct gw_step){.to = GW_NOBODY,
                            .from = transfer->from,
                            .receive_bytes = transfer->bytes,
                            .combined_bytes = transfer->combined ? transfer->bytes : 0,
                            .receive = transfer->blocks};
}

uint32_t gw_blocks_one(uint32_t workers) {
    (void)workers;
    return 1;
}

uint32_t gw_blocks_per_worker(uint32_t workers) {
    return workers;
}

uint64_t gw_copies_bytes(uint64_t bytes, uint32_t count) {
    return count > 0 && bytes > UINT64_MAX / count ? UINT64_MAX : bytes * count;
}

uint64_t gw_share_offset(uint64_t bytes, uint32_t blocks, uint32_t block) {
    struct gw_shares shares = gw_shares_of(bytes, blocks);
    return shares.element * (shares.each * block + (block < shares.longer ? block : shares.longer));
}

uint64_t gw_shares_bytes(uint64_t bytes, uint32_t blocks, struct gw_blocks which) {
    return gw_share_offset(bytes, blocks, which.first + which.count) -
           gw_share_offset(bytes, blocks, which.first);
}
