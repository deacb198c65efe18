/* What travels when a group is exchanged (contract, "Arithmetic"). */
#ifndef GW_TRACES_EXCHANGE_H
#define GW_TRACES_EXCHANGE_H

#include "core/core.h"

/*
 * The bytes that one worker contributes to the exchange of a group of n elements: sparse, 8 for
 * each element kept, a 4-byte value and a 4-byte index; dense, bytes_per_element for each of the n.
 */
uint64_t gw_exchange_bytes(bool sparse, uint64_t bytes_per_element, uint64_t n, double density);

#endif
