#include "kernels/cpu/scan.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,popcnt")))

static bool is_supported(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
}

/* Up to 16 elements, zeros behind them. */
AVX512 static inline __mmask16 first_of(size_t n) {
    return (__mmask16)(n >= 16 ? 0xffffu : (1u << n) - 1);
}

AVX512 static inline __m512i magnitudes_of(__m512 values) {
    return _mm512_and_si512(_mm512_castps_si512(values), _mm512_set1_epi32(0x7fffffff));
}

AVX512 static float read(const float *u, size_t n) {
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
            _mm512_add_ps(sums[0], _mm512_abs_ps(_mm512_maskz_loadu_ps(first_of(n - i), u + i)));
    }
    return _mm512_reduce_add_ps(
        _mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3])));
}

/* 16 elements of u, after what is to be added to them. */
AVX512 static inline __m512 load(float *u, const float *gradient, __mmask16 here) {
    __m512 values = _mm512_maskz_loadu_ps(here, u);
    gw_scan_ask(u);
    if (gradient != NULL) {
        gw_scan_ask(gradient);
        values = _mm512_add_ps(values, _mm512_maskz_loadu_ps(here, gradient));
        _mm512_mask_storeu_ps(u, here, values);
    }
    return values;
}

AVX512 static inline const float *at(const float *gradient, size_t i) {
    return gradient == NULL ? NULL : gradient + i;
}

AVX512 static int32_t add(float *u, const float *gradient, size_t n) {
    __m512i largest = _mm512_setzero_si512();
    for (size_t i = 0; i < n; i += 16) {
        largest =
            _mm512_max_epi32(largest, magnitudes_of(load(u + i, gradient + i, first_of(n - i))));
    }
    return _mm512_reduce_max_epi32(largest);
}

/* 8 elements as doubles: from memory, which is cached, as vectors take longer to part. */
AVX512 static inline __m512d wide(const float *u) {
    return _mm512_cvtps_pd(_mm256_loadu_ps(u));
}

/* Squares of floats are exact in double precision, so that fusing them into sums changes nothing.
 */
AVX512 static inline void end_run(double *lanes, __m512d *run) {
    for (int half = 0; half < 2; half++) {
        double *eight = lanes + 8 * half;
        _mm512_storeu_pd(eight, _mm512_add_pd(_mm512_loadu_pd(eight), run[half]));
        run[half] = _mm512_setzero_pd();
    }
}

AVX512 static void moments(float *u, const float *gradient, size_t n, struct gw_moments *out) {
    __m512d sum[2] = {_mm512_setzero_pd(), _mm512_setzero_pd()};
    __m512d squares[2] = {_mm512_setzero_pd(), _mm512_setzero_pd()};
    __m512i largest = _mm512_set1_epi32(out->largest);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m512 values = load(u + i, at(gradient, i), 0xffff);
        largest = _mm512_max_epi32(largest, magnitudes_of(values));
        for (int half = 0; half < 2; half++) {
            __m512d eight = wide(u + i + 8 * half);
            sum[half] = _mm512_add_pd(sum[half], eight);
            squares[half] = _mm512_fmadd_pd(eight, eight, squares[half]);
        }
        if ((i + 16) % GW_SCAN_RUN == 0) {
            end_run(out->sum, sum);
            end_run(out->squares, squares);
        }
    }
    struct gw_moments rest = {.largest = _mm512_reduce_max_epi32(largest)};
    end_run(rest.sum, sum);
    end_run(rest.squares, squares);
    gw_scan_portable.moments(u + i, at(gradient, i), n - i, &rest);
    gw_scan_add_lanes(out->sum, rest.sum);
    gw_scan_add_lanes(out->squares, rest.squares);
    out->largest = rest.largest;
}

