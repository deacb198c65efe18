#include "core/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/terminal.h"
#include "core/units.h"

enum gw_log_level gw_log_shown = GW_LOG_NORMAL;

void gw_log(enum gw_log_level level, const char *format, ...) {
    if (level > gw_log_shown || gw_log_shown == GW_LOG_QUIET) {
        return;
    }
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    gw_print_to(stderr, "%s\n", line);
}

struct gw_progress gw_progress_begin(const char *title, int wanted) {
    return (struct gw_progress){
        .title = title,
        .started_s = gw_clock_now_s(),
        .visible = wanted && gw_log_shown != GW_LOG_QUIET &&
                   (isatty(STDERR_FILENO) || getenv("GRADWEAVE_TERMINAL") != NULL),
    };
}

static pthread_mutex_t phase_lock = PTHREAD_MUTEX_INITIALIZER;
static char phase[GW_PHASE_SIZE];

void gw_progress_phase(char out[GW_PHASE_SIZE]) {
    (void)pthread_mutex_lock(&phase_lock);
    memcpy(out, phase, sizeof phase);
    (void)pthread_mutex_unlock(&phase_lock);
}

enum { GW_PROGRESS_SIZE = 160 };

/* Draws over the previous line, whose rest is erased, or (if the terminal cannot) blanked. */
static void draw_line(struct gw_progress *progress, const char *line) {
    size_t length = strlen(line);
    size_t rest = length < progress->drawn ? progress->drawn - length : 0;
    (void)fputc('\r', stderr);
    gw_print_to(stderr, "%s", line);
    if (gw_terminal_erases()) {
        (void)fputs("\033[K", stderr);
    } else {
        gw_print_to(stderr, "%*s", (int)rest, "");
    }
    (void)fflush(stderr);
    progress->drawn = length;
}

void gw_progress_update(struct gw_progress *progress, double share, const char *what) {
    enum { width = 30 };
    (void)pthread_mutex_lock(&phase_lock);
    (void)snprintf(phase, sizeof phase, "%s %.80s", progress->title, what);
    (void)pthread_mutex_unlock(&phase_lock);
    double now = gw_clock_now_s();
    if (!progress->visible || now - progress->started_s < 1 || now - progress->drawn_s < 0.1) {
        return;
    }
    progress->drawn_s = now;
    char bar[width + 1];
    for (int i = 0; i < width; i++) {
        bar[i] = share * width > i + 0.5 ? '#' : '.';
    }
    bar[width] = '\0';
    char left[GW_UNITS_SIZE] = "?";
    double worked = share - progress->first_share;
    if (worked > 0) {
        gw_format_duration((now - progress->started_s) * (1 - share) / worked, left);
    }
    char line[GW_PROGRESS_SIZE];
    (void)snprintf(line, sizeof line, "%s [%s] %3.0f%%, %s left  %.40s", progress->title, bar,
                   100 * share, left, what);
    draw_line(progress, line);
}

void gw_progress_end(struct gw_progress *progress) {
    if (progress->drawn_s > 0) {
        draw_line(progress, "");
        (void)fputc('\r', stderr);
        (void)fflush(stderr);
    }
}
