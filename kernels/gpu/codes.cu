/*
 * Codes on a GPU (kernels/codes.h), to the bit as a processor writes and reads them. A warp encodes
 * a block with a scale at a time; a thread decodes an element at a time.
 */
#include "kernels/gpu/kernels.cuh"

extern "C" {
#include "kernels/code_arithmetic.h"
}

enum { ENCODING_BLOCKS = 8 /* of a multiprocessor */ };

/* ---- the layout ---------------------------------------------------------------------------- */

/* Payloads next to each other: scales, then codes. */
struct layout {
    uint8_t *bytes;
    uint64_t payloads, elements, payload_bytes, scales_bytes;
};

static layout layout_of(const gw_codes *codes) {
    uint64_t bytes = gw_code_bytes(codes->compressor, codes->elements);
    uint64_t of_codes = (codes->elements * codes->compressor->code.bits + 7) / 8;
    return {(uint8_t *)codes->bytes, codes->payloads, codes->elements, bytes, bytes - of_codes};
}

static __device__ uint8_t *payload_at(const layout &at, uint64_t payload) {
    return at.bytes + payload * at.payload_bytes;
}

/* The elements of a payload that are of a vector of n. */
static __host__ __device__ uint64_t used_of(const layout &at, uint64_t n, uint64_t payload) {
    uint64_t before = payload * at.elements;
    uint64_t left = n > before ? n - before : 0;
    return left < at.elements ? left : at.elements;
}

/* Payloads behind others need not be aligned. */
static __device__ float load_scale(const uint8_t *from) {
    float scale;
    if ((uintptr_t)from % sizeof scale == 0) {
        return *(const float *)from;
    }
    memcpy(&scale, from, sizeof scale);
    return scale;
}

/* ---- formats ------------------------------------------------------------------------------- */

/* For each format: elements of a block with a scale (0: none), and the number that the code of
 * element i of a payload stands for. */
struct bf16 {
    static constexpr int block = 0;
    static __device__ uint16_t encode(float value) {
        return gw_bf16_of(value);
    }
    static __device__ float value(const uint8_t *codes, uint64_t i, float) {
        return gw_bf16_value(((const uint16_t *)codes)[i]);
    }
};

struct fp16 {
    static constexpr int block = 0;
    static __device__ uint16_t encode(float value) {
        return gw_fp16_of(value);
    }
    static __device__ float value(const uint8_t *codes, uint64_t i, float) {
        return gw_fp16_value(((const uint16_t *)codes)[i]);
    }
};

struct int8 {
    static constexpr int block = 256;
    static constexpr gw_code_format format = GW_INT8;
    static constexpr bool pairs = false;
    static __device__ uint8_t encode(float value, float divisor, uint32_t, uint64_t) {
        return (uint8_t)gw_int8_of(value, divisor);
    }
    static __device__ float value_of(uint8_t code, float scale) {
        return gw_int8_value((int8_t)code, scale);
    }
    static __device__ float value(const uint8_t *codes, uint64_t i, float scale) {
        return value_of(codes[i], scale);
    }
};

struct fp8 {
    static constexpr int block = 256;
    static constexpr gw_code_format format = GW_FP8;
    static constexpr bool pairs = false;
    static __device__ uint8_t encode(float value, float divisor, uint32_t, uint64_t) {
        return gw_fp8_of(value, divisor);
    }
    static __device__ float value_of(uint8_t code, float scale) {
        return gw_fp8_value(code, scale);
    }
    static __device__ float value(const uint8_t *codes, uint64_t i, float scale) {
        return value_of(codes[i], scale);
    }
};

struct qsgd {
    static constexpr int block = GW_QSGD_BLOCK;
    static constexpr gw_code_format format = GW_QSGD;
    static constexpr bool pairs = true; /* two codes share a byte */
    static __device__ uint8_t encode(float value, float divisor, uint32_t index, uint64_t key) {
        return gw_qsgd_of(value, divisor, gw_lot(index, key));
    }
    static __device__ float value_of(uint8_t code, float scale) {
        return gw_qsgd_value(code, scale);
    }
    static __device__ float value(const uint8_t *codes, uint64_t i, float scale) {
        return value_of((uint8_t)(codes[i / 2] >> (i % 2 * 4) & 15), scale);
    }
};

struct onebit {
    static constexpr int block = 1 << 30; /* a scale for all: n is below 2^32, so none is beyond */
    static __device__ float value(const uint8_t *codes, uint64_t i, float scale) {
        return gw_onebit_value(codes[i / 8] >> i % 8 & 1u, scale);
    }
};

/* ---- encoding ------------------------------------------------------------------------------ */

