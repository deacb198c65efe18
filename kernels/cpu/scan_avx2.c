#include "kernels/cpu/scan.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,fma,popcnt,bmi")))

static bool has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi");
}

AVX2 static inline __m256 absolute(__m256 values) {
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), values);
}

AVX2 static float read_avx2(const float *u, size_t n) {
    __m256 sums[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
                      _mm256_setzero_ps()};
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        gw_scan_ask(u + i);
        gw_scan_ask(u + i + 16);
        for (int j = 0; j < 4; j++) {
            sums[j] = _mm256_add_ps(sums[j], absolute(_mm256_loadu_ps(u + i + 8 * j)));
        }
    }
    float lanes[8];
    _mm256_storeu_ps(
        lanes, _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3])));
    return lanes[0] + lanes[1] + lanes[2] + lanes[3] + lanes[4] + lanes[5] + lanes[6] + lanes[7] +
           gw_scan_portable.read(u + i, n - i);
}

/* Loads 8 elements of u, and adds the gradient to them first. */
AVX2 static inline __m256 load_sum(float *u, const float *gradient) {
    __m256 values = _mm256_loadu_ps(u);
    gw_scan_ask(u);
    if (gradient != NULL) {
        gw_scan_ask(gradient);
        values = _mm256_add_ps(values, _mm256_loadu_ps(gradient));
        _mm256_storeu_ps(u, values);
    }
    return values;
}

AVX2 static inline const float *gradient_at(const float *gradient, size_t i) {
    return gradient == NULL ? NULL : gradient + i;
}

AVX2 static __m256i magnitudes_of(__m256 values) {
    return _mm256_castps_si256(absolute(values));
}

AVX2 static int32_t largest_of(__m256i magnitudes) {
    int32_t lanes[8];
    int32_t largest = 0;
    _mm256_storeu_si256((__m256i *)(void *)lanes, magnitudes);
    for (int j = 0; j < 8; j++) {
        largest = lanes[j] > largest ? lanes[j] : largest;
    }
    return largest;
}

AVX2 static int32_t add_avx2(float *u, const float *gradient, size_t n) {
    __m256i magnitudes = _mm256_setzero_si256();
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        magnitudes = _mm256_max_epi32(magnitudes, magnitudes_of(load_sum(u + i, gradient + i)));
    }
    int32_t largest = largest_of(magnitudes);
    int32_t rest = gw_scan_portable.add(u + i, gradient + i, n - i);
    return rest > largest ? rest : largest;
}

/*
 * 4 elements as doubles. Loads them from memory, which is cached: splitting vectors takes longer.
 */
AVX2 static inline __m256d load_doubles(const float *u) {
    return _mm256_cvtps_pd(_mm_loadu_ps(u));
}

AVX2 static inline void add_run(double *lanes, __m256d *run) {
    for (int j = 0; j < 4; j++) {
        double *four = lanes + 4 * j;
        _mm256_storeu_pd(four, _mm256_add_pd(_mm256_loadu_pd(four), run[j]));
        run[j] = _mm256_setzero_pd();
    }
}

/* Squares of floats are exact in double precision, so fused multiply-adds do not change sums. */
AVX2 static void moments_avx2(float *u, const float *gradient, size_t n, struct gw_moments *out) {
    __m256d sum[4];
    __m256d squares[4];
    __m256i largest = _mm256_set1_epi32(out->largest);
    for (int j = 0; j < 4; j++) {
        sum[j] = squares[j] = _mm256_setzero_pd();
    }
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        largest =
            _mm256_max_epi32(largest, magnitudes_of(load_sum(u + i, gradient_at(gradient, i))));
        largest = _mm256_max_epi32(
            largest, magnitudes_of(load_sum(u + i + 8, gradient_at(gradient, i + 8))));
        for (int j = 0; j < 4; j++) {
            __m256d four = load_doubles(u + i + 4 * j);
            sum[j] = _mm256_add_pd(sum[j], four);
            squares[j] = _mm256_fmadd_pd(four, four, squares[j]);
        }
        if ((i + 16) % GW_SCAN_RUN == 0) {
            add_run(out->sum, sum);
            add_run(out->squares, squares);
        }
    }
    struct gw_moments rest = {.largest = largest_of(largest)};
    add_run(rest.sum, sum);
    add_run(rest.squares, squares);
    gw_scan_portable.moments(u + i, gradient_at(gradient, i), n - i, &rest);
    gw_scan_add_lanes(out->sum, rest.sum);
    gw_scan_add_lanes(out->squares, rest.squares);
    out->largest = rest.largest;
}

/* The magnitudes of 4 elements as doubles, and zero where they are not marked. */
AVX2 static inline __m256d reached_magnitudes(const float *u, __m128i marks) {
    __m256d mask = _mm256_castsi256_pd(_mm256_cvtepi32_epi64(marks));
    return _mm256_and_pd(_mm256_andnot_pd(_mm256_set1_pd(-0.0), load_doubles(u)), mask);
}

