/* Noise as a user names it, and the sample that it may be drawn from. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/file.h"
#include "core/json.h"
#include "core/noise.h"

static bool parse_number(const char *text, char **end, double *out) {
    errno = 0;
    *out = strtod(text, end);
    return *end != text && errno != ERANGE && isfinite(*out) && *out >= 0;
}

/* ---- samples ------------------------------------------------------------------------------- */

static enum gw_status add_value(struct gw_noise *noise, size_t *capacity, double value,
                                struct gw_error *error) {
    double *sample = gw_grow(noise->sample, noise->count + 1, capacity, sizeof *sample);
    if (sample == NULL) {
        return gw_fail_memory(error, "reading a sample");
    }
    noise->sample = sample;
    sample[noise->count++] = value;
    return GW_OK;
}

static enum gw_status read_array(const char *text, size_t length, const char *path,
                                 struct gw_noise *out, struct gw_error *error) {
    cJSON *document = NULL;
    size_t capacity = 0;
    GW_TRY(gw_json_parse(text, length, path, &document, error));
    struct gw_json root = {.node = document, .file = path};
    enum gw_status status = GW_OK;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, document) {
        double value = 0;
        struct gw_json item = gw_json_item(&root, node, out->count);
        status = gw_json_not_negative(&item, &value, error);
        status = status == GW_OK ? add_value(out, &capacity, value, error) : status;
        if (status != GW_OK) {
            break;
        }
    }
    cJSON_Delete(document);
    return status;
}

/* Each line ends in a zero for as long as it is looked at. */
static enum gw_status read_lines(char *text, const char *path, struct gw_noise *out,
                                 struct gw_error *error) {
    size_t capacity = 0;
    size_t number = 0;
    char *rest = text;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        char *end = NULL;
        double value = 0;
        number++;
        line += strspn(line, " \t\r");
        if (*line == '\0' || *line == '#') {
            continue;
        }
        bool good = parse_number(line, &end, &value);
        if (!good || end[strspn(end, " \t\r")] != '\0') {
            return gw_fail(error, GW_BAD_INPUT, "%s:%zu: expected a number >= 0, got \"%.40s\"",
                           path, number, line);
        }
        GW_TRY(add_value(out, &capacity, value, error));
    }
    return GW_OK;
}

static enum gw_status scale_to_mean_one(struct gw_noise *noise, const char *path,
                                        struct gw_error *error) {
    double mean = 0;
    for (size_t i = 0; i < noise->count; i++) {
        mean += noise->sample[i] / (double)noise->count;
    }
    if (!(mean > 0) || !isfinite(1 / mean)) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: expected numbers with a mean above 0, got %zu with mean %g", path,
                       noise->count, mean);
    }
    for (size_t i = 0; i < noise->count; i++) {
        noise->sample[i] /= mean;
    }
    return GW_OK;
}

static enum gw_status read_sample(const char *path, struct gw_noise *out, struct gw_error *error) {
    char *text = NULL;
    size_t length = 0;
    GW_TRY(gw_file_read(path, &text, &length, error));
    *out = (struct gw_noise){.kind = GW_NOISE_SAMPLE};
    size_t blank = strspn(text, " \t\r\n");
    enum gw_status status = GW_OK;
    if (strlen(text) != length) {
        status = gw_fail(error, GW_BAD_INPUT, "%s: expected text, found a zero byte", path);
    } else if (text[blank] == '[') {
        status = read_array(text, length, path, out, error);
    } else {
        status = read_lines(text, path, out, error);
    }
    free(text);
    if (status == GW_OK) {
        status = scale_to_mean_one(out, path, error);
    }
    if (status != GW_OK) {
        gw_noise_free(out);
    }
    return status;
}

void gw_noise_free(struct gw_noise *noise) {
    free(noise->sample);
    *noise = (struct gw_noise){0};
}

/* ---- names --------------------------------------------------------------------------------- */

/* What stands behind "<name>:" in the text, or NULL. */
static const char *argument_of(const char *name, const char *text) {
    size_t length = strlen(name);
    return strncmp(text, name, length) == 0 && text[length] == ':' ? text + length + 1 : NULL;
}

enum gw_status gw_noise_read(const char *text, const char *option, struct gw_noise *out,
                             struct gw_error *error) {
    *out = (struct gw_noise){0};
    if (strcmp(text, "none") == 0) {
        return GW_OK;
    }
    const char *path = argument_of("sample", text);
    if (path != NULL) {
        return read_sample(path, out, error);
    }
    const char *sigma = argument_of("normal", text);
    enum gw_noise_kind kind = sigma != NULL ? GW_NOISE_NORMAL : GW_NOISE_LOGNORMAL;
    sigma = sigma != NULL ? sigma : argument_of("lognormal", text);
    char *end = NULL;
    (void)strtod(text, &end);
    if (sigma == NULL && end != text) {
        sigma = text;
    }
    if (sigma == NULL) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: expected none, SIGMA, normal:SIGMA, lognormal:SIGMA or sample:FILE, "
                       "got \"%s\"",
                       option, text);
    }
    if (!parse_number(sigma, &end, &out->sigma) || *end != '\0') {
        return gw_fail(error, GW_BAD_INPUT, "%s: expected a number >= 0, got \"%s\"", option,
                       sigma);
    }
    out->kind = out->sigma > 0 ? kind : GW_NOISE_NONE;
    return GW_OK;
}