static __device__ void record_bad(gw_gpu_outcome *outcome, uint64_t index) {
    atomicMin((unsigned long long *)&outcome->first_nan, (unsigned long long)index);
}

/* Payloads of halves follow one another as their elements do. */
template <class kind>
static __global__ void encode_halves(const float *from, size_t n, uint16_t *codes,
                                     gw_gpu_outcome *outcome) {
    GW_GPU_EACH(i, n) {
        float value = from[i];
        codes[i] = kind::encode(value);
        if (isnan(value)) {
            record_bad(outcome, i);
        }
    }
}

/* The place in a block of item j of a lane; neighbours that share a byte are items of one lane. */
template <class kind> static __device__ int place_of(int j) {
    int lane = (int)threadIdx.x % GW_GPU_WARP;
    return kind::pairs ? j / 2 * 2 * GW_GPU_WARP + 2 * lane + j % 2 : j * GW_GPU_WARP + lane;
}

struct source {
    float *u;              /* the vector; written only where the gradient is added or `takes` */
    const float *gradient; /* NULL: none is added */
    size_t n;
    bool takes;
    uint64_t key;
};

/* Encodes `count` elements from number `first` of the vector on. All lanes of a warp call it. */
template <class kind>
static __device__ void encode_block(const source &in, uint64_t first, int count, uint8_t *scale_to,
                                    uint8_t *codes, gw_gpu_outcome *outcome) {
    constexpr int items = kind::block / GW_GPU_WARP;
    float values[items];
    int32_t largest = 0;
#pragma unroll
    for (int j = 0; j < items; j++) {
        int place = place_of<kind>(j);
        values[j] = place < count ? in.u[first + place] : 0;
        if (in.gradient != NULL && place < count) {
            values[j] = gw_add(values[j], in.gradient[first + place]);
            in.u[first + place] = values[j];
        }
        int32_t magnitude = gw_magnitude(values[j]);
        largest = magnitude > largest ? magnitude : largest;
        if (magnitude >= GW_INFINITE) {
            record_bad(outcome, first + place);
        }
    }
    largest = (int32_t)__reduce_max_sync(GW_GPU_ALL_LANES, (unsigned)largest);
    if (largest >= GW_INFINITE) {
        return;
    }
    float scale = gw_code_scale(kind::format, largest);
    float divisor = gw_code_divisor(scale);
    if (threadIdx.x % GW_GPU_WARP == 0) {
        memcpy(scale_to, &scale, sizeof scale);
    }
    uint8_t before = 0;
#pragma unroll
    for (int j = 0; j < items; j++) {
        int place = place_of<kind>(j);
        uint8_t code =
            place < count ? kind::encode(values[j], divisor, (uint32_t)(first + place), in.key) : 0;
        if (!kind::pairs && place < count) {
            codes[place] = code;
        } else if (kind::pairs && j % 2 == 1 && place - 1 < count) {
            codes[place / 2] = (uint8_t)(before | code << 4);
        }
        before = code;
        if (in.takes && place < count) {
            in.u[first + place] = values[j] + kind::value_of(code, -scale);
        }
    }
}

template <class kind>
static __global__ void encode_blocks(source in, layout at, gw_gpu_outcome *outcome) {
    uint64_t each = (at.elements + kind::block - 1) / kind::block;
    uint64_t warp = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) / GW_GPU_WARP;
    uint64_t warps = (uint64_t)gridDim.x * blockDim.x / GW_GPU_WARP;
    for (uint64_t b = warp; b < at.payloads * each; b += warps) {
        uint64_t payload = b / each;
        uint64_t begin = b % each * kind::block;
        uint64_t used = used_of(at, in.n, payload);
        if (begin < used) {
            uint8_t *to = payload_at(at, payload);
            uint64_t count = used - begin < kind::block ? used - begin : kind::block;
            uint8_t *codes = to + at.scales_bytes + begin / (kind::pairs ? 2 : 1);
            encode_block<kind>(in, payload * at.elements + begin, (int)count,
                               to + b % each * sizeof(float), codes, outcome);
        }
    }
}

/* ---- one bit ------------------------------------------------------------------------------- */

static __global__ void write_means(const double *sums, size_t n, layout at) {
    GW_GPU_EACH(payload, at.payloads) {
        uint64_t used = used_of(at, n, payload);
        float mean = used == 0 ? 0 : (float)(sums[payload] / (double)used);
        memcpy(payload_at(at, payload), &mean, sizeof mean);
    }
}

