/* Limits of CPU time and memory of Linux control groups, versions 1 and 2, which may be mounted
 * side by side.
 *
 * /proc/self/mountinfo says where the hierarchies are mounted and which of their groups is seen at
 * the mount point; /proc/self/cgroup says which group the process is in.  A container may limit any
 * group on the way up, so that each is asked and the least counts.
 *
 * Files are read with open and read into buffers on the stack, since there is no context here to
 * allocate from.  Whatever cannot be read or understood means: no limit. */
#include "base/kc_cgroup.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define LINE_BYTES 4096

/* One hierarchy: version 1 with the controller, or version 2. */
typedef struct hierarchy {
    bool is_v2;
    const char *controller; /* "cpu" or "memory" */
    char mount[PATH_BYTES]; /* the mount point */
    char root[PATH_BYTES];  /* the group that is seen there */
} hierarchy;

typedef struct reader {
    int file;
    size_t begin, end;
    char bytes[1024];
} reader;

static int read_byte(reader *in)
{
    if (in->begin == in->end) {
        ssize_t n = read(in->file, in->bytes, sizeof in->bytes);

        if (n <= 0)
            return -1;
        in->begin = 0;
        in->end = (size_t)n;
    }
    return (unsigned char)in->bytes[in->begin++];
}

/* The next line without its end, cut where it is too long (mounts of containers can be: none that
 * matters here is); false at the end of the file. */
static bool read_line(reader *in, char line[LINE_BYTES])
{
    size_t n = 0;
    int byte = read_byte(in);

    if (byte < 0)
        return false;
    for (; byte >= 0 && byte != '\n'; byte = read_byte(in)) {
        if (n < LINE_BYTES - 1)
            line[n++] = (char)byte;
    }
    line[n] = '\0';
    return true;
}

static bool open_file(reader *in, const char *root, const char *path)
{
    char name[2 * PATH_BYTES];
    int n = snprintf(name, sizeof name, "%s%s", root, path);

    in->begin = in->end = 0;
    if (n < 0 || (size_t)n >= sizeof name)
        return false;
    in->file = open(name, O_RDONLY | O_CLOEXEC);
    return in->file >= 0;
}

/* The numbers of the first line of a file in a group's folder; `missing` stands for "max", for what
 * is not a number and for what is not there. */
static void read_numbers(const char *root, const char *folder, const char *file, double *out,
                         size_t n, double missing)
{
    char path[2 * PATH_BYTES];
    char line[LINE_BYTES] = "";
    reader in;

    for (size_t i = 0; i < n; i++)
        out[i] = missing;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    if (!open_file(&in, root, path))
        return;
    if (read_line(&in, line)) {
        const char *at = line;

        for (size_t i = 0; i < n; i++) {
            double value = 0;
            const char *start = at += strspn(at, " ");

            for (; *at >= '0' && *at <= '9'; at++)
                value = 10 * value + (*at - '0');
            if (at > start && (*at == ' ' || *at == '\0'))
                out[i] = value;
            at += strcspn(at, " ");
        }
    }
    close(in.file);
}

