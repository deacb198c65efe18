/* What compression leaves for an exchange; private to this room. */
#ifndef GW_EXEC_COMPRESS_H
#define GW_EXEC_COMPRESS_H

#include "exec/worker.h"

/* Takes the entries from the residual, into `sent`: struct gw_entry [selected]. */
gw_parcel_compress gw_compress_entries;

/*
 * Lists their indices as known. Their values stay in the residual: the exchange takes them once it
 * knows whose travel.
 */
gw_parcel_compress gw_compress_indices;

/* The same on one worker, another one in each iteration; the others only accumulate. */
gw_parcel_compress gw_compress_led;
size_t gw_compress_leader(const struct gw_worker *worker);

/* Sketches gradient + residual, and selects nothing. */
gw_parcel_compress gw_compress_sketch;

/*
 * Takes whole layers from the residual, into `sent`: float [layers], 1 for each that was chosen and
 * 0 for the others, then the elements of those.
 */
gw_parcel_compress gw_compress_layers;

#endif
