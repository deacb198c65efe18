#include <string.h>

#include "kernels/kernels.h"

#define COMPRESSOR(name) extern const struct gw_compressor gw_compressor_##name;
#include "kernels/cpu/list.inc"
#undef COMPRESSOR

const struct gw_compressor *const gw_compressors[] = {
#define COMPRESSOR(name) &gw_compressor_##name,
#include "kernels/cpu/list.inc"
#undef COMPRESSOR
    NULL};

const struct gw_compressor *gw_compressor_find(const char *name) {
    for (size_t i = 0; gw_compressors[i] != NULL; i++) {
        if (strcmp(gw_compressors[i]->name, name) == 0) {
            return gw_compressors[i];
        }
    }
    return NULL;
}
