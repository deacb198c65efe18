#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "transport/transport.h"

/*
 * All ranks of a job parse the same command line, and one complaint about it is enough. Returns
 * what stderr was, or -1 if it stays.
 */
static int mute_other_ranks(void) {
    if (gw_mpi_job_rank() == 0) {
        return -1;
    }
    int kept = dup(STDERR_FILENO);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) {
        (void)dup2(nowhere, STDERR_FILENO);
        (void)close(nowhere);
    }
    return kept;
}

void gw_cli_parse(const struct argp *argp, const char *verb, int argc, char **argv, void *input) {
    char name[64];
    char *verb_argument = argv[0];
    snprintf(name, sizeof name, "gradweave %s", verb);
    argv[0] = name;
    argp_err_exit_status = GW_BAD_INPUT;
    int kept = mute_other_ranks();
    argp_parse(argp, argc, argv, 0, NULL, input);
    if (kept >= 0) {
        (void)dup2(kept, STDERR_FILENO);
        (void)close(kept);
    }
    argv[0] = verb_argument;
}

int gw_cli_fail(const struct gw_error *error) {
    (void)fprintf(stderr, "gradweave: %s\n", error->message);
    return (int)error->status;
}

/* ---- values -------------------------------------------------------------------------------- */

static bool parse_number(const char *text, double *out) {
    char *end = NULL;
    errno = 0;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && errno == 0 && isfinite(*out);
}

double gw_parse_positive(const char *text, const char *option, double maximum,
                         struct argp_state *state) {
    double value = 0;
    if (!parse_number(text, &value) || !(value > 0) || value > maximum) {
        if (isfinite(maximum)) {
            argp_error(state, "%s: expected a number above 0 and at most %g, got \"%s\"", option,
                       maximum, text);
        } else {
            argp_error(state, "%s: expected a number above 0, got \"%s\"", option, text);
        }
    }
    return value;
}

double gw_parse_not_negative(const char *text, const char *option, struct argp_state *state) {
    double value = 0;
    if (!parse_number(text, &value) || value < 0) {
        argp_error(state, "%s: expected a number >= 0, got \"%s\"", option, text);
    }
    return value;
}

size_t gw_parse_count(const char *text, const char *option, struct argp_state *state) {
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value == 0 ||
        value > 1ULL << 53) {
        argp_error(state, "%s: expected a positive integer, got \"%s\"", option, text);
    }
    return (size_t)value;
}

uint64_t gw_parse_seed(const char *text, struct argp_state *state) {
    return strcmp(text, "0") == 0 ? 0 : gw_parse_count(text, "--seed", state);
}

/* ---- output options ------------------------------------------------------------------------ */

enum { KEY_JSON = 1000, KEY_CLUSTER, KEY_DENSITY, KEY_WORKERS, KEY_EXCHANGE };

static const struct argp_option output_options[] = {
    {"json", KEY_JSON, NULL, 0, "Print one JSON document instead of text", 0},
    {"quiet", 'q', NULL, 0, "Print no progress", 0},
    {"verbose", 'v', NULL, 0, "Print what is being done", 0},
    {0},
};

