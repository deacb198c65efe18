/* Checks of a file for oddities: contents that are allowed, but hardly meant. */
#ifndef GW_STUDY_CHECK_H
#define GW_STUDY_CHECK_H

#include "core/core.h"

/* So many of each are kept; the texts are the arena's. */
enum { GW_MAX_FINDINGS = 200 };

struct gw_findings {
    size_t count;
    const char *texts[GW_MAX_FINDINGS]; /* "collectives.allreduce[0]: ..." */
};

/* One file, of any of gradweave's schemas. */
struct gw_file_check {
    const char *path;
    const char *schema;     /* NULL: not known */
    struct gw_findings bad; /* why it is bad input or cannot be read */
    struct gw_findings odd;
    struct gw_findings notes; /* questions that it can and cannot answer; its precision */
};

/*
 * Checks the file, or one that ships, of that name, which is kept. Fails where it is bad input,
 * with what was found till then in `out`. Reads with gw_key_rules, whose warnings become findings.
 */
enum gw_status gw_check_file(const char *name, struct gw_arena *arena, struct gw_file_check *out,
                             struct gw_error *error);

#endif
