/*
 * Steps of error feedback by codes: what is sent plus what stays is the accumulated vector, and all
 * is the same on a GPU, with other threads and instruction sets. Random cases follow from one seed,
 * which is printed; GRADWEAVE_SEED repeats a run.
 */
#include <float.h>

#include "tests/kernels/code_numbers.h"

/* ---- one step ------------------------------------------------------------------------------- */

/* The inputs and the results of a step of error feedback, and what the codes stand for. */
struct step {
    const struct gw_compressor *compressor;
    const char *input;
    struct gw_task task;
    size_t payloads, elements;
    bool takes;
    float *before, *gradient; /* [n]; gradient may be NULL */
    enum gw_status status;
    struct gw_error error;
    float *u, *decoded, *sums; /* [n], [n], [elements] */
    struct gw_codes codes;
};

static void fail_step(const struct step *step, const char *what, size_t i) {
    fail_msg("%s, %s, n %zu in %zu payloads of %zu%s%s: %s at %zu", step->compressor->name,
             step->input, step->task.n, step->payloads, step->elements,
             step->gradient == NULL ? "" : ", gradient", step->takes ? ", takes" : "", what, i);
}

static void reserve_step(struct step *step) {
    size_t bytes = step->payloads * gw_code_bytes(step->compressor, step->elements);
    step->u = allocate(step->task.n, sizeof(float));
    step->decoded = allocate(step->task.n, sizeof(float));
    step->sums = allocate(step->elements, sizeof(float));
    step->codes =
        (struct gw_codes){step->compressor, step->payloads, step->elements, allocate(bytes, 1)};
    memset(step->codes.bytes, 0xaa, bytes);
    memcpy(step->u, step->before, step->task.n * sizeof(float));
    for (size_t i = 0; i < step->elements; i++) {
        step->sums[i] = (float)i;
    }
}

static void free_step(struct step *step) {
    free(step->u);
    free(step->decoded);
    free(step->sums);
    free(step->codes.bytes);
}

/* Decodes ranges of many lengths, which begin within blocks and bytes. */
static void check_ranges(const struct step *step) {
    float range[1001];
    for (size_t first = 0, n = 1; first < step->task.n; first += n, n = 3 * n % 1001 + 1) {
        n = n < step->task.n - first ? n : step->task.n - first;
        gw_decode_range(&step->codes, first, n, range);
        if (memcmp(range, step->decoded + first, n * sizeof *range) != 0) {
            fail_step(step, "range", first);
        }
    }
}

static void run_on_host(struct step *step, size_t threads) {
    struct gw_memory host;
    assert_ok(gw_memory_open(&host, NULL, NULL));
    reserve_step(step);
    struct gw_task task = step->task;
    task.u = step->u;
    task.gradient = step->gradient;
    task.threads = threads;
    step->status = host.does->encode(&host, &task, step->takes, &step->codes, NULL, &step->error);
    if (step->status == GW_OK) {
        assert_ok(host.does->finish_encode(&host, &step->codes, NULL, NULL));
        assert_ok(
            host.does->decode(&host, &step->codes, task.n, threads, false, step->decoded, NULL));
        assert_ok(host.does->decode(&host, &step->codes, step->elements, threads, true, step->sums,
                                    NULL));
        check_ranges(step);
    }
    gw_memory_close(&host);
}

