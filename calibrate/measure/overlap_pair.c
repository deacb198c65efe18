/* Two actions of a rank, alone and at once. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "calibrate/measure/overlap.h"

enum { MIN_ACTIONS = 2 }; /* minimum number of an action in a block */

static const double long_alone_s = 0.1;  /* then one action suffices ... */
static const double longest_alone_s = 1; /* ... and after this none */

/* ---- gradients ----------------------------------------------------------------------------- */

void gw_pass_open(struct gw_pass *pass) {
    *pass = (struct gw_pass){.gradients = 0};
    pthread_mutex_init(&pass->mutex, NULL);
    pthread_cond_init(&pass->changed, NULL);
}

void gw_pass_close(struct gw_pass *pass) {
    pthread_mutex_destroy(&pass->mutex);
    pthread_cond_destroy(&pass->changed);
}

void gw_pass_gradient(struct gw_pass *pass) {
    pthread_mutex_lock(&pass->mutex);
    pass->gradients++;
    pthread_cond_signal(&pass->changed);
    pthread_mutex_unlock(&pass->mutex);
}

/* Waits until the pass has ended (returns true), or has reported `more` gradients. */
static bool wait_for_gradients(struct gw_pass *pass, size_t more) {
    pthread_mutex_lock(&pass->mutex);
    size_t before = pass->gradients;
    while (pass->gradients - before < more && pass->working) {
        pthread_cond_wait(&pass->changed, &pass->mutex);
    }
    bool ended = !pass->working;
    pthread_mutex_unlock(&pass->mutex);
    return ended;
}

/* ---- the compute thread -------------------------------------------------------------------- */

/* The thread lives as long as a subject is measured: its first work, on a GPU above all, takes
 * longer than a block. */
enum order { REST, WORK, LEAVE };

struct helper {
    pthread_t thread;
    const struct gw_overlap_subject *subject;
    atomic_int order;
    atomic_bool counting; /* actions that begin and end meanwhile count */
    atomic_size_t count;
    double spent_s;        /* in counted actions; read while the thread rests */
    pthread_mutex_t mutex; /* guards the members below */
    pthread_cond_t changed;
    bool working;
    enum gw_status status;
    struct gw_error error;
};

static enum gw_status run_helper_block(struct helper *helper) {
    enum gw_status status = GW_OK;
    while (status == GW_OK && atomic_load(&helper->order) == WORK) {
        if (helper->subject->pass != NULL) { /* one action */
            atomic_store(&helper->order, REST);
        }
        bool counts = atomic_load(&helper->counting);
        double started_s = gw_clock_now_s();
        status = helper->subject->compute(helper->subject->compute_context, &helper->error);
        if (counts && atomic_load(&helper->counting)) {
            helper->spent_s += helper->subject->took_s != NULL
                                   ? helper->subject->took_s(helper->subject->compute_context)
                                   : gw_clock_now_s() - started_s;
            atomic_fetch_add(&helper->count, 1);
        }
    }
    return status;
}

static void *serve_blocks(void *argument) {
    struct helper *helper = argument;
    gw_clock_sleep_precisely();
    pthread_mutex_lock(&helper->mutex);
    for (;;) {
        while (atomic_load(&helper->order) == REST ||
               (helper->status != GW_OK && atomic_load(&helper->order) == WORK)) {
            pthread_cond_wait(&helper->changed, &helper->mutex);
        }
        if (atomic_load(&helper->order) == LEAVE) {
            break;
        }
        helper->working = true;
        pthread_cond_broadcast(&helper->changed);
        pthread_mutex_unlock(&helper->mutex);
        struct gw_pass *pass = helper->subject->pass;
        enum gw_status status = run_helper_block(helper);
        if (pass != NULL) {
            pthread_mutex_lock(&pass->mutex);
            pass->ended_s = gw_clock_now_s();
            pass->working = false;
            pthread_cond_signal(&pass->changed);
            pthread_mutex_unlock(&pass->mutex);
        }
        pthread_mutex_lock(&helper->mutex);
        helper->status = status;
        helper->working = false;
        pthread_cond_broadcast(&helper->changed);
    }
    pthread_mutex_unlock(&helper->mutex);
    return NULL;
}

static void give_order(struct helper *helper, enum order order) {
    pthread_mutex_lock(&helper->mutex);
    atomic_store(&helper->order, order);
    pthread_cond_broadcast(&helper->changed);
    pthread_mutex_unlock(&helper->mutex);
}

/* Returns when the thread works. */
static void start_work(struct helper *helper) {
    atomic_store(&helper->count, 0);
    helper->spent_s = 0;
    give_order(helper, WORK);
    pthread_mutex_lock(&helper->mutex);
    while (!helper->working && helper->status == GW_OK) {
        pthread_cond_wait(&helper->changed, &helper->mutex);
    }
    pthread_mutex_unlock(&helper->mutex);
}

