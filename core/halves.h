/* Numbers of 16 bits, as a processor and a GPU write and read them, to the bit. */
#ifndef GW_CORE_HALVES_H
#define GW_CORE_HALVES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Marks functions for processors and for GPUs. */
#if defined(__CUDACC__)
#define GW_ON_BOTH __host__ __device__
#else
#define GW_ON_BOTH
#endif

/* The types of numbers that workers sum; the last two are halves. */
enum gw_number_type { GW_NUMBER_FLOAT, GW_NUMBER_BF16, GW_NUMBER_FP16 };

static inline size_t gw_number_bytes(enum gw_number_type type) {
    return type == GW_NUMBER_FLOAT ? sizeof(float) : sizeof(uint16_t);
}

GW_ON_BOTH static inline uint32_t gw_bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

GW_ON_BOTH static inline float gw_float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The value, or 0 in place of an infinity or a NaN. */
GW_ON_BOTH static inline float gw_finite_or_0(float value) {
    return (gw_bits_of(value) & 0x7f800000u) == 0x7f800000u ? 0 : value;
}

/* The bits without the last `dropped` ones, rounded to the nearest, a tie to the even one. */
GW_ON_BOTH static inline uint32_t gw_round_bits(uint32_t bits, int dropped) {
    return (bits + (1u << (dropped - 1)) - 1 + (bits >> dropped & 1u)) >> dropped;
}

/* ---- bfloat16 and IEEE 754's half precision ------------------------------------------------ */

/* Codes round to the nearest number, a tie to the even one. Numbers that are too large for fp16
 * become infinite, and all NaNs one NaN. */

GW_ON_BOTH static inline uint16_t gw_bf16_of(float value) {
    uint32_t bits = gw_bits_of(value);
    uint32_t rounded = gw_round_bits(bits, 16);
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
}

GW_ON_BOTH static inline float gw_bf16_value(uint16_t code) {
    return gw_float_of((uint32_t)code << 16);
}

GW_ON_BOTH static inline uint16_t gw_fp16_of(float value) {
    uint32_t bits = gw_bits_of(value);
    uint32_t magnitude = bits & 0x7fffffffu;
    /* below 2^-14 codes count steps of 2^-24, to which adding 0.5 rounds a float */
    uint32_t small = gw_bits_of(gw_float_of(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t code = gw_round_bits(magnitude - (112u << 23), 13);
    code = magnitude < 0x38800000u ? small : code;
    code = magnitude >= 0x47800000u ? 0x7c00u : code;
    code = magnitude > 0x7f800000u ? 0x7e00u : code;
    return (uint16_t)(code | (bits >> 16 & 0x8000u));
}

GW_ON_BOTH static inline float gw_fp16_value(uint16_t code) {
    uint32_t magnitude = code & 0x7fffu;
    uint32_t bits = (magnitude << 13) + (magnitude < 0x7c00u ? 112u << 23 : 224u << 23);
    bits = magnitude < 0x400u ? gw_bits_of((float)(int32_t)magnitude * 0x1p-24f) : bits;
    return gw_float_of(bits | (uint32_t)(code & 0x8000u) << 16);
}

GW_ON_BOTH static inline uint16_t gw_half_of(enum gw_number_type type, float value) {
    return type == GW_NUMBER_BF16 ? gw_bf16_of(value) : gw_fp16_of(value);
}

/* numbers[i], of a type */
GW_ON_BOTH static inline float gw_number_at(enum gw_number_type type, const void *numbers,
                                            size_t i) {
    return type == GW_NUMBER_FLOAT  ? ((const float *)numbers)[i]
           : type == GW_NUMBER_BF16 ? gw_bf16_value(((const uint16_t *)numbers)[i])
                                    : gw_fp16_value(((const uint16_t *)numbers)[i]);
}

#endif
