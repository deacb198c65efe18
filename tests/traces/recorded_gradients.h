/* Files of gradients that are drawn by lot, and what they hold, decoded here once more. */
#ifndef GW_TESTS_TRACES_RECORDED_GRADIENTS_H
#define GW_TESTS_TRACES_RECORDED_GRADIENTS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test.h"
#include "traces/gradients.h"

struct drawn_gradients {
    const char *model;
    size_t tensor_count, workers, iterations, sample;
    const char *const *names;
    const size_t *elements, *sampled; /* [tensor_count] */
    double *scales;                   /* [iterations * workers] */
    unsigned char *levels;            /* [iterations * workers * sample] */
};

/* Levels as those of normal numbers are: the few largest are what is selected. */
static inline void draw_levels(struct drawn_gradients *drawn, struct gw_random *random) {
    drawn->sample = 0;
    for (size_t i = 0; i < drawn->tensor_count; i++) {
        drawn->sample += drawn->sampled[i];
    }
    size_t lists = drawn->iterations * drawn->workers;
    drawn->scales = calloc(lists, sizeof *drawn->scales);
    drawn->levels = calloc(lists, drawn->sample);
    for (size_t i = 0; i < lists; i++) {
        drawn->scales[i] = 0.5 + gw_random_uniform(random);
        for (size_t e = 0; e < drawn->sample; e++) {
            double value = gw_random_normal(random, 0.25);
            double level = round(127 + 8 * log2(fabs(value)));
            drawn->levels[i * drawn->sample + e] =
                (unsigned char)(fmin(fmax(level, 0), 127)) | (unsigned char)(value < 0 ? 0x80 : 0);
        }
    }
}

static inline double drawn_value(const struct drawn_gradients *drawn, size_t iteration,
                                 size_t worker, size_t element) {
    size_t list = iteration * drawn->workers + worker;
    int level = drawn->levels[list * drawn->sample + element];
    double magnitude =
        (level & 127) == 0 ? 0 : drawn->scales[list] * pow(2, ((level & 127) - 127) / 8.0);
    return level >= 128 ? -magnitude : magnitude;
}

static inline void write_base64(FILE *out, const unsigned char *bytes, size_t count) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < count; i += 3) {
        unsigned word = 0;
        for (size_t j = 0; j < 3; j++) {
            word = word << 8 | (i + j < count ? bytes[i + j] : 0);
        }
        for (size_t j = 0; j < 4; j++) {
            (void)fputc(i + j <= count ? digits[word >> (18 - 6 * j) & 63] : '=', out);
        }
    }
}

/* The document, the caller's. */
static inline char *drawn_document(const struct drawn_gradients *drawn) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    (void)fprintf(out, "{\"schema\": \"gradweave/gradients@1\", \"model\": \"%s\", \"tensors\": [",
                  drawn->model);
    for (size_t i = 0; i < drawn->tensor_count; i++) {
        (void)fprintf(out, "%s{\"name\": \"%s\", \"elements\": %zu, \"sampled\": %zu}",
                      i == 0 ? "" : ", ", drawn->names[i], drawn->elements[i], drawn->sampled[i]);
    }
    (void)fputs("], \"scales\": [", out);
    for (size_t i = 0; i < drawn->iterations * drawn->workers; i++) {
        bool first = i % drawn->workers == 0;
        (void)fprintf(out, "%s%.17g", i == 0 ? "[" : first ? "], [" : ", ", drawn->scales[i]);
    }
    (void)fputs("]], \"values\": \"", out);
    write_base64(out, drawn->levels, drawn->iterations * drawn->workers * drawn->sample);
    (void)fputs("\"}", out);
    (void)fclose(out);
    return text;
}

static inline void free_drawn(struct drawn_gradients *drawn) {
    free(drawn->scales);
    free(drawn->levels);
}

#endif
