#include "kernels/cpu/scan.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,popcnt")))

static bool has_avx512(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}

/* The mask of the first n elements of 16. */
AVX512 static inline __mmask16 first_mask(size_t n) {
    return (__mmask16)(n >= 16 ? 0xffffu : (1u << n) - 1);
}

AVX512 static inline __m512i magnitudes_of(__m512 values) {
    return _mm512_and_si512(_mm512_castps_si512(values), _mm512_set1_epi32(0x7fffffff));
}

AVX512 static float read_avx512(const float *u, size_t n) {
    __m512 sums[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(),
                      _mm512_setzero_ps()};
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        for (int j = 0; j < 4; j++) {
            gw_scan_ask(u + i + 16 * j);
            sums[j] = _mm512_add_ps(sums[j], _mm512_abs_ps(_mm512_loadu_ps(u + i + 16 * j)));
        }
    }
    for (; i < n; i += 16) {
        sums[0] =
            _mm512_add_ps(sums[0], _mm512_abs_ps(_mm512_maskz_loadu_ps(first_mask(n - i), u + i)));
    }
    return _mm512_reduce_add_ps(
        _mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3])));
}

/* Loads 16 elements of u, and adds the gradient to them first. */
AVX512 static inline __m512 load_sum(float *u, const float *gradient, __mmask16 here) {
    __m512 values = _mm512_maskz_loadu_ps(here, u);
    gw_scan_ask(u);
    if (gradient != NULL) {
        gw_scan_ask(gradient);
        values = _mm512_add_ps(values, _mm512_maskz_loadu_ps(here, gradient));
        _mm512_mask_storeu_ps(u, here, values);
    }
    return values;
}

AVX512 static inline const float *gradient_at(const float *gradient, size_t i) {
    return gradient == NULL ? NULL : gradient + i;
}

AVX512 static int32_t add_avx512(float *u, const float *gradient, size_t n) {
    __m512i largest = _mm512_setzero_si512();
    for (size_t i = 0; i < n; i += 16) {
        largest = _mm512_max_epi32(largest,
                                   magnitudes_of(load_sum(u + i, gradient + i, first_mask(n - i))));
    }
    return _mm512_reduce_max_epi32(largest);
}

/*
 * 8 elements as doubles. Loads them from memory, which is cached: splitting vectors takes longer.
 */
AVX512 static inline __m512d load_doubles(const float *u) {
    return _mm512_cvtps_pd(_mm256_loadu_ps(u));
}

/* Squares of floats are exact in double precision, so fused multiply-adds do not change sums. */
AVX512 static inline void add_run(double *lanes, __m512d *run) {
    for (int half = 0; half < 2; half++) {
        double *eight = lanes + 8 * half;
        _mm512_storeu_pd(eight, _mm512_add_pd(_mm512_loadu_pd(eight), run[half]));
        run[half] = _mm512_setzero_pd();
    }
}

AVX512 static void moments_avx512(float *u, const float *gradient, size_t n,
                                  struct gw_moments *out) {
    __m512d sum[2] = {_mm512_setzero_pd(), _mm512_setzero_pd()};
    __m512d squares[2] = {_mm512_setzero_pd(), _mm512_setzero_pd()};
    __m512i largest = _mm512_set1_epi32(out->largest);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m512 values = load_sum(u + i, gradient_at(gradient, i), 0xffff);
        largest = _mm512_max_epi32(largest, magnitudes_of(values));
        for (int half = 0; half < 2; half++) {
            __m512d eight = load_doubles(u + i + 8 * half);
            sum[half] = _mm512_add_pd(sum[half], eight);
            squares[half] = _mm512_fmadd_pd(eight, eight, squares[half]);
        }
        if ((i + 16) % GW_SCAN_RUN == 0) {
            add_run(out->sum, sum);
            add_run(out->squares, squares);
        }
    }
    struct gw_moments rest = {.largest = _mm512_reduce_max_epi32(largest)};
    add_run(rest.sum, sum);
    add_run(rest.squares, squares);
    gw_scan_portable.moments(u + i, gradient_at(gradient, i), n - i, &rest);
    gw_scan_add_lanes(out->sum, rest.sum);
    gw_scan_add_lanes(out->squares, rest.squares);
    out->largest = rest.largest;
}

AVX512 static void tail_avx512(float *u, const float *gradient, size_t n, int32_t magnitude,
                               struct gw_tail *out) {
    __m512d sizes[2] = {_mm512_setzero_pd(), _mm512_setzero_pd()};
    __m512i least = _mm512_set1_epi32(magnitude);
    __m512i largest = _mm512_set1_epi32(out->largest);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m512i all = magnitudes_of(load_sum(u + i, gradient_at(gradient, i), 0xffff));
        __mmask16 marked = _mm512_cmpge_epi32_mask(all, least);
        largest = _mm512_mask_max_epi32(largest, marked, largest, all);
        out->count += (size_t)_mm_popcnt_u32(marked);
        for (int half = 0; half < 2; half++) {
            __mmask8 reached = (__mmask8)(marked >> (8 * half));
            sizes[half] = _mm512_mask_add_pd(sizes[half], reached, sizes[half],
                                             _mm512_abs_pd(load_doubles(u + i + 8 * half)));
        }
        if ((i + 16) % GW_SCAN_RUN == 0) {
            add_run(out->magnitudes, sizes);
        }
    }
    struct gw_tail rest = {.count = out->count, .largest = _mm512_reduce_max_epi32(largest)};
    add_run(rest.magnitudes, sizes);
    gw_scan_portable.tail(u + i, gradient_at(gradient, i), n - i, magnitude, &rest);
    gw_scan_add_lanes(out->magnitudes, rest.magnitudes);
    out->count = rest.count;
    out->largest = rest.largest;
}

