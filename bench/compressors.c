/*
 * Compressors on vectors of all kinds: how many passes over memory a selection costs, how many
 * elements and how much of the energy it has, and how its time grows. `gradweave bench compressors`
 * shows the same for one vector.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/calibrate.h"
#include "kernels/cpu/collect.h"
#include "process.h"

static const char *const usage =
    "usage: compressors [speed | quality | growth] [OPTION...]\n"
    "\n"
    "  speed     passes of reading that a selection costs, for vectors of all kinds\n"
    "  quality   selected over wanted, and energy over that of exact top-k, for densities\n"
    "            from 0.1 to 0.0001\n"
    "  growth    nanoseconds an element from 2^10 to 2^28 elements (needs 4.5 GiB)\n"
    "\n"
    "Without any, all three.\n"
    "\n"
    "  --elements N         speed, quality (default: 25557032, as ResNet-50 has)\n"
    "  --density R          speed, growth (default: 0.001)\n"
    "  --repeats COUNT      of each measurement (default: 9; quality has 1)\n"
    "  --largest POWER      growth: up to 2^POWER elements (default: 28)\n"
    "  --instructions NAME  portable, avx2 or avx512 (default: the best there is)\n";

struct choice {
    size_t elements, repeats, largest;
    double density;
};

/* ---- vectors ------------------------------------------------------------------------------- */

static void draw_shape(const char *shape, size_t n, uint32_t iteration, float *out) {
    struct gw_error error = {0};
    if (gw_draw_gradient(shape, n, 1, iteration, out, &error) != GW_OK) {
        bench_give_up("compressors", error.message);
    }
}

/* Each element is larger than all before it: every cut of the candidates is in vain. */
static void fill_ascending(float *u, size_t n) {
    for (size_t i = 0; i < n; i++) {
        u[i] = (float)(i + 1) / (float)n;
    }
}

static void fill_descending(float *u, size_t n) {
    for (size_t i = 0; i < n; i++) {
        u[i] = (float)(n - i) / (float)n;
    }
}

/* The elements that top-k samples are zero, and the rest ascends: all of it seems to be among the
 * k. */
static void fill_low_sample(float *u, size_t n) {
    size_t stride = gw_sample_stride(n);
    fill_ascending(u, n);
    for (size_t i = 0; i < n / stride; i++) {
        u[gw_sample_position(i, stride, 0)] = 0;
    }
}

/* Only the elements that top-k samples are large: no other seems to be among the k. */
static void fill_high_sample(float *u, size_t n) {
    size_t stride = gw_sample_stride(n);
    draw_shape("normal", n, 0, u);
    for (size_t i = 0; i < n / stride; i++) {
        u[gw_sample_position(i, stride, 0)] += 1;
    }
}

/* Without a function: of the shape of that name. */
static const struct vector {
    const char *name;
    void (*fill)(float *u, size_t n);
} vectors[] = {
    {"normal", NULL},
    {"laplace", NULL},
    {"student", NULL},
    {"sparse", NULL},
    {"constant", NULL},
    {"ascending", fill_ascending},
    {"descending", fill_descending},
    {"low sample", fill_low_sample},
    {"high sample", fill_high_sample},
};
enum { VECTORS = sizeof vectors / sizeof *vectors, BELL_SHAPED = 4 };

/* ---- measuring ----------------------------------------------------------------------------- */

static float *allocate(size_t elements) {
    float *memory = aligned_alloc(64, (elements / 16 + 1) * 64);
    if (memory == NULL) {
        bench_give_up("measuring", "out of memory");
    }
    return memory;
}

static struct gw_bench_result measure_vector(const struct vector *vector, size_t elements,
                                             double density, size_t repeats) {
    struct gw_error error = {0};
    struct gw_bench_result result;
    float *u = allocate(elements);
    float *gradient = allocate(elements);
    if (vector->fill != NULL) {
        vector->fill(u, elements);
    } else {
        draw_shape(vector->name, elements, 0, u);
    }
    draw_shape("normal", elements, 1, gradient);
    size_t kept = (size_t)(density * (double)elements);
    const struct gw_bench bench = {.compressors = gw_compressors,
                                   .elements = elements,
                                   .kept = kept > 0 ? kept : 1,
                                   .u = u,
                                   .gradient = gradient,
                                   .repeats = repeats,
                                   .seed = 1};
    if (gw_bench_run(&bench, NULL, &result, &error) != GW_OK) {
        bench_give_up("compressors", error.message);
    }
    free(u);
    free(gradient);
    return result;
}