/* Returns when the thread rests, with its status. */
static enum gw_status stop_work(struct helper *helper, struct gw_error *error) {
    give_order(helper, REST);
    pthread_mutex_lock(&helper->mutex);
    while (helper->working) {
        pthread_cond_wait(&helper->changed, &helper->mutex);
    }
    enum gw_status status = helper->status;
    pthread_mutex_unlock(&helper->mutex);
    if (status != GW_OK && error != NULL) {
        *error = helper->error;
    }
    return status;
}

/* ---- blocks -------------------------------------------------------------------------------- */

static double mean_compute_s(struct helper *helper) {
    size_t count = atomic_load(&helper->count);
    return count > 0 ? helper->spent_s / (double)count : INFINITY;
}

static enum gw_status compute_alone(struct helper *helper, double block_s, double *out,
                                    struct gw_error *error) {
    start_work(helper);
    double started_s = gw_clock_now_s();
    double now_s = started_s;
    size_t count = 0;
    atomic_store(&helper->counting, true);
    do {
        gw_clock_sleep_until_s(now_s + block_s);
        now_s = gw_clock_now_s();
        count = atomic_load(&helper->count);
    } while (count < MIN_ACTIONS &&
             now_s < started_s + (count > 0 ? long_alone_s : longest_alone_s));
    atomic_store(&helper->counting, false);
    enum gw_status status = stop_work(helper, error);
    *out = mean_compute_s(helper);
    return status;
}

/* Runs a series of collectives of about block_s; the first, which is cold, does not count, nor do
 * the pauses before each. */
static enum gw_status run_collectives(struct gw_communicator *communicator,
                                      const struct gw_overlap_subject *subject, double block_s,
                                      atomic_bool *counting, struct gw_pace *out,
                                      struct gw_error *error) {
    bool was_last = false;
    size_t count = 0;
    double rested_s = 0;
    GW_TRY(communicator->transport->barrier(communicator, error));
    GW_TRY(subject->communicate(subject->communicate_context, false, &was_last, error));
    double started_s = gw_clock_now_s();
    double now_s = started_s;
    atomic_store(counting, true);
    while (!was_last) {
        bool last =
            communicator->rank == 0 && now_s - started_s >= block_s && count + 1 >= MIN_ACTIONS;
        if (subject->rest_s > 0) {
            gw_clock_sleep_until_s(now_s + subject->rest_s);
            rested_s += gw_clock_now_s() - now_s;
        }
        GW_TRY(subject->communicate(subject->communicate_context, last, &was_last, error));
        now_s = gw_clock_now_s();
        count++;
    }
    atomic_store(counting, false);
    out->communication_s = (now_s - started_s - rested_s) / (double)count;
    out->share = 1 - rested_s / (now_s - started_s);
    return GW_OK;
}

/* Both threads of a rank, which a round measures. */
struct pair {
    struct gw_communicator *communicator;
    const struct gw_overlap_subject *subject;
    struct helper helper;
    double alone_s; /* of a collective */
};

/* ---- passes -------------------------------------------------------------------------------- */

enum { MAX_COLLECTIVES = 512 }; /* collectives, of a pass */

/* Times since the ranks' passes began together, of the rank that is last. */
struct beside {
    size_t count;
    double begin_s[MAX_COLLECTIVES], end_s[MAX_COLLECTIVES];
};

/* Sums over several passes. */
struct pass_sums {
    double passes_s; /* until the last rank's has ended */
    double beside_s; /* the part of it with a collective */
    double behind_s; /* delay of collectives that began besides one */
    size_t passes, collectives;
};

/* Runs collectives as in training: each waits for some more gradients, until the pass of rank 0,
 * which decides, has ended. */
static enum gw_status run_collectives_besides(struct pair *pair, double began_s,
                                              struct beside *beside, struct gw_error *error) {
    const struct gw_overlap_subject *subject = pair->subject;
    bool was_last = false;
    beside->count = 0;
    while (!was_last) {
        bool ended = wait_for_gradients(subject->pass, subject->apart);
        bool last =
            pair->communicator->rank == 0 && (ended || beside->count + 1 == MAX_COLLECTIVES);
        beside->begin_s[beside->count] = gw_clock_now_s() - began_s;
        GW_TRY(subject->communicate(subject->communicate_context, last, &was_last, error));
        beside->end_s[beside->count++] = gw_clock_now_s() - began_s;
    }
    return GW_OK;
}

