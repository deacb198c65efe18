/*
 * The functions that kernels use, on the CPU: a .cu file is compiled as C++ with this header before
 * it, and each thread of a block becomes a fiber. Two blocks of a grid run at a time, each on a
 * thread of its own, unless they are large; the order of blocks, and of a block's threads, is
 * random. The address sanitizer finds accesses out of bounds; the thread sanitizer, for which each
 * fiber is a thread, finds races within a block, between blocks, streams and the host. A fiber that
 * waits for fibers that have returned ends the process with a message; one that waits for a value
 * that is never stored waits for ever.
 */
#ifndef GW_EMULATION_KERNELS_H
#define GW_EMULATION_KERNELS_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <functional>
#include <tuple>
#include <type_traits>

#include <cuda_runtime_api.h>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static thread_local /* a block's threads are fibers of one thread */

enum { warpSize = 32 };

/* ---- vectors ------------------------------------------------------------------------------- */

struct uint3 {
    unsigned x, y, z;
};
struct dim3 : uint3 {
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : uint3{a, b, c} {
    }
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
static inline float4 make_float4(float x, float y, float z, float w) {
    return {x, y, z, w};
}

/* ---- threads ------------------------------------------------------------------------------- */

struct gw_emulated_thread {
    uint3 thread, block, threads, blocks;
};
extern thread_local gw_emulated_thread *gw_emulated_self;
#define threadIdx (gw_emulated_self->thread)
#define blockIdx (gw_emulated_self->block)
#define blockDim (gw_emulated_self->threads)
#define gridDim (gw_emulated_self->blocks)

/* Puts a grid on a stream. */
void gw_emulated_put(dim3 blocks, dim3 threads, cudaStream_t stream, std::function<void()> body);

/* Launches a kernel like <<<>>>: arguments have their values at the launch. */
template <typename... Parameters, typename... Arguments>
void gw_emulated_launch(size_t blocks, size_t threads, cudaStream_t stream,
                        void (*kernel)(Parameters...), Arguments... arguments) {
    std::tuple<Parameters...> kept(arguments...);
    if (blocks > 0) {
        gw_emulated_put(dim3((unsigned)blocks), dim3((unsigned)threads), stream,
                        [kernel, kept] { std::apply(kernel, kept); });
    }
}

/* Waits for all threads of the block that have not returned. */
void gw_emulated_meet_block(void);

/*
 * Waits for the warp's lanes in `mask`; what each of them brought, [32], until this lane's next
 * call. What lanes did to memory before is in order only if this `orders`.
 */
const uint64_t *gw_emulated_meet_warp(unsigned mask, uint64_t brought, bool orders);
unsigned gw_emulated_lane(void);

static inline void __syncthreads() {
    gw_emulated_meet_block();
}
/* Accesses before a fence are ordered with those after a later fence of the grid. */
void gw_emulated_fence(void);
static inline void __threadfence() {
    gw_emulated_fence();
}

/* Lets other threads of the block, and other blocks, go on. */
void gw_emulated_pause(void);
static inline void __nanosleep(unsigned) {
    gw_emulated_pause();
}

/* In place of the register %globaltimer: nanoseconds. */
static inline uint64_t gw_emulated_global_timer() {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- warps --------------------------------------------------------------------------------- */

static inline void __syncwarp(unsigned mask = 0xffffffffu) {
    (void)gw_emulated_meet_warp(mask, 0, true);
}
static inline unsigned __ballot_sync(unsigned mask, int brought) {
    const uint64_t *all = gw_emulated_meet_warp(mask, brought != 0, false);
    unsigned votes = 0;
    for (unsigned lane = 0; lane < 32; lane++) {
        votes |= (mask >> lane & 1u) != 0 && all[lane] != 0 ? 1u << lane : 0;
    }
    return votes;
}
static inline int __any_sync(unsigned mask, int brought) {
    return __ballot_sync(mask, brought) != 0;
}

template <typename T> T gw_emulated_fetch(unsigned mask, T value, unsigned from) {
    static_assert(sizeof(T) <= sizeof(uint64_t), "a register pair at most");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = gw_emulated_meet_warp(mask, bits, false)[from];
    memcpy(&value, &bits, sizeof value);
    return value;
}
template <typename T> T __shfl_sync(unsigned mask, T value, int from, int width = warpSize) {
    unsigned lane = gw_emulated_lane();
    unsigned first = lane / (unsigned)width * (unsigned)width;
    return gw_emulated_fetch(mask, value, first + (unsigned)from % (unsigned)width);
}
template <typename T> T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = warpSize) {
    unsigned lane = gw_emulated_lane();
    return gw_emulated_fetch(mask, value, lane % (unsigned)width >= by ? lane - by : lane);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = warpSize) {
    unsigned lane = gw_emulated_lane();
    return gw_emulated_fetch(mask, value,
                             lane % (unsigned)width + by < (unsigned)width ? lane + by : lane);
}
template <typename T> T __shfl_xor_sync(unsigned mask, T value, int with, int width = warpSize) {
    unsigned lane = gw_emulated_lane();
    unsigned other = lane ^ (unsigned)with;
    return gw_emulated_fetch(mask, value,
                             other / (unsigned)width <= lane / (unsigned)width ? other : lane);
}

template <typename T, typename F> T gw_emulated_reduce(unsigned mask, T value, F join) {
    const uint64_t *all = gw_emulated_meet_warp(mask, (uint64_t)value, false);
    bool first = true;
    for (unsigned lane = 0; lane < 32; lane++) {
        if ((mask >> lane & 1u) != 0) {
            value = first ? (T)all[lane] : join(value, (T)all[lane]);
            first = false;
        }
    }
    return value;
}
template <typename T> T __reduce_add_sync(unsigned mask, T value) {
    return gw_emulated_reduce(mask, value, [](T a, T b) { return (T)(a + b); });
}
template <typename T> T __reduce_max_sync(unsigned mask, T value) {
    return gw_emulated_reduce(mask, value, [](T a, T b) { return a > b ? a : b; });
}

/* ---- atomics ------------------------------------------------------------------------------- */

/* On a GPU atomics put nothing else in order. */
template <typename T, typename F> T gw_emulated_change(T *place, F change) {
    T old;
    T changed;
    __atomic_load(place, &old, __ATOMIC_RELAXED);
    do {
        changed = change(old);
    } while (!__atomic_compare_exchange(place, &old, &changed, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
    return old;
}

/* A volatile load of a value that another block changes; lets others run, for callers in a loop. */
template <typename T> T gw_emulated_load_now(const T *place) {
    gw_emulated_pause();
    return __atomic_load_n(place, __ATOMIC_RELAXED);
}
template <typename T> void gw_emulated_store_now(T *place, T value) {
    __atomic_store(place, &value, __ATOMIC_RELAXED);
}
#define GW_EMULATED_ATOMICS(T)                                                                     \
    static inline T atomicAdd(T *place, T value) {                                                 \
        return gw_emulated_change(place, [=](T old) { return (T)(old + value); });                 \
    }                                                                                              \
    static inline T atomicMax(T *place, T value) {                                                 \
        return gw_emulated_change(place, [=](T old) { return old > value ? old : value; });        \
    }                                                                                              \
    static inline T atomicMin(T *place, T value) {                                                 \
        return gw_emulated_change(place, [=](T old) { return old < value ? old : value; });        \
    }                                                                                              \
    static inline T atomicExch(T *place, T value) {                                                \
        return gw_emulated_change(place, [=](T) { return value; });                                \
    }                                                                                              \
    static inline T atomicOr(T *place, T value) {                                                  \
        return gw_emulated_change(place, [=](T old) { return (T)(old | value); });                 \
    }
GW_EMULATED_ATOMICS(int)
GW_EMULATED_ATOMICS(unsigned)
GW_EMULATED_ATOMICS(unsigned long long)
#undef GW_EMULATED_ATOMICS
static inline unsigned atomicInc(unsigned *place, unsigned last) {
    return gw_emulated_change(place, [=](unsigned old) { return old >= last ? 0 : old + 1; });
}
static inline float atomicAdd(float *place, float value) {
    return gw_emulated_change(place, [=](float old) { return old + value; });
}
static inline double atomicAdd(double *place, double value) {
    return gw_emulated_change(place, [=](double old) { return old + value; });
}

/* ---- bits and numbers ---------------------------------------------------------------------- */

static inline int __popc(unsigned x) {
    return __builtin_popcount(x);
}
static inline int __ffs(int x) {
    return __builtin_ffs(x);
}
static inline int __clz(int x) {
    return x == 0 ? 32 : __builtin_clz((unsigned)x);
}
template <typename To, typename From> To gw_emulated_same_bits(From from) {
    To to;
    static_assert(sizeof to == sizeof from, "");
    memcpy(&to, &from, sizeof to);
    return to;
}
static inline unsigned __float_as_uint(float x) {
    return gw_emulated_same_bits<unsigned>(x);
}
static inline float __int_as_float(int x) {
    return gw_emulated_same_bits<float>(x);
}
static inline float __uint_as_float(unsigned x) {
    return gw_emulated_same_bits<float>(x);
}
template <typename T> T __ldcs(const T *place) {
    return *place;
}
template <typename T> T __ldcg(const T *place) {
    return *place;
}
template <typename A, typename B> typename std::common_type<A, B>::type min(A a, B b) {
    typedef typename std::common_type<A, B>::type T;
    return (T)a < (T)b ? (T)a : (T)b;
}
template <typename A, typename B> typename std::common_type<A, B>::type max(A a, B b) {
    typedef typename std::common_type<A, B>::type T;
    return (T)a > (T)b ? (T)a : (T)b;
}

#endif
