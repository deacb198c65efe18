#include "traces/exchange.h"

#include "traces/plan.h"

static const uint64_t sparse_entry_bytes = 8; /* a 4-byte value and a 4-byte index */

uint64_t gw_exchange_bytes(bool sparse, uint64_t bytes_per_element, uint64_t n, double density) {
    return sparse ? sparse_entry_bytes * gw_elements_kept(n, density) : bytes_per_element * n;
}