/* One pass on each rank, which begin together; all ranks add the same numbers. */
static enum gw_status add_pass(struct pair *pair, bool at_once, struct pass_sums *sums,
                               struct gw_error *error) {
    struct gw_pass *pass = pair->subject->pass;
    struct beside beside = {.count = 0};
    GW_TRY(pair->communicator->transport->barrier(pair->communicator, error));
    pthread_mutex_lock(&pass->mutex);
    pass->gradients = 0;
    pass->working = true;
    pthread_mutex_unlock(&pass->mutex);
    double began_s = gw_clock_now_s();
    give_order(&pair->helper, WORK);
    enum gw_status status =
        at_once ? run_collectives_besides(pair, began_s, &beside, error) : GW_OK;
    (void)wait_for_gradients(pass, SIZE_MAX);
    enum gw_status computed = stop_work(&pair->helper, status == GW_OK ? error : NULL);
    GW_TRY(status);
    GW_TRY(computed);
    double ended_s = pass->ended_s - began_s;
    GW_TRY(gw_agree_maximum(pair->communicator, &ended_s, 1, error));
    GW_TRY(gw_agree_maximum(pair->communicator, beside.begin_s, beside.count, error));
    GW_TRY(gw_agree_maximum(pair->communicator, beside.end_s, beside.count, error));
    sums->passes++;
    sums->passes_s += ended_s;
    for (size_t i = 0; i < beside.count && beside.begin_s[i] < ended_s; i++) {
        sums->beside_s += fmin(beside.end_s[i], ended_s) - beside.begin_s[i];
        sums->behind_s += fmax(beside.end_s[i] - ended_s, 0);
        sums->collectives++;
    }
    return GW_OK;
}

/* Measures passes for about block_s. A collective that outlasts the pass continues as it would
 * alone; if that is most of it, the rest is not significant. */
static enum gw_status measure_passes(struct pair *pair, double block_s, bool at_once,
                                     struct gw_pace *out, struct gw_error *error) {
    struct pass_sums sums = {.passes = 0};
    double left_s = block_s;
    double end_s = gw_clock_now_s() + block_s;
    while (left_s > 0) {
        GW_TRY(add_pass(pair, at_once, &sums, error));
        left_s = end_s - gw_clock_now_s();
        GW_TRY(gw_agree_maximum(pair->communicator, &left_s, 1, error));
    }
    out->compute_s = sums.passes_s / (double)sums.passes;
    if (!at_once) {
        return GW_OK;
    }
    if (sums.collectives == 0) {
        *out = (struct gw_pace){.compute_s = INFINITY, .communication_s = INFINITY, .share = 1};
        return GW_OK;
    }
    double alone_s = (double)sums.collectives * pair->alone_s;
    double factor = 2 * sums.behind_s < alone_s ? sums.beside_s / (alone_s - sums.behind_s)
                                                : (sums.beside_s + sums.behind_s) / alone_s;
    out->communication_s = factor * pair->alone_s;
    out->share = sums.beside_s / sums.passes_s;
    return GW_OK;
}

static enum gw_status measure_pair(void *context, double block_s, bool at_once, struct gw_pace *out,
                                   struct gw_error *error) {
    struct pair *pair = context;
    struct helper *helper = &pair->helper;
    const struct gw_overlap_subject *subject = pair->subject;
    out->share = 1;
    if (at_once && subject->pass != NULL) {
        return measure_passes(pair, block_s, true, out, error);
    }
    if (!at_once) {
        GW_TRY(subject->pass != NULL ? measure_passes(pair, block_s, false, out, error)
                                     : compute_alone(helper, block_s, &out->compute_s, error));
        if (subject->alone_s > 0) {
            out->communication_s = subject->alone_s;
        } else {
            GW_TRY(run_collectives(pair->communicator, subject, block_s, &helper->counting, out,
                                   error));
        }
        pair->alone_s = out->communication_s;
        return GW_OK;
    }
    start_work(helper);
    enum gw_status status =
        run_collectives(pair->communicator, subject, block_s, &helper->counting, out, error);
    enum gw_status computed = stop_work(helper, status == GW_OK ? error : NULL);
    out->compute_s = mean_compute_s(helper);
    return status == GW_OK ? computed : status;
}

enum gw_status gw_measure_overlap(struct gw_communicator *communicator,
                                  const struct gw_overlap_subject *subject,
                                  struct gw_overlap_point *out, bool *known,
                                  struct gw_error *error) {
    struct pair pair = {.communicator = communicator, .subject = subject};
    const struct gw_overlap_rounds rounds = {.measure = measure_pair,
                                             .context = &pair,
                                             .clock = &gw_machine_clock,
                                             .block_s = subject->block_s,
                                             .rounds = subject->rounds,
                                             .longest_s = subject->longest_s};
    char name[16] = "";
    *known = false;
    struct helper *helper = &pair.helper;
    *helper = (struct helper){.subject = subject};
    pthread_mutex_init(&helper->mutex, NULL);
    pthread_cond_init(&helper->changed, NULL);
    int result = pthread_create(&helper->thread, NULL, serve_blocks, helper);
    if (result != 0) {
        return gw_fail(error, GW_FAILED, "pthread_create: %s", strerror(result));
    }
    (void)pthread_getname_np(pthread_self(), name, sizeof name);
    (void)pthread_setname_np(pthread_self(), "gw_exchange"); /* as exec's, which it represents */
    enum gw_status status = gw_measure_overlap_rounds(communicator, &rounds, out, known, error);
    (void)pthread_setname_np(pthread_self(), name);
    give_order(helper, LEAVE);
    pthread_join(helper->thread, NULL);
    pthread_mutex_destroy(&helper->mutex);
    pthread_cond_destroy(&helper->changed);
    return status;
}
