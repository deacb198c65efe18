/* Iterations of compression alone, before the first that is run; private to this room. */
#ifndef GW_EXEC_WARM_UP_H
#define GW_EXEC_WARM_UP_H

#include "exec/exec.h"
#include "exec/outcome.h"
#include "exec/worker.h"

/* As gw_executor_warm_up; worker->iteration is the first of these iterations, then the next one. */
enum gw_status gw_worker_warm_up(struct gw_worker *worker, struct gw_outcome *outcome,
                                 const struct gw_warm_up_limits *limits, struct gw_warmed_up *out,
                                 struct gw_error *error);

#endif
