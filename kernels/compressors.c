#include "kernels/kernels.h"
#include "kernels/topk.h"

#include <string.h>

const struct gw_compressor *const gw_compressors[] = {
    &gw_compressor_topk,
    NULL,
};

const struct gw_compressor *gw_compressor_find(const char *name) {
    for (size_t i = 0; gw_compressors[i] != NULL; i++) {
        if (strcmp(gw_compressors[i]->name, name) == 0) {
            return gw_compressors[i];
        }
    }
    return NULL;
}
