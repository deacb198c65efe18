/* Iterations of compression alone, before the first that is run; private to this room. */
#ifndef GW_EXEC_SETTLE_H
#define GW_EXEC_SETTLE_H

#include "exec/exec.h"
#include "exec/outcome.h"
#include "exec/worker.h"

/* As gw_executor_settle; worker->iteration is the first of these iterations, then the next one. */
enum gw_status gw_worker_settle(struct gw_worker *worker, struct gw_outcome *outcome,
                                const struct gw_settling *settling, struct gw_settled *out,
                                struct gw_error *error);

#endif
