/* The numbers that codes stand for, by their definitions, and codes in payloads. */
#ifndef GW_TESTS_KERNELS_CODE_NUMBERS_H
#define GW_TESTS_KERNELS_CODE_NUMBERS_H

#include "kernels/codes.h"
#include "tests/kernels/sides.h"

enum { FORMATS = 6 };

static const struct gw_compressor *const formats[FORMATS] = {
    &gw_compressor_bf16, &gw_compressor_fp16,   &gw_compressor_int8,
    &gw_compressor_fp8,  &gw_compressor_onebit, &gw_compressor_qsgd};

static inline bool is_scaled(const struct gw_compressor *compressor) {
    return compressor->code.scale_bytes > 0;
}

/* A float with so many bits of exponent and mantissa, by its definition. */
static inline double small_float(uint32_t code, int exponent_bits, int mantissa_bits) {
    int bias = (1 << (exponent_bits - 1)) - 1;
    int exponent = (int)(code >> mantissa_bits) & ((1 << exponent_bits) - 1);
    int mantissa = (int)code & ((1 << mantissa_bits) - 1);
    double sign = code >> (exponent_bits + mantissa_bits) ? -1 : 1;
    if (exponent == 0) {
        return sign * ldexp(mantissa, 1 - bias - mantissa_bits);
    }
    return sign * ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

/* In units of the scale; infinities of halves as the next power of two. */
static inline double level(const struct gw_compressor *compressor, uint32_t code) {
    if (compressor == &gw_compressor_bf16) {
        return small_float(code, 8, 7);
    }
    if (compressor == &gw_compressor_fp16) {
        return small_float(code, 5, 10);
    }
    if (compressor == &gw_compressor_fp8) {
        return small_float(code, 4, 3);
    }
    if (compressor == &gw_compressor_int8) {
        return (int8_t)code;
    }
    return compressor == &gw_compressor_onebit ? (code ? -1 : 1)
                                               : (double)(code & 7) * (code & 8 ? -1 : 1);
}

static inline uint32_t code_at(const struct gw_codes *codes, size_t payload, size_t i) {
    unsigned bits = codes->compressor->code.bits;
    size_t bytes = gw_code_bytes(codes->compressor, codes->elements);
    const uint8_t *from = (const uint8_t *)codes->bytes + (payload + 1) * bytes -
                          (codes->elements * bits + 7) / 8 + i * bits / 8;
    return bits == 16  ? (uint32_t)(from[0] | from[1] << 8)
           : bits == 8 ? from[0]
                       : (uint32_t)from[0] >> i * bits % 8 & ((1u << bits) - 1);
}

static inline float scale_at(const struct gw_codes *codes, size_t payload, size_t i) {
    const struct gw_code *code = &codes->compressor->code;
    size_t bytes = gw_code_bytes(codes->compressor, codes->elements);
    float scale = 1;
    if (code->scale_bytes > 0) {
        memcpy(&scale,
               (const uint8_t *)codes->bytes + payload * bytes +
                   (code->block == 0 ? 0 : i / code->block) * sizeof scale,
               sizeof scale);
    }
    return scale;
}

/* Products with a level have few bits more than a float: rounded once, by the conversion. */
static inline float number_at(const struct gw_codes *codes, size_t payload, size_t i) {
    return (float)(level(codes->compressor, code_at(codes, payload, i)) *
                   (double)scale_at(codes, payload, i));
}

/* The code of the nearest level, of two the one whose last bit is 0. */
static inline uint32_t nearest(const double *levels, size_t count, double value) {
    size_t low = 0;
    size_t high = count - 1;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(levels[middle] <= value ? &low : &high) = middle;
    }
    double below = value - levels[low];
    double above = levels[high] - value;
    return (uint32_t)(below < above || (below == above && low % 2 == 0) ? low : high);
}

#endif
