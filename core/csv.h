/* Cells of comma-separated tables, as RFC 4180 has them. */
#ifndef GW_CORE_CSV_H
#define GW_CORE_CSV_H

#include <stdio.h>

/* With as many digits as it takes to read the same number back, and no more than a person wrote. */
void gw_csv_number(FILE *stream, double number);

/* In quotes where a reader could mistake a part of it for the end. */
void gw_csv_text(FILE *stream, const char *text);

#endif
