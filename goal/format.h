/* Operations as they are written. */
#ifndef GW_GOAL_FORMAT_H
#define GW_GOAL_FORMAT_H

#include "goal/goal.h"

/* "recv 18446744073709551615b from 4294967295 tag 4294967295 cpu 255 nic 255", and a zero */
enum { GW_OPERATION_TEXT_SIZE = 80 };

/* "send 8b to 3 tag 0"; cpu and nic (of messages) only where they are not 0. Returns the length. */
size_t gw_operation_format(const struct gw_goal_operation *operation,
                           char out[GW_OPERATION_TEXT_SIZE]);

/* Both write at `at`, without a zero at the end, and return where they ended. */
char *gw_put_text(char *at, const char *text);
char *gw_put_number(char *at, uint64_t number);

#endif
