/* How fast plans are found, and in how much memory, on networks of many kinds. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planning.h"

static const char *const usage =
    "usage: planner [growth | optimal] [OPTION...] [TENSORS...]\n"
    "\n"
    "  growth    how long other policies than optimal take as networks grow\n"
    "            (default: 1000 10000 100000 1000000)\n"
    "  optimal   how long the optimal plan takes to find (default: 161 1000)\n"
    "\n"
    "Without either, both. Times are CPU time on one core, of a process for each network.\n"
    "\n"
    "  --networks N         networks drawn for each cell (default: 5)\n"
    "  --limit SECONDS      stop a network that takes longer (default: 10)\n"
    "  --family NAME        only networks of that family\n"
    "  --exchange KIND      optimal: only sparse, or only dense exchange\n"
    "  --startup SECONDS    optimal: only that startup of an exchange\n"
    "  --compute FACTOR     optimal: only compute times multiplied with that\n";

static _Noreturn void refuse(const char *expected, const char *got) {
    (void)fprintf(stderr, "planner: expected %s; got \"%s\"\n\n%s", expected, got, usage);
    exit(GW_BAD_INPUT);
}

static size_t read_count(const char *text, size_t most, const char *expected) {
    char *end = NULL;
    errno = 0;
    unsigned long long count = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || count == 0 ||
        count > most) {
        refuse(expected, text);
    }
    return (size_t)count;
}

static double read_number(const char *text, const char *expected) {
    char *end = NULL;
    double number = strtod(text, &end);
    if (end == text || *end != '\0' || !(number >= 0 && isfinite(number))) {
        refuse(expected, text);
    }
    return number;
}

static const char *read_family(const char *text) {
    char names[512] = "a family, one of";
    for (const struct bench_family *family = bench_families; family->name != NULL; family++) {
        if (strcmp(family->name, text) == 0) {
            return family->name;
        }
        size_t used = strlen(names);
        (void)snprintf(names + used, sizeof names - used, " %s", family->name);
    }
    refuse(names, text);
}

static const char *read_exchange(const char *text) {
    if (strcmp(text, "sparse") != 0 && strcmp(text, "dense") != 0) {
        refuse("sparse or dense", text);
    }
    return text;
}

static void read_options(int argc, char **argv, struct bench_choice *choice) {
    static const struct option options[] = {
        {"networks", required_argument, NULL, 'n'}, {"limit", required_argument, NULL, 'l'},
        {"family", required_argument, NULL, 'f'},   {"exchange", required_argument, NULL, 'e'},
        {"startup", required_argument, NULL, 's'},  {"compute", required_argument, NULL, 'x'},
        {"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0}};
    int option = 0;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'n':
            choice->networks = read_count(optarg, 1000, "1 to 1000 networks");
            break;
        case 'l':
            choice->limit_s = (unsigned)read_count(optarg, 86400, "1 to 86400 seconds");
            break;
        case 'f':
            choice->family = read_family(optarg);
            break;
        case 'e':
            choice->exchange = read_exchange(optarg);
            break;
        case 's':
            choice->startup_s = read_number(optarg, "a startup in seconds");
            break;
        case 'x':
            choice->compute_scale = read_number(optarg, "a factor on compute times");
            break;
        case 'h':
            (void)fputs(usage, stdout);
            exit(GW_OK);
        default:
            (void)fprintf(stderr, "\n%s", usage);
            exit(GW_BAD_INPUT);
        }
    }
}

static void read_sizes(char **texts, struct bench_choice *choice) {
    for (; *texts != NULL; texts++) {
        if (choice->size_count == bench_most_sizes) {
            refuse("at most 8 numbers of tensors", *texts);
        }
        choice->sizes[choice->size_count++] =
            read_count(*texts, 100000000, "growth, optimal, or 1 to 100000000 tensors");
    }
}

/* The sizes that were asked for, or else the usual ones. */
static struct bench_choice with_sizes(const struct bench_choice *choice, const size_t *usual,
                                      size_t count) {
    struct bench_choice out = *choice;
    if (out.size_count == 0) {
        memcpy(out.sizes, usual, count * sizeof *usual);
        out.size_count = count;
    }
    return out;
}

int main(int argc, char **argv) {
    static const size_t growth_sizes[] = {1000, 10000, 100000, 1000000};
    static const size_t optimal_sizes[] = {161, 1000};
    struct bench_choice choice = {
        .networks = 5, .limit_s = 10, .startup_s = NAN, .compute_scale = NAN};
    read_options(argc, argv, &choice);
    const char *table = optind < argc ? argv[optind] : "";
    bool growth = strcmp(table, "growth") == 0;
    bool optimal = strcmp(table, "optimal") == 0;
    read_sizes(argv + optind + (growth || optimal), &choice);
    if (choice.size_count > 0 && !growth && !optimal) {
        refuse("growth or optimal before numbers of tensors", table);
    }
    if (!optimal) {
        struct bench_choice sized = with_sizes(&choice, growth_sizes, 4);
        bench_growth(&sized);
    }
    if (!growth) {
        struct bench_choice sized = with_sizes(&choice, optimal_sizes, 2);
        bench_optimal(&sized);
    }
    return GW_OK;
}
