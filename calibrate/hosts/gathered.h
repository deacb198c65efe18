/* Texts of all ranks, on every rank; private to this room. */
#ifndef GW_CALIBRATE_GATHERED_H
#define GW_CALIBRATE_GATHERED_H

#include "transport/transport.h"

struct gw_gathered {
    size_t stride;
    char *texts; /* rank r's begins at r * stride */
};

/* All ranks call it, each with a text of its own length. The caller frees `texts`. */
enum gw_status gw_gather_texts(struct gw_communicator *communicator, const char *text,
                               struct gw_gathered *out, struct gw_error *error);

static inline const char *gw_gathered_text(const struct gw_gathered *gathered, int rank) {
    return gathered->texts + (size_t)rank * gathered->stride;
}

#endif
