#include "sim/event_queue.h"

#include <stdlib.h>

static bool before(const struct gw_event *a, const struct gw_event *b) {
    return a->time_s < b->time_s || (a->time_s == b->time_s && a->sequence < b->sequence);
}

enum gw_status gw_event_push(struct gw_event_queue *queue, struct gw_event event,
                             struct gw_error *error) {
    struct gw_event *heap =
        gw_grow(queue->heap, queue->count + 1, &queue->capacity, sizeof *queue->heap);
    if (heap == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    queue->heap = heap;
    event.sequence = queue->next_sequence++;
    size_t hole = queue->count++;
    while (hole > 0 && before(&event, &queue->heap[(hole - 1) / 2])) {
        queue->heap[hole] = queue->heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    queue->heap[hole] = event;
    return GW_OK;
}

bool gw_event_pop(struct gw_event_queue *queue, struct gw_event *out) {
    if (queue->count == 0) {
        return false;
    }
    *out = queue->heap[0];
    struct gw_event last = queue->heap[--queue->count];
    size_t hole = 0;
    for (;;) {
        size_t child = 2 * hole + 1;
        if (child + 1 < queue->count && before(&queue->heap[child + 1], &queue->heap[child])) {
            child++;
        }
        if (child >= queue->count || !before(&queue->heap[child], &last)) {
            break;
        }
        queue->heap[hole] = queue->heap[child];
        hole = child;
    }
    queue->heap[hole] = last;
    return true;
}

void gw_event_queue_free(struct gw_event_queue *queue) {
    free(queue->heap);
    *queue = (struct gw_event_queue){0};
}
