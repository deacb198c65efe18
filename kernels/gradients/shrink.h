/* Groups at a reduced size, and counts back at the full one; private to this room. */
#ifndef GW_KERNELS_GRADIENTS_SHRINK_H
#define GW_KERNELS_GRADIENTS_SHRINK_H

#include "core/core.h"
#include "methods/schedule.h"

struct gw_shrunk {
    size_t elements, kept; /* of what is left of the group */
    size_t *layers;        /* of each of the group's tensors: at least one element */
};

/*
 * The group at about 1 / `reduction` of its size, but of at least `least_kept` kept elements or of
 * its own size. The share that is kept is the same but for less than one element in all.
 */
enum gw_status gw_shrink(const struct gw_slice *slice, const size_t *layers, double reduction,
                         size_t least_kept, struct gw_shrunk *out, struct gw_error *error);
void gw_shrunk_free(struct gw_shrunk *shrunk);

/*
 * So many elements selected of what is left, as a number of the group's: none are none, as many as
 * asked are as many as asked, all are all; linear between these.
 */
uint64_t gw_grown_count(const struct gw_slice *slice, const struct gw_shrunk *shrunk, size_t count);

#endif
