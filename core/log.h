/* Messages and progress for a person, on stderr; stdout has results only. */
#ifndef GW_CORE_LOG_H
#define GW_CORE_LOG_H

#include <stddef.h>

enum gw_log_level { GW_LOG_QUIET, GW_LOG_NORMAL, GW_LOG_VERBOSE };

extern enum gw_log_level gw_log_shown; /* the highest level that is printed */

/* Prints one line, if the level is shown. */
void gw_log(enum gw_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A bar on stderr, if that is a terminal (or GRADWEAVE_TERMINAL says that it ends in one) and the
 * work has lasted more than a second. Otherwise it does nothing. */
struct gw_progress {
    const char *title;
    double started_s, drawn_s;
    double first_share; /* share of earlier work, which the remaining time ignores */
    int visible;
    size_t drawn; /* characters of the drawn line */
};

struct gw_progress gw_progress_begin(const char *title, int wanted);
void gw_progress_update(struct gw_progress *progress, double share, const char *what);
void gw_progress_end(struct gw_progress *progress);

/* The last progress text, such as "validate omgs", shown or not; callable from any thread. */
enum { GW_PHASE_SIZE = 96 };
void gw_progress_phase(char out[GW_PHASE_SIZE]);

#endif
