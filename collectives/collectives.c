#include "collectives/collectives.h"

#include <string.h>

#include "collectives/layout.h"

const struct gw_collective *const gw_collectives[] = {
#define COLLECTIVE(name) &gw_collective_##name,
#include "collectives/list.inc"
#undef COLLECTIVE
    NULL};

static enum gw_status unknown_operation(const char *operation, struct gw_error *error) {
    char known[256] = "";
    const char *last = "";
    for (size_t i = 0; gw_collectives[i] != NULL; i++) {
        if (strcmp(gw_collectives[i]->operation, last) != 0) {
            last = gw_collectives[i]->operation;
            gw_list_name(known, sizeof known, last);
        }
    }
    return gw_fail(error, GW_BAD_INPUT, "collective: expected one of %s; got \"%s\"", known,
                   operation);
}

enum gw_status gw_collective_find(const char *operation, const char *name,
                                  const struct gw_collective **out, struct gw_error *error) {
    char known[256] = "";
    for (size_t i = 0; gw_collectives[i] != NULL; i++) {
        const struct gw_collective *collective = gw_collectives[i];
        if (strcmp(collective->operation, operation) != 0) {
            continue;
        }
        if (name == NULL || strcmp(collective->name, name) == 0) {
            *out = collective;
            return GW_OK;
        }
        gw_list_name(known, sizeof known, collective->name);
    }
    return known[0] == '\0' ? unknown_operation(operation, error)
                            : gw_fail(error, GW_BAD_INPUT, "%s: expected one of %s; got \"%s\"",
                                      operation, known, name);
}

uint64_t gw_collective_offset(const struct gw_collective *collective, const struct gw_call *call,
                              uint32_t block) {
    return collective->shares
               ? gw_share_offset(call->bytes, collective->blocks(call->workers), block)
               : gw_copies_bytes(call->bytes, block);
}
