/*
 * LogGP parameters from times of messages between two ranks; private to this room.
 *
 * The model (traces/network.h): a message of n bytes keeps its sender busy for o + n O, then the
 * link for max(g, n G), arrives L later, and keeps its receiver busy for o. Hence
 *
 *     from call to call:   T(n) = 2 o + n O + max(g, n G) + L      half of a round trip
 *     one after the other: F(n) = max(o + n O, g, n G)             each of many
 */
#ifndef GW_CALIBRATE_LOGGP_H
#define GW_CALIBRATE_LOGGP_H

#include "core/core.h"
#include "traces/traces.h"

enum gw_loggp_kind {
    GW_PING_PONG,    /* T(n) */
    GW_FLOOD,        /* F(n) */
    GW_SEND_CALL,    /* sender's busy time for a message that is buffered: o + n O */
    GW_RECEIVE_CALL, /* receiver's busy time for a message that is there already */
    GW_LOGGP_KINDS
};

struct gw_loggp_point {
    enum gw_loggp_kind kind;
    double bytes, time_s; /* of one message */
};

/* |predicted - measured| / measured over the points of a kind. */
struct gw_loggp_error {
    double median, max;
};

struct gw_loggp_fit {
    struct gw_loggp loggp;
    struct gw_loggp_error ping_pong, flood;
};

double gw_loggp_message_s(const struct gw_loggp *loggp, double bytes); /* T(n) */
double gw_loggp_flood_s(const struct gw_loggp *loggp, double bytes);   /* F(n) */

/*
 * Refuses points of which a kind has fewer than two sizes (one: floods), and sizes or times that
 * are not positive and finite. No parameter becomes negative.
 */
enum gw_status gw_loggp_fit(const struct gw_loggp_point *points, size_t count,
                            struct gw_loggp_fit *out, struct gw_error *error);

#endif
