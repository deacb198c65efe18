#include "core/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    double size;
    const char *name;
};

/* From here on numbers have exponents, which keeps them short. */
static const double MAX_PLAIN = 1e6;

/* Four significant digits in the largest unit that leaves at least 1 before the point. */
static const char *format_in_unit(double value, const struct unit *units, int count, char *out) {
    int u = 0;
    if (fabs(value) >= MAX_PLAIN * units[0].size) {
        snprintf(out, GW_UNITS_SIZE, "%.3e %s", value / units[0].size, units[0].name);
        return out;
    }
    while (u < count - 1 && fabs(value) < 0.9995 * units[u].size) {
        u++;
    }
    double scaled = value / units[u].size;
    int digits = fabs(scaled) < 9.9995   ? 3
                 : fabs(scaled) < 99.995 ? 2
                 : fabs(scaled) < 999.95 ? 1
                                         : 0;
    snprintf(out, GW_UNITS_SIZE, "%.*f %s", digits, scaled, units[u].name);
    return out;
}

const char *gw_format_seconds(double seconds, char out[GW_UNITS_SIZE]) {
    static const struct unit units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    if (seconds == 0) {
        snprintf(out, GW_UNITS_SIZE, "0 s");
        return out;
    }
    return format_in_unit(seconds, units, 4, out);
}

const char *gw_format_bytes(double bytes, char out[GW_UNITS_SIZE]) {
    static const struct unit units[] = {
        {1099511627776.0, "TiB"}, {1073741824.0, "GiB"}, {1048576.0, "MiB"}, {1024.0, "KiB"}};
    if (fabs(bytes) < 1024) {
        snprintf(out, GW_UNITS_SIZE, "%.0f B", bytes);
        return out;
    }
    return format_in_unit(bytes, units, 4, out);
}

const char *gw_format_count(double count, char out[GW_UNITS_SIZE]) {
    char plain[GW_UNITS_SIZE];
    int length = snprintf(plain, sizeof plain, "%.0f", count);
    if (length > 20) {
        snprintf(out, GW_UNITS_SIZE, "%.6g", count);
        return out;
    }
    int used = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0 && plain[i - 1] != '-') {
            out[used++] = ',';
        }
        out[used++] = plain[i];
    }
    out[used] = '\0';
    return out;
}

const char *gw_format_counted(size_t count, const char *noun, char out[GW_UNITS_SIZE]) {
    (void)snprintf(out, GW_UNITS_SIZE, "%zu %s%s", count, noun, count == 1 ? "" : "s");
    return out;
}

const char *gw_format_percent(double share, char out[GW_UNITS_SIZE]) {
    double percent = 100 * share;
    snprintf(out, GW_UNITS_SIZE, fabs(percent) < MAX_PLAIN ? "%+.1f%%" : "%+.3e%%", percent);
    return out;
}

const char *gw_format_margin(double relative, int decimals, char out[GW_UNITS_SIZE]) {
    static const double rounded_to_all = 0.995;
    if (relative < rounded_to_all) {
        snprintf(out, GW_UNITS_SIZE, "+-%.*f%%", decimals, 100 * relative);
    } else {
        snprintf(out, GW_UNITS_SIZE, "within a factor of %.*g", relative < 99 ? 3 : 4,
                 1 + relative);
    }
    return out;
}

const char *gw_format_duration(double seconds, char out[GW_UNITS_SIZE]) {
    static const struct unit units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    double whole = round(seconds);
    int u = 0;
    while (u < 3 && whole < units[u].size) {
        u++;
    }
    double count = floor(whole / units[u].size);
    if (u == 3) {
        snprintf(out, GW_UNITS_SIZE, "%.0f s", count);
    } else {
        double rest = floor((whole - count * units[u].size) / units[u + 1].size);
        snprintf(out, GW_UNITS_SIZE, "%.6g %s %.0f %s", count, units[u].name, rest,
                 units[u + 1].name);
    }
    return out;
}

const char *gw_format_exactly(double value, char out[GW_UNITS_SIZE]) {
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, GW_UNITS_SIZE, "%.*g", digits, value);
        if (strtod(out, NULL) == value) {
            break;
        }
    }
    return out;
}

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
