#include "collectives/layout.h"

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
