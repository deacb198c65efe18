/* Values of the elements that all ranks know; private to this room. */
#ifndef GW_EXEC_VALUES_H
#define GW_EXEC_VALUES_H

#include "exec/worker.h"

/* Room for float [count] in `sent`, and in `received`. */
enum gw_status gw_values_reserve(const struct gw_worker *worker, struct gw_parcel *parcel,
                                 size_t count, struct gw_error *error);

/* Takes them from the residual, into `sent`. */
enum gw_status gw_values_take(const struct gw_worker *worker, struct gw_parcel *parcel,
                              struct gw_error *error);

/* Puts what became of them where they belong in the aggregate. */
enum gw_status gw_values_put(const struct gw_worker *worker, struct gw_parcel *parcel,
                             const float *sums, struct gw_error *error);

#endif