static void run_on_gpu(struct step *step) {
    struct gw_memory *gpu = gpu_memory();
    reserve_step(step);
    size_t n = step->task.n;
    size_t bytes = step->payloads * gw_code_bytes(step->compressor, step->elements);
    struct gw_gpu_selection outcome = {0};
    struct gw_codes on_gpu = step->codes;
    struct gw_task task = step->task;
    on_gpu.bytes = copy_to_device(gpu->stream, step->codes.bytes, bytes);
    float *u = task.u = copy_to_device(gpu->stream, step->u, n * sizeof(float));
    float *decoded = copy_to_device(gpu->stream, step->u, n * sizeof(float));
    float *sums = copy_to_device(gpu->stream, step->sums, step->elements * sizeof(float));
    float *gradient = copy_to_device(gpu->stream, step->gradient == NULL ? step->u : step->gradient,
                                     n * sizeof(float));
    task.gradient = step->gradient == NULL ? NULL : gradient;
    assert_ok(gw_gpu_selection_reserve(&outcome, gpu->device, 0, NULL));
    assert_ok(gpu->does->encode(gpu, &task, step->takes, &on_gpu, &outcome, NULL));
    step->status = gpu->does->finish_encode(gpu, &on_gpu, &outcome, &step->error);
    assert_ok(gpu->does->decode(gpu, &on_gpu, n, 1, false, decoded, NULL));
    assert_ok(gpu->does->decode(gpu, &on_gpu, step->elements, 1, true, sums, NULL));
    copy_from_device(gpu->stream, step->codes.bytes, on_gpu.bytes, bytes);
    copy_from_device(gpu->stream, step->u, u, n * sizeof(float));
    copy_from_device(gpu->stream, step->decoded, decoded, n * sizeof(float));
    copy_from_device(gpu->stream, step->sums, sums, step->elements * sizeof(float));
    gw_gpu_selection_free(&outcome);
    void *all[] = {on_gpu.bytes, u, decoded, sums, gradient};
    for (size_t i = 0; i < 5; i++) {
        gw_device_free(gpu->device, all[i]);
    }
}

/* ---- checks of a step ------------------------------------------------------------------------ */

static float accumulated(const struct step *step, size_t i) {
    if (step->gradient == NULL) {
        return step->before[i];
    }
    bool residual = step->compressor->code.residual;
    return residual ? step->before[i] + step->gradient[i] : step->gradient[i];
}

/* The scale of element i from its definition. */
static float expected_scale(const struct step *step, size_t i) {
    const struct gw_code *code = &step->compressor->code;
    size_t block = code->block == 0 ? step->elements : code->block;
    size_t first = i / step->elements * step->elements + i % step->elements / block * block;
    size_t payload_end = (i / step->elements + 1) * step->elements;
    double sum = 0;
    double most = 0;
    size_t count = 0;
    for (size_t j = first; j < first + block && j < payload_end && j < step->task.n; j++, count++) {
        sum += fabs((double)accumulated(step, j));
        most = fmax(most, fabs((double)accumulated(step, j)));
    }
    double largest = step->compressor == &gw_compressor_int8  ? 127
                     : step->compressor == &gw_compressor_fp8 ? 448
                                                              : 7;
    return (float)(code->block == 0 ? sum / (double)count : most / largest);
}

/* The nearest level of int8 and fp8, the sign of onebit, one of two levels of qsgd; but for the
 * rounding of the ratio. */
static void check_element(const struct step *step, size_t i, float sum, float scale) {
    const struct gw_compressor *compressor = step->compressor;
    double value = (double)sum;
    double sent = (double)step->decoded[i];
    double unit = (double)scale;
    double error = fabs(value - sent);
    double size = fabs(value);
    if (compressor == &gw_compressor_onebit) {
        if (bits_of(step->decoded[i]) != bits_of(copysignf(scale, sum))) {
            fail_step(step, "another sign or scale", i);
        }
    } else if (compressor == &gw_compressor_qsgd) {
        if (error > unit * (1 + 1e-6) + 1e-45 || (size == 0 && sent != 0) || value * sent < 0) {
            fail_step(step, "further away than a level", i);
        }
    } else if (is_scaled(compressor)) {
        double step_size = unit;
        if (compressor == &gw_compressor_fp8) {
            step_size *= ldexp(1, (int)fmax(floor(log2(size / unit + 1e-300)), -6) - 3);
        }
        if (unit > 1e-37 && error > step_size / 2 * (1 + 1e-4)) {
            fail_step(step, "not the nearest level", i);
        }
    }
}