/* A warp has 32 elements at a time, a ballot of their signs. */
static __global__ void encode_signs(source in, layout at, gw_gpu_outcome *outcome) {
    uint64_t each = (at.elements + GW_GPU_WARP - 1) / GW_GPU_WARP;
    uint64_t lane = threadIdx.x % GW_GPU_WARP;
    uint64_t warp = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) / GW_GPU_WARP;
    uint64_t warps = (uint64_t)gridDim.x * blockDim.x / GW_GPU_WARP;
    for (uint64_t run = warp; run < at.payloads * each; run += warps) {
        uint64_t payload = run / each;
        uint64_t place = run % each * GW_GPU_WARP + lane;
        uint64_t used = used_of(at, in.n, payload);
        uint8_t *to = payload_at(at, payload);
        float *u = in.u + payload * at.elements + place;
        float value = place < used ? *u : 0;
        uint32_t sign = gw_bits_of(value) >> 31;
        uint32_t signs = __ballot_sync(GW_GPU_ALL_LANES, (int)sign);
        if (gw_magnitude(value) >= GW_INFINITE) {
            record_bad(outcome, (uint64_t)(u - in.u));
        }
        if (place < used && in.takes) {
            *u = value + gw_onebit_value(sign, -load_scale(to));
        }
        uint64_t byte = run % each * (GW_GPU_WARP / 8) + lane;
        if (lane < GW_GPU_WARP / 8 && 8 * byte < used) {
            to[at.scales_bytes + byte] = (uint8_t)(signs >> (8 * lane));
        }
    }
}

/* The segments of sums of the payloads before. */
static __host__ __device__ uint64_t segments_before(const layout &at, uint64_t n,
                                                    uint64_t payload) {
    uint64_t whole = at.elements == 0 ? 0 : n / at.elements;
    uint64_t each = (at.elements + GW_SUM_SEGMENT - 1) / GW_SUM_SEGMENT;
    uint64_t rest = (used_of(at, n, whole) + GW_SUM_SEGMENT - 1) / GW_SUM_SEGMENT;
    return payload <= whole ? payload * each : whole * each + rest;
}

static __global__ void list_parts(layout at, size_t n, uint64_t *firsts, uint64_t *segment_firsts) {
    GW_GPU_EACH(payload, at.payloads + 1) {
        uint64_t first = payload * at.elements;
        firsts[payload] = first < n ? first : n;
        segment_firsts[payload] = segments_before(at, n, payload);
    }
}

/* Sums magnitudes in the order of the host's. */
static enum gw_status encode_onebit(const source &in, const layout &at, gw_device_stream *stream,
                                    gw_gpu_workspace *workspace, const gw_gpu_selection *out,
                                    gw_error *error) {
    size_t words = gw_gpu_parts_words(at.payloads);
    size_t segments = segments_before(at, in.n, at.payloads);
    GW_TRY(gw_gpu_workspace_reserve(
        workspace, words * sizeof(uint64_t) + (segments + at.payloads) * sizeof(double), error));
    uint64_t *firsts = (uint64_t *)workspace->memory;
    uint64_t *segment_firsts = firsts + at.payloads + 1;
    double *partial = (double *)(firsts + words);
    double *sums = partial + segments;
    gw_gpu_parts parts = {at.payloads, segments, firsts, segment_firsts};
    gw_task added = {};
    added.u = in.u;
    added.gradient = in.gradient;
    added.n = in.n;
    GW_TRY(GW_GPU_LAUNCH_EACH(list_parts, at.payloads + 1, stream, error, at, in.n, firsts,
                              segment_firsts));
    GW_TRY(gw_gpu_outcome_accumulate(&added, out, stream, error));
    GW_TRY(gw_gpu_sum_magnitudes(in.u, &parts, partial, sums, NULL, stream, error));
    GW_TRY(GW_GPU_LAUNCH_EACH(write_means, at.payloads, stream, error, sums, in.n, at));
    size_t warps = at.payloads * ((at.elements + GW_GPU_WARP - 1) / GW_GPU_WARP);
    size_t blocks =
        gw_gpu_blocks(stream, (warps + GW_GPU_WARPS - 1) / GW_GPU_WARPS, ENCODING_BLOCKS);
    return GW_LAUNCH(encode_signs, blocks, GW_GPU_THREADS, stream, error, in, at, out->on_gpu);
}

/* ---- launches ------------------------------------------------------------------------------ */

template <class kind>
static enum gw_status launch_halves(const source &in, const layout &at, gw_device_stream *stream,
                                    const gw_gpu_selection *out, gw_error *error) {
    return GW_GPU_LAUNCH_EACH(encode_halves<kind>, in.n, stream, error, in.u, in.n,
                              (uint16_t *)at.bytes, out->on_gpu);
}

