#include "late.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct late_copy {
    struct late_copy *next;
    void *to;
    const void *from;
    size_t bytes;
};

struct known {
    struct known *next;
    const void *memory;
    size_t bytes;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct known *known;

static bool is_on(void) {
    const char *text = getenv("GW_EMULATED_COPIES");
    return text != NULL && strcmp(text, "late") == 0;
}

/* ---- memory -------------------------------------------------------------------------------- */

void late_know(const void *memory, size_t bytes) {
    struct known *made = is_on() ? malloc(sizeof *made) : NULL;
    if (made != NULL) {
        pthread_mutex_lock(&mutex);
        *made = (struct known){known, memory, bytes};
        known = made;
        pthread_mutex_unlock(&mutex);
    }
}

void late_forget(const void *memory) {
    pthread_mutex_lock(&mutex);
    struct known **place = &known;
    while (*place != NULL && (*place)->memory != memory) {
        place = &(*place)->next;
    }
    struct known *found = *place;
    if (found != NULL) {
        *place = found->next;
    }
    pthread_mutex_unlock(&mutex);
    free(found);
}

static bool is_known(const void *place) {
    const struct known *one = known;
    while (one != NULL && (uintptr_t)place - (uintptr_t)one->memory >= one->bytes) {
        one = one->next;
    }
    return one != NULL;
}

/* ---- copies -------------------------------------------------------------------------------- */

static bool run(struct late_queue *queue, unsigned long until) {
    bool any = false;
    while (queue->first != NULL && queue->done < until) {
        struct late_copy *copy = queue->first;
        memcpy(copy->to, copy->from, copy->bytes);
        queue->first = copy->next;
        queue->done++;
        free(copy);
        any = true;
    }
    return any;
}

bool late_run(struct late_queue *queue, unsigned long until) {
    pthread_mutex_lock(&mutex);
    bool any = run(queue, until);
    pthread_mutex_unlock(&mutex);
    return any;
}

bool late_copy(struct late_queue *queue, void *to, const void *from, size_t bytes) {
    pthread_mutex_lock(&mutex);
    bool later = is_known(to) && is_known(from);
    struct late_copy *made = later ? malloc(sizeof *made) : NULL;
    if (made != NULL) {
        *made = (struct late_copy){.to = to, .from = from, .bytes = bytes};
        *(queue->first == NULL ? &queue->first : &queue->last->next) = made;
        queue->last = made;
        queue->issued++;
    } else if (!later) {
        (void)run(queue, queue->issued);
        memcpy(to, from, bytes);
    }
    pthread_mutex_unlock(&mutex);
    return made != NULL || !later;
}
