/* Merging the entries of two workers into as many as either has; private to this room. */
#ifndef GW_EXEC_MERGE_H
#define GW_EXEC_MERGE_H

#include "kernels/kernels.h"

/*
 * Two lists of k entries, each ascending without repeated indices. Their sums, those of one index
 * added up (`list` + `came`), are at least k; the k of the largest magnitude, of equals those of
 * lower index, are left in `list`, ascending. The others, at most k, go to `pruned`, [k],
 * ascending, and behind them 0 with GW_NO_INDEX. `merged` is for its use.
 */
enum gw_status gw_merge(struct gw_entry *list, const struct gw_entry *came, size_t k,
                        struct gw_selection *merged, struct gw_entry *pruned,
                        struct gw_error *error);

#endif
