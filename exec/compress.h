/* What compression leaves for an exchange; private to this room. */
#ifndef GW_EXEC_COMPRESS_H
#define GW_EXEC_COMPRESS_H

#include "exec/worker.h"

/*
 * The group's compression, on the compute stream; on the host, where how much was selected is known
 * at once, with its packing.
 */
enum gw_status gw_compress_start(struct gw_worker *worker, struct gw_group_state *group,
                                 struct gw_error *error);

/* What is left of it, on the stream of exchanges; nothing if nothing is. Waits on a GPU. */
enum gw_status gw_compress_pack(struct gw_worker *worker, struct gw_group_state *group,
                                struct gw_error *error);

/* Takes the entries from the residual, into `sent`: struct gw_entry [selected]. */
extern const struct gw_compression gw_compress_entries;

/*
 * Lists their indices among the common ones. Their values stay in the residual: the exchange takes
 * them once it knows whose travel.
 */
extern const struct gw_compression gw_compress_indices;

/* The same on one worker, another one in each iteration; the others only accumulate. */
extern const struct gw_compression gw_compress_led;
size_t gw_compress_leader(const struct gw_worker *worker);

/* Sketches gradient + residual, and selects nothing. */
extern const struct gw_compression gw_compress_sketch;

/*
 * Takes whole layers from the residual, into `sent`: float [layers], 1 for each that was chosen and
 * 0 for the others, then the elements of those.
 */
extern const struct gw_compression gw_compress_layers;

#endif
