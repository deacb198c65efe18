/*
 * Copies that are done as late as CUDA allows: with GW_EMULATED_COPIES=late in the environment,
 * those on streams between memory of the GPU and of the page-locked host are done when they are
 * waited for, or when another copy on the stream needs them done. What passes so waits for what it
 * must; it may not launch kernels, which would not wait.
 */
#ifndef GW_EMULATION_LATE_H
#define GW_EMULATION_LATE_H

#include <stdbool.h>
#include <stddef.h>

struct late_copy;

/* A stream's copies; zero-initialise. */
struct late_queue {
    struct late_copy *first, *last;
    unsigned long issued, done;
};

/* Memory that copies may be late for, from its allocation on until it is freed. */
void late_know(const void *memory, size_t bytes);
void late_forget(const void *memory);

/* Copies now or later. False: there is no memory for doing it later. */
bool late_copy(struct late_queue *queue, void *to, const void *from, size_t bytes);

/* Does the copies up to the one of this number; whether there were any. */
bool late_run(struct late_queue *queue, unsigned long until);

#endif