AVX512 static void tail(float *u, const float *gradient, size_t n, int32_t magnitude,
                        struct gw_tail *out) {
    __m512d sizes[2] = {_mm512_setzero_pd(), _mm512_setzero_pd()};
    __m512i least = _mm512_set1_epi32(magnitude);
    __m512i largest = _mm512_set1_epi32(out->largest);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m512i all = magnitudes_of(load(u + i, at(gradient, i), 0xffff));
        __mmask16 marked = _mm512_cmpge_epi32_mask(all, least);
        largest = _mm512_mask_max_epi32(largest, marked, largest, all);
        out->count += (size_t)_mm_popcnt_u32(marked);
        for (int half = 0; half < 2; half++) {
            __mmask8 reached = (__mmask8)(marked >> (8 * half));
            sizes[half] = _mm512_mask_add_pd(sizes[half], reached, sizes[half],
                                             _mm512_abs_pd(wide(u + i + 8 * half)));
        }
        if ((i + 16) % GW_SCAN_RUN == 0) {
            end_run(out->magnitudes, sizes);
        }
    }
    struct gw_tail rest = {.count = out->count, .largest = _mm512_reduce_max_epi32(largest)};
    end_run(rest.magnitudes, sizes);
    gw_scan_portable.tail(u + i, at(gradient, i), n - i, magnitude, &rest);
    gw_scan_add_lanes(out->magnitudes, rest.magnitudes);
    out->count = rest.count;
    out->largest = rest.largest;
}

/* Counters stay in registers, so that 10 thresholds cost one pass; `width` must be a constant.
 */
AVX512 __attribute__((always_inline)) static inline void
count_some(const float *u, size_t n, const int32_t *magnitudes, size_t *counts, int width) {
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
    __mmask16 here = first_of(n - whole);
    __m512i sizes = magnitudes_of(_mm512_maskz_loadu_ps(here, u + whole));
    for (int j = 0; j < width; j++) {
        __mmask16 marked = _mm512_mask_cmpge_epi32_mask(here, sizes, least[j]);
        counts[j] += (size_t)_mm512_reduce_add_epi32(reached[j]) + (size_t)_mm_popcnt_u32(marked);
    }
}

AVX512 static void count(const float *u, size_t n, const int32_t *magnitudes, size_t wanted,
                         size_t *counts) {
    size_t done = 0;
    for (; wanted - done >= 10; done += 10) {
        count_some(u, n, magnitudes + done, counts + done, 10);
    }
    for (; wanted - done >= 7; done += 7) {
        count_some(u, n, magnitudes + done, counts + done, 7);
    }
    for (; done < wanted; done++) {
        count_some(u, n, magnitudes + done, counts + done, 1);
    }
}

/* Writes the marked elements behind each other; 8 entries at a time, of which the last are spare.
 */
AVX512 static inline struct gw_entry *write(struct gw_entry *next, __m512 values, uint32_t first,
                                            __mmask16 marked) {
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

AVX512 static size_t collect(float *u, const float *gradient, size_t n, uint32_t first,
                             int32_t magnitude, struct gw_entry *entries, int32_t *largest) {
    struct gw_entry *next = entries;
    __m512i least = _mm512_set1_epi32(magnitude);
    __m512i most = _mm512_set1_epi32(*largest);
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        __m512 values[4];
        __mmask16 marks[4];
        for (int j = 0; j < 4; j++) {
            values[j] = load(u + i + 16 * j, at(gradient, i + 16 * (size_t)j), 0xffff);
            marks[j] = _mm512_cmpge_epi32_mask(magnitudes_of(values[j]), least);
        }
        if ((marks[0] | marks[1] | marks[2] | marks[3]) == 0) {
            continue;
        }
        for (int j = 0; j < 4; j++) {
            most = _mm512_max_epi32(most, magnitudes_of(values[j]));
            next = write(next, values[j], first + (uint32_t)i + 16 * (uint32_t)j, marks[j]);
        }
    }
    for (; i < n; i += 16) {
        __mmask16 here = first_of(n - i);
        __m512 values = load(u + i, at(gradient, i), here);
        __mmask16 marked = _mm512_mask_cmpge_epi32_mask(here, magnitudes_of(values), least);
        most = _mm512_max_epi32(most, magnitudes_of(values));
        next = write(next, values, first + (uint32_t)i, marked);
    }
    *largest = _mm512_reduce_max_epi32(most);
    return (size_t)(next - entries);
}

const struct gw_scan gw_scan_avx512 = {
    .name = "avx512",
    .is_supported = is_supported,
    .read = read,
    .add = add,
    .moments = moments,
    .tail = tail,
    .count = count,
    .collect = collect,
};

#else

static bool is_supported(void) {
    return false;
}

const struct gw_scan gw_scan_avx512 = {.name = "avx512", .is_supported = is_supported};

#endif
