/*
 * Everything that reads what users and machines write, with what must hold of it whatever the bytes
 * are: nothing crashes, a refusal is bad input in words that name the file, and what is accepted
 * can be used, and is the same when it is written and read again. The fuzzers (fuzzer.c) and the
 * test with seeds and random damage (fuzz_test.c) run these same functions.
 */
#ifndef GW_TESTS_FUZZ_READERS_H
#define GW_TESTS_FUZZ_READERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"
#include "study/study.h"

/* Whether the bytes, behind which a zero stands, were accepted. Aborts where a promise breaks. */
typedef bool fuzz_judge(const char *text, size_t length);

struct fuzz_reader {
    const char *name; /* of its seeds' folder as well */
    fuzz_judge *judge;
    bool json;                /* damage is done to its documents' values, too */
    const char *const *words; /* that damage puts in; ended by NULL */
};

/* Ended by one without a name. */
extern const struct fuzz_reader fuzz_readers[];
const struct fuzz_reader *fuzz_find(const char *name);

/* Judges a copy; `text` is what a failure shows. */
bool fuzz_judge_bytes(const struct fuzz_reader *reader, const char *text, size_t length);

fuzz_judge fuzz_model, fuzz_cluster, fuzz_plan, fuzz_counts, fuzz_accuracy, fuzz_gradients,
    fuzz_table, fuzz_document, fuzz_validation, fuzz_difference, fuzz_job;
fuzz_judge fuzz_goal, fuzz_partial, fuzz_journal, fuzz_sample, fuzz_facts, fuzz_benchmark;
fuzz_judge fuzz_values, fuzz_names;

/* ---- what judges share --------------------------------------------------------------------- */

/* The error of the call that is judged. */
extern struct gw_error fuzz_error;

/* Aborts, and shows the bytes that are judged, unless it is true. */
void fuzz_expect(bool truth, const char *what);

/* Whether it was accepted; a refusal must be bad input, and begin with `place` and a colon. */
bool fuzz_accepted(enum gw_status status, const char *place);

/* The path of a file of that name, in a folder that goes with the program. */
const char *fuzz_path(const char *name);
/* The same, once it holds these bytes. */
const char *fuzz_write(const char *name, const char *text, size_t length);
/* All of it, the caller's. */
char *fuzz_read(const char *path, size_t *length);

/* A number that follows from the bytes, for choices. */
uint64_t fuzz_choose(const char *text, size_t length);

/* A small model, and a cluster with all that pipelines need: both from seeds; never freed. */
const struct gw_model *fuzz_usual_model(void);
const struct gw_cluster *fuzz_usual_cluster(void);

/* Written and read again it must be the same plan. */
void fuzz_write_plan(const struct gw_plan *plan);

/* Explains the plan: what is answered must make sense. */
void fuzz_explain(const struct gw_scenario *scenario, const struct gw_plan *plan);

/* Plans for the scenario, explains and simulates it: what is answered must make sense. */
void fuzz_ask(const struct gw_scenario *scenario, uint64_t choice);

/* ---- damage -------------------------------------------------------------------------------- */

/* Values that readers may not expect in JSON, ended by NULL. */
extern const char *const fuzz_oddities[];

/* Damages the bytes, of which there may come to be `room`; returns how many there are then. */
size_t fuzz_damage(const struct fuzz_reader *reader, uint64_t seed, char *text, size_t length,
                   size_t room);

#endif