static void check_host(const struct step *step) {
    const struct gw_compressor *compressor = step->compressor;
    size_t n = step->task.n;
    double energy = 0;
    double left = 0;
    double explained = 0;
    float scale = 1;
    for (size_t i = 0; i < n; i++) {
        size_t place = i % step->elements;
        size_t payload = i / step->elements;
        float sum = accumulated(step, i);
        unsigned block = compressor->code.block;
        if (is_scaled(compressor) && (block == 0 ? place == 0 : place % block == 0)) {
            float written = scale_at(&step->codes, payload, place);
            scale = expected_scale(step, i);
            /* sums are rounded, and the scale of the largest floats must not overflow */
            double off = fabs((double)written - (double)scale);
            if (off > (block == 0 || scale > 1e36f ? 1e-6 * (double)scale + 1e-45 : 0)) {
                fail_step(step, "another scale", i);
            }
            scale = written;
        }
        if (bits_of(step->decoded[i]) != bits_of(number_at(&step->codes, payload, place)) &&
            !isinf(sum) && !isinf(step->decoded[i])) {
            fail_step(step, "decoded otherwise", i);
        }
        check_element(step, i, sum, scale);
        float kept = step->takes && compressor->code.residual ? sum - step->decoded[i]
                     : compressor->code.residual              ? sum
                                                              : step->before[i];
        if (bits_of(step->u[i]) != bits_of(kept)) {
            fail_step(step, "another residual", i);
        }
        /* nothing is lost: both are multiples of one unit, so the sum in double is exact */
        bool exact = compressor->code.residual && compressor->code.block > 0;
        if (exact && step->takes && (double)step->u[i] + (double)step->decoded[i] != (double)sum) {
            fail_step(step, "lost a part", i);
        }
        energy += (double)sum * (double)sum;
        left += (double)step->u[i] * (double)step->u[i];
        explained += (double)scale * (double)scale;
    }
    /* ||u - s sign(u)||^2 = ||u||^2 - n s^2 if s is the mean magnitude */
    if (compressor == &gw_compressor_onebit && step->takes && energy < 1e60 && energy > 1e-60 &&
        fabs(left - (energy - explained)) > 1e-4 * energy) {
        fail_step(step, "another error than of the mean magnitude", n);
    }
}

static void check_sums(const struct step *step) {
    for (size_t i = 0; i < step->elements; i++) {
        float sum = (float)i;
        for (size_t payload = 0; payload < step->payloads; payload++) {
            float number = number_at(&step->codes, payload, i);
            size_t at = payload * step->elements + i;
            if (at >= step->task.n && code_at(&step->codes, payload, i) != 0) {
                fail_step(step, "bits after the end", at);
            }
            sum += at < step->task.n ? step->decoded[at] : number;
        }
        if (bits_of(sum) != bits_of(step->sums[i]) && !isnan(sum)) {
            fail_step(step, "another sum", i);
        }
    }
}

static void check_same(const struct step *a, const struct step *b, const char *where) {
    size_t n = a->task.n;
    size_t bytes = a->payloads * gw_code_bytes(a->compressor, a->elements);
    if (a->status != b->status || strcmp(a->error.message, b->error.message) != 0) {
        fail_msg("%s: \"%s\" and \"%s\"", where, a->error.message, b->error.message);
    }
    if (a->status == GW_OK && (memcmp(a->codes.bytes, b->codes.bytes, bytes) != 0 ||
                               memcmp(a->u, b->u, n * sizeof(float)) != 0 ||
                               memcmp(a->decoded, b->decoded, n * sizeof(float)) != 0 ||
                               memcmp(a->sums, b->sums, a->elements * sizeof(float)) != 0)) {
        fail_step(a, where, n);
    }
}

/* On a processor with each instruction set, with threads, and on a GPU. */
static void check_step(struct step *step, bool with_gpu) {
    static const char *const sets[] = {"portable", "avx2", "avx512"};
    const char *usual = gw_instruction_set();
    run_on_host(step, 1);
    if (step->status == GW_OK) {
        check_host(step);
        check_sums(step);
    }
    for (size_t other = 0; other < 5; other++) {
        struct step copy = *step;
        bool on_gpu = other == 4;
        if (on_gpu ? !with_gpu || gpu_memory() == NULL
                   : other < 3 && !gw_force_instruction_set(sets[other])) {
            continue;
        }
        if (on_gpu) {
            run_on_gpu(&copy);
        } else {
            run_on_host(&copy, other == 3 ? 4 : 1);
        }
        assert_true(gw_force_instruction_set(usual));
        check_same(step, &copy, on_gpu ? "GPU" : other == 3 ? "threads" : sets[other]);
        free_step(&copy);
    }
    free_step(step);
}

