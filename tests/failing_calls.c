/* Preloaded by tests: from the nth write to a file whose path holds FAIL_PATH on, all of them fail with the
   error number FAIL_ERRNO; with FAIL_SEMAPHORES, there are none, as on a system without /dev/shm. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static long writes = 0;

static int fails(int file) {
    const char *path = getenv("FAIL_PATH"), *from = getenv("FAIL_FROM");
    char link[64], target[4096];
    if (path == NULL || from == NULL) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length < 0) return 0;
    target[length] = 0;
    if (strstr(target, path) == NULL || ++writes < atol(from)) return 0;
    errno = atoi(getenv("FAIL_ERRNO"));
    return 1;
}

#define WRITING(name, parameters, ...)                                    \
    ssize_t name parameters {                                             \
        if (fails(file)) return -1;                                       \
        ssize_t (*real) parameters = dlsym(RTLD_NEXT, #name);             \
        return real(__VA_ARGS__);                                         \
    }

WRITING(write, (int file, const void *data, size_t count), file, data, count)
WRITING(pwrite, (int file, const void *data, size_t count, off_t at), file, data, count, at)
WRITING(pwrite64, (int file, const void *data, size_t count, off64_t at), file, data, count, at)

int fsync(int file) {
    if (fails(file)) return -1;
    int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
    return real(file);
}

int fdatasync(int file) {
    if (fails(file)) return -1;
    int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync");
    return real(file);
}

sem_t *sem_open(const char *name, int flags, ...) {
    errno = ENOSYS;
    return SEM_FAILED;
}
