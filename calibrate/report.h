/* How far a calibration is; private to this room. */
#ifndef GW_CALIBRATE_REPORT_H
#define GW_CALIBRATE_REPORT_H

/* Reports progress before each point. */
struct gw_report {
    void (*on_progress)(void *context, double share, const char *what);
    void *context;
    double offset, scale; /* a subject's share of the whole: from offset to offset + scale */
};

#endif
