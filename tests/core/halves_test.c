/* Codes of 16 bits against definitions: the compiler's _Float16, and the nearest of two numbers. */
#include <math.h>

#include "core/core.h"
#include "tests/test.h"

#if defined(__FLT16_MANT_DIG__)

TEST(fp16_codes_are_those_of_the_compiler) {
    for (uint32_t code = 0; code <= UINT16_MAX; code++) {
        uint16_t bits = (uint16_t)code;
        _Float16 half;
        memcpy(&half, &bits, sizeof half);
        float expected = (float)half;
        float got = gw_fp16_value(bits);
        assert_true(isnan(expected) ? isnan(got) : gw_bits_of(expected) == gw_bits_of(got));
    }
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 9973) {
        float value = gw_float_of((uint32_t)bits);
        _Float16 half = (_Float16)value;
        uint16_t expected = 0;
        memcpy(&expected, &half, sizeof expected);
        assert_true(isnan(value) ? isnan(gw_fp16_value(gw_fp16_of(value)))
                                 : gw_fp16_of(value) == expected);
    }
}

#endif

/* A float lies between the bf16 number that its upper half is and the next one. */
TEST(bf16_codes_are_the_nearest_numbers) {
    for (uint64_t all = 0; all <= UINT32_MAX; all += 9973) {
        uint32_t bits = (uint32_t)all;
        float value = gw_float_of(bits);
        uint16_t code = gw_bf16_of(value);
        uint16_t below = (uint16_t)(bits >> 16);
        if (isnan(value)) {
            assert_true(isnan(gw_bf16_value(code)));
            continue;
        }
        uint32_t rest = bits & 0xffffu;
        bool up = rest > 0x8000u || (rest == 0x8000u && (below & 1) == 1);
        assert_int_equal(code, below + up);
        assert_true(gw_bits_of(gw_bf16_value(below)) == (uint32_t)below << 16);
    }
}

TEST(halves_keep_infinities_zeros_and_their_limits) {
    assert_int_equal(gw_bf16_of(INFINITY), 0x7f80);
    assert_int_equal(gw_bf16_of(-0.0F), 0x8000);
    assert_int_equal(gw_bf16_of(0x1.ffp127F), 0x7f80); /* halfway between its largest and 2^128 */
    assert_int_equal(gw_fp16_of(-INFINITY), 0xfc00);
    assert_int_equal(gw_fp16_of(65519), 0x7bff); /* 65504, its largest */
    assert_int_equal(gw_fp16_of(65520), 0x7c00);
    assert_int_equal(gw_fp16_of(0x1p-25F), 0); /* a tie of 0 and its least */
    assert_int_equal(gw_fp16_of(0x1.8p-25F), 1);
    assert_true(gw_fp16_value(1) == 0x1p-24F);
    assert_int_equal(gw_fp16_of(1e-7F / 4), 0);
}