static void print_head(const char *first) {
    printf("| %s |", first);
    for (size_t c = 0; gw_compressors[c] != NULL; c++) {
        printf(" %s |", gw_compressors[c]->name);
    }
    printf("\n| --- |");
    for (size_t c = 0; gw_compressors[c] != NULL; c++) {
        printf(" ---: |");
    }
    printf("\n");
}

/* ---- the tables ---------------------------------------------------------------------------- */

static void show_speed(const struct choice *choice) {
    printf(
        "Passes of reading for a selection (with residual: for gradient, selection and clearing), "
        "%zu elements, density %g, %s\n\n",
        choice->elements, choice->density, gw_instruction_set());
    print_head("vector");
    for (size_t v = 0; v < VECTORS; v++) {
        struct gw_bench_result result =
            measure_vector(&vectors[v], choice->elements, choice->density, choice->repeats);
        printf("| %s |", vectors[v].name);
        for (size_t c = 0; c < result.count; c++) {
            printf(" %.2f (%.2f) |", result.rows[c].passes, result.rows[c].compress_passes);
        }
        printf("\n");
        (void)fflush(stdout);
        gw_bench_free(&result);
    }
}

static void show_quality(const struct choice *choice) {
    static const double densities[] = {1e-1, 1e-2, 1e-3, 1e-4};
    printf("Selected over wanted / energy over that of exact top-k, %zu elements\n\n",
           choice->elements);
    print_head("vector, density");
    for (size_t v = 0; v < BELL_SHAPED; v++) {
        for (size_t d = 0; d < sizeof densities / sizeof *densities; d++) {
            struct gw_bench_result result =
                measure_vector(&vectors[v], choice->elements, densities[d], 1);
            printf("| %s, %g |", vectors[v].name, densities[d]);
            for (size_t c = 0; c < result.count; c++) {
                printf(" %.3g / %.3f |", result.rows[c].count_ratio, result.rows[c].energy_ratio);
            }
            printf("\n");
            (void)fflush(stdout);
            gw_bench_free(&result);
        }
    }
}

static void show_growth(const struct choice *choice) {
    printf("Nanoseconds an element for a selection, normal, density %g, %s\n\n", choice->density,
           gw_instruction_set());
    print_head("elements");
    for (size_t power = 10; power <= choice->largest; power += 2) {
        size_t elements = (size_t)1 << power;
        struct gw_bench_result result =
            measure_vector(&vectors[0], elements, choice->density, choice->repeats);
        printf("| 2^%zu |", power);
        for (size_t c = 0; c < result.count; c++) {
            printf(" %.3f |", 1e9 * result.rows[c].select_s.median / (double)elements);
        }
        printf("\n");
        (void)fflush(stdout);
        gw_bench_free(&result);
    }
}

/* ---- the program --------------------------------------------------------------------------- */

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*show)(const struct choice *choice);
    } tables[] = {{"speed", show_speed}, {"quality", show_quality}, {"growth", show_growth}};
    struct choice choice = {.elements = 25557032, .repeats = 9, .density = 0.001, .largest = 28};
    const char *instructions = NULL;
    const struct bench_option options[] = {
        {"elements", &choice.elements, 1, UINT32_MAX, .expected = "1 to 2^32 - 1 elements"},
        {"density", .number = &choice.density, .expected = "a density from 1e-9 to 1"},
        {"repeats", &choice.repeats, 1, 10000, .expected = "1 to 10000 repeats"},
        {"largest", &choice.largest, 10, 31, .expected = "a power from 10 to 31"},
        {"instructions", .text = &instructions},
        {0}};
    int first = bench_options(argc, argv, options, usage);
    if (!(choice.density >= 1e-9 && choice.density <= 1)) {
        char density[GW_UNITS_SIZE];
        bench_refuse("a density from 1e-9 to 1", gw_format_exactly(choice.density, density));
    }
    if (instructions != NULL && !gw_force_instruction_set(instructions)) {
        bench_refuse("instructions that this processor has", instructions);
    }
    size_t shown = 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables && first + 1 >= argc; i++) {
        if (first == argc || strcmp(argv[first], tables[i].name) == 0) {
            printf("%s", shown++ > 0 ? "\n" : "");
            tables[i].show(&choice);
        }
    }
    if (shown == 0) {
        bench_refuse("speed, quality or growth", argv[argc - 1]);
    }
    return GW_OK;
}
