/*
 * What a program answers: the text that it prints on stdout, held back until it is known that
 * nothing fails any more, and its files (file.h), of which the same is true.
 */
#ifndef GW_CORE_ANSWER_H
#define GW_CORE_ANSWER_H

#include <stdbool.h>

#include "core/status.h"

/*
 * From here on stdout is held, and so are files. First of all it opens those of the standard
 * streams that are closed: what is opened gets the lowest number that is free, and would be stdout,
 * to be written over by what is printed. False, with a message, if there is no memory for it.
 */
bool gw_answer_begin(void);

/* What is printed is the answer even if the program ends with a status that says otherwise. */
void gw_answer_stand(void);

/* Whether it has begun and not ended, and whether anything has been printed. */
bool gw_answer_is_held(void);
bool gw_answer_is_empty(void);

/*
 * Ends it: puts files in place and prints the text, both or neither, and neither if the program
 * did not come to an answer. Of both, files can be taken back, and so come first.
 */
enum gw_status gw_answer_end(bool answered, struct gw_error *error);

/*
 * Names a file that is whole and stays even if what is printed is lost, for the message then; NULL
 * is none. The path lives longer.
 */
void gw_answer_keep(const char *path);

/*
 * A descriptor, closed at the end of the program, for what others print, and then that as part of
 * the answer. It fails if stdout cannot be written: nobody wants to learn that after hours.
 */
enum gw_status gw_answer_open(int *descriptor, struct gw_error *error);
enum gw_status gw_answer_print(int descriptor, struct gw_error *error);

#endif
