/* The descriptors of exchanges, one file each; private to this room. */
#ifndef GW_ALGORITHMS_EXCHANGES_H
#define GW_ALGORITHMS_EXCHANGES_H

#include "methods/exchange.h"

#define EXCHANGE(name) extern const struct gw_exchange_kind gw_##name;
#include "methods/exchanges.inc"
#undef EXCHANGE

#endif
