/* How fast the simulation engine is, in how much memory, and how both grow. */
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const usage =
    "usage: engine [goal | messages | curves | queue] [OPTION...]\n"
    "\n"
    "  goal      GOAL schedules, read and run; beside LogGOPSim with --loggopsim\n"
    "  messages  gradweave's own schedules for ResNet-50, as messages, from 16 to 4096 workers\n"
    "  curves    the same by cost curves, up to 1048576 workers\n"
    "  queue     the event queue alone\n"
    "\n"
    "Without any, all four. Everything runs on one core, the last of those that are allowed.\n"
    "\n"
    "  --repeats COUNT      medians of so many (default: 5)\n"
    "  --loggopsim FOLDER   goal: where your own txt2bin and LogGOPSim are\n"
    "  --ranks N            goal: at most so many ranks\n"
    "  --workers N          messages, curves: at most so many workers\n"
    "  --collective NAME    messages: only that algorithm (ring, halving-doubling, ...)\n"
    "  --pending N          queue: at most so many events\n"
    "  --limit SECONDS      messages, curves: stop what takes more CPU time (default: 60)\n";

int main(int argc, char **argv) {
    struct bench_engine_choice choice = {.repeats = 5, .limit_s = 60};
    const struct bench_option options[] = {
        {"repeats", &choice.repeats, 1, 1000, .expected = "1 to 1000 repeats"},
        {"loggopsim", .text = &choice.loggopsim},
        {"ranks", &choice.most, 2, 1 << 24, .expected = "2 to 16777216 ranks"},
        {"workers", &choice.most, 16, 1 << 24, .expected = "16 to 16777216 workers"},
        {"collective", .text = &choice.collective},
        {"pending", &choice.most, 100, 100000000, .expected = "100 to 100000000 events"},
        {"limit", &choice.limit_s, 1, 86400, .expected = "1 to 86400 seconds"},
        {0}};
    static const struct bench_table tables[] = {{"goal", bench_engine_goal},
                                                {"messages", bench_engine_messages},
                                                {"curves", bench_engine_curves},
                                                {"queue", bench_engine_queue},
                                                {0}};
    int first = bench_options(argc, argv, options, usage);
    char program[4096];
    (void)snprintf(program, sizeof program, "%s/LogGOPSim",
                   choice.loggopsim == NULL ? "" : choice.loggopsim);
    if (choice.loggopsim != NULL && !gw_file_exists(program)) {
        bench_refuse("a folder that holds txt2bin and LogGOPSim", choice.loggopsim);
    }
    bench_keep_to_one_core();
    bench_show(tables, argv + first, &choice, "goal, messages, curves or queue");
    return GW_OK;
}
