/* How fast plans are found, and in how much memory, on networks of many kinds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planning.h"
#include "process.h"

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
    "  --exchange KIND      optimal: only sparse, only dense, or only mixed exchange\n"
    "  --choices N          optimal: of each group in mixed exchange (default: 4)\n"
    "  --lost SHARE         optimal: of the energy that mixed plans may lose\n"
    "  --startup SECONDS    optimal: only that startup of an exchange\n"
    "  --compute FACTOR     optimal: only compute times multiplied with that\n";

static void check_family(const char *name) {
    char names[512] = "a family, one of";
    for (const struct bench_family *family = bench_families; family->name != NULL; family++) {
        if (name == NULL || strcmp(family->name, name) == 0) {
            return;
        }
        size_t used = strlen(names);
        (void)snprintf(names + used, sizeof names - used, " %s", family->name);
    }
    bench_refuse(names, name);
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
    struct bench_choice choice = {.networks = 5,
                                  .limit_s = 10,
                                  .choices = 4,
                                  .most_lost = INFINITY,
                                  .startup_s = NAN,
                                  .compute_scale = NAN};
    const struct bench_option options[] = {
        {"networks", &choice.networks, 1, 1000, .expected = "1 to 1000 networks"},
        {"limit", &choice.limit_s, 1, 86400, .expected = "1 to 86400 seconds"},
        {"family", .text = &choice.family},
        {"exchange", .text = &choice.exchange},
        {"choices", &choice.choices, 2, BENCH_MOST_CHOICES, .expected = "2 to 10 choices"},
        {"lost", .number = &choice.most_lost, .expected = "a share of the energy"},
        {"startup", .number = &choice.startup_s, .expected = "a startup in seconds"},
        {"compute", .number = &choice.compute_scale, .expected = "a factor on compute times"},
        {0}};
    int first = bench_options(argc, argv, options, usage);
    check_family(choice.family);
    size_t exchange = 0;
    while (choice.exchange != NULL && bench_exchanges[exchange] != NULL &&
           strcmp(choice.exchange, bench_exchanges[exchange]) != 0) {
        exchange++;
    }
    if (bench_exchanges[exchange] == NULL) {
        bench_refuse("sparse, dense or mixed", choice.exchange);
    }
    const char *table = first < argc ? argv[first] : "";
    bool growth = strcmp(table, "growth") == 0;
    bool optimal = strcmp(table, "optimal") == 0;
    for (char **text = argv + first + (growth || optimal); *text != NULL; text++) {
        if (choice.size_count == bench_most_sizes) {
            bench_refuse("at most 8 numbers of tensors", *text);
        }
        choice.sizes[choice.size_count++] =
            bench_count(*text, 1, 100000000, "growth, optimal, or 1 to 100000000 tensors");
    }
    if (choice.size_count > 0 && !growth && !optimal) {
        bench_refuse("growth or optimal before numbers of tensors", table);
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
