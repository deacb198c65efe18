/* How fast the simulation engine is, in how much memory, and how both grow. */
#include "engine.h"

#include <getopt.h>
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

static _Noreturn void refuse(const char *expected, const char *got) {
    (void)fprintf(stderr, "engine: expected %s; got \"%s\"\n\n%s", expected, got, usage);
    exit(GW_BAD_INPUT);
}

static uint32_t read_count(const char *text, uint32_t least, uint32_t most, const char *expected) {
    char *end = NULL;
    unsigned long long count = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || count < least || count > most) {
        refuse(expected, text);
    }
    return (uint32_t)count;
}

static const char *read_folder(const char *text) {
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/LogGOPSim", text);
    if (!gw_file_exists(path)) {
        refuse("a folder that holds txt2bin and LogGOPSim", text);
    }
    return text;
}

enum { REPEATS = 1000, LOGGOPSIM, RANKS, WORKERS, COLLECTIVE, PENDING, LIMIT, HELP };

static void read_option(int option, struct bench_engine_choice *choice) {
    switch (option) {
    case REPEATS:
        choice->repeats = read_count(optarg, 1, 1000, "1 to 1000 repeats");
        break;
    case LOGGOPSIM:
        choice->loggopsim = read_folder(optarg);
        break;
    case RANKS:
        choice->most = read_count(optarg, 2, 1 << 24, "2 to 16777216 ranks");
        break;
    case WORKERS:
        choice->most = read_count(optarg, 16, 1 << 24, "16 to 16777216 workers");
        break;
    case COLLECTIVE:
        choice->collective = optarg;
        break;
    case PENDING:
        choice->most = read_count(optarg, 100, 100000000, "100 to 100000000 events");
        break;
    case LIMIT:
        choice->limit_s = read_count(optarg, 1, 86400, "1 to 86400 seconds");
        break;
    case HELP:
        (void)fputs(usage, stdout);
        exit(GW_OK);
    default:
        (void)fprintf(stderr, "\n%s", usage);
        exit(GW_BAD_INPUT);
    }
}

int main(int argc, char **argv) {
    static const struct option options[] = {{"repeats", required_argument, NULL, REPEATS},
                                            {"loggopsim", required_argument, NULL, LOGGOPSIM},
                                            {"ranks", required_argument, NULL, RANKS},
                                            {"workers", required_argument, NULL, WORKERS},
                                            {"collective", required_argument, NULL, COLLECTIVE},
                                            {"pending", required_argument, NULL, PENDING},
                                            {"limit", required_argument, NULL, LIMIT},
                                            {"help", no_argument, NULL, HELP},
                                            {0}};
    static const struct {
        const char *name;
        void (*show)(const struct bench_engine_choice *choice);
    } tables[] = {{"goal", bench_engine_goal},
                  {"messages", bench_engine_messages},
                  {"curves", bench_engine_curves},
                  {"queue", bench_engine_queue}};
    struct bench_engine_choice choice = {.repeats = 5, .limit_s = 60};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        read_option(option, &choice);
    }
    const char *asked = optind < argc ? argv[optind] : NULL;
    size_t shown = 0;
    bench_keep_to_one_core();
    for (size_t i = 0; i < sizeof tables / sizeof *tables && optind + 1 >= argc; i++) {
        if (asked == NULL || strcmp(asked, tables[i].name) == 0) {
            printf("%s", shown++ > 0 ? "\n" : "");
            tables[i].show(&choice);
        }
    }
    if (shown == 0) {
        refuse("goal, messages, curves or queue", argv[argc - 1]);
    }
    return GW_OK;
}
