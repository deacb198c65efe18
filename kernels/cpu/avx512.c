/* The instruction set AVX-512. */
#include "kernels/cpu/scan.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,popcnt")))
#define SCAN gw_scan_avx512
#define NAME "avx512"

static bool is_supported(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}

/* ---- vectors of 16 lanes (kernels/cpu/vectors.h) -------------------------------------------- */

#define LANES 16
#define LANE_NUMBERS 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15

typedef __m512 floats;
typedef __m512d doubles;
typedef int32_t ints __attribute__((vector_size(64)));
typedef uint32_t words __attribute__((vector_size(64)));
typedef __mmask16 marks;

#define load_floats _mm512_loadu_ps
#define store_floats _mm512_storeu_ps
#define load_doubles _mm512_loadu_pd
#define store_doubles _mm512_storeu_pd
#define load_as_doubles(floats) _mm512_cvtps_pd(_mm256_loadu_ps(floats))
#define multiply_add _mm512_fmadd_pd
#define min_ints(a, b) (ints) _mm512_min_epi32((__m512i)(a), (__m512i)(b))
#define max_ints(a, b) (ints) _mm512_max_epi32((__m512i)(a), (__m512i)(b))
#define permute_floats(values, lanes) _mm512_permutexvar_ps((__m512i)(lanes), values)
#define mark_nans(values) _mm512_cmp_ps_mask(values, values, _CMP_UNORD_Q)
#define mark_larger(a, b) _mm512_cmpgt_epi32_mask((__m512i)(a), (__m512i)(b))
#define marks_as_bits(marked) (uint32_t)(marked)
#define max_marked(most, values, marked)                                                           \
    (ints) _mm512_mask_max_epi32((__m512i)(most), marked, (__m512i)(most), (__m512i)(values))
#define magnitudes_of_doubles _mm512_abs_pd
#define signs_as_bits(values) (uint32_t) _mm512_movepi32_mask((__m512i)(values))
#define load_halves(halves)                                                                        \
    _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(halves)))
#define halves_of(values)                                                                          \
    _mm512_maskz_cvtps_ph(0xffff, values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define store_halves(to, values) _mm256_storeu_si256((__m256i *)(void *)(to), halves_of(values))
#define stream_halves(to, values) _mm256_stream_si256((__m256i *)(void *)(to), halves_of(values))
#define count_marked(counts, marked)                                                               \
    (ints)                                                                                         \
        _mm512_mask_sub_epi32((__m512i)(counts), marked, (__m512i)(counts), _mm512_set1_epi32(-1))

/* Adds the magnitudes of marked floats to two vectors of sums. */
TARGET static inline void add_marked(doubles *sums, const float *u, marks marked) {
    for (int half = 0; half < 2; half++) {
        sums[half] = _mm512_mask_add_pd(sums[half], (__mmask8)(marked >> (8 * half)), sums[half],
                                        magnitudes_of_doubles(load_as_doubles(u + 8 * half)));
    }
}

/* Writes the marked floats of four vectors at u, 8 entries at a time; those after the last are
 * spare. Returns the next place. */
TARGET static inline struct gw_entry *write_marked(struct gw_entry *next, const float *u,
                                                   uint32_t first, const marks *marked) {
    for (int eight = 0; eight < 8; eight++) {
        __m256i bits = _mm256_loadu_si256((const __m256i *)(const void *)(u + 8 * eight));
        __m256i indices = _mm256_add_epi32(_mm256_set1_epi32((int32_t)first + 8 * eight),
                                           _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
        __m512i pairs = _mm512_or_si512(_mm512_cvtepu32_epi64(bits),
                                        _mm512_slli_epi64(_mm512_cvtepu32_epi64(indices), 32));
        __mmask8 mask = (__mmask8)(marked[eight / 2] >> (eight % 2 * 8));
        _mm512_storeu_si512(next, _mm512_maskz_compress_epi64(mask, pairs));
        next += _mm_popcnt_u32(mask);
    }
    return next;
}

#include "kernels/cpu/vectors.h"

#endif