AVX2 static void tail_avx2(float *u, const float *gradient, size_t n, int32_t magnitude,
                           struct gw_tail *out) {
    __m256d sizes[4];
    __m256i below = _mm256_set1_epi32(magnitude - 1);
    __m256i largest = _mm256_set1_epi32(out->largest);
    for (int j = 0; j < 4; j++) {
        sizes[j] = _mm256_setzero_pd();
    }
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        for (int half = 0; half < 2; half++) {
            float *eight = u + i + 8 * half;
            __m256i all =
                magnitudes_of(load_sum(eight, gradient_at(gradient, i + 8 * (size_t)half)));
            __m256i marks = _mm256_cmpgt_epi32(all, below);
            largest = _mm256_max_epi32(largest, _mm256_and_si256(all, marks));
            out->count +=
                (size_t)_mm_popcnt_u32((uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(marks)));
            __m256d *pair = sizes + 2 * half;
            pair[0] =
                _mm256_add_pd(pair[0], reached_magnitudes(eight, _mm256_castsi256_si128(marks)));
            pair[1] = _mm256_add_pd(
                pair[1], reached_magnitudes(eight + 4, _mm256_extracti128_si256(marks, 1)));
        }
        if ((i + 16) % GW_SCAN_RUN == 0) {
            add_run(out->magnitudes, sizes);
        }
    }
    struct gw_tail rest = {.count = out->count, .largest = largest_of(largest)};
    add_run(rest.magnitudes, sizes);
    gw_scan_portable.tail(u + i, gradient_at(gradient, i), n - i, magnitude, &rest);
    gw_scan_add_lanes(out->magnitudes, rest.magnitudes);
    out->count = rest.count;
    out->largest = rest.largest;
}

/* Keeps counters in registers, so that 10 thresholds cost one pass; `width` must be a constant. */
AVX2 __attribute__((always_inline)) static inline void
count_thresholds(const float *u, size_t n, const int32_t *magnitudes, size_t *counts, int width) {
    __m256i below[10];
    __m256i reached[10];
    for (int j = 0; j < width; j++) {
        below[j] = _mm256_set1_epi32(magnitudes[j] - 1);
        reached[j] = _mm256_setzero_si256();
    }
    size_t whole = n - n % 8;
    for (size_t i = 0; i < whole; i += 8) {
        gw_scan_ask(u + i);
        __m256i sizes = magnitudes_of(_mm256_loadu_ps(u + i));
        for (int j = 0; j < width; j++) {
            reached[j] = _mm256_sub_epi32(reached[j], _mm256_cmpgt_epi32(sizes, below[j]));
        }
    }
    for (int j = 0; j < width; j++) {
        int32_t lanes[8];
        _mm256_storeu_si256((__m256i *)(void *)lanes, reached[j]);
        for (int lane = 0; lane < 8; lane++) {
            counts[j] += (size_t)lanes[lane];
        }
    }
    gw_scan_portable.count(u + whole, n - whole, magnitudes, (size_t)width, counts);
}

AVX2 static void count_avx2(const float *u, size_t n, const int32_t *magnitudes, size_t wanted,
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

/* A bit for each of 8 elements whose magnitude is larger than `below`. */
AVX2 static inline uint32_t marks_of(__m256 values, __m256i below) {
    __m256i marks = _mm256_cmpgt_epi32(magnitudes_of(values), below);
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(marks));
}

AVX2 static size_t collect_avx2(float *u, const float *gradient, size_t n, uint32_t first,
                                int32_t magnitude, struct gw_entry *entries, int32_t *largest) {
    struct gw_entry *next = entries;
    __m256i below = _mm256_set1_epi32(magnitude - 1);
    int32_t most = *largest;
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        uint32_t marks = 0;
        for (int j = 0; j < 4; j++) {
            __m256 values = load_sum(u + i + 8 * j, gradient_at(gradient, i + 8 * (size_t)j));
            marks |= marks_of(values, below) << (8 * j);
        }
        for (; marks != 0; marks &= marks - 1) {
            size_t place = i + (size_t)__builtin_ctz(marks);
            int32_t size = gw_magnitude(u[place]);
            *next++ = (struct gw_entry){.value = u[place], .index = first + (uint32_t)place};
            most = size > most ? size : most;
        }
    }
    *largest = most;
    next += gw_scan_portable.collect(u + i, gradient_at(gradient, i), n - i, first + (uint32_t)i,
                                     magnitude, next, largest);
    return (size_t)(next - entries);
}

const struct gw_scan gw_scan_avx2 = {
    .name = "avx2",
    .is_supported = has_avx2,
    .read = read_avx2,
    .add = add_avx2,
    .moments = moments_avx2,
    .tail = tail_avx2,
    .count = count_avx2,
    .collect = collect_avx2,
};

#else

static bool has_avx2(void) {
    return false;
}

const struct gw_scan gw_scan_avx2 = {.name = "avx2", .is_supported = has_avx2};

#endif
