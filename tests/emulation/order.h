/* Annotations for the thread sanitizer, so that it finds races of a GPU: only orders that CUDA
 * promises are orders here. Empty without the sanitizer. */
#ifndef GW_EMULATION_ORDER_H
#define GW_EMULATION_ORDER_H

#include <pthread.h>

#if defined(__SANITIZE_THREAD__)

#ifdef __cplusplus
extern "C" {
#endif
void __tsan_acquire(void *place);
void __tsan_release(void *place);
void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
#ifdef __cplusplus
}
#endif

/* Work before order_before(place) is done for threads after order_after(place). */
static inline void order_before(void *place) {
    __tsan_release(place);
}
static inline void order_after(void *place) {
    __tsan_acquire(place);
}
static inline void quiet_begin(void) {
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
}
static inline void quiet_end(void) {
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
}

#else

static inline void order_before(void *place) {
    (void)place;
}
static inline void order_after(void *place) {
    (void)place;
}
static inline void quiet_begin(void) {
}
static inline void quiet_end(void) {
}

#endif

/* Mutual exclusion that puts nothing in order. */
static inline void quiet_lock(pthread_mutex_t *mutex) {
    quiet_begin();
    (void)pthread_mutex_lock(mutex);
    quiet_end();
}
static inline void quiet_unlock(pthread_mutex_t *mutex) {
    quiet_begin();
    (void)pthread_mutex_unlock(mutex);
    quiet_end();
}
static inline void quiet_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    quiet_begin();
    (void)pthread_cond_wait(condition, mutex);
    quiet_end();
}
static inline void quiet_tell(pthread_cond_t *condition) {
    quiet_begin();
    (void)pthread_cond_broadcast(condition);
    quiet_end();
}

#endif
