/* What makes a simulated cluster uneven: options, and the simulation that they ask for. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* ---- options ------------------------------------------------------------------------------- */

/* "3:1.5"; `option` without "--". */
static void add_factor(struct gw_numbered_factors *factors, const char *argument,
                       const char *option, const char *example, struct argp_state *state) {
    char *end = NULL;
    unsigned long long number = strtoull(argument, &end, 10);
    if (argument[0] < '0' || argument[0] > '9' || *end != ':' || number > 1ULL << 53) {
        gw_refuse(state, "--%s: expected %s, got \"%s\"", option, example, argument);
    }
    if (factors->count == GW_MOST_FACTORS) {
        gw_refuse(state, "--%s: expected at most %d of them", option, GW_MOST_FACTORS);
    }
    factors->each[factors->count].number = (size_t)number;
    factors->each[factors->count++].factor = gw_parse_positive_part(end + 1, option, state);
}

static void read_straggler(char *argument, void *target, struct argp_state *state) {
    add_factor(target, argument, "straggler", "WORKER:FACTOR such as 3:1.5", state);
}

static void read_bandwidth(char *argument, void *target, struct argp_state *state) {
    add_factor(target, argument, "bandwidth", "NODE:FACTOR such as 3:0.5", state);
}

const struct gw_option gw_uneven_table[] = {
    {"noise", 0, "NOISE", GW_TEXT, offsetof(struct gw_uneven_options, noise),
     .help = "Noise on every compute time: none, SIGMA or lognormal:SIGMA, normal:SIGMA, "
             "sample:FILE",
     .otherwise = "none"},
    {"network-noise", 0, "NOISE", GW_TEXT, offsetof(struct gw_uneven_options, network_noise),
     .help = "The same on every exchange's time", .otherwise = "none"},
    {"straggler", 0, "WORKER:FACTOR", GW_CUSTOM, offsetof(struct gw_uneven_options, stragglers),
     .help = "A worker whose compute takes FACTOR times as long; can be repeated",
     .read = read_straggler},
    {"bandwidth", 0, "NODE:FACTOR", GW_CUSTOM, offsetof(struct gw_uneven_options, bandwidths),
     .help = "A node with FACTOR times the bandwidth; can be repeated", .read = read_bandwidth},
    {"background", 0, "FRACTION", GW_NOT_NEGATIVE, offsetof(struct gw_uneven_options, background),
     .help = "Share of every link that other traffic takes", .value = "0", .maximum = GW_BELOW_1,
     .expected = "a share of at least 0 and below 1"},
    {"seed", 's', "S", GW_INTEGER, offsetof(struct gw_uneven_options, seed),
     .help = "Seed of the noise", .value = "1"},
    {"threads", 0, "T", GW_COUNT, offsetof(struct gw_uneven_options, threads),
     .help = "Threads that share iterations and workers", .otherwise = "one for each core"},
    {0},
};

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
