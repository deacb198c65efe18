/* What a validation's error is made of; private to this room. */
#ifndef GW_REPORT_DIFFERENCE_H
#define GW_REPORT_DIFFERENCE_H

#include "report/report.h"
#include "study/difference.h"

/* The operations that contribute most, and the files' entries that they hang on. */
void gw_difference_print(const struct gw_difference *difference, const char *algorithm);

/* The object "explanation", with all operations. */
void gw_difference_write(const struct gw_difference *difference, struct gw_json_writer *writer);

#endif
