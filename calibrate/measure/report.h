/* How what is measured says how far it is; private to this room. */
#ifndef GW_CALIBRATE_REPORT_H
#define GW_CALIBRATE_REPORT_H

/* Told before each point how much of a subject is done. */
struct gw_report {
    void (*tell)(void *context, double share, const char *what);
    void *context;
    double offset, scale; /* a subject's share of the whole: from offset to offset + scale */
};

#endif
