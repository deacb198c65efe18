#include "methods/exchange.h"

#include <string.h>

#include "kernels/kernels.h"
#include "kernels/sketch.h"
#include "methods/exchanges.h"

const struct gw_exchange_kind *const gw_exchange_kinds[] = {
#define EXCHANGE(name) &gw_##name,
#include "methods/exchanges.inc"
#undef EXCHANGE
    NULL};

enum gw_status gw_exchange_find(const char *name, const struct gw_exchange_kind **out,
                                struct gw_error *error) {
    char names[256] = "";
    for (size_t i = 0; gw_exchange_kinds[i] != NULL; i++) {
        if (strcmp(gw_exchange_kinds[i]->name, name) == 0) {
            *out = gw_exchange_kinds[i];
            return GW_OK;
        }
        gw_list_name(names, sizeof names, gw_exchange_kinds[i]->name);
    }
    return gw_fail(error, GW_BAD_INPUT, "exchange: expected one of %s; got \"%s\"", names, name);
}

const struct gw_exchange_kind *gw_exchange_for(const char *compressor) {
    size_t i = 0;
    while (gw_exchange_kinds[i] != NULL && !gw_exchange_kinds[i]->carries(compressor)) {
        i++;
    }
    return gw_exchange_kinds[i];
}

/* ---- bytes --------------------------------------------------------------------------------- */

uint64_t gw_payload_bytes(enum gw_payload payload, const struct gw_extent *extent) {
    const uint64_t number = sizeof(float);
    const uint64_t entry = sizeof(struct gw_entry);
    switch (payload) {
    case GW_DENSE:
        return extent->elements * extent->bytes_per_element;
    case GW_SPARSE:
    case GW_PADDED:
        return entry * extent->selected.most;
    case GW_COUNTS:
        return number;
    case GW_INDICES:
        return number * extent->selected.most;
    case GW_VALUES:
        return number * extent->selected.all;
    case GW_SKETCH:
        return number * extent->sketch_cells;
    case GW_LAYERS:
        return number * (extent->selected.most + extent->layers);
    case GW_ALL_LAYERS:
        return number * (extent->selected.all + extent->layers);
    }
    return 0;
}

struct gw_selected gw_selected_as_asked(const char *compressor, uint64_t kept, size_t workers) {
    const struct gw_compressor *found = gw_compressor_find(compressor);
    bool joint = found != NULL && found->joint && workers > 0;
    return (struct gw_selected){.most = joint ? (kept + workers - 1) / workers : kept, .all = kept};
}

uint64_t gw_sketch_cells(const char *compressor, uint64_t elements, uint64_t kept) {
    const struct gw_compressor *found = gw_compressor_find(compressor);
    return found != NULL && found->sketched ? GW_SKETCH_ROWS * gw_sketch_columns(elements, kept)
                                            : 0;
}
