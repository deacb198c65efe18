/* How far a calibration is; private to this room. */
#ifndef GW_CALIBRATE_REPORT_H
#define GW_CALIBRATE_REPORT_H

#include <stddef.h>

/* Reports progress before each point; on_progress NULL: to nobody. */
struct gw_report {
    void (*on_progress)(void *context, double share, const char *what);
    void *context;
    double offset, scale; /* a subject's share of the whole: from offset to offset + scale */
};

/* Reports that a share of the subject is done, and what is measured next. */
static inline void gw_report_progress(const struct gw_report *report, double share,
                                      const char *what) {
    if (report->on_progress != NULL) {
        report->on_progress(report->context, report->offset + report->scale * share, what);
    }
}

#endif
