/* Codes on a processor: segments of payloads are shared among threads. */
#include "kernels/codes.h"

#include <stdatomic.h>

#include "core/system.h"
#include "kernels/cpu/collect.h"
#include "kernels/cpu/scan.h"

enum {
    STEP = 1024, /* elements that stay in the L1 cache: of a code without blocks, or whole blocks */
    SMALLEST_BLOCK = 256
};

/* Bytes of halves that no cache holds until they are sent: from there on they are written past the
 * caches, which spares reading the memory that they go to. */
static const uint64_t streamed_bytes = 32 << 20;

enum gw_code_format gw_code_format_of(const struct gw_compressor *compressor) {
    static const struct gw_compressor *const formats[GW_CODE_FORMATS] = {
        [GW_BF16] = &gw_compressor_bf16,     [GW_FP16] = &gw_compressor_fp16,
        [GW_INT8] = &gw_compressor_int8,     [GW_FP8] = &gw_compressor_fp8,
        [GW_ONEBIT] = &gw_compressor_onebit, [GW_QSGD] = &gw_compressor_qsgd};
    int format = 0;
    while (format < GW_CODE_FORMATS && formats[format] != compressor) {
        format++;
    }
    return (enum gw_code_format)format;
}

/* ---- the layout ---------------------------------------------------------------------------- */

/* Elements of a payload that one thread handles at a time, whole blocks and bytes. */
struct segment {
    const struct gw_codes *codes;
    uint8_t *scales, *begin; /* of the payload: its scales, and its codes */
    size_t payload;
    size_t first, end; /* in the payload */
};

static size_t segments_of(const struct gw_codes *codes) {
    return (codes->elements + GW_SCAN_SEGMENT - 1) / GW_SCAN_SEGMENT;
}

/* The segment of that number in a payload, of whose elements only `used` count. */
static struct segment segment_at(const struct gw_codes *codes, size_t payload, size_t number,
                                 size_t used) {
    const struct gw_code *code = &codes->compressor->code;
    uint64_t bytes = gw_code_bytes(codes->compressor, codes->elements);
    size_t first = number * GW_SCAN_SEGMENT;
    size_t end = first + GW_SCAN_SEGMENT < used ? first + GW_SCAN_SEGMENT : used;
    uint8_t *scales = (uint8_t *)codes->bytes + payload * bytes;
    uint8_t *begin = scales + bytes - (codes->elements * code->bits + 7) / 8;
    return (struct segment){codes, scales, begin, payload, first, end > first ? end : first};
}

static size_t step_of(const struct segment *segment) {
    unsigned block = segment->codes->compressor->code.block;
    return block == 0 ? STEP : block;
}

static float scale_at(const struct segment *segment, size_t first) {
    const struct gw_code *code = &segment->codes->compressor->code;
    float scale = 1;
    if (code->scale_bytes > 0) {
        size_t block = code->block == 0 ? 0 : first / code->block;
        memcpy(&scale, segment->scales + block * sizeof scale, sizeof scale);
    }
    return scale;
}

static uint8_t *codes_at(const struct segment *segment, size_t first) {
    return segment->begin + first * segment->codes->compressor->code.bits / 8;
}

/* ---- encoding ------------------------------------------------------------------------------ */

struct encoding {
    const struct gw_task *task;
    const struct gw_codes *out;
    enum gw_code_format format;
    float *from;           /* the vector that is encoded */
    const float *gradient; /* [n] that is added to it first; NULL: none */
    bool takes, streams;
    uint64_t key;     /* of lots */
    int32_t *largest; /* [payload, segment]: magnitude */
    double *sums;     /* onebit: [payload, piece of GW_SUM_SEGMENT elements] of magnitudes */
    size_t pieces;    /* of a payload */
};

/* The elements of a payload that are of the vector. */
static size_t used_of(const struct gw_codes *codes, size_t n, size_t payload) {
    size_t before = payload * codes->elements;
    size_t left = n > before ? n - before : 0;
    return left < codes->elements ? left : codes->elements;
}

