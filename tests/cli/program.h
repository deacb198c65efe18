/*
 * Runs the program as a user does, in a folder of its own, and looks at what it answers. Answers,
 * texts and documents that are asked for live as long as the test program.
 */
#ifndef GW_TESTS_PROGRAM_H
#define GW_TESTS_PROGRAM_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* ---- running ------------------------------------------------------------------------------- */

/* The result of a command: its exit status (128 + N if signal N ended it) and its output. */
struct answer {
    int status;
    char *out, *err;
};

/* A command on its way, leader of its own process group. */
struct running {
    pid_t process;
    FILE *out, *err;
    const char *command;
};

/*
 * Starts a command in the folder. It is split at spaces; the word gradweave becomes the program
 * under test. It is told to end if the test ends first.
 */
struct running start(const char *folder, const char *command);

/* Waits for its end; the test fails if that takes longer. */
struct answer finish(const struct running *running, double seconds);

/* Both; ask_into gives the command the file `out`, such as /dev/full, for its stdout. */
struct answer ask(const char *folder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
struct answer ask_into(const char *folder, const char *command, const char *out);

/* The output of a command that succeeds without a word on stderr; it must contain all following
 * parts, the last of them NULL, in this order. */
const char *check_says(const char *folder, const char *command, ...) __attribute__((sentinel));

/* Ends the life of all that was asked for, in tests that ask for very much. */
void forget_answers(void);

/* Whether such a program is in PATH. */
bool have_program(const char *name);

/* Skips the test where pictures cannot be drawn. */
void need_gnuplot(void);

/* Waits until the program's job has `count` ranks; sets their process ids in the ranks' order. */
void find_ranks(pid_t program, size_t count, pid_t *ranks);

/* ---- files --------------------------------------------------------------------------------- */

/* Writes a file in the folder, with double quotes for the text's single ones. */
void write_text(const char *folder, const char *name, const char *text);

/* All of a file in the folder. */
char *read_text(const char *folder, const char *name);

/* A line for each file in the folder - name, inode, size, time of change. */
char *list_files(const char *folder);

/* A file in the folder is a picture. */
void check_png(const char *folder, const char *name);

/* ---- documents ----------------------------------------------------------------------------- */

/* The one document in the text, which must have this schema (NULL: any). */
cJSON *parse_document(const char *text, const char *schema);

/* The same for what a command prints, having done well and without a word on stderr. */
cJSON *ask_document(const char *folder, const char *command, const char *schema);
cJSON *ask_for(const char *folder, const char *schema, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define ask_result(folder, ...) ask_for((folder), "gradweave/result@1", __VA_ARGS__)

/* The value at a path such as "breakdown.forward_s", which must exist. */
const cJSON *item_at(const cJSON *document, const char *path);
double number_at(const cJSON *document, const char *path);
const char *text_at(const cJSON *document, const char *path);

/* An iteration_s, and a breakdown that adds up to it. */
void check_times(const cJSON *result);

/*
 * A Chrome trace in the folder, with a named process and spans
 * of time for each worker, no others.
 */
void check_trace(const char *folder, const char *name, size_t workers);

#endif
