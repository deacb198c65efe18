/* The runners of exchanges' legs, by payload and collective, and the compression before them;
 * private to this room. */
#ifndef GW_EXEC_EXCHANGE_H
#define GW_EXEC_EXCHANGE_H

#include "exec/worker.h"

/* ---- legs ---------------------------------------------------------------------------------- */

struct gw_leg_runner {
    enum gw_payload payload;
    const char *collective;
    /* How compression prepares the group, unless an earlier leg determines it; or NULL. */
    const struct gw_compression *compression;
    /* Reserves memory for the expected data; or NULL. */
    enum gw_status (*prepare)(struct gw_worker *worker, struct gw_group_state *group,
                              struct gw_error *error);
    /* *bytes is this worker's contribution; for a server's answer, the bytes that it received. */
    enum gw_status (*run)(struct gw_worker *worker, struct gw_group_state *group, uint64_t *bytes,
                          struct gw_error *error);
};

/* Each is ended by one without a function. */
extern const struct gw_leg_runner gw_gathered_legs[], gw_server_legs[], gw_tree_legs[],
    gw_code_legs[], gw_low_rank_legs[];

/* Calls prepare() of the runners of all exchanges of the worker's checked schedule, and again when
 * more data is expected than before, with compressors whose counts depend on gradients. */
enum gw_status gw_exchanges_prepare(struct gw_worker *worker, struct gw_error *error);

/* Runs an exchange, after packing the compressed group if that is not yet done. */
enum gw_status gw_exchange_run(struct gw_worker *worker, const struct gw_operation *operation,
                               uint64_t *bytes, struct gw_error *error);

/* ---- compression --------------------------------------------------------------------------- */

/* Starts the group's compression, on the compute stream; on the host, which knows the count at
 * once, packs too. */
enum gw_status gw_compress_start(struct gw_worker *worker, struct gw_group_state *group,
                                 struct gw_error *error);

/* Packs a compressed group, on the stream of exchanges, if it is not packed yet. Waits on a GPU. */
enum gw_status gw_compress_pack(struct gw_worker *worker, struct gw_group_state *group,
                                struct gw_error *error);

/* For compression that is timed waiting: sets the preset selections of all groups, before an
 * iteration. */
enum gw_status gw_preset_select(struct gw_worker *worker, struct gw_error *error);

/* Preset a group's entries, its indices, or its layers (cut to the wanted number of elements). */
enum gw_status gw_preset_entries(struct gw_worker *worker, struct gw_group_state *group,
                                 struct gw_error *error);
enum gw_status gw_preset_indices(struct gw_worker *worker, struct gw_group_state *group,
                                 struct gw_error *error);
enum gw_status gw_preset_layers(struct gw_worker *worker, struct gw_group_state *group,
                                struct gw_error *error);

/* Moves entries from the residual to `sent`: struct gw_entry [selected]. */
extern const struct gw_compression gw_compress_entries;

/* Lists selected indices among the common ones. Values stay in the residual: the exchange takes
 * them once it knows the indices of all workers. */
extern const struct gw_compression gw_compress_indices;

/* The same on one worker, a different one in each iteration; the others only accumulate. */
extern const struct gw_compression gw_compress_leader_indices;
size_t gw_compress_leader(const struct gw_worker *worker);

/* Sketches gradient + residual, and selects nothing. */
extern const struct gw_compression gw_compress_sketch;

/* Moves whole layers from the residual to `sent`: float [layers], 1 for a chosen layer and 0 for
 * others, then the elements of the chosen ones. Needs the group's `beginnings`. */
extern const struct gw_compression gw_compress_layers;

/*
 * Starts a selection by the group's compressor; `takes`: clears it in the residual. Finishing it,
 * which waits on a GPU and may be on another stream's memory, sets the group's entries and their
 * number.
 */
enum gw_status gw_select_start(struct gw_worker *worker, struct gw_group_state *group, bool takes,
                               struct gw_error *error);
enum gw_status gw_select_finish(const struct gw_memory *memory, struct gw_group_state *group,
                                struct gw_error *error);

/* ---- elements with common indices ---------------------------------------------------------- */

/* Opens the group's sketch, with its columns and hash functions, and reserves common indices. */
enum gw_status gw_sketches_open(const struct gw_worker *worker, struct gw_group_state *group,
                                struct gw_error *error);
size_t gw_sketches_cells(const struct gw_group_state *group);

/* Finds the common indices from the group's sketch, which is the sum of all workers' sketches. */
enum gw_status gw_sketches_find(struct gw_worker *worker, struct gw_group_state *group,
                                struct gw_error *error);

/* Moves the values of common elements from the residual to `sent`. */
enum gw_status gw_values_take(const struct gw_worker *worker, struct gw_group_state *group,
                              struct gw_error *error);

/* Writes the sums of common elements to the aggregate. */
enum gw_status gw_values_put(const struct gw_worker *worker, struct gw_group_state *group,
                             const float *sums, struct gw_error *error);

#endif
