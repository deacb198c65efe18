#include "queue.h"

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "order.h"

struct task {
    struct task *next;
    void (*run)(void *context);
    void *context;
};

/* One in sixteen comes late. */
static void linger(uint64_t *lot) {
    *lot = *lot * 6364136223846793005u + 1442695040888963407u;
    if (*lot >> 60 == 0) {
        struct timespec while_ = {.tv_nsec = 100000};
        (void)nanosleep(&while_, NULL);
    }
}

static struct task *take(struct queue *queue) {
    quiet_lock(&queue->mutex);
    while (queue->first == NULL && !queue->closing) {
        quiet_wait(&queue->changed, &queue->mutex);
    }
    struct task *task = queue->first;
    if (task != NULL) {
        queue->first = task->next;
    }
    quiet_unlock(&queue->mutex);
    return task;
}

static void work(struct queue *queue) {
    uint64_t lot = (uintptr_t)queue / 64;
    for (struct task *task = take(queue); task != NULL; task = take(queue)) {
        linger(&lot);
        order_after(task);
        task->run(task->context);
        free(task);
        order_before(&queue->done);
        quiet_lock(&queue->mutex);
        queue->done++;
        quiet_tell(&queue->changed);
        quiet_unlock(&queue->mutex);
    }
}

bool queue_put(struct queue *queue, void (*run)(void *context), void *context) {
    struct task *task = malloc(sizeof *task);
    if (task == NULL) {
        return false;
    }
    *task = (struct task){.run = run, .context = context};
    order_before(task);
    quiet_lock(&queue->mutex);
    *(queue->first == NULL ? &queue->first : &queue->last->next) = task;
    queue->last = task;
    queue->put++;
    quiet_tell(&queue->changed);
    quiet_unlock(&queue->mutex);
    return true;
}

void queue_finish(struct queue *queue) {
    quiet_lock(&queue->mutex);
    unsigned long put = queue->put;
    while (queue->done < put) {
        quiet_wait(&queue->changed, &queue->mutex);
    }
    quiet_unlock(&queue->mutex);
    order_after(&queue->done);
}

bool queue_is_done(struct queue *queue) {
    quiet_lock(&queue->mutex);
    bool done = queue->done == queue->put;
    quiet_unlock(&queue->mutex);
    if (done) {
        order_after(&queue->done);
    }
    return done;
}

/* ---- threads ------------------------------------------------------------------------------- */

/* Threads outlive queues: what one needs for running blocks takes long to make. */
struct server {
    struct server *next; /* of those that are idle */
    pthread_cond_t changed;
    struct queue *queue; /* NULL: idle */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct server *idle;

static void *serve(void *argument) {
    struct server *server = argument;
    for (;;) {
        quiet_lock(&mutex);
        while (server->queue == NULL) {
            quiet_wait(&server->changed, &mutex);
        }
        quiet_unlock(&mutex);
        struct queue *queue = server->queue;
        work(queue);
        quiet_lock(&mutex);
        server->queue = NULL;
        server->next = idle;
        idle = server;
        quiet_unlock(&mutex);
        quiet_lock(&queue->mutex);
        queue->left = true;
        quiet_tell(&queue->changed);
        quiet_unlock(&queue->mutex);
    }
    return NULL;
}

static bool start_server(struct queue *queue) {
    pthread_t thread;
    struct server *server = malloc(sizeof *server);
    if (server == NULL) {
        return false;
    }
    *server = (struct server){.changed = PTHREAD_COND_INITIALIZER, .queue = queue};
    if (pthread_create(&thread, NULL, serve, server) != 0) {
        free(server);
        return false;
    }
    (void)pthread_detach(thread);
    return true;
}

bool queue_open(struct queue *queue) {
    *queue =
        (struct queue){.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    quiet_lock(&mutex);
    struct server *server = idle;
    if (server != NULL) {
        idle = server->next;
        server->queue = queue;
        quiet_tell(&server->changed);
    }
    quiet_unlock(&mutex);
    return server != NULL || start_server(queue);
}

void queue_close(struct queue *queue) {
    quiet_lock(&queue->mutex);
    queue->closing = true;
    quiet_tell(&queue->changed);
    while (!queue->left) {
        quiet_wait(&queue->changed, &queue->mutex);
    }
    quiet_unlock(&queue->mutex);
}