static struct segment segment_of(const struct encoding *encoding, size_t part) {
    const struct gw_codes *out = encoding->out;
    size_t payload = part / segments_of(out);
    return segment_at(out, payload, part % segments_of(out),
                      used_of(out, encoding->task->n, payload));
}

static bool is_bad(const struct encoding *encoding, int32_t largest) {
    bool scaled = encoding->out->compressor->code.scale_bytes > 0;
    return scaled ? largest >= GW_INFINITE : largest > GW_INFINITE;
}

/* Returns the largest magnitude of the sums. */
static int32_t add_gradient(const struct encoding *encoding, size_t from, size_t n) {
    return encoding->gradient == NULL
               ? gw_scan()->largest(encoding->from + from, n)
               : gw_scan()->add(encoding->from + from, encoding->gradient + from, n);
}

static void encode_step(const struct encoding *encoding, const struct segment *segment,
                        size_t first, size_t n, float scale) {
    const struct gw_code_loops *loops = &gw_scan()->codes[encoding->format];
    size_t from = segment->payload * segment->codes->elements + first;
    loops->encode(encoding->from + from, n, scale, (uint32_t)from, encoding->key, encoding->streams,
                  codes_at(segment, first));
    if (encoding->takes) {
        loops->add(codes_at(segment, first), n, -scale, encoding->from + from);
    }
}

/* Leaves a block that has a NaN or, with a scale, an infinity as it is. */
static void encode_block(const struct encoding *encoding, const struct segment *segment,
                         size_t first, size_t n, int32_t largest) {
    float scale = gw_code_scale(encoding->format, largest);
    if (is_bad(encoding, largest)) {
        return;
    }
    if (encoding->out->compressor->code.scale_bytes > 0) {
        memcpy(segment->scales + first / step_of(segment) * sizeof scale, &scale, sizeof scale);
    }
    encode_step(encoding, segment, first, n, scale);
}

/* Reads several blocks before the first of them is encoded, whose scale is then there; where a
 * gradient is added, which takes longer than scales do, each block in turn. */
static void encode_segment(size_t part, void *context) {
    const struct encoding *encoding = context;
    struct segment segment = segment_of(encoding, part);
    size_t before = segment.payload * encoding->out->elements;
    size_t block = step_of(&segment);
    size_t step = encoding->gradient == NULL ? STEP : block;
    int32_t all = 0;
    for (size_t first = segment.first; first < segment.end; first += step) {
        size_t end = segment.end - first < step ? segment.end : first + step;
        int32_t largest[STEP / SMALLEST_BLOCK];
        for (size_t at = first; at < end; at += block) {
            int32_t *own = &largest[(at - first) / block];
            *own = add_gradient(encoding, before + at, end - at < block ? end - at : block);
            all = *own > all ? *own : all;
        }
        for (size_t at = first; at < end; at += block) {
            encode_block(encoding, &segment, at, end - at < block ? end - at : block,
                         largest[(at - first) / block]);
        }
    }
    encoding->largest[part] = all;
    if (encoding->streams) {
        atomic_thread_fence(memory_order_seq_cst);
    }
}

/* onebit, whose scale needs the sum of all magnitudes of a payload first */
static void sum_segment(size_t part, void *context) {
    const struct encoding *encoding = context;
    struct segment segment = segment_of(encoding, part);
    double *sums = encoding->sums + segment.payload * encoding->pieces;
    int32_t all = 0;
    for (size_t first = segment.first; first < segment.end; first += GW_SUM_SEGMENT) {
        size_t left = segment.end - first;
        size_t n = left < GW_SUM_SEGMENT ? left : GW_SUM_SEGMENT;
        size_t from = segment.payload * encoding->out->elements + first;
        int32_t largest = add_gradient(encoding, from, n);
        all = largest > all ? largest : all;
        sums[first / GW_SUM_SEGMENT] = gw_scan()->sum(encoding->from + from, n);
    }
    encoding->largest[part] = all;
}

