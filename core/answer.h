/* A program's answer: the text that it prints on stdout, held back until nothing can fail any more,
 * and its files (file.h), which are held in the same way. */
#ifndef GW_CORE_ANSWER_H
#define GW_CORE_ANSWER_H

#include <stdbool.h>

#include "core/status.h"

/*
 * Holds stdout and files from here on. First it opens those standard streams that are closed: a
 * newly opened file gets the lowest free descriptor, which would be stdout, and prints would
 * overwrite it. False, with a message, if memory is lacking.
 */
bool gw_answer_begin(void);

/* Declares the printed text an answer, whatever status the program ends with. */
void gw_answer_stand(void);

bool gw_answer_is_held(void); /* true between begin and end */

/* Ends the answer: puts files in place and prints the text, both or neither; neither if the program
 * has no answer. Files come first, because they can be taken back. */
enum gw_status gw_answer_end(bool answered, struct gw_error *error);

/* Names a complete file that stays even if the printed text is lost, for the message then; or NULL.
 * The path must live on. */
void gw_answer_keep(const char *path);

/* Opens a descriptor, closed at the end of the program, for the output of others, and prints that
 * as part of the answer. Fails at once if stdout cannot be written, not after hours of work. */
enum gw_status gw_answer_open(int *descriptor, struct gw_error *error);
enum gw_status gw_answer_print(int descriptor, struct gw_error *error);

#endif
