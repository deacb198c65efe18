/*
 * How the legs of exchanges are run: each exchange is one file, that has for each of its legs a
 * constant descriptor. Which one a leg has, follows from what it carries and by which collective.
 * Private to this room.
 */
#ifndef GW_EXEC_EXCHANGE_H
#define GW_EXEC_EXCHANGE_H

#include "exec/worker.h"

struct gw_leg_runner {
    /* How compression leaves the group, if this is the first leg that says so; or NULL. */
    const struct gw_compression *compression;
    /* Of which compressors it does, and what is said of others: "expected one that ...". */
    bool (*suits)(const struct gw_compressor *compressor);
    const char *needed;
    /* What an earlier leg of the group must have carried, if `follows`. */
    bool follows;
    enum gw_payload after;
    /* Makes room for what is expected to travel; or NULL. */
    enum gw_status (*prepare)(struct gw_worker *worker, struct gw_parcel *parcel,
                              struct gw_error *error);
    /* *bytes is what this worker contributed; of a server's answer, got. */
    enum gw_status (*run)(struct gw_worker *worker, struct gw_parcel *parcel, uint64_t *bytes,
                          struct gw_error *error);
};

#define LEG(payload, collective, runner) extern const struct gw_leg_runner gw_leg_##runner;
#include "exec/legs.inc"
#undef LEG

/* The runner of an exchange; NULL if there is none. */
const struct gw_leg_runner *gw_exchange_runner(const struct gw_operation *operation);

/* Lets the runner of an exchange, which there is, prepare its group's parcel. */
enum gw_status gw_exchange_prepare(struct gw_worker *worker, const struct gw_operation *operation,
                                   struct gw_error *error);

/* Runs it, with what compression left if that is not packed yet. */
enum gw_status gw_exchange_run(struct gw_worker *worker, const struct gw_operation *operation,
                               uint64_t *bytes, struct gw_error *error);

#endif
