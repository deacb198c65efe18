/* What makes a simulated cluster uneven: options, and the simulation that they ask for. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* ---- options ------------------------------------------------------------------------------- */

enum {
    KEY_NOISE = 3000,
    KEY_NETWORK_NOISE,
    KEY_STRAGGLER,
    KEY_BANDWIDTH,
    KEY_BACKGROUND,
    KEY_THREADS
};

static const struct argp_option option_table[] = {
    {"noise", KEY_NOISE, "NOISE", 0,
     "Noise on every compute time: none, SIGMA or lognormal:SIGMA, normal:SIGMA, sample:FILE "
     "(default none)",
     0},
    {"network-noise", KEY_NETWORK_NOISE, "NOISE", 0,
     "The same on every exchange's time (default none)", 0},
    {"straggler", KEY_STRAGGLER, "WORKER:FACTOR", 0,
     "A worker whose compute takes FACTOR times as long; can be repeated", 0},
    {"bandwidth", KEY_BANDWIDTH, "NODE:FACTOR", 0,
     "A node with FACTOR times the bandwidth; can be repeated", 0},
    {"background", KEY_BACKGROUND, "FRACTION", 0,
     "Share of every link that other traffic takes (default 0)", 0},
    {"seed", 's', "S", 0, "Seed of the noise (default 1)", 0},
    {"threads", KEY_THREADS, "T", 0,
     "Threads that share iterations and workers (default: one for each core)", 0},
    {0},
};

static void add_factor(struct gw_numbered_factors *factors, const char *argument,
                       const char *option, const char *example, struct argp_state *state) {
    char *end = NULL;
    unsigned long long number = strtoull(argument, &end, 10);
    if (argument[0] < '0' || argument[0] > '9' || *end != ':' || number > 1ULL << 53) {
        argp_error(state, "%s: expected %s, got \"%s\"", option, example, argument);
    }
    if (factors->count == GW_MOST_FACTORS) {
        argp_error(state, "%s: expected at most %d of them", option, GW_MOST_FACTORS);
    }
    factors->each[factors->count].number = (size_t)number;
    factors->each[factors->count++].factor = gw_parse_positive(end + 1, option, INFINITY, state);
}

static double parse_background(const char *text, struct argp_state *state) {
    double share = gw_parse_not_negative(text, "--background", state);
    if (share >= 1) {
        argp_error(state, "--background: expected a share of at least 0 and below 1, got \"%s\"",
                   text);
    }
    return share;
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct gw_uneven_options *options = state->input;
    switch (key) {
    case KEY_NOISE:
        options->noise = argument;
        return 0;
    case KEY_NETWORK_NOISE:
        options->network_noise = argument;
        return 0;
    case KEY_STRAGGLER:
        add_factor(&options->stragglers, argument, "--straggler", "WORKER:FACTOR such as 3:1.5",
                   state);
        return 0;
    case KEY_BANDWIDTH:
        add_factor(&options->bandwidths, argument, "--bandwidth", "NODE:FACTOR such as 3:0.5",
                   state);
        return 0;
    case KEY_BACKGROUND:
        options->background = parse_background(argument, state);
        return 0;
    case 's':
        options->seed = gw_parse_seed(argument, state);
        return 0;
    case KEY_THREADS:
        options->threads = gw_parse_count(argument, "--threads", state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp gw_uneven_argp = {.options = option_table, .parser = parse};

/* ---- simulation ---------------------------------------------------------------------------- */

/* A factor for each of `count`, 1 where none is given, or NULL if none is given at all. */
static enum gw_status spread_factors(const struct gw_numbered_factors *factors, const char *option,
                                     const char *what, size_t count, const double **out,
                                     struct gw_error *error) {
    *out = NULL;
    if (factors->count == 0) {
        return GW_OK;
    }
    for (size_t i = 0; i < factors->count; i++) {
        if (factors->each[i].number >= count) {
            return gw_fail(error, GW_BAD_INPUT, "%s: expected a %s from 0 to %zu, got %zu", option,
                           what, count - 1, factors->each[i].number);
        }
    }
    double *each = calloc(count, sizeof *each);
    if (each == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    for (size_t i = 0; i < count; i++) {
        each[i] = 1;
    }
    for (size_t i = 0; i < factors->count; i++) {
        each[factors->each[i].number] = factors->each[i].factor;
    }
    *out = each;
    return GW_OK;
}

static enum gw_status read_noise(const char *text, const char *option, struct gw_noise *out,
                                 struct gw_error *error) {
    return text == NULL ? GW_OK : gw_noise_read(text, option, out, error);
}

enum gw_status gw_uneven_open(const struct gw_uneven_options *options,
                              const struct gw_question *question, struct gw_simulation *out,
                              struct gw_error *error) {
    *out = (struct gw_simulation){.workers = question->workers,
                                  .background = options->background,
                                  .seed = options->seed,
                                  .threads = options->threads};
    size_t nodes = gw_cluster_nodes(&question->cluster, question->workers);
    enum gw_status status = spread_factors(&options->stragglers, "--straggler", "worker",
                                           question->workers, &out->slowdown, error);
    if (status == GW_OK) {
        status = spread_factors(&options->bandwidths, "--bandwidth", "node", nodes, &out->bandwidth,
                                error);
    }
    if (status == GW_OK) {
        status = read_noise(options->noise, "--noise", &out->compute_noise, error);
    }
    if (status == GW_OK) {
        status = read_noise(options->network_noise, "--network-noise", &out->network_noise, error);
    }
    if (status != GW_OK) {
        gw_uneven_close(out);
    }
    return status;
}

void gw_uneven_close(struct gw_simulation *simulation) {
    free((void *)simulation->slowdown);
    free((void *)simulation->bandwidth);
    gw_noise_free(&simulation->compute_noise);
    gw_noise_free(&simulation->network_noise);
}
