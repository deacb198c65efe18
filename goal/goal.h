/*
 * GOAL: schedules of sends, receives and calculations in the format of the LogGOPSim toolchain
 * (Hoefler, Siebert and Lumsdaine, "Group Operation Assembly Language", 2009), and their simulation
 * under the LogGOPS model.
 */
#ifndef GW_GOAL_GOAL_H
#define GW_GOAL_GOAL_H

#include "core/core.h"

/* Kinds of operations, in the order in which those that become free at the same time start. */
enum gw_goal_kind { GW_GOAL_SEND = 1, GW_GOAL_RECEIVE = 2, GW_GOAL_CALC = 3 };

/* The peer of a receive from any rank, and a tag that matches any other. */
static const uint32_t GW_GOAL_ANY = UINT32_MAX;

/* Set in a dependent that waits for the start (irequires) of an operation, not for its end. */
static const uint32_t GW_GOAL_AT_START = 1u << 31;

/* Bounds of a schedule, and of the text that it is read from. */
enum { GW_GOAL_MAX_OPERATIONS = INT32_MAX };
static const uint64_t GW_GOAL_MAX_BYTES = (uint64_t)16 << 30;

/* 32 bytes, so that a run reads one cache line for most operations. */
struct gw_goal_operation {
    uint64_t size; /* bytes; calc: nanoseconds */
    uint32_t peer; /* send: to whom; receive: from whom; calc: 0 */
    uint32_t tag;
    uint32_t waits;                /* number of operations (of its own rank) that it depends on */
    uint8_t kind, cpu, nic, state; /* state: the runner's, 0 before */
    /*
     * The operations that depend on it: the only dependent itself, or the offset of several in the
     * schedule's list. A dependent is the index of an operation, with or without GW_GOAL_AT_START.
     */
    uint32_t dependent_count, dependents;
};

struct gw_goal_rank {
    uint32_t first, count; /* its operations lie together, in the file's order */
};

/* The size of the LogGOPS parameters that a schedule names, as --loggp takes them. */
enum { GW_GOAL_LOGGP_SIZE = 160 };

struct gw_goal {
    char loggp[GW_GOAL_LOGGP_SIZE]; /* from the first comment "// loggp L=1,G=2", or "" */
    uint32_t rank_count;
    struct gw_goal_rank *ranks;
    uint32_t cpus, nics; /* of every rank: 1 more than the largest number in the file */
    uint32_t operation_count;
    struct gw_goal_operation *operations;
    uint32_t *dependents;
};

/* The operation's `dependent_count` dependents: first those that wait for its start, then those
 * that wait for its end, each in the file's order. */
static inline const uint32_t *gw_goal_dependents(const struct gw_goal *goal,
                                                 const struct gw_goal_operation *operation) {
    return operation->dependent_count == 1 ? &operation->dependents
                                           : goal->dependents + operation->dependents;
}

/*
 * Reads the text form, as LogGOPSim's txt2bin does: labels name operations above them. Every rank
 * must occur once, in any order, and every label at most once in a rank. Bad input is reported as
 * FILE:LINE: what was expected, and what was found. The file is read once, in pieces. On failure,
 * *out is an empty schedule.
 */
enum gw_status gw_goal_read(const char *path, struct gw_goal *out, struct gw_error *error);
void gw_goal_free(struct gw_goal *goal);

/* ---- writing ------------------------------------------------------------------------------- */

/*
 * Writes a schedule as text without keeping it in memory. The file gets its name when it is
 * complete (core/file.h). The caller must write a valid schedule: every rank once, peers that are
 * ranks. A failed write (disk full) is reported when the next rank begins, and at the end.
 */
struct gw_goal_writer;

enum gw_status gw_goal_writer_open(struct gw_goal_writer **out, const char *path,
                                   uint32_t rank_count, struct gw_error *error);
/* Both free the writer. Only a successful close leaves a file. */
enum gw_status gw_goal_writer_close(struct gw_goal_writer *writer, struct gw_error *error);
void gw_goal_writer_discard(struct gw_goal_writer *writer);

/* Writes parameters as a comment, which LogGOPSim ignores. Call it before the first rank. */
void gw_goal_write_loggp(struct gw_goal_writer *writer, const char *loggp);

/* Begins a rank: the following operations are its own. */
enum gw_status gw_goal_write_rank(struct gw_goal_writer *writer, uint32_t rank,
                                  struct gw_error *error);
/* Writes the operation's `size`, `peer`, `tag`, `kind`, `cpu` and `nic`. Returns its label: 1 for
 * the rank's first ("l1"), and so on. */
uint32_t gw_goal_write_operation(struct gw_goal_writer *writer,
                                 const struct gw_goal_operation *operation);
/* Makes operation `label` wait for the end of `other`; both are written. */
void gw_goal_write_requires(struct gw_goal_writer *writer, uint32_t label, uint32_t other);

/* ---- running ------------------------------------------------------------------------------- */

/* The LogGOPS model's parameters, in nanoseconds and nanoseconds per byte. */
struct gw_loggops {
    uint64_t L, o, g, O, G;
    uint64_t S;            /* bytes: larger messages wait for their receiver (rendezvous) */
    double O_part, G_part; /* fractions of a nanosecond, added to O and G; a message's charge is
                            * rounded */
};

struct gw_goal_result {
    uint64_t *finish_ns; /* per rank; the caller's to free */
    uint64_t events;     /* operations started and messages delivered, as LogGOPSim counts them */
    double wall_s;       /* duration of the run */
};

/*
 * Runs the schedule with LogGOPSim's semantics, to the nanosecond. Uses the schedule up: it can
 * only be freed afterwards. Receives that match the same messages are matched in the file's order.
 * Bad input: an operation that waits for ever, a time above 2^62 ns. Messages name operations of
 * the file `path` (NULL: none). On failure, *out is an empty result.
 */
enum gw_status gw_goal_run(struct gw_goal *goal, const struct gw_loggops *parameters,
                           const char *path, struct gw_goal_result *out, struct gw_error *error);

#endif
