/* Files of an operating system, as tests write them under a folder of their own. */
#ifndef FILE_TREE_H
#define FILE_TREE_H

#include <ftw.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kc_test.h"

static char root[] = "files_XXXXXX";

static inline bool make_tree(void)
{
    return mkdtemp(root) != NULL;
}

static inline int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info;
    (void)kind;
    return at->level > 0 ? remove(path) : 0;
}

/* The root stays. */
static inline void clear_tree(void)
{
    CHECK(nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0);
}

static inline void remove_tree(void)
{
    clear_tree();
    rmdir(root);
}

/* Writes a file under the root, with the folders on the way to it. */
static inline void write_file(const char *path, const char *text)
{
    char name[512];
    FILE *file;

    snprintf(name, sizeof name, "%s%s", root, path);
    for (char *at = name + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(name, 0700);
        *at = '/';
    }
    file = fopen(name, "w");
    REQUIRE(file != NULL);
    fputs(text, file);
    fclose(file);
}

#endif