template <class kind>
static enum gw_status launch_blocks(const source &in, const layout &at, gw_device_stream *stream,
                                    const gw_gpu_selection *out, gw_error *error) {
    size_t warps = at.payloads * ((at.elements + kind::block - 1) / kind::block);
    size_t blocks =
        gw_gpu_blocks(stream, (warps + GW_GPU_WARPS - 1) / GW_GPU_WARPS, ENCODING_BLOCKS);
    return GW_LAUNCH(encode_blocks<kind>, blocks, GW_GPU_THREADS, stream, error, in, at,
                     out->on_gpu);
}

enum gw_status gw_gpu_encode(gw_memory *memory, const gw_task *task, bool takes,
                             const gw_codes *codes, gw_gpu_selection *out, gw_error *error) {
    gw_device_stream *stream = memory->stream;
    bool residual = codes->compressor->code.residual;
    layout at = layout_of(codes);
    bool straight = !residual && task->gradient != NULL;
    source in = {straight ? (float *)task->gradient : task->u, residual ? task->gradient : NULL,
                 task->n, takes && residual, gw_code_key(task)};
    uint64_t whole = at.elements == 0 ? at.payloads : task->n / at.elements;
    GW_TRY(gw_gpu_outcome_begin(out, stream, error));
    if (whole < at.payloads) {
        GW_TRY(gw_device_clear(stream, at.bytes + whole * at.payload_bytes,
                               (at.payloads - whole) * at.payload_bytes, error));
    }
    enum gw_status status = GW_OK;
    switch (gw_code_format_of(codes->compressor)) {
    case GW_BF16:
        status = launch_halves<bf16>(in, at, stream, out, error);
        break;
    case GW_FP16:
        status = launch_halves<fp16>(in, at, stream, out, error);
        break;
    case GW_INT8:
        status = launch_blocks<int8>(in, at, stream, out, error);
        break;
    case GW_FP8:
        status = launch_blocks<fp8>(in, at, stream, out, error);
        break;
    case GW_QSGD:
        status = launch_blocks<qsgd>(in, at, stream, out, error);
        break;
    default:
        status = encode_onebit(in, at, stream, memory->gpu_workspace, out, error);
    }
    return status == GW_OK ? gw_gpu_outcome_end(0, out, stream, error) : status;
}

/* ---- decoding ------------------------------------------------------------------------------ */

template <class kind>
static __device__ float decode_one(const layout &at, uint64_t payload, uint64_t i) {
    const uint8_t *from = payload_at(at, payload);
    float scale = 1;
    if (kind::block > 0) {
        uint64_t block = i / (kind::block > 0 ? kind::block : 1);
        block = block * sizeof scale < at.scales_bytes ? block : 0; /* onebit has only one */
        scale = load_scale(from + block * sizeof scale);
    }
    return kind::value(from + at.scales_bytes, i, scale);
}

/* adding: each payload, in order, to the same elements; otherwise one payload after the other */
template <class kind>
static __global__ void decode_each(layout at, size_t n, bool adding, float *out) {
    GW_GPU_EACH(i, n) {
        if (!adding) {
            out[i] = decode_one<kind>(at, i / at.elements, i % at.elements);
            continue;
        }
        float sum = out[i];
        for (uint64_t payload = 0; payload < at.payloads; payload++) {
            sum = gw_add(sum, decode_one<kind>(at, payload, i));
        }
        out[i] = sum;
    }
}

enum gw_status gw_gpu_decode(const gw_memory *memory, const gw_codes *codes, size_t n,
                             size_t threads, bool adding, float *out, gw_error *error) {
    (void)threads; /* of a host */
    gw_device_stream *stream = memory->stream;
    layout at = layout_of(codes);
    switch (gw_code_format_of(codes->compressor)) {
    case GW_BF16:
        return GW_GPU_LAUNCH_EACH(decode_each<bf16>, n, stream, error, at, n, adding, out);
    case GW_FP16:
        return GW_GPU_LAUNCH_EACH(decode_each<fp16>, n, stream, error, at, n, adding, out);
    case GW_INT8:
        return GW_GPU_LAUNCH_EACH(decode_each<int8>, n, stream, error, at, n, adding, out);
    case GW_FP8:
        return GW_GPU_LAUNCH_EACH(decode_each<fp8>, n, stream, error, at, n, adding, out);
    case GW_QSGD:
        return GW_GPU_LAUNCH_EACH(decode_each<qsgd>, n, stream, error, at, n, adding, out);
    default:
        return GW_GPU_LAUNCH_EACH(decode_each<onebit>, n, stream, error, at, n, adding, out);
    }
}
