/* Prints and writes the parts of a validation's error; private to this room. */
#ifndef GW_REPORT_DIFFERENCE_H
#define GW_REPORT_DIFFERENCE_H

#include "report/report.h"
#include "study/difference.h"

/* Prints the operations that contribute most, and the files' entries that determine them. */
void gw_difference_print(const struct gw_difference *difference, const char *algorithm);

/* Writes the object "explanation" with all operations. */
void gw_difference_write(const struct gw_difference *difference, struct gw_json_writer *writer);

#endif
