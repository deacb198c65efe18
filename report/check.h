/* Prints what checks of files have found. */
#ifndef GW_REPORT_CHECK_H
#define GW_REPORT_CHECK_H

#include "study/check.h"

/* Prints the findings as text or (json) as the document "gradweave/check@1". */
enum gw_status gw_print_checks(const struct gw_file_check *checks, size_t count, bool json,
                               struct gw_error *error);

#endif
