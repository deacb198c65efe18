/* Numbers of workers and bandwidths as `compare` takes them, and questions that have them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/compare.h"

/* How much of a user's text a message repeats. */
enum { MOST_SHOWN = 60 };

static const double bits_per_byte = 8;

/* ---- workers ------------------------------------------------------------------------------- */

/* A positive integer up to `length`, or 0. */
static double parse_count(const char *text, size_t length) {
    enum { most_digits = 15 };
    if (length == 0 || length > most_digits || strspn(text, "0123456789") < length) {
        return 0;
    }
    return (double)strtoull(text, NULL, 10);
}

/* FROM:TO with its doubles, or FROM:TO:STEP (step > 0) with its sums; both ends are among them. */
static enum gw_status fill_range(double from, double to, double step, struct gw_variation *out,
                                 struct gw_error *error) {
    size_t count = 1;
    for (double value = from; value<to; value = step> 0 ? value + step : 2 * value) {
        if (++count > GW_MOST_VALUES) {
            return gw_fail(error, GW_BAD_INPUT, "--workers: expected at most %d values, got more",
                           GW_MOST_VALUES);
        }
    }
    out->values = calloc(count, sizeof *out->values);
    if (out->values == NULL) {
        return gw_fail_memory(error, "reading values");
    }
    for (double value = from; value<to; value = step> 0 ? value + step : 2 * value) {
        out->values[out->count++] = value;
    }
    out->values[out->count++] = to;
    return GW_OK;
}

/* Whether the text is FROM:TO or FROM:TO:STEP; others are left to lists and the ranges of sweeps.
 */
static bool is_plain_range(const char *text, double *from, double *to, double *step) {
    const char *colon = strchr(text, ':');
    if (colon == NULL) {
        return false;
    }
    size_t length = strcspn(colon + 1, ":");
    const char *last = colon + 1 + length;
    *from = parse_count(text, (size_t)(colon - text));
    *to = parse_count(colon + 1, length);
    *step = *last == '\0' ? 0 : parse_count(last + 1, strlen(last + 1));
    return *from > 0 && *to > 0 && (*last == '\0' || *step > 0);
}

enum gw_status gw_workers_open(const char *text, struct gw_variation *out, struct gw_error *error) {
    static const struct gw_values_rule rule = {
        .maximum = 0x1p53, .whole = true, .suffix = "", .example = "2:256:log8"};
    double from = 0;
    double to = 0;
    double step = 0;
    *out = (struct gw_variation){.name = "workers", .whole = true};
    if (is_plain_range(text, &from, &to, &step)) {
        return from < to ? fill_range(from, to, step, out, error)
                         : gw_fail(error, GW_BAD_INPUT,
                                   "--workers: expected a range that ascends, such as 2:256, got "
                                   "\"%.*s\"",
                                   MOST_SHOWN, text);
    }
    enum gw_status status = gw_values_parse(text, &rule, &out->values, &out->count, error);
    if (status != GW_OK) {
        gw_error_prefix(error, "--workers");
    }
    return status;
}

/* ---- bandwidths ---------------------------------------------------------------------------- */

