/* The state of layer dropping, and what it does with layers' means; private to kernels/. */
#ifndef GW_KERNELS_LAYER_DROP_H
#define GW_KERNELS_LAYER_DROP_H

#include "kernels/kernels.h"

struct gw_layer_drop {
    size_t layer_count;
    size_t *sizes; /* [layer_count] */
    double *means; /* [layer_count] */
    bool *sent;    /* [layer_count] */
    bool searched;
    double threshold;
};

/* From the means, which layers are sent; looks for the threshold when it is time to. */
enum gw_status gw_layer_drop_choose(const struct gw_task *task, struct gw_error *error);

#endif