/* Whether `word` is one of the words of a list with commas. */
static bool list_has(const char *list, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = list;; at++) {
        if (strncmp(at, word, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return true;
        at = strchr(at, ',');
        if (at == NULL)
            return false;
    }
}

/* Cuts a line into words in place; returns how many there are. */
static size_t split_words(char *line, char *words[], size_t n_max)
{
    size_t n = 0;

    for (char *at = line; n < n_max; n++) {
        at += strspn(at, " ");
        if (*at == '\0')
            break;
        words[n] = at;
        at += strcspn(at, " ");
        if (*at != '\0')
            *at++ = '\0';
    }
    return n;
}

/* Finds where the hierarchy is mounted: fields are numbered as in proc(5): 4 the group seen, 5 the
 * mount point, and after a lonely "-" the type, the source and the options. */
static bool find_mount(const char *root, hierarchy *out)
{
    char line[LINE_BYTES];
    bool is_found = false;
    reader in;

    if (!open_file(&in, root, "/proc/self/mountinfo"))
        return false;
    while (!is_found && read_line(&in, line)) {
        char *words[32];
        size_t n = split_words(line, words, 32);
        size_t dash = 5;

        while (dash < n && strcmp(words[dash], "-") != 0)
            dash++;
        if (dash + 3 >= n)
            continue;
        is_found = out->is_v2 ? strcmp(words[dash + 1], "cgroup2") == 0
                              : strcmp(words[dash + 1], "cgroup") == 0 &&
                                    list_has(words[dash + 3], out->controller);
        if (is_found) {
            snprintf(out->root, sizeof out->root, "%s", words[3]);
            snprintf(out->mount, sizeof out->mount, "%s", words[4]);
        }
    }
    close(in.file);
    return is_found;
}

/* The process's group in the hierarchy: the path of the line "number:controllers:path". */
static bool find_group(const char *root, const hierarchy *at, char group[PATH_BYTES])
{
    char line[LINE_BYTES];
    bool is_found = false;
    reader in;

    if (!open_file(&in, root, "/proc/self/cgroup"))
        return false;
    while (!is_found && read_line(&in, line)) {
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;

        if (path == NULL)
            continue;
        *path++ = '\0';
        controllers++;
        is_found = at->is_v2 ? controllers[0] == '\0' : list_has(controllers, at->controller);
        if (is_found)
            snprintf(group, PATH_BYTES, "%s", path);
    }
    close(in.file);
    return is_found;
}

/* The part of the group's path below the group that the mount shows.  A group outside of it cannot
 * be seen: what is left is the mount point itself. */
static const char *strip_root(const char *group, const char *root)
{
    size_t n = strlen(root);

    if (strcmp(root, "/") == 0)
        n = 0;
    if (strncmp(group, root, n) != 0 || (group[n] != '/' && group[n] != '\0') ||
        strstr(group, "/..") != NULL)
        return "";
    return group + n;
}

/* The quota of one group in CPUs, or infinity. */
static double read_quota(const char *root, bool is_v2, const char *folder)
{
    double quota[2];

    if (is_v2) {
        read_numbers(root, folder, "cpu.max", quota, 2, INFINITY);
    } else {
        read_numbers(root, folder, "cpu.cfs_quota_us", &quota[0], 1, INFINITY); /* -1: none */
        read_numbers(root, folder, "cpu.cfs_period_us", &quota[1], 1, INFINITY);
    }
    return isfinite(quota[0]) && isfinite(quota[1]) && quota[1] > 0 ? quota[0] / quota[1]
                                                                    : INFINITY;
}

/* A number that follows a name at the beginning of a line, such as "MemAvailable:  123 kB"; NaN
 * where there is none. */
static double read_field(const char *root, const char *path, const char *name)
{
    char line[LINE_BYTES];
    double value = NAN;
    reader in;

    if (!open_file(&in, root, path))
        return value;
    while (isnan(value) && read_line(&in, line)) {
        char *words[4];

        if (split_words(line, words, 4) < 2 || strcmp(words[0], name) != 0)
            continue;
        value = 0;
        for (const char *at = words[1]; *at >= '0' && *at <= '9'; at++)
            value = 10 * value + (*at - '0');
    }
    close(in.file);
    return value;
}

/* What one group leaves: its limit less its use, or infinity.  File pages that have not been read
 * for a while count as use but are given back at once. */
static double read_memory_left(const char *root, bool is_v2, const char *folder)
{
    char path[2 * PATH_BYTES + 16];
    double limit, use, idle;

    read_numbers(root, folder, is_v2 ? "memory.max" : "memory.limit_in_bytes", &limit, 1, INFINITY);
    read_numbers(root, folder, is_v2 ? "memory.current" : "memory.usage_in_bytes", &use, 1, 0);
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    idle = read_field(root, path, is_v2 ? "inactive_file" : "total_inactive_file");
    return fmax(0, limit - use + (isnan(idle) ? 0 : fmin(idle, use)));
}

/* The least value of `read` over the process's group and those above it. */
static double min_above(const char *root, hierarchy at,
                        double (*read)(const char *root, bool is_v2, const char *folder))
{
    char group[PATH_BYTES];
    char folder[2 * PATH_BYTES];
    double least = INFINITY;

    if (!find_mount(root, &at) || !find_group(root, &at, group))
        return least;
    snprintf(folder, sizeof folder, "%s%s", at.mount, strip_root(group, at.root));
    for (size_t n = strlen(folder), top = strlen(at.mount); n >= top;) {
        folder[n] = '\0';
        least = fmin(least, read(root, at.is_v2, folder));
        do {
            if (n-- == 0)
                return least;
        } while (folder[n] != '/');
    }
    return least;
}

int32_t kc_cgroup_cpus(const char *root)
{
    double v1 = min_above(root, (hierarchy){.controller = "cpu"}, read_quota);
    double v2 = min_above(root, (hierarchy){.is_v2 = true}, read_quota);
    double least = fmin(v1, v2);

    if (!isfinite(least))
        return 0;
    return (int32_t)fmin(fmax(ceil(least), 1), 1 << 20);
}

double kc_cgroup_memory(const char *root)
{
    double v1 = min_above(root, (hierarchy){.controller = "memory"}, read_memory_left);
    double v2 = min_above(root, (hierarchy){.is_v2 = true}, read_memory_left);

    return fmin(v1, v2);
}

double kc_machine_memory(const char *root)
{
    double kilobytes = read_field(root, "/proc/meminfo", "MemAvailable:");

    return isnan(kilobytes) ? INFINITY : 1024 * kilobytes;
}