static void write_mean(const struct encoding *encoding, size_t payload) {
    size_t used = used_of(encoding->out, encoding->task->n, payload);
    size_t pieces = (used + GW_SUM_SEGMENT - 1) / GW_SUM_SEGMENT;
    double sum = gw_sum_of_segments(encoding->sums + payload * encoding->pieces, pieces);
    float mean = used == 0 ? 0 : (float)(sum / (double)used);
    memcpy(segment_at(encoding->out, payload, 0, 0).scales, &mean, sizeof mean);
}

static void encode_signs(size_t part, void *context) {
    const struct encoding *encoding = context;
    struct segment segment = segment_of(encoding, part);
    float scale = scale_at(&segment, 0);
    for (size_t first = segment.first; first < segment.end; first += STEP) {
        size_t n = segment.end - first < STEP ? segment.end - first : STEP;
        encode_step(encoding, &segment, first, n, scale);
    }
}

static enum gw_status check_largest(const struct encoding *encoding, size_t parts,
                                    struct gw_error *error) {
    bool bad = false;
    for (size_t part = 0; part < parts; part++) {
        bad = bad || is_bad(encoding, encoding->largest[part]);
    }
    for (size_t i = 0; bad && i < encoding->task->n; i++) {
        if (is_bad(encoding, gw_magnitude(encoding->from[i]))) {
            return gw_fail_uncoded(encoding->out, i, error);
        }
    }
    return GW_OK;
}

enum gw_status gw_fail_uncoded(const struct gw_codes *codes, size_t index, struct gw_error *error) {
    return gw_fail(error, GW_BAD_INPUT, "element %zu: expected a number%s", index,
                   codes->compressor->code.scale_bytes > 0 ? ", got NaN or an infinity"
                                                           : " or an infinity, got NaN");
}

/* Payloads with elements after the vector's end begin as zeros. */
static void clear_ends(const struct encoding *encoding) {
    const struct gw_codes *out = encoding->out;
    size_t whole = out->elements == 0 ? out->payloads : encoding->task->n / out->elements;
    uint64_t bytes = gw_code_bytes(out->compressor, out->elements);
    if (whole < out->payloads) {
        memset((uint8_t *)out->bytes + whole * bytes, 0, (out->payloads - whole) * bytes);
    }
}

enum gw_status gw_encode(const struct gw_task *task, bool takes, const struct gw_codes *out,
                         struct gw_error *error) {
    bool residual = out->compressor->code.residual;
    size_t parts = out->payloads * segments_of(out);
    struct encoding encoding = {
        .task = task,
        .out = out,
        .format = gw_code_format_of(out->compressor),
        .from = task->u,
        .gradient = residual ? task->gradient : NULL,
        .takes = takes && residual,
        .streams = out->payloads * gw_code_bytes(out->compressor, out->elements) >= streamed_bytes,
        .key = gw_code_key(task),
        .pieces = segments_of(out) * (GW_SCAN_SEGMENT / GW_SUM_SEGMENT)};
    if (!residual && task->gradient != NULL) {
        encoding.from = (float *)(uintptr_t)task->gradient; /* without a residual, only read */
    }
    size_t sums = encoding.format == GW_ONEBIT ? out->payloads * encoding.pieces : 0;
    GW_TRY(gw_workspace_reserve(task->workspace, sums * sizeof(double) + parts * sizeof(int32_t),
                                error));
    encoding.sums = task->workspace->memory;
    encoding.largest = (int32_t *)(void *)(encoding.sums + sums);
    clear_ends(&encoding);
    if (encoding.format != GW_ONEBIT) {
        gw_parallel(parts, task->threads, encode_segment, &encoding);
        return check_largest(&encoding, parts, error);
    }
    gw_parallel(parts, task->threads, sum_segment, &encoding);
    GW_TRY(check_largest(&encoding, parts, error));
    for (size_t payload = 0; payload < out->payloads; payload++) {
        write_mean(&encoding, payload);
    }
    gw_parallel(parts, task->threads, encode_signs, &encoding);
    return GW_OK;
}

