#include "core/names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "core/terminal.h"

/* The next letter or digit in small letters, skipping separators; '\0' at the end. One '-' stands
 * for separators at the beginning and between digits, where they separate numbers. */
static int read_letter(const char *begin, const char **text) {
    const char *after = *text + strspn(*text, "-_ ");
    bool counts =
        *text == begin || (isdigit((unsigned char)(*text)[-1]) && isdigit((unsigned char)*after));
    if (after > *text && counts) {
        *text = after;
        return '-';
    }
    *text = *after == '\0' ? after : after + 1;
    return tolower((unsigned char)*after);
}

bool gw_names_agree(const char *a, const char *b) {
    const char *at_a = a;
    const char *at_b = b;
    int letter = 0;
    do {
        letter = read_letter(a, &at_a);
        if (letter != read_letter(b, &at_b)) {
            return false;
        }
    } while (letter != '\0');
    return true;
}

static bool is_alike(char a, char b) {
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/*
 * The minimum number of letters to insert, remove, replace or swap with their neighbour that turns
 * one text into the other (optimal string alignment), ignoring case. Texts beyond 63 letters are
 * cut.
 */
static size_t count_edits(const char *a, const char *b) {
    enum { MAX_LENGTH = 64 };
    size_t rows[3][MAX_LENGTH];
    size_t *before = rows[0];
    size_t *last = rows[1];
    size_t *now = rows[2];
    size_t length = strnlen(b, MAX_LENGTH - 1);
    for (size_t j = 0; j <= length; j++) {
        last[j] = j;
    }
    for (size_t i = 1; i < MAX_LENGTH && a[i - 1] != '\0'; i++) {
        now[0] = i;
        for (size_t j = 1; j <= length; j++) {
            size_t edits = last[j - 1] + !is_alike(a[i - 1], b[j - 1]);
            edits = last[j] + 1 < edits ? last[j] + 1 : edits;
            edits = now[j - 1] + 1 < edits ? now[j - 1] + 1 : edits;
            bool swapped =
                i > 1 && j > 1 && is_alike(a[i - 1], b[j - 2]) && is_alike(a[i - 2], b[j - 1]);
            now[j] = swapped && before[j - 2] + 1 < edits ? before[j - 2] + 1 : edits;
        }
        size_t *unused = before;
        before = last;
        last = now;
        now = unused;
    }
    return last[length];
}

/* True if the digits of one text begin with all digits of the other: "resnet5" may be a slip for
 * "resnet50", but a different number is another name. */
static bool numbers_agree(const char *a, const char *b) {
    static const char digits[] = "0123456789";
    for (;;) {
        a += strcspn(a, digits);
        b += strcspn(b, digits);
        if (*a == '\0' || *b == '\0') {
            return true;
        }
        if (*a++ != *b++) {
            return false;
        }
    }
}

/* The first name that is the text, a hyphen and more. */
static const char *find_longer(const char *text, const char *const *names) {
    size_t length = strlen(text);
    while (*names != NULL &&
           !(length > 0 && strncasecmp(text, *names, length) == 0 && (*names)[length] == '-')) {
        names++;
    }
    return *names;
}

const char *gw_find_nearest(const char *text, const char *const *names) {
    const char *nearest = NULL;
    const char *equals = strchr(text, '='); /* in "operation=name", the name may be wrong */
    size_t length = strlen(equals == NULL ? text : equals + 1);
    size_t least = (length + 2) / 3 + 1; /* at most a third of the letters */
    for (size_t i = 0; names[i] != NULL; i++) {
        size_t edits = count_edits(text, names[i]);
        if (edits < least && edits < strlen(names[i]) && numbers_agree(text, names[i])) {
            least = edits;
            nearest = names[i];
        }
    }
    nearest = nearest == NULL ? find_longer(text, names) : nearest;
    return nearest == NULL || strcmp(text, nearest) == 0 ? NULL : nearest;
}

void gw_print_nearest(const char *text, const char *const *names) {
    const char *nearest = gw_find_nearest(text, names);
    if (nearest != NULL) {
        gw_print_to(stderr, "Did you mean \"%s\"?\n", nearest);
    }
}

char *gw_name_after(const char *path) {
    const char *slash = strrchr(path, '/');
    char *name = strdup(slash == NULL ? path : slash + 1);
    char *dot = name == NULL ? NULL : strrchr(name, '.');
    if (dot != NULL && dot != name) {
        *dot = '\0';
    }
    return name;
}
