/*
 * GOAL: schedules of sends, receives and calculations as the LogGOPSim toolchain writes them
 * (Hoefler, Siebert and Lumsdaine, "Group Operation Assembly Language", 2009), and how long they
 * take under the LogGOPS model.
 */
#ifndef GW_GOAL_GOAL_H
#define GW_GOAL_GOAL_H

#include "core/core.h"

/* In the order in which operations that become free together are started. */
enum gw_goal_kind { GW_GOAL_SEND = 1, GW_GOAL_RECEIVE = 2, GW_GOAL_CALC = 3 };

/* A receive from any rank, and a tag that matches any other. */
static const uint32_t GW_GOAL_ANY = UINT32_MAX;

/* A dependent that waits for the start (irequires) of what it depends on, not for its end. */
static const uint32_t GW_GOAL_AT_START = 1u << 31;

/* Of a schedule; and of what it is written as, which is read piece by piece. */
enum { GW_GOAL_MOST_OPERATIONS = INT32_MAX };
static const uint64_t GW_GOAL_MOST_BYTES = (uint64_t)16 << 30;

/* 32 bytes, so that a run reads one cache line for most operations. */
struct gw_goal_operation {
    uint64_t size; /* bytes; calc: nanoseconds */
    uint32_t peer; /* send: to whom; receive: from whom; calc: 0 */
    uint32_t tag;
    uint32_t waits;                /* on how many operations (of its own rank) it depends */
    uint8_t kind, cpu, nic, state; /* state: the runner's, 0 before */
    /*
     * Who depends on it: an only dependent itself, or where several stand in the schedule's list.
     * Dependents are indices of operations, with GW_GOAL_AT_START or without.
     */
    uint32_t dependent_count, dependents;
};

struct gw_goal_rank {
    uint32_t first, count; /* its operations lie together, in the order in which they stand */
};

/* Room for the LogGOPS parameters that a schedule names, as --loggp takes them. */
enum { GW_GOAL_LOGGP_SIZE = 160 };

struct gw_goal {
    char loggp[GW_GOAL_LOGGP_SIZE]; /* of the first comment "// loggp L=1,G=2"; "": it names none */
    uint32_t rank_count;
    struct gw_goal_rank *ranks;
    uint32_t cpus, nics; /* of every rank: 1 more than the largest number that is named */
    uint32_t operation_count;
    struct gw_goal_operation *operations;
    uint32_t *dependents;
};

/*
 * The operation's dependents, `dependent_count` of them: first those that wait for its start, then
 * those that wait for its end, each in the order in which the file names them.
 */
static inline const uint32_t *gw_goal_dependents(const struct gw_goal *goal,
                                                 const struct gw_goal_operation *operation) {
    return operation->dependent_count == 1 ? &operation->dependents
                                           : goal->dependents + operation->dependents;
}

/*
 * Reads the text form, as LogGOPSim's txt2bin does: labels name operations above them. Every rank
 * must be there once, in any order, and no label twice in a rank. Bad input is reported as
 * FILE:LINE: what was expected, and what stands there. The file is read once, in pieces. What
 * cannot be read is an empty schedule.
 */
enum gw_status gw_goal_read(const char *path, struct gw_goal *out, struct gw_error *error);
enum gw_status gw_goal_parse(const char *text, size_t length, const char *name, struct gw_goal *out,
                             struct gw_error *error);
void gw_goal_free(struct gw_goal *goal);

/* Room for how an operation stands in its file. */
enum { GW_GOAL_PLACE_SIZE = 160 };

/*
 * Where operation `index` stands and what it says: "line 12: l3: recv 8b from 2 tag 0". Labels and
 * lines are not kept in memory: the file is read again, and must be there still. Without a
 * path (NULL), or of a pipe: "operation 11".
 */
enum gw_status gw_goal_place(const char *path, uint32_t index, char out[GW_GOAL_PLACE_SIZE],
                             struct gw_error *error);

/* ---- writing ------------------------------------------------------------------------------- */

/*
 * Schedules as text, written as they come and kept nowhere: once it is whole, the file takes its
 * place (core/file.h). What is written must be a schedule: every rank once, peers that are ranks.
 * A write that fails (the disk is full) is reported when the next rank begins, and at the end.
 */
struct gw_goal_writer;

enum gw_status gw_goal_writer_open(struct gw_goal_writer **out, const char *path,
                                   uint32_t rank_count, struct gw_error *error);
/* Both free the writer; only the first, where it succeeds, leaves a file. */
enum gw_status gw_goal_writer_close(struct gw_goal_writer *writer, struct gw_error *error);
void gw_goal_writer_discard(struct gw_goal_writer *writer);

/* Names parameters for who reads the schedule; LogGOPSim passes over comments. Before all ranks. */
void gw_goal_write_loggp(struct gw_goal_writer *writer, const char *loggp);

/* The rank that all what follows is of, up to the next. */
enum gw_status gw_goal_write_rank(struct gw_goal_writer *writer, uint32_t rank,
                                  struct gw_error *error);
/*
 * Of the operation, `size`, `peer`, `tag`, `kind`, `cpu` and `nic` count. Returns its label: 1 for
 * the rank's first ("l1"), and so on.
 */
uint32_t gw_goal_write_operation(struct gw_goal_writer *writer,
                                 const struct gw_goal_operation *operation);
/* Operation `label` waits for the end (irequires: the start) of `other`; both are above. */
void gw_goal_write_requires(struct gw_goal_writer *writer, uint32_t label, uint32_t other);
void gw_goal_write_irequires(struct gw_goal_writer *writer, uint32_t label, uint32_t other);

/* ---- running ------------------------------------------------------------------------------- */

/* The LogGOPS model's parameters, in nanoseconds and nanoseconds per byte. */
struct gw_loggops {
    uint64_t L, o, g, O, G;
    uint64_t S;            /* bytes: larger messages wait for their receiver (rendezvous) */
    double O_part, G_part; /* of a nanosecond, added to O and G; what a message takes is rounded */
};

struct gw_goal_result {
    uint64_t *finish_ns; /* per rank; the caller's to free */
    uint64_t events;     /* operations started and messages delivered, as LogGOPSim counts them */
    double wall_s;       /* that the run took */
};

/*
 * Runs the schedule, with LogGOPSim's semantics to the nanosecond, and uses it up: what is left can
 * only be freed. Receives that match the same messages are matched in the order in which they
 * stand. Bad input is an operation that waits for ever, and times of more than 2^62 ns; `path`
 * (NULL: none) is for naming them. A failed run leaves an empty result.
 */
enum gw_status gw_goal_run(struct gw_goal *goal, const struct gw_loggops *parameters,
                           const char *path, struct gw_goal_result *out, struct gw_error *error);

#endif