static error_t parse_output(int key, char *argument, struct argp_state *state) {
    struct gw_output_options *options = state->input;
    (void)argument;
    if (key == KEY_JSON) {
        options->json = true;
    } else if (key == 'q') {
        gw_log_set_level(GW_LOG_QUIET);
    } else if (key == 'v') {
        gw_log_set_level(GW_LOG_VERBOSE);
    } else {
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

const struct argp gw_output_argp = {.options = output_options, .parser = parse_output};

/* ---- question options ---------------------------------------------------------------------- */

static const struct argp_option question_options[] = {
    {"cluster", KEY_CLUSTER, "CLUSTER", 0, "Cluster file, or the name of one that ships", 0},
    {"density", KEY_DENSITY, "R", 0, "Share of elements that compressors keep (default 0.001)", 0},
    {"workers", KEY_WORKERS, "P", 0, "Number of workers (default: the cluster's)", 0},
    {0},
};

static error_t parse_question(int key, char *argument, struct argp_state *state) {
    struct gw_question_options *options = state->input;
    switch (key) {
    case KEY_CLUSTER:
        options->cluster = argument;
        return 0;
    case KEY_DENSITY:
        options->density = gw_parse_positive(argument, "--density", 1, state);
        return 0;
    case KEY_WORKERS:
        if (options->several_workers != NULL) {
            *options->several_workers = argument;
            return 0;
        }
        options->workers = gw_parse_count(argument, "--workers", state);
        return 0;
    case ARGP_KEY_ARG:
        if (options->model != NULL) {
            argp_error(state, "expected one MODEL, got also \"%s\"", argument);
        }
        options->model = argument;
        return 0;
    case ARGP_KEY_END:
        if (options->partial) {
            return 0;
        }
        if (options->model == NULL) {
            argp_error(state, "expected a MODEL: a file, or the name of one that ships");
        }
        if (options->cluster == NULL) {
            argp_error(state, "expected --cluster CLUSTER: a file, or the name of one that ships");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp gw_question_argp = {.options = question_options, .parser = parse_question};

const struct argp_child gw_question_children[] = {
    {&gw_question_argp, 0, NULL, 0}, {&gw_output_argp, 0, NULL, 0}, {0}};

enum gw_status gw_question_open(const struct gw_question_options *options, struct gw_question *out,
                                struct gw_error *error) {
    return gw_question_read(options->model, options->cluster, options->workers, options->density,
                            out, error);
}

/* ---- choices of algorithms ----------------------------------------------------------------- */

static const struct argp_option changes_options[] = {
    {"policy", 'p', "POLICY", 0,
     "Merge policy instead of the algorithm's own; several groups overlap with the backward pass",
     0},
    {"compressor", 'c', "C", 0,
     "Compressor instead of the algorithm's own, or none; it brings its exchange where the "
     "algorithm's cannot carry what it leaves",
     0},
    {"exchange", KEY_EXCHANGE, "E", 0,
     "Exchange instead of the algorithm's own (see gradweave list exchanges)", 0},
    {0},
};

static error_t parse_changes(int key, char *argument, struct argp_state *state) {
    struct gw_choice_changes *changes = state->input;
    switch (key) {
    case 'p':
        changes->policy = argument;
        return 0;
    case 'c':
        changes->compressor = argument;
        return 0;
    case KEY_EXCHANGE:
        changes->exchange = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp gw_changes_argp = {.options = changes_options, .parser = parse_changes};

/* ---- names --------------------------------------------------------------------------------- */

static bool is_chosen(const struct gw_compressor *compressor,
                      const struct gw_compressor *const *chosen, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (chosen[i] == compressor) {
            return true;
        }
    }
    return false;
}

enum gw_status gw_compressors_parse(const char *text, const struct gw_compressor **out,
                                    struct gw_error *error) {
    size_t count = 0;
    if (strcmp(text, "all") == 0) {
        for (; gw_compressors[count] != NULL; count++) {
            out[count] = gw_compressors[count];
        }
        text = NULL;
    }
    while (text != NULL) {
        char name[64];
        size_t length = strcspn(text, ",");
        snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), text);
        const struct gw_compressor *found = gw_compressor_find(name);
        if (found == NULL || is_chosen(found, out, count)) {
            return gw_fail(error, GW_BAD_INPUT,
                           "--compressor: expected some of those that gradweave list compressors "
                           "shows, each once, got \"%s\"",
                           name);
        }
        out[count++] = found;
        text = text[length] == ',' ? text + length + 1 : NULL;
    }
    out[count] = NULL;
    return GW_OK;
}

enum gw_status gw_shape_parse(const char *name, enum gw_shape *out, struct gw_error *error) {
    for (size_t i = 0; i < GW_SHAPES; i++) {
        if (strcmp(gw_shape_names[i], name) == 0) {
            *out = (enum gw_shape)i;
            return GW_OK;
        }
    }
    return gw_fail(error, GW_BAD_INPUT,
                   "--shape: expected normal, laplace, student, sparse, constant or sorted, got "
                   "\"%s\"",
                   name);
}

enum gw_status gw_draw_gradient(const char *shape, size_t elements, uint64_t seed,
                                uint32_t iteration, float *out, struct gw_error *error) {
    struct gw_gradients_spec spec = {.seed = seed,
                                     .scale = 1 / sqrt((double)elements),
                                     .freedom = 2,
                                     .drift = 1,
                                     .sizes = &elements,
                                     .tensor_count = 1};
    struct gw_gradients *gradients = NULL;
    GW_TRY(gw_shape_parse(shape, &spec.shape, error));
    GW_TRY(gw_gradients_open(&gradients, &spec, error));
    gw_gradients_fill(gradients, iteration, out);
    gw_gradients_close(gradients);
    return GW_OK;
}
