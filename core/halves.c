#include "core/halves.h"

void gw_halves_encode(enum gw_number_type type, const float *values, size_t count, uint16_t *out) {
    if (type == GW_NUMBER_BF16) {
        for (size_t i = 0; i < count; i++) {
            out[i] = gw_bf16_of(values[i]);
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        out[i] = gw_fp16_of(values[i]);
    }
}

void gw_halves_decode(enum gw_number_type type, const uint16_t *codes, size_t count, float *out) {
    if (type == GW_NUMBER_BF16) {
        for (size_t i = 0; i < count; i++) {
            out[i] = gw_bf16_value(codes[i]);
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        out[i] = gw_fp16_value(codes[i]);
    }
}
