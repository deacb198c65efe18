/*
 * A survey as one page that needs nothing else: HTML with its style, its script and its data, the
 * document "gradweave/report@1", in it. The script (report/page/page.js) draws that document.
 */
#ifndef GW_REPORT_PAGE_H
#define GW_REPORT_PAGE_H

#include "report/report.h"
#include "study/survey.h"

/* What stands beside the survey. */
struct gw_page {
    const struct gw_survey *survey;
    double price;            /* of a worker's hour; 0: not asked for */
    const cJSON *validation; /* a document "gradweave/validation@1"; NULL: none */
    /* The same, where it is of the survey's question; NULL: it is not. */
    const struct gw_validation_document *measured;
    const struct gw_accuracy *accuracy; /* NULL: none */
    const char *const *commands;        /* that repeat it; ended by NULL */
};

/* The document, the caller's. */
enum gw_status gw_page_document(const struct gw_page *page, cJSON **out, struct gw_error *error);

/* The page, into a file. */
enum gw_status gw_page_write(const struct gw_page *page, const char *path, struct gw_error *error);

/* How a page begins, for gw_file_check_target. */
#define GW_PAGE_START "<!DOCTYPE html>"

#endif
