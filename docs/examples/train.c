/*
 * Trains a small language model on the letters of a text, with compressed gradients:
 *
 *     cc train.c -O2 $(pkg-config --cflags --libs gradweave) -lm -o train
 *     mpirun -n 4 ./train topk /usr/share/common-licenses/GPL-3
 *
 * From the last CONTEXT letters a network with one hidden layer guesses the next one. Each rank
 * learns from places of its own in the text.
 */
#include <gradweave.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LETTERS = 64, CONTEXT = 6, WIDTH = 10, INPUTS = CONTEXT * WIDTH, HIDDEN = 128 };
enum { BATCH = 64, ITERATIONS = 600, REPORTED = 100 };
enum { EMBEDDING, IN, IN_BIAS, OUT, OUT_BIAS, TENSORS }; /* in forward order */

static const uint64_t elements[TENSORS] = {LETTERS * WIDTH, INPUTS *HIDDEN, HIDDEN, HIDDEN *LETTERS,
                                           LETTERS};

static float *parameters[TENSORS], *gradients[TENSORS];
static struct gradweave_error error;

static void need(int holds, const char *what) {
    if (!holds) {
        (void)fprintf(stderr, "train: %s\n", what);
        exit(1);
    }
}

static void done(enum gradweave_status status) {
    need(status == GRADWEAVE_OK, error.message);
}

/* ---- the text ------------------------------------------------------------------------------ */

static unsigned char *text;
static size_t length;

/* Small letters, digits and what is common besides; all else is one letter more. */
static unsigned char letter_of(int byte) {
    static const char common[] = "abcdefghijklmnopqrstuvwxyz0123456789 \n.,;:'\"()-!?/";
    int small = byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte;
    const char *found = small > 0 ? strchr(common, small) : NULL;
    return found == NULL ? LETTERS - 1 : (unsigned char)(found - common);
}

static void read_text(const char *path) {
    FILE *file = fopen(path, "rb");
    need(file != NULL, "expected a text that can be read");
    size_t capacity = 1 << 20;
    text = malloc(capacity);
    need(text != NULL, "out of memory");
    for (int byte = fgetc(file); byte != EOF && length < capacity; byte = fgetc(file)) {
        text[length++] = letter_of(byte);
    }
    (void)fclose(file);
    need(length > 1000, "expected a longer text");
}

/* ---- the network --------------------------------------------------------------------------- */

static uint64_t state; /* of random numbers */

