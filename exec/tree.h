/* Up the binomial tree of collectives/, by messages; private to this room. */
#ifndef GW_EXEC_TREE_H
#define GW_EXEC_TREE_H

#include "exec/memory.h"
#include "transport/transport.h"

/* Takes in what a rank further down has sent. */
typedef enum gw_status gw_tree_combine(void *context, struct gw_error *error);

/*
 * In round i those ranks meet in pairs that are left after i rounds; an odd one out goes on to the
 * next. The lower rank receives the other's `own` in `came`, both of `bytes`, and combines; rank 0
 * is left.
 */
enum gw_status gw_send_up_tree(struct gw_communicator *communicator, const void *own, void *came,
                               size_t bytes, gw_tree_combine *combine, void *context,
                               struct gw_error *error);

/*
 * The sum of all ranks' `values`, in place, on all of them: added up the tree, then broadcast;
 * `came` has room for as many.
 */
enum gw_status gw_sum_in_tree(struct gw_communicator *communicator, const struct gw_memory *memory,
                              float *values, float *came, size_t count, struct gw_error *error);

#endif
