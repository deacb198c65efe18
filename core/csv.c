#include "core/csv.h"

#include <stdbool.h>
#include <string.h>

#include "core/units.h"

void gw_csv_number(FILE *stream, double number) {
    char text[GW_UNITS_SIZE];
    (void)fputs(gw_format_exactly(number, text), stream);
}

void gw_csv_text(FILE *stream, const char *text) {
    bool quoted = text[strcspn(text, ",\"\r\n")] != '\0';
    (void)fputs(quoted ? "\"" : "", stream);
    for (const char *c = text; *c != '\0'; c++) {
        (void)fputs(*c == '"' ? "\"" : "", stream);
        (void)fputc(*c, stream);
    }
    (void)fputs(quoted ? "\"" : "", stream);
}
