/*
 * The loops of codes (struct gw_code_loops): plain C, from which compilers make vectors. avx2.c,
 * avx512.c and portable.c include this text and say, as TARGET, for which instruction set. Those
 * with vectors (kernels/cpu/vectors.h) convert halves and gather signs of LANES elements at a time.
 */

#pragma GCC diagnostic ignored "-Wunused-parameter" /* most codes need no lot, two no scale */

TARGET static int32_t find_largest(const float *u, size_t n) {
    int32_t largest = 0;
    for (size_t i = 0; i < n; i++) {
        int32_t magnitude = gw_magnitude(u[i]);
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest;
}

/* NOLINTBEGIN(bugprone-macro-parentheses): types, statements and operators are arguments */

/* `VECTORS` handles whole vectors, and moves i behind them; code_of and value_of are of element i.
 */
#define ENCODER(format, type, divisor_of_scale, code_of, VECTORS)                                  \
    TARGET static void encode_##format(const float *restrict from, size_t n, float scale,          \
                                       uint32_t first, uint64_t key, bool streams,                 \
                                       void *restrict codes) {                                     \
        type *to = codes;                                                                          \
        size_t i = 0;                                                                              \
        divisor_of_scale VECTORS for (; i < n; i++) {                                              \
            to[i] = (code_of);                                                                     \
        }                                                                                          \
    }
#define DIVISOR float divisor = gw_code_divisor(scale);

#define DECODERS(format, type, value_of, VECTORS)                                                  \
    TARGET static void decode_##format(const void *restrict codes, size_t n, float scale,          \
                                       float *restrict out) {                                      \
        const type *of = codes;                                                                    \
        size_t i = 0;                                                                              \
        VECTORS(=)                                                                                 \
        for (; i < n; i++) {                                                                       \
            out[i] = (value_of);                                                                   \
        }                                                                                          \
    }                                                                                              \
    TARGET static void add_##format(const void *restrict codes, size_t n, float scale,             \
                                    float *restrict out) {                                         \
        const type *of = codes;                                                                    \
        size_t i = 0;                                                                              \
        VECTORS(+=)                                                                                \
        for (; i < n; i++) {                                                                       \
            out[i] += (value_of);                                                                  \
        }                                                                                          \
    }
#define NO_VECTORS(...)

#ifdef LANES
typedef floats floats_in_memory __attribute__((aligned(4), may_alias));
#define FLOATS_AT(place) (*(floats_in_memory *)(void *)(place))
#define ENCODE_HALVES                                                                              \
    for (; streams && (uintptr_t)to % (2 * LANES) == 0 && i + LANES <= n; i += LANES) {            \
        stream_halves(to + i, load_floats(from + i));                                              \
    }                                                                                              \
    for (; i + LANES <= n; i += LANES) {                                                           \
        store_halves(to + i, load_floats(from + i));                                               \
    }
#define DECODE_HALVES(is)                                                                          \
    for (; i + LANES <= n; i += LANES) {                                                           \
        FLOATS_AT(out + i) is load_halves(of + i);                                                 \
    }
#define ENCODE_SIGNS                                                                               \
    for (; i + LANES <= n; i += LANES) {                                                           \
        uint32_t signs = signs_as_bits(load_floats(from + i));                                     \
        memcpy(to + i / 8, &signs, LANES / 8);                                                     \
    }
#define DECODE_SIGNS(is)                                                                           \
    for (; i + LANES <= n; i += LANES) {                                                           \
        uint32_t signs = 0;                                                                        \
        memcpy(&signs, of + i / 8, LANES / 8);                                                     \
        FLOATS_AT(out + i) is(floats)((ints)((floats){0} + scale) ^ sign_bits_of(signs));          \
    }
#else
#define ENCODE_HALVES
#define DECODE_HALVES NO_VECTORS
#define ENCODE_SIGNS
#define DECODE_SIGNS NO_VECTORS
#endif

ENCODER(bf16, uint16_t, , gw_bf16_of(from[i]), )
DECODERS(bf16, uint16_t, gw_bf16_value(of[i]), NO_VECTORS)

ENCODER(fp16, uint16_t, , gw_fp16_of(from[i]), ENCODE_HALVES)
DECODERS(fp16, uint16_t, gw_fp16_value(of[i]), DECODE_HALVES)

ENCODER(int8, int8_t, DIVISOR, gw_int8_of(from[i], divisor), )
DECODERS(int8, int8_t, gw_int8_value(of[i], scale), NO_VECTORS)

ENCODER(fp8, uint8_t, DIVISOR, gw_fp8_of(from[i], divisor), )
DECODERS(fp8, uint8_t, gw_fp8_value(of[i], scale), NO_VECTORS)

/* Codes of a block in bytes, and then in halves of bytes. */
TARGET static void encode_qsgd(const float *restrict from, size_t n, float scale, uint32_t first,
                               uint64_t key, bool streams, void *restrict codes) {
    uint8_t *to = codes;
    uint8_t whole[GW_QSGD_BLOCK + 1];
    float divisor = gw_code_divisor(scale);
    for (uint32_t i = 0; i < n; i++) {
        whole[i] = gw_qsgd_of(from[i], divisor, gw_lot(first + i, key));
    }
    whole[n] = 0;
    for (size_t i = 0; i < (n + 1) / 2; i++) {
        to[i] = (uint8_t)(whole[2 * i] | whole[2 * i + 1] << 4);
    }
}
#define DECODE_PAIRS(is)                                                                           \
    for (; i < n / 2; i++) {                                                                       \
        out[2 * i] is gw_qsgd_value(of[i] & 15, scale);                                            \
        out[2 * i + 1] is gw_qsgd_value(of[i] >> 4, scale);                                        \
    }                                                                                              \
    i *= 2;
DECODERS(qsgd, uint8_t, gw_qsgd_value(of[i / 2] & 15, scale), DECODE_PAIRS)

TARGET static void encode_onebit(const float *restrict from, size_t n, float scale, uint32_t first,
                                 uint64_t key, bool streams, void *restrict codes) {
    uint8_t *to = codes;
    size_t i = 0;
    ENCODE_SIGNS
    for (; i < n; i += 8) {
        uint32_t signs = 0;
        for (size_t bit = 0; bit < 8 && i + bit < n; bit++) {
            signs |= gw_bits_of(from[i + bit]) >> 31 << bit;
        }
        to[i / 8] = (uint8_t)signs;
    }
}
DECODERS(onebit, uint8_t, gw_onebit_value((uint32_t)of[i / 8] >> i % 8 & 1u, scale), DECODE_SIGNS)

/* NOLINTEND(bugprone-macro-parentheses) */

#define LOOPS(format)                                                                              \
    { encode_##format, decode_##format, add_##format }
#define ALL_CODE_LOOPS                                                                             \
    {                                                                                              \
        [GW_BF16] = LOOPS(bf16), [GW_FP16] = LOOPS(fp16), [GW_INT8] = LOOPS(int8),                 \
        [GW_FP8] = LOOPS(fp8), [GW_ONEBIT] = LOOPS(onebit), [GW_QSGD] = LOOPS(qsgd)                \
    }