static const struct unit {
    const char *name;
    double bit_per_s; /* 0: a factor of what the cluster has */
} units[] = {{"x", 0}, {"bit", 1}, {"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}, {"tbit", 1e12}};
enum { UNITS = sizeof units / sizeof *units };

/* A number with its unit, in bits per second or as a factor. */
static const struct unit *parse_rate(const char *text, size_t length, double *value) {
    char word[64];
    size_t digits = strspn(text, "0123456789.");
    if (length >= sizeof word || digits == 0 || digits >= length) {
        return NULL;
    }
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    char *end = NULL;
    double number = strtod(word, &end);
    for (size_t i = 0; i < UNITS && end == word + digits && number > 0; i++) {
        if (strcasecmp(end, units[i].name) == 0) {
            *value = units[i].bit_per_s == 0 ? number : number * units[i].bit_per_s;
            return &units[i];
        }
    }
    return NULL;
}

/* The steps of a range that says none: five to a decade. */
static void print_steps(const double ends[2], FILE *stream) {
    const double per_decade = 5;
    double steps = round(per_decade * fabs(log10(ends[1] / ends[0])));
    (void)fprintf(stream, ":log%.0f", fmax(1, steps) + 1);
}

/* The same values without units, for gw_values_parse. */
static bool print_plain(const char *text, FILE *stream, bool *factors) {
    bool range = strchr(text, ':') != NULL;
    double ends[2] = {0};
    const char *item = text;
    for (size_t count = 0; !range || count < 2; count++) {
        size_t length = strcspn(item, range ? ":" : ",");
        double value = 0;
        const struct unit *unit = parse_rate(item, length, &value);
        if (unit == NULL || (count > 0 && *factors != (unit->bit_per_s == 0))) {
            return false;
        }
        *factors = unit->bit_per_s == 0;
        ends[count % 2] = value;
        (void)fprintf(stream, "%s%.17g", count == 0 ? "" : range ? ":" : ",", value);
        item += length;
        if (*item == '\0') {
            break;
        }
        item++;
    }
    if (range && *item == '\0') {
        print_steps(ends, stream);
    } else if (range) {
        (void)fprintf(stream, ":%s", item);
    }
    return true;
}

static enum gw_status parse_bandwidths(const char *text, struct gw_variation *out, bool *factors,
                                       struct gw_error *error) {
    static const struct gw_values_rule rule = {.maximum = 1e18, .suffix = "", .example = ""};
    struct gw_error why;
    char *plain = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&plain, &length);
    bool understood = stream != NULL && print_plain(text, stream, factors);
    enum gw_status status = stream != NULL && fclose(stream) == 0 ? GW_OK : GW_FAILED;
    if (status == GW_OK && understood) {
        status = gw_values_parse(plain, &rule, &out->values, &out->count, &why);
        understood = status != GW_BAD_INPUT;
    }
    free(plain);
    if (!understood) {
        return gw_fail(error, GW_BAD_INPUT,
                       "expected ascending rates such as 1gbit:100gbit, 1gbit:100gbit:log20 or "
                       "500mbit,1gbit, or factors of the cluster's own such as 0.1x:10x, got "
                       "\"%.*s\"",
                       MOST_SHOWN, text);
    }
    return status == GW_OK ? GW_OK : gw_fail_memory(error, "reading values");
}

/* From what two workers of different nodes measured, or from what a collective took. */
static enum gw_status find_own_bandwidth(const struct gw_cluster *cluster, struct gw_variation *out,
                                         struct gw_error *error) {
    struct gw_network derived;
    double s_per_byte = cluster->network == NULL ? 0 : cluster->network->between.gap_s_per_byte;
    snprintf(out->derivation, sizeof out->derivation, "as its messages were measured");
    if (!(s_per_byte > 0)) {
        GW_TRY(gw_cluster_derive_network(cluster, NULL, &derived, out->derivation, error));
        s_per_byte = derived.between.gap_s_per_byte;
    }
    out->own_bit_per_s = bits_per_byte / s_per_byte;
    return isfinite(out->own_bit_per_s) && out->own_bit_per_s > 0
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "expected a cluster whose bytes take time for bandwidths in bits, got %s "
                         "(factors such as 0.1x:10x do not need one)",
                         cluster->path == NULL ? cluster->name : cluster->path);
}

enum gw_status gw_bandwidths_open(const char *text, const struct gw_cluster *cluster,
                                  struct gw_variation *out, struct gw_error *error) {
    bool factors = false;
    *out = (struct gw_variation){.name = "bandwidth"};
    enum gw_status status = parse_bandwidths(text, out, &factors, error);
    if (status == GW_OK && !factors) {
        status = find_own_bandwidth(cluster, out, error);
    }
    if (status != GW_OK) {
        gw_error_prefix(error, "--bandwidth");
        gw_variation_close(out);
    }
    return status;
}

void gw_variation_close(struct gw_variation *variation) {
    free(variation->values);
    *variation = (struct gw_variation){0};
}

/* ---- a value ------------------------------------------------------------------------------- */

/* Of the cluster's own bandwidth. */
static double factor_of(const struct gw_variation *variation, double value) {
    return variation->own_bit_per_s > 0 ? value / variation->own_bit_per_s : value;
}

enum gw_status gw_variation_apply(const struct gw_variation *variation, double value,
                                  const struct gw_question *question, struct gw_question *out,
                                  struct gw_error *error) {
    *out = *question;
    if (variation->whole) {
        out->workers = (size_t)value;
        return GW_OK;
    }
    return gw_question_set_bandwidth(out, factor_of(variation, value), error);
}

const char *gw_variation_text(const struct gw_variation *variation, double value,
                              char out[GW_UNITS_SIZE]) {
    if (variation->whole) {
        snprintf(out, GW_UNITS_SIZE, "%.0f", value);
    } else if (variation->own_bit_per_s == 0) {
        snprintf(out, GW_UNITS_SIZE, "%.4gx", value);
    } else {
        size_t u = UNITS - 1;
        while (u > 1 && value < 0.99995 * units[u].bit_per_s) {
            u--;
        }
        snprintf(out, GW_UNITS_SIZE, "%.4g %s", value / units[u].bit_per_s, units[u].name);
    }
    return out;
}

const char *gw_bandwidth_note(const struct gw_variation *bandwidth, char out[GW_RESULT_NOTE_SIZE]) {
    char value[GW_UNITS_SIZE];
    char asked[GW_UNITS_SIZE + 32] = "";
    out[0] = '\0';
    if (bandwidth->count == 1) {
        snprintf(asked, sizeof asked, "bandwidth %s; ",
                 gw_variation_text(bandwidth, bandwidth->values[0], value));
    }
    if (bandwidth->own_bit_per_s > 0) {
        snprintf(out, GW_RESULT_NOTE_SIZE,
                 "%sthe cluster's own bandwidth is %s (%.120s); startups stay at any bandwidth",
                 asked, gw_variation_text(bandwidth, bandwidth->own_bit_per_s, value),
                 bandwidth->derivation);
    } else if (bandwidth->count > 0) {
        snprintf(out, GW_RESULT_NOTE_SIZE,
                 "%sa factor of what was measured; startups stay at any bandwidth",
                 asked[0] == '\0' ? "bandwidth: " : asked);
    }
    return out;
}