static void check_inputs(size_t n, size_t at, bool with_gpu, struct gw_random *random) {
    float *u = allocate(n, sizeof *u);
    float *gradient = allocate(n, sizeof *gradient);
    size_t input = at % INPUTS;
    inputs[input].fill(u, n, random);
    fill_layers(gradient, n, random);
    size_t payloads = between(random, 1, 5);
    for (size_t f = 0; f < FORMATS; f++) {
        struct step step = {.compressor = formats[f],
                            .input = inputs[input].name,
                            .task = {.n = n, .worker = at % 3, .seed = seed, .iteration = at},
                            .payloads = payloads + at % 2,
                            .elements = (n + payloads - 1) / payloads,
                            .takes = at % 3 != 0,
                            .before = u,
                            .gradient = at % 4 == 0 ? NULL : gradient};
        check_step(&step, with_gpu);
    }
    free(u);
    free(gradient);
}

TEST(steps_are_the_same_everywhere_and_lose_nothing) {
    struct gw_random *random = random_stream(2);
    size_t rounds = (size_t)gw_trials(20) + 1;
    for (size_t at = 0; at < rounds * INPUTS; at++) {
        check_inputs(between(random, 1, at % 3 == 0 ? 70 : 5000), at, at % 4 == 1, random);
    }
    for (size_t at = 0; at < INPUTS; at++) {
        check_inputs(between(random, 60000, 150000), at, at % 7 == 0, random);
    }
}

/* ---- extremes -------------------------------------------------------------------------------- */

TEST(the_largest_floats_do_not_overflow) {
    enum { N = 600 };
    float u[N];
    for (size_t f = 2; f < FORMATS; f++) {
        for (size_t i = 0; i < N; i++) {
            u[i] = i % 3 == 0 ? FLT_MAX : i % 3 == 1 ? -FLT_MAX : FLT_MIN;
        }
        struct step step = {.compressor = formats[f],
                            .input = "largest floats",
                            .task = {.n = N},
                            .payloads = 1,
                            .elements = N,
                            .takes = true,
                            .before = u};
        run_on_host(&step, 1);
        assert_ok(step.status);
        for (size_t i = 0; i < N; i++) {
            assert_true(isfinite(step.decoded[i]) && isfinite(step.u[i]));
        }
        check_host(&step);
        free_step(&step);
    }
}

/* NaNs are bad input of all codes, infinities of those with scales; halves keep infinities. */
TEST(the_first_element_without_a_code_is_named) {
    enum { N = 3000 };
    struct gw_random *random = random_stream(3);
    float u[N];
    for (size_t at = 0; at < 200; at++) {
        const struct gw_compressor *compressor = formats[at % FORMATS];
        size_t first = between(random, 0, N - 1);
        bool infinite = at % 4 < 2;
        bool bad = !infinite || is_scaled(compressor);
        char message[64];
        fill_normal(u, N, random);
        for (size_t i = first; i < N; i += at % 2 ? 1 : N) {
            u[i] = infinite ? -INFINITY : float_of(at % 4 == 2 ? 0x7f800001u : 0xffffffffu);
        }
        for (int on_gpu = 0; on_gpu < (gpu_memory() == NULL ? 1 : 2); on_gpu++) {
            struct step step = {.compressor = compressor,
                                .input = "bad input",
                                .task = {.n = N, .threads = at % 3},
                                .payloads = 2,
                                .elements = N / 2,
                                .takes = at % 5 != 0,
                                .before = u,
                                .gradient = at % 7 == 0 ? u : NULL};
            on_gpu ? run_on_gpu(&step) : run_on_host(&step, 2);
            assert_int_equal(step.status, bad ? GW_BAD_INPUT : GW_OK);
            snprintf(message, sizeof message, "element %zu: expected a number", first);
            if (bad ? strncmp(step.error.message, message, strlen(message)) != 0
                    : step.decoded[first] != -INFINITY) {
                fail_msg("%s: expected %s, got %s", compressor->name, message, step.error.message);
            }
            free_step(&step);
        }
    }
}