/* ---- decoding ------------------------------------------------------------------------------ */

struct decoding {
    const struct gw_codes *codes;
    size_t n;
    float *out;
};

/* Decodes n elements of a step, of which `at` is the first: it may begin within a byte. */
static void decode_step(const struct segment *segment, const struct gw_code_loops *loops, size_t at,
                        size_t n, float *out) {
    float whole[STEP];
    size_t before = at % 8;
    float *decoded = before == 0 ? out : whole;
    loops->decode(codes_at(segment, at - before), before + n, scale_at(segment, at), decoded);
    if (before > 0) {
        memcpy(out, whole + before, n * sizeof *out);
    }
}

void gw_decode_range(const struct gw_codes *codes, size_t first, size_t n, float *out) {
    const struct gw_code_loops *loops = &gw_scan()->codes[gw_code_format_of(codes->compressor)];
    for (size_t i = 0; i < n;) {
        size_t at = (first + i) % codes->elements;
        struct segment segment =
            segment_at(codes, (first + i) / codes->elements, at / GW_SCAN_SEGMENT, codes->elements);
        size_t step = step_of(&segment);
        size_t end = segment.end - at < n - i ? segment.end : at + n - i;
        while (at < end) {
            size_t count = step - at % step < end - at ? step - at % step : end - at;
            decode_step(&segment, loops, at, count, out + i);
            at += count;
            i += count;
        }
    }
}

static void decode_segment(size_t part, void *context) {
    const struct decoding *decoding = context;
    size_t first = part * GW_SCAN_SEGMENT;
    size_t left = decoding->n - first;
    gw_decode_range(decoding->codes, first, left < GW_SCAN_SEGMENT ? left : GW_SCAN_SEGMENT,
                    decoding->out + first);
}

void gw_decode(const struct gw_codes *codes, size_t n, size_t threads, float *out) {
    struct decoding decoding = {codes, n, out};
    size_t parts = (n + GW_SCAN_SEGMENT - 1) / GW_SCAN_SEGMENT;
    gw_parallel(parts, threads, decode_segment, &decoding);
}

/* A step of the sums stays in the L1 cache while all payloads are added to it. */
static void add_segment(size_t part, void *context) {
    const struct decoding *decoding = context;
    const struct gw_codes *codes = decoding->codes;
    const struct gw_code_loops *loops = &gw_scan()->codes[gw_code_format_of(codes->compressor)];
    struct segment segment = segment_at(codes, 0, part, decoding->n);
    size_t step = step_of(&segment);
    for (size_t first = segment.first; first < segment.end; first += step) {
        size_t n = segment.end - first < step ? segment.end - first : step;
        for (size_t payload = 0; payload < codes->payloads; payload++) {
            segment = segment_at(codes, payload, part, decoding->n);
            loops->add(codes_at(&segment, first), n, scale_at(&segment, first),
                       decoding->out + first);
        }
    }
}

void gw_decode_add(const struct gw_codes *codes, size_t n, size_t threads, float *sums) {
    struct decoding decoding = {codes, n, sums};
    gw_parallel(segments_of(codes), threads, add_segment, &decoding);
}

/* ---- halves alone ---------------------------------------------------------------------------- */

static const struct gw_code_loops *loops_of_halves(enum gw_number_type type) {
    return &gw_scan()->codes[type == GW_NUMBER_BF16 ? GW_BF16 : GW_FP16];
}

void gw_halves_encode(enum gw_number_type type, const float *values, size_t count, uint16_t *out) {
    loops_of_halves(type)->encode(values, count, 1, 0, 0, false, out);
}

void gw_halves_decode(enum gw_number_type type, const uint16_t *codes, size_t count, float *out) {
    loops_of_halves(type)->decode(codes, count, 1, out);
}
