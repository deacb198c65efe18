/*
 * A farm: numbered tasks that do not depend on each other, worked on by threads of all ranks of a
 * job, whose results are delivered in order on rank 0. Rank 0 hands tasks out as ranks ask for more
 * (so that fast ranks get more of them) and works as well. Tasks that another rank keeps for much
 * longer than tasks take so far, rank 0 does itself: a rank that is lost loses nothing.
 */
#ifndef GW_TRANSPORT_FARM_H
#define GW_TRANSPORT_FARM_H

#include "transport/transport.h"

struct gw_farm {
    uint64_t first, count; /* the tasks are first .. count - 1 */
    size_t threads;        /* of this rank that work, at least 1 */
    size_t result_bytes;   /* of the longest result, which means the same on all ranks */
    void *context;

    /*
     * Works on a task, on any thread of any rank, and returns how many bytes the result has. A task
     * may be worked on more than once.
     */
    size_t (*work)(uint64_t task, void *result, void *context);

    /* Takes a result, on rank 0's calling thread, each once in ascending order; may end it all. */
    enum gw_status (*deliver)(uint64_t task, const void *result, void *context,
                              struct gw_error *error);
};

/*
 * Works until all tasks are delivered. All ranks call it with the same tasks; NULL: this process is
 * alone. On rank 0 *lost is the number of ranks that did not answer in the end (then the job cannot
 * be closed, only ended), and the status is that of `deliver`; other ranks fail only by themselves.
 * Between two farms of a job stands a barrier.
 */
enum gw_status gw_farm_run(const struct gw_farm *farm, struct gw_communicator *communicator,
                           size_t *lost, struct gw_error *error);

#endif
