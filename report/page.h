/*
 * A survey as one page that needs nothing else: HTML with its style, its script and its data, the
 * document "gradweave/report@1", in it. The script (report/page/page.js) draws that document.
 */
#ifndef GW_REPORT_PAGE_H
#define GW_REPORT_PAGE_H

#include "report/report.h"
#include "study/survey.h"

/* A survey and the data that the page shows beside it. */
struct gw_page {
    const struct gw_survey *survey;
    double price;            /* of a worker's hour; 0: not asked for */
    const cJSON *validation; /* a document "gradweave/validation@1"; NULL: none */
    /* The same document parsed, if it validates the survey's scenario; or NULL. */
    const struct gw_validation_document *measured;
    const struct gw_accuracy *accuracy; /* NULL: none */
    const char *const *commands;        /* commands that repeat the survey; ended by NULL */
};

/* Builds the document, which becomes the caller's. */
enum gw_status gw_page_document(const struct gw_page *page, cJSON **out, struct gw_error *error);

/* Writes the page to a file. */
enum gw_status gw_page_write(const struct gw_page *page, const char *path, struct gw_error *error);

/* The first text of a page, for gw_file_check_target. */
#define GW_PAGE_START "<!DOCTYPE html>"

#endif
