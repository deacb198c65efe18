#include "cli/loggp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double PER_NS = 1e-9;
static const double MOST = 1e15;

static double *parameter(struct gw_loggp_text *text, char name) {
    switch (name) {
    case 'L':
        return &text->L;
    case 'o':
        return &text->o;
    case 'g':
        return &text->g;
    case 'O':
        return &text->O;
    case 'G':
        return &text->G;
    case 'S':
        return &text->S;
    default:
        return NULL;
    }
}

enum gw_status gw_loggp_parse(const char *text, struct gw_loggp_text *out, struct gw_error *error) {
    *out = (struct gw_loggp_text){.S = INFINITY};
    const char *at = text;
    for (;;) {
        double *value = *at == '\0' || at[1] != '=' ? NULL : parameter(out, *at);
        char *end = NULL;
        double given = value == NULL ? -1 : strtod(at + 2, &end);
        if (value == NULL || end == at + 2 || !(given >= 0 && given <= MOST) ||
            (*end != ',' && *end != '\0')) {
            return gw_fail(
                error, GW_BAD_INPUT,
                "--loggp: expected L=NS,o=NS,g=NS,O=NS,G=NS,S=BYTES, each from 0 to 1e15, "
                "got \"%s\"",
                text);
        }
        *value = given;
        if (*end == '\0') {
            return GW_OK;
        }
        at = end + 1;
    }
}

static enum gw_status whole(const char *name, double value, uint64_t *out, struct gw_error *error) {
    if (value != floor(value)) {
        return gw_fail(error, GW_BAD_INPUT,
                       "--loggp: %s: expected a whole number for a GOAL schedule, got %g", name,
                       value);
    }
    *out = (uint64_t)value;
    return GW_OK;
}

enum gw_status gw_loggp_for_goal(const struct gw_loggp_text *text, struct gw_loggops *out,
                                 struct gw_error *error) {
    *out = (struct gw_loggops){.S = UINT64_MAX};
    GW_TRY(whole("L", text->L, &out->L, error));
    GW_TRY(whole("o", text->o, &out->o, error));
    GW_TRY(whole("g", text->g, &out->g, error));
    GW_TRY(whole("O", text->O, &out->O, error));
    GW_TRY(whole("G", text->G, &out->G, error));
    return isinf(text->S) ? GW_OK : whole("S", text->S, &out->S, error);
}

struct gw_loggp gw_loggp_for_network(const struct gw_loggp_text *text) {
    return (struct gw_loggp){.latency_s = text->L * PER_NS,
                             .overhead_s = text->o * PER_NS,
                             .gap_s = text->g * PER_NS,
                             .gap_s_per_byte = text->G * PER_NS,
                             .overhead_s_per_byte = text->O * PER_NS};
}
