/*
 * All files that a program reads and writes. A program that ends badly leaves nothing new: from
 * gw_outputs_hold on files are only prepared by core/file.h. gw_outputs_place puts all of them in
 * place, or none; what was there can still come back: gw_outputs_discard forgets all,
 * gw_outputs_keep the old ones, and removes what gw_outputs_remove was told to.
 *
 * From gw_outputs_hold on, two mistakes are refused, unless gw_outputs_force was called: to replace
 * a file of another kind than what is written (a model by a plan, say), and to replace what was
 * read, but where gw_input_forget says that the output is made of it.
 */
#ifndef GW_CORE_OUTPUTS_H
#define GW_CORE_OUTPUTS_H

#include "core/status.h"

void gw_outputs_hold(void);
void gw_outputs_force(void);
enum gw_status gw_outputs_place(struct gw_error *error);
void gw_outputs_keep(void);
void gw_outputs_discard(void);

/* Removes a file that has been used up, such as the journal of what is written whole by now. */
void gw_outputs_remove(const char *path);

/* The first file of gw_outputs_remove, which stays where the program ends badly; NULL: none. */
const char *gw_outputs_unfinished(void);

/* For readers that open their file themselves. */
void gw_input_note(int descriptor);
void gw_input_forget(const char *path);

#endif
