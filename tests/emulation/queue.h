/*
 * A thread that does what it is given in order, and whenever it comes to it, which by lot takes a
 * while.
 */
#ifndef GW_EMULATION_QUEUE_H
#define GW_EMULATION_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

struct task;

struct queue {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct task *first, *last;
    unsigned long put, done;
    bool closing, left;
};

/* False: there is no memory, or no thread, for it. */
bool queue_open(struct queue *queue);

/* Finishes all queued work first. */
void queue_close(struct queue *queue);

/*
 * Has `run` called with `context`, of which it disposes. False: there is no memory for it, and it
 * will not be called.
 */
bool queue_put(struct queue *queue, void (*run)(void *context), void *context);

/* Waits until all that has been put on it is done; whether it is. */
void queue_finish(struct queue *queue);
bool queue_is_done(struct queue *queue);

#endif
