/* Published tables beside what gradweave comes to. */
#ifndef GW_REPORT_REPRODUCTION_H
#define GW_REPORT_REPRODUCTION_H

#include "report/report.h"
#include "study/reproduction.h"

/* For a person. */
void gw_print_reproduction(const struct gw_reproduction *reproduction);

/* The cells of one, or of several, as the document "gradweave/reproduction@1"; `name` of all. */
enum gw_status gw_print_reproductions(const struct gw_reproduction *reproductions, size_t count,
                                      const char *name, struct gw_error *error);

#endif