/* Keeps counters in registers, so that 10 thresholds cost one pass; `width` must be a constant. */
AVX512 __attribute__((always_inline)) static inline void
count_thresholds(const float *u, size_t n, const int32_t *magnitudes, size_t *counts, int width) {
    __m512i least[10];
    __m512i reached[10];
    for (int j = 0; j < width; j++) {
        least[j] = _mm512_set1_epi32(magnitudes[j]);
        reached[j] = _mm512_setzero_si512();
    }
    const __m512i one = _mm512_set1_epi32(1);
    size_t whole = n - n % 16;
    for (size_t i = 0; i < whole; i += 16) {
        gw_scan_ask(u + i);
        __m512i sizes = magnitudes_of(_mm512_loadu_ps(u + i));
        for (int j = 0; j < width; j++) {
            __mmask16 marked = _mm512_cmpge_epi32_mask(sizes, least[j]);
            reached[j] = _mm512_mask_add_epi32(reached[j], marked, reached[j], one);
        }
    }
    __mmask16 here = first_mask(n - whole);
    __m512i sizes = magnitudes_of(_mm512_maskz_loadu_ps(here, u + whole));
    for (int j = 0; j < width; j++) {
        __mmask16 marked = _mm512_mask_cmpge_epi32_mask(here, sizes, least[j]);
        counts[j] += (size_t)_mm512_reduce_add_epi32(reached[j]) + (size_t)_mm_popcnt_u32(marked);
    }
}

AVX512 static void count_avx512(const float *u, size_t n, const int32_t *magnitudes, size_t wanted,
                                size_t *counts) {
    size_t done = 0;
    for (; wanted - done >= 10; done += 10) {
        count_thresholds(u, n, magnitudes + done, counts + done, 10);
    }
    for (; wanted - done >= 7; done += 7) {
        count_thresholds(u, n, magnitudes + done, counts + done, 7);
    }
    for (; done < wanted; done++) {
        count_thresholds(u, n, magnitudes + done, counts + done, 1);
    }
}

/* Writes the marked elements one after the other, 8 entries at a time; those after the last are
 * spare. */
AVX512 static inline struct gw_entry *write_marked(struct gw_entry *next, __m512 values,
                                                   uint32_t first, __mmask16 marked) {
    __m512i indices =
        _mm512_add_epi32(_mm512_set1_epi32((int32_t)first),
                         _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    __m512i bits = _mm512_castps_si512(values);
    for (int half = 0; half < 2; half++) {
        __m256i low = half == 0 ? _mm512_castsi512_si256(bits) : _mm512_extracti64x4_epi64(bits, 1);
        __m256i high =
            half == 0 ? _mm512_castsi512_si256(indices) : _mm512_extracti64x4_epi64(indices, 1);
        __mmask8 mask = (__mmask8)(marked >> (8 * half));
        __m512i pairs = _mm512_or_si512(_mm512_cvtepu32_epi64(low),
                                        _mm512_slli_epi64(_mm512_cvtepu32_epi64(high), 32));
        _mm512_storeu_si512(next, _mm512_maskz_compress_epi64(mask, pairs));
        next += _mm_popcnt_u32(mask);
    }
    return next;
}

AVX512 static size_t collect_avx512(float *u, const float *gradient, size_t n, uint32_t first,
                                    int32_t magnitude, struct gw_entry *entries, int32_t *largest) {
    struct gw_entry *next = entries;
    __m512i least = _mm512_set1_epi32(magnitude);
    __m512i most = _mm512_set1_epi32(*largest);
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        __m512 values[4];
        __mmask16 marks[4];
        for (int j = 0; j < 4; j++) {
            values[j] = load_sum(u + i + 16 * j, gradient_at(gradient, i + 16 * (size_t)j), 0xffff);
            marks[j] = _mm512_cmpge_epi32_mask(magnitudes_of(values[j]), least);
        }
        if ((marks[0] | marks[1] | marks[2] | marks[3]) == 0) {
            continue;
        }
        for (int j = 0; j < 4; j++) {
            most = _mm512_max_epi32(most, magnitudes_of(values[j]));
            next = write_marked(next, values[j], first + (uint32_t)i + 16 * (uint32_t)j, marks[j]);
        }
    }
    for (; i < n; i += 16) {
        __mmask16 here = first_mask(n - i);
        __m512 values = load_sum(u + i, gradient_at(gradient, i), here);
        __mmask16 marked = _mm512_mask_cmpge_epi32_mask(here, magnitudes_of(values), least);
        most = _mm512_max_epi32(most, magnitudes_of(values));
        next = write_marked(next, values, first + (uint32_t)i, marked);
    }
    *largest = _mm512_reduce_max_epi32(most);
    return (size_t)(next - entries);
}

const struct gw_scan gw_scan_avx512 = {
    .name = "avx512",
    .is_supported = has_avx512,
    .read = read_avx512,
    .add = add_avx512,
    .moments = moments_avx512,
    .tail = tail_avx512,
    .count = count_avx512,
    .collect = collect_avx512,
};

#else

static bool has_avx512(void) {
    return false;
}

const struct gw_scan gw_scan_avx512 = {.name = "avx512", .is_supported = has_avx512};

#endif