static double uniform(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

static void open_network(void) {
    static const double scales[TENSORS] = {1, 0.2, 0, 0.15, 0};
    for (int t = 0; t < TENSORS; t++) {
        parameters[t] = malloc(elements[t] * sizeof **parameters);
        gradients[t] = malloc(elements[t] * sizeof **gradients);
        need(parameters[t] != NULL && gradients[t] != NULL, "out of memory");
        for (uint64_t i = 0; i < elements[t]; i++) {
            parameters[t][i] = (float)(scales[t] * (2 * uniform() - 1));
        }
    }
}

/* The examples of a batch: input letters, the letter to predict, activations and errors. */
static struct {
    unsigned char letters[CONTEXT], next;
    float hidden[HIDDEN], off[LETTERS]; /* how far off each letter's probability is */
} examples[BATCH];

/* The mean loss, in nats a letter. */
static double forward(void) {
    double loss = 0;
    for (int b = 0; b < BATCH; b++) {
        size_t at = (size_t)(uniform() * (double)(length - CONTEXT));
        memcpy(examples[b].letters, text + at, CONTEXT);
        examples[b].next = text[at + CONTEXT];
        for (int h = 0; h < HIDDEN; h++) {
            float sum = parameters[IN_BIAS][h];
            for (int i = 0; i < INPUTS; i++) {
                int letter = examples[b].letters[i / WIDTH];
                sum += parameters[EMBEDDING][letter * WIDTH + i % WIDTH] *
                       parameters[IN][i * HIDDEN + h];
            }
            examples[b].hidden[h] = tanhf(sum);
        }
        double total = 0;
        for (int o = 0; o < LETTERS; o++) {
            float sum = parameters[OUT_BIAS][o];
            for (int h = 0; h < HIDDEN; h++) {
                sum += examples[b].hidden[h] * parameters[OUT][h * LETTERS + o];
            }
            examples[b].off[o] = expf(sum);
            total += (double)examples[b].off[o];
        }
        for (int o = 0; o < LETTERS; o++) {
            examples[b].off[o] = (float)((double)examples[b].off[o] / total);
        }
        loss -= log((double)examples[b].off[examples[b].next]) / BATCH;
        examples[b].off[examples[b].next] -= 1;
    }
    return loss;
}

/* ---- the backward pass: what the session hears of -------------------------------------------- */

/* Each gradient travels as soon as it is there, and its aggregate comes to where it was. */
static void ready(struct gradweave_session *session, int tensor) {
    for (uint64_t i = 0; i < elements[tensor]; i++) {
        gradients[tensor][i] /= BATCH;
    }
    done(gradweave_session_ready(session, (size_t)tensor, gradients[tensor], gradients[tensor],
                                 &error));
}

static void backward(struct gradweave_session *session) {
    static float hidden_off[BATCH][HIDDEN];
    for (int t = 0; t < TENSORS; t++) {
        memset(gradients[t], 0, elements[t] * sizeof **gradients);
    }
    for (int b = 0; b < BATCH; b++) {
        for (int h = 0; h < HIDDEN; h++) {
            float sum = 0;
            for (int o = 0; o < LETTERS; o++) {
                gradients[OUT][h * LETTERS + o] += examples[b].hidden[h] * examples[b].off[o];
                sum += parameters[OUT][h * LETTERS + o] * examples[b].off[o];
            }
            hidden_off[b][h] = sum * (1 - examples[b].hidden[h] * examples[b].hidden[h]);
        }
        for (int o = 0; o < LETTERS; o++) {
            gradients[OUT_BIAS][o] += examples[b].off[o];
        }
    }
    ready(session, OUT_BIAS);
    ready(session, OUT);
    for (int b = 0; b < BATCH; b++) {
        for (int h = 0; h < HIDDEN; h++) {
            gradients[IN_BIAS][h] += hidden_off[b][h];
        }
        for (int i = 0; i < INPUTS; i++) {
            int place = examples[b].letters[i / WIDTH] * WIDTH + i % WIDTH;
            for (int h = 0; h < HIDDEN; h++) {
                gradients[IN][i * HIDDEN + h] += parameters[EMBEDDING][place] * hidden_off[b][h];
                gradients[EMBEDDING][place] += parameters[IN][i * HIDDEN + h] * hidden_off[b][h];
            }
        }
    }
    ready(session, IN_BIAS);
    ready(session, IN);
    ready(session, EMBEDDING);
}

static void step(double rate) {
    for (int t = 0; t < TENSORS; t++) {
        for (uint64_t i = 0; i < elements[t]; i++) {
            parameters[t][i] -= (float)rate * gradients[t][i];
        }
    }
}

/* ---- training ------------------------------------------------------------------------------ */

/* Whether this rank has rank 0's parameters, bit for bit. */
static int are_equal(struct gradweave_ranks *ranks) {
    int equal = 1;
    for (int t = 0; t < TENSORS; t++) {
        size_t bytes = elements[t] * sizeof **parameters;
        float *first = malloc(bytes);
        need(first != NULL, "out of memory");
        memcpy(first, parameters[t], bytes);
        done(gradweave_ranks_broadcast(ranks, first, bytes, &error));
        equal = equal && memcmp(first, parameters[t], bytes) == 0;
        free(first);
    }
    return equal;
}

int main(int argc, char **argv) {
    struct gradweave_ranks *ranks;
    struct gradweave_session *session;
    struct gradweave_prediction took;
    const struct gradweave_training training = {.tensor_count = TENSORS,
                                                .elements = elements,
                                                .algorithm = argc > 1 ? argv[1] : "topk",
                                                .density = 0.05,
                                                .average = 1};
    double first = 0;
    double last = 0;
    read_text(argc > 2 ? argv[2] : "/usr/share/common-licenses/GPL-3");
    done(gradweave_join_mpi(&ranks, &error));
    done(gradweave_session_open(&training, ranks, &session, &error));
    open_network(); /* the same on all ranks, as is the state of random numbers so far */
    int rank = gradweave_ranks_own(ranks);
    int serves = gradweave_session_serves(session); /* it computes nothing then */
    state += 1 + (uint64_t)rank;
    for (int i = 0; i < ITERATIONS; i++) {
        done(gradweave_session_begin(session, &error));
        double loss = serves ? 0 : forward();
        gradweave_session_backward(session);
        if (!serves) {
            backward(session);
        }
        done(gradweave_session_wait(session, &error));
        step(serves ? 0 : i < ITERATIONS / 2 ? 0.5 : 0.2);
        first += i < REPORTED ? loss / REPORTED : 0;
        last += i >= ITERATIONS - REPORTED ? loss / REPORTED : 0;
    }
    done(gradweave_session_verify(session, &error));
    done(gradweave_session_measure(session, &took, &error));
    need(are_equal(ranks) || serves, "ranks have different parameters");
    if (rank == 0) {
        printf("%s, %d ranks: loss %.2f at first, %.2f at last; the last iteration took %.2f ms, "
               "of which %.2f ms to compress and %.2f ms to wait for exchanges, and sent %.0f "
               "bytes\n",
               training.algorithm, gradweave_ranks_count(ranks), first, last,
               1e3 * took.iteration_s, 1e3 * took.compress_s, 1e3 * took.exposed_comm_s,
               took.bytes_per_worker);
    }
    gradweave_session_close(session);
    gradweave_leave(ranks);
    return serves || last < 0.85 * first ? 0 : 1;
}
