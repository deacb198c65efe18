#include "transport/posts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct letter {
    struct letter *next;
    int from;
    size_t bytes;
    char message[];
};

/* What was posted to a rank and not yet taken: first in, first out. */
struct pile {
    struct letter *first, **last;
};

struct gw_posts {
    pthread_mutex_t mutex;
    int size;
    struct pile piles[]; /* per rank */
};

enum gw_status gw_posts_open(struct gw_posts **out, int size, struct gw_error *error) {
    struct gw_posts *posts = malloc(sizeof *posts + (size_t)size * sizeof *posts->piles);
    if (posts == NULL) {
        return gw_fail_memory(error, "opening communicators");
    }
    posts->size = size;
    pthread_mutex_init(&posts->mutex, NULL);
    for (int rank = 0; rank < size; rank++) {
        posts->piles[rank] = (struct pile){.last = &posts->piles[rank].first};
    }
    *out = posts;
    return GW_OK;
}

void gw_posts_close(struct gw_posts *posts) {
    if (posts == NULL) {
        return;
    }
    for (int rank = 0; rank < posts->size; rank++) {
        struct letter *letter = NULL;
        while ((letter = posts->piles[rank].first) != NULL) {
            posts->piles[rank].first = letter->next;
            free(letter);
        }
    }
    pthread_mutex_destroy(&posts->mutex);
    free(posts);
}

enum gw_status gw_posts_add(struct gw_posts *posts, int rank, int to, const void *message,
                            size_t bytes, struct gw_error *error) {
    struct letter *letter = malloc(sizeof *letter + bytes);
    if (letter == NULL) {
        return gw_fail_memory(error, "posting a message");
    }
    letter->next = NULL;
    letter->from = rank;
    letter->bytes = bytes;
    memcpy(letter->message, message, bytes);
    pthread_mutex_lock(&posts->mutex);
    *posts->piles[to].last = letter;
    posts->piles[to].last = &letter->next;
    pthread_mutex_unlock(&posts->mutex);
    return GW_OK;
}

static struct letter *take_letter(struct gw_posts *posts, struct pile *pile) {
    pthread_mutex_lock(&posts->mutex);
    struct letter *letter = pile->first;
    if (letter != NULL) {
        pile->first = letter->next;
        pile->last = letter->next == NULL ? &pile->first : pile->last;
    }
    pthread_mutex_unlock(&posts->mutex);
    return letter;
}

enum gw_status gw_posts_take(struct gw_posts *posts, int rank, void *message, size_t capacity,
                             size_t *bytes, int *from, struct gw_error *error) {
    struct letter *letter = take_letter(posts, &posts->piles[rank]);
    *from = -1;
    *bytes = 0;
    if (letter == NULL) {
        return GW_OK;
    }
    bool fits = letter->bytes <= capacity;
    if (fits) {
        *from = letter->from;
        *bytes = letter->bytes;
        memcpy(message, letter->message, letter->bytes);
    }
    size_t size = letter->bytes;
    free(letter);
    return fits ? GW_OK
                : gw_fail(error, GW_FAILED, "expected a message of at most %zu bytes, got %zu",
                          capacity, size);
}
