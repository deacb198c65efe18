/* The instruction set AVX2. */
#include "kernels/cpu/scan.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define TARGET __attribute__((target("avx2,fma,f16c,popcnt,bmi")))
#define SCAN gw_scan_avx2
#define NAME "avx2"

/* Every processor with AVX2 has F16C. */
static bool is_supported(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi");
}

/* ---- vectors of 8 lanes (kernels/cpu/vectors.h) --------------------------------------------- */

#define LANES 8
#define LANE_NUMBERS 0, 1, 2, 3, 4, 5, 6, 7

typedef __m256 floats;
typedef __m256d doubles;
typedef int32_t ints __attribute__((vector_size(32)));
typedef uint32_t words __attribute__((vector_size(32)));
typedef ints marks; /* -1 in marked lanes, 0 in others */

#define load_floats _mm256_loadu_ps
#define store_floats _mm256_storeu_ps
#define load_doubles _mm256_loadu_pd
#define store_doubles _mm256_storeu_pd
#define load_as_doubles(floats) _mm256_cvtps_pd(_mm_loadu_ps(floats))
#define multiply_add _mm256_fmadd_pd
#define min_ints(a, b) (ints) _mm256_min_epi32((__m256i)(a), (__m256i)(b))
#define max_ints(a, b) (ints) _mm256_max_epi32((__m256i)(a), (__m256i)(b))
#define permute_floats(values, lanes) _mm256_permutevar8x32_ps(values, (__m256i)(lanes))
#define mark_nans(values) (marks) _mm256_cmp_ps(values, values, _CMP_UNORD_Q)
#define mark_larger(a, b) (marks) _mm256_cmpgt_epi32((__m256i)(a), (__m256i)(b))
#define marks_as_bits(marked) (uint32_t) _mm256_movemask_ps((__m256)(marked))
#define max_marked(most, values, marked) max_ints(most, (values) & (marked))
#define magnitudes_of_doubles(values) _mm256_andnot_pd(_mm256_set1_pd(-0.0), values)
#define signs_as_bits(values) (uint32_t) _mm256_movemask_ps(values)
#define load_halves(halves)                                                                        \
    _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(halves)))
#define halves_of(values) _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define store_halves(to, values) _mm_storeu_si128((__m128i *)(void *)(to), halves_of(values))
#define stream_halves(to, values) _mm_stream_si128((__m128i *)(void *)(to), halves_of(values))
#define count_marked(counts, marked) ((counts) - (marked))

/* Adds the magnitudes of marked floats to two vectors of sums. */
TARGET static inline void add_marked(doubles *sums, const float *u, marks marked) {
    for (int half = 0; half < 2; half++) {
        __m128i four = half == 0 ? _mm256_castsi256_si128((__m256i)marked)
                                 : _mm256_extracti128_si256((__m256i)marked, 1);
        doubles sizes = magnitudes_of_doubles(load_as_doubles(u + 4 * half));
        sums[half] += _mm256_and_pd(sizes, _mm256_castsi256_pd(_mm256_cvtepi32_epi64(four)));
    }
}

/* Writes the marked floats of four vectors at u; returns the next place. */
TARGET static inline struct gw_entry *write_marked(struct gw_entry *next, const float *u,
                                                   uint32_t first, const marks *marked) {
    uint32_t bits = 0;
    for (int j = 0; j < 4; j++) {
        bits |= marks_as_bits(marked[j]) << (8 * j);
    }
    for (; bits != 0; bits &= bits - 1) {
        uint32_t place = (uint32_t)__builtin_ctz(bits);
        *next++ = (struct gw_entry){.value = u[place], .index = first + place};
    }
    return next;
}

#include "kernels/cpu/vectors.h"

#endif
