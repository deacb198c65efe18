/* Arithmetic of codes (kernels/codes.h), an element at a time; that of halves is in core/halves.h.
 * Private to kernels/. */
#ifndef GW_KERNELS_CODE_ARITHMETIC_H
#define GW_KERNELS_CODE_ARITHMETIC_H

#include "core/halves.h"
#include "kernels/arithmetic.h"
#include "kernels/codes.h"

enum gw_code_format { GW_BF16, GW_FP16, GW_INT8, GW_FP8, GW_ONEBIT, GW_QSGD, GW_CODE_FORMATS };

enum { GW_QSGD_BLOCK = 512 };

/* The format of a compressor that has a code. */
enum gw_code_format gw_code_format_of(const struct gw_compressor *compressor);

/* The key of lots: other ones on each worker and in each iteration. */
static inline uint64_t gw_code_key(const struct gw_task *task) {
    return gw_mix_pair(gw_mix_pair(task->seed, task->iteration), task->worker);
}

/* Fails because of an element that the code has no number for. */
enum gw_status gw_fail_uncoded(const struct gw_codes *codes, size_t index, struct gw_error *error);

/* The largest number that a code stands for, in units of the scale. */
#define GW_INT8_LARGEST 127.0f
#define GW_FP8_LARGEST 448.0f
#define GW_QSGD_LARGEST 7.0f

/* ---- 8 bits -------------------------------------------------------------------------------- */

/*
 * u / divisor, where the divisor is the scale, or infinity for the scale 0 of a block that is 0 or
 * too small for one. The ratio is a true quotient, so a code other than 0 stands for no less than
 * half and no more than twice u, from which u minus the decoded number is exact (Sterbenz).
 */
GW_ON_BOTH static inline float gw_code_divisor(float scale) {
    return scale > 0 ? scale : INFINITY;
}

GW_ON_BOTH static inline float gw_clamped(float value, float largest) {
    value = value > largest ? largest : value;
    return value < -largest ? -largest : value;
}

/* Adding 1.5 2^23 rounds to a whole number, a tie to the even one, in the last bits of the sum. */
GW_ON_BOTH static inline int8_t gw_int8_of(float u, float divisor) {
    float ratio = gw_clamped(u / divisor, GW_INT8_LARGEST);
    return (int8_t)(int32_t)(gw_bits_of(ratio + 0x1.8p23f) - 0x4b400000u);
}

GW_ON_BOTH static inline float gw_int8_value(int8_t code, float scale) {
    return (float)code * scale;
}

/*
 * Adding 2^(e + 20) to a magnitude of 2^e to 2^(e + 1) rounds it to 8 to 16 steps of 2^(e - 3), in
 * the last bits of the sum; magnitudes below 2^-6 have the steps of 2^-6.
 */
GW_ON_BOTH static inline uint8_t gw_fp8_of(float u, float divisor) {
    float ratio = gw_float_of(gw_bits_of(u) & 0x7fffffffu) / divisor;
    ratio = ratio > GW_FP8_LARGEST ? GW_FP8_LARGEST : ratio;
    int32_t power = (int32_t)(gw_bits_of(ratio) & 0x7f800000u);
    power = power < 121 << 23 ? 121 << 23 : power;
    int32_t added = power + (20 << 23);
    int32_t sum = gw_magnitude(ratio + gw_magnitude_value(added));
    int32_t code = sum - added + (power >> 20) - (121 << 3);
    return (uint8_t)((uint32_t)code | (gw_bits_of(u) >> 24 & 0x80u));
}

GW_ON_BOTH static inline float gw_fp8_value(uint8_t code, float scale) {
    uint32_t magnitude = code & 0x7fu;
    uint32_t bits = (magnitude << 20) + (120u << 23);
    bits = magnitude < 8 ? gw_bits_of((float)(int32_t)magnitude * 0x1p-9f) : bits;
    return gw_float_of(bits | (uint32_t)(code & 0x80u) << 24) * scale;
}

/* ---- 4 bits: rounded by lot ---------------------------------------------------------------- */

/* A pseudo-random word for an index and a key: multiplications of 32 bits, as vectors have them. */
GW_ON_BOTH static inline uint32_t gw_lot(uint32_t index, uint64_t key) {
    uint32_t word = index + (uint32_t)key;
    word = (word ^ word >> 16) * 0x7feb352du;
    word = ((word ^ word >> 15) + (uint32_t)(key >> 32)) * 0x846ca68bu;
    word = (word ^ word >> 16) * 0x9e3779b1u;
    return word ^ word >> 15;
}

GW_ON_BOTH static inline uint8_t gw_qsgd_of(float u, float divisor, uint32_t lot) {
    float ratio = gw_float_of(gw_bits_of(u) & 0x7fffffffu) / divisor;
    ratio = ratio > GW_QSGD_LARGEST ? GW_QSGD_LARGEST : ratio;
    /* levels in steps of 2^-24, to which 24 bits by lot are added before they are cut off */
    uint32_t level = ((uint32_t)(int32_t)(ratio * 0x1p24f) + (lot >> 8)) >> 24;
    return (uint8_t)(level | (gw_bits_of(u) >> 28 & 8u));
}

GW_ON_BOTH static inline float gw_qsgd_value(uint8_t code, float scale) {
    float value = (float)(int32_t)(code & 7u) * scale;
    return gw_float_of(gw_bits_of(value) ^ (uint32_t)(code & 8u) << 28);
}

/* ---- 1 bit --------------------------------------------------------------------------------- */

GW_ON_BOTH static inline float gw_onebit_value(uint32_t bit, float scale) {
    return gw_float_of(gw_bits_of(scale) ^ bit << 31);
}

/* ---- scales -------------------------------------------------------------------------------- */

#define GW_INT8_LARGEST_SCALE 0x1.020406p121f /* 127 times the next float would be infinite */

/* The scale of a block with that largest magnitude; 1 of a format without one. */
GW_ON_BOTH static inline float gw_code_scale(enum gw_code_format format, int32_t largest) {
    float most = gw_magnitude_value(largest);
    float scale = most / GW_INT8_LARGEST;
    scale = scale > GW_INT8_LARGEST_SCALE ? GW_INT8_LARGEST_SCALE : scale;
    return format == GW_INT8   ? scale
           : format == GW_FP8  ? most / GW_FP8_LARGEST
           : format == GW_QSGD ? most / GW_QSGD_LARGEST
                               : 1;
}

#endif
