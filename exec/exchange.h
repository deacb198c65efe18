/*
 * How the legs of exchanges are run, by what they carry and by which collective, and what
 * compression leaves for them; private to this room.
 */
#ifndef GW_EXEC_EXCHANGE_H
#define GW_EXEC_EXCHANGE_H

#include "exec/worker.h"

/* ---- legs ---------------------------------------------------------------------------------- */

struct gw_leg_runner {
    enum gw_payload payload;
    const char *collective;
    /* How compression leaves the group, if this is the first leg that says so; or NULL. */
    const struct gw_compression *compression;
    /* Makes room for what is expected to travel; or NULL. */
    enum gw_status (*prepare)(struct gw_worker *worker, struct gw_group_state *group,
                              struct gw_error *error);
    /* *bytes is what this worker contributed; of a server's answer, got. */
    enum gw_status (*run)(struct gw_worker *worker, struct gw_group_state *group, uint64_t *bytes,
                          struct gw_error *error);
};

/* Each ended by one that runs nothing. */
extern const struct gw_leg_runner gw_gathered_legs[], gw_server_legs[], gw_tree_legs[];

/*
 * Lets the runners of all exchanges of the worker's checked schedule prepare its groups; again
 * where more is expected than was, as of compressors whose counts depend on gradients.
 */
enum gw_status gw_exchanges_prepare(struct gw_worker *worker, struct gw_error *error);

/* Runs an exchange, with what compression left if that is not packed yet. */
enum gw_status gw_exchange_run(struct gw_worker *worker, const struct gw_operation *operation,
                               uint64_t *bytes, struct gw_error *error);

/* ---- compression --------------------------------------------------------------------------- */

/*
 * The group's compression, on the compute stream; on the host, where how much was selected is known
 * at once, with its packing.
 */
enum gw_status gw_compress_start(struct gw_worker *worker, struct gw_group_state *group,
                                 struct gw_error *error);

/* What is left of it, on the stream of exchanges; nothing if nothing is. Waits on a GPU. */
enum gw_status gw_compress_pack(struct gw_worker *worker, struct gw_group_state *group,
                                struct gw_error *error);

/* Where compression is timed waiting: leaves what is known of all groups, before an iteration. */
enum gw_status gw_known_select(struct gw_worker *worker, struct gw_error *error);

/* How it is known; and of layers, cut so that all of them together are as much as is asked. */
enum gw_status gw_known_entries(struct gw_worker *worker, struct gw_group_state *group,
                                struct gw_error *error);
enum gw_status gw_known_indices(struct gw_worker *worker, struct gw_group_state *group,
                                struct gw_error *error);
enum gw_status gw_known_layers(struct gw_worker *worker, struct gw_group_state *group,
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
 * 0 for the others, then the elements of those. Needs the group's `beginnings`.
 */
extern const struct gw_compression gw_compress_layers;

/*
 * Starts a selection by the group's compressor, which leaves zeros in the residual if it `takes`.
 * Once it is finished, which waits on a GPU and may be on another stream's memory, the group's
 * entries are there, and their number.
 */
enum gw_status gw_select_start(struct gw_worker *worker, struct gw_group_state *group, bool takes,
                               struct gw_error *error);
enum gw_status gw_select_finish(const struct gw_memory *memory, struct gw_group_state *group,
                                struct gw_error *error);

/* ---- elements that all ranks know, though none has said its own ---------------------------- */

/* The group's sketch, with the group's columns and hash functions, and room for common indices. */
enum gw_status gw_sketches_open(const struct gw_worker *worker, struct gw_group_state *group,
                                struct gw_error *error);
size_t gw_sketches_cells(const struct gw_group_state *group);

/* From the group's sketch, which is the sum of all workers': the common indices. */
enum gw_status gw_sketches_find(struct gw_worker *worker, struct gw_group_state *group,
                                struct gw_error *error);

/* Takes the values of common elements from the residual, into `sent`. */
enum gw_status gw_values_take(const struct gw_worker *worker, struct gw_group_state *group,
                              struct gw_error *error);

/* Puts what became of them where they belong in the aggregate. */
enum gw_status gw_values_put(const struct gw_worker *worker, struct gw_group_state *group,
                             const float *sums, struct gw_error *error);

#endif
