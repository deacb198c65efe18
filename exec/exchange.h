/*
 * How the legs of exchanges are run, by what they carry and by which collective; private to this
 * room.
 */
#ifndef GW_EXEC_EXCHANGE_H
#define GW_EXEC_EXCHANGE_H

#include "exec/worker.h"

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

/* Lets the runners of all exchanges of the worker's checked schedule prepare its groups. */
enum gw_status gw_exchanges_prepare(struct gw_worker *worker, struct gw_error *error);

/* Runs an exchange, with what compression left if that is not packed yet. */
enum gw_status gw_exchange_run(struct gw_worker *worker, const struct gw_operation *operation,
                               uint64_t *bytes, struct gw_error *error);

#endif
