#include "goal/format.h"

#include <stdbool.h>
#include <string.h>

char *gw_put_text(char *at, const char *text) {
    size_t length = strlen(text);
    memcpy(at, text, length);
    return at + length;
}

/* By hand: schedules have millions of lines, and printf takes five times as long. */
char *gw_put_number(char *at, uint64_t number) {
    char digits[20];
    size_t first = sizeof digits;
    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    memcpy(at, digits + first, sizeof digits - first);
    return at + sizeof digits - first;
}

/* A rank or a tag. */
static char *put_rank(char *at, uint32_t number) {
    return number == GW_GOAL_ANY ? gw_put_text(at, "-1") : gw_put_number(at, number);
}

static char *put_option(char *at, const char *name, uint8_t number) {
    return number == 0 ? at : gw_put_number(gw_put_text(at, name), number);
}

size_t gw_operation_format(const struct gw_goal_operation *operation,
                           char out[GW_OPERATION_TEXT_SIZE]) {
    char *at = out;
    if (operation->kind == GW_GOAL_CALC) {
        at = gw_put_number(gw_put_text(at, "calc "), operation->size);
    } else {
        bool sends = operation->kind == GW_GOAL_SEND;
        at = gw_put_number(gw_put_text(at, sends ? "send " : "recv "), operation->size);
        at = put_rank(gw_put_text(at, sends ? "b to " : "b from "), operation->peer);
        at = put_rank(gw_put_text(at, " tag "), operation->tag);
    }
    at = put_option(at, " cpu ", operation->cpu);
    at = operation->kind == GW_GOAL_CALC ? at : put_option(at, " nic ", operation->nic);
    *at = '\0';
    return (size_t)(at - out);
}
