/* Makes one system call on the files of a store fail, for the tests in main.rs.
 *
 * Loaded by LD_PRELOAD. Numbers the calls below on paths under HAFT_FAULT_FOLDER, and on descriptors
 * that were opened there, and fails the one numbered HAFT_FAULT_AT in the way of HAFT_FAULT_KIND:
 * "eio", "enospc", "short" (half of the bytes, then an error) or "sync" (only fsync and fdatasync are
 * numbered, and fail). HAFT_FAULT_LASTS=1 fails all calls from that one on, until the program asks for
 * the file HAFT_FAULT_OFF to exist. At the end HAFT_FAULT_COUNT gets the name of each call, one a line,
 * in the order of their numbers. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST 4096
#define CALLS (1 << 17)

static const char *folder, *kind, *off;
static long at;
static int lasts;
static atomic_long count;
static const char *names[CALLS];
static atomic_uchar watched[MOST];

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

__attribute__((constructor)) static void begin(void) {
  folder = getenv("HAFT_FAULT_FOLDER");
  kind = getenv("HAFT_FAULT_KIND");
  off = getenv("HAFT_FAULT_OFF");
  at = getenv("HAFT_FAULT_AT") ? atol(getenv("HAFT_FAULT_AT")) : 0;
  lasts = getenv("HAFT_FAULT_LASTS") != NULL;
}

__attribute__((destructor)) static void end(void) {
  const char *place = getenv("HAFT_FAULT_COUNT");
  if (!place) return;
  FILE *out = fopen(place, "w");
  if (!out) return;
  long all = count < CALLS ? (long)count : CALLS;
  for (long number = 0; number < all; number++)
    fprintf(out, "%s\n", names[number] ? names[number] : "?");
  fclose(out);
}

static int is_ours(const char *path) {
  return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

static int is_watched(int fd) { return fd >= 0 && fd < MOST && watched[fd]; }

/* A path from a folder that is open. */
static int is_within(int base, const char *path) {
  return is_ours(path) || (is_watched(base) && path && path[0] != '/');
}

/* Whether this call is to fail; sets errno. */
static int fails(const char *name) {
  if (!kind) return 0;
  if (strcmp(kind, "sync") == 0 && strcmp(name, "fsync") != 0 && strcmp(name, "fdatasync") != 0)
    return 0;
  long number = atomic_fetch_add(&count, 1) + 1;
  if (number <= CALLS) names[number - 1] = name;
  if (at == 0 || (lasts ? number < at : number != at)) return 0;
  if (lasts && off) {
    int (*real)(const char *, int) = next("access");
    if (real(off, F_OK) == 0) return 0;
  }
  errno = strcmp(kind, "enospc") == 0 ? ENOSPC : EIO;
  return 1;
}

static int watch(int fd, int ours) {
  if (fd >= 0 && fd < MOST) watched[fd] = ours != 0;
  return fd;
}

/* Calls on a descriptor and on a path: `named` are the parameters, `passed` the same as arguments. */
#define UNPACK(...) __VA_ARGS__
#define ON(result, name, ours, failed, named, passed)                     \
  result name(UNPACK named) {                                             \
    result (*real)(UNPACK named) = next(#name);                           \
    if ((ours) && fails(#name)) return failed;                            \
    return real(UNPACK passed);                                           \
  }
#define ON_FD(name, named, passed) ON(int, name, is_watched(fd), -1, named, passed)
#define ON_PATH(name, named, passed) ON(int, name, is_ours(path), -1, named, passed)
#define ON_ENTRY(name, named, passed) ON(int, name, is_within(base, path), -1, named, passed)

#define OPENS(name)                                                       \
  int name(const char *path, int flags, ...) {                            \
    va_list rest;                                                         \
    va_start(rest, flags);                                                \
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0; \
    va_end(rest);                                                         \
    int (*real)(const char *, int, ...) = next(#name);                    \
    if (is_ours(path) && fails(#name)) return -1;                         \
    return watch(real(path, flags, mode), is_ours(path));                 \
  }
OPENS(open)
OPENS(open64)

#define OPENS_AT(name)                                                    \
  int name(int base, const char *path, int flags, ...) {                  \
    va_list rest;                                                         \
    va_start(rest, flags);                                                \
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0; \
    va_end(rest);                                                         \
    int (*real)(int, const char *, int, ...) = next(#name);               \
    int ours = is_within(base, path);                                     \
    if (ours && fails(#name)) return -1;                                  \
    return watch(real(base, path, flags, mode), ours);                    \
  }
OPENS_AT(openat)
OPENS_AT(openat64)

/* A descriptor is gone also where closing it failed, as Linux has it. */
int close(int fd) {
  int (*real)(int) = next("close");
  int failed = is_watched(fd) && fails("close");
  int fault = errno;
  watch(fd, 0);
  int closed = real(fd);
  if (!failed) return closed;
  errno = fault;
  return -1;
}

#define DUPS(name, named, passed)                                         \
  int name(UNPACK named) {                                                \
    int (*real)(UNPACK named) = next(#name);                              \
    int ours = is_watched(fd);                                            \
    if (ours && fails(#name)) return -1;                                  \
    return watch(real(UNPACK passed), ours);                              \
  }
DUPS(dup, (int fd), (fd))
DUPS(dup2, (int fd, int to), (fd, to))
DUPS(dup3, (int fd, int to, int flags), (fd, to, flags))

#define CONTROLS(name)                                                    \
  int name(int fd, int command, ...) {                                    \
    va_list rest;                                                         \
    va_start(rest, command);                                              \
    void *argument = va_arg(rest, void *);                                \
    va_end(rest);                                                         \
    int (*real)(int, int, ...) = next(#name);                             \
    int ours = is_watched(fd);                                            \
    if (ours && fails(#name)) return -1;                                  \
    int done = real(fd, command, argument);                               \
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) watch(done, ours); \
    return done;                                                          \
  }
CONTROLS(fcntl)
CONTROLS(fcntl64)
ON_FD(flock, (int fd, int how), (fd, how))

ssize_t write(int fd, const void *bytes, size_t length) {
  ssize_t (*real)(int, const void *, size_t) = next("write");
  if (is_watched(fd) && fails("write")) {
    if (strcmp(kind, "short") == 0 && length > 1) return real(fd, bytes, length / 2);
    return -1;
  }
  return real(fd, bytes, length);
}

#define WRITES(name, offset)                                              \
  ssize_t name(int fd, const void *bytes, size_t length, offset place) {  \
    ssize_t (*real)(int, const void *, size_t, offset) = next(#name);     \
    if (is_watched(fd) && fails(#name)) {                                 \
      int fault = errno;                                                  \
      if (strcmp(kind, "short") == 0 && length > 1)                       \
        (void)!real(fd, bytes, length / 2, place);                        \
      errno = fault;                                                      \
      return -1;                                                          \
    }                                                                     \
    return real(fd, bytes, length, place);                                \
  }
WRITES(pwrite, off_t)
WRITES(pwrite64, off64_t)

#define MOVES(name, named, passed) ON(ssize_t, name, is_watched(fd), -1, named, passed)
MOVES(read, (int fd, void *bytes, size_t length), (fd, bytes, length))
MOVES(pread, (int fd, void *bytes, size_t length, off_t place), (fd, bytes, length, place))
MOVES(pread64, (int fd, void *bytes, size_t length, off64_t place), (fd, bytes, length, place))
MOVES(readv, (int fd, const struct iovec *parts, int many), (fd, parts, many))
MOVES(writev, (int fd, const struct iovec *parts, int many), (fd, parts, many))
ON(off_t, lseek, is_watched(fd), -1, (int fd, off_t place, int from), (fd, place, from))
ON(off64_t, lseek64, is_watched(fd), -1, (int fd, off64_t place, int from), (fd, place, from))
MOVES(copy_file_range,
      (int fd, off64_t *from, int to, off64_t *there, size_t length, unsigned flags),
      (fd, from, to, there, length, flags))

#define MAPS(name, offset)                                                \
  ON(void *, name, is_watched(fd), MAP_FAILED,                            \
     (void *where, size_t length, int may, int flags, int fd, offset place), \
     (where, length, may, flags, fd, place))
MAPS(mmap, off_t)
MAPS(mmap64, off64_t)

ON_FD(fsync, (int fd), (fd))
ON_FD(fdatasync, (int fd), (fd))
ON_FD(ftruncate, (int fd, off_t length), (fd, length))
ON_FD(ftruncate64, (int fd, off64_t length), (fd, length))
ON_FD(fallocate, (int fd, int how, off_t from, off_t length), (fd, how, from, length))
ON_FD(fallocate64, (int fd, int how, off64_t from, off64_t length), (fd, how, from, length))
ON_FD(fchmod, (int fd, mode_t mode), (fd, mode))
ON_FD(fchown, (int fd, uid_t user, gid_t group), (fd, user, group))
ON_FD(fstat, (int fd, struct stat *about), (fd, about))
ON_FD(fstat64, (int fd, struct stat64 *about), (fd, about))

ON_PATH(stat, (const char *path, struct stat *about), (path, about))
ON_PATH(stat64, (const char *path, struct stat64 *about), (path, about))
ON_PATH(lstat, (const char *path, struct stat *about), (path, about))
ON_PATH(lstat64, (const char *path, struct stat64 *about), (path, about))
ON_PATH(access, (const char *path, int how), (path, how))
ON_PATH(chmod, (const char *path, mode_t mode), (path, mode))
ON_PATH(chown, (const char *path, uid_t user, gid_t group), (path, user, group))
ON_PATH(truncate, (const char *path, off_t length), (path, length))
ON_PATH(truncate64, (const char *path, off64_t length), (path, length))
ON_PATH(unlink, (const char *path), (path))
ON_PATH(rmdir, (const char *path), (path))
ON_PATH(mkdir, (const char *path, mode_t mode), (path, mode))
ON_PATH(rename, (const char *from, const char *path), (from, path))
ON_PATH(link, (const char *from, const char *path), (from, path))
ON_PATH(symlink, (const char *from, const char *path), (from, path))
ON(ssize_t, readlink, is_ours(path), -1, (const char *path, char *to, size_t length),
   (path, to, length))

#define ON_OPEN(name, named, passed)                                      \
  ON(int, name, is_watched(base) || is_ours(path), -1, named, passed)
ON_OPEN(fstatat, (int base, const char *path, struct stat *about, int flags),
        (base, path, about, flags))
ON_OPEN(fstatat64, (int base, const char *path, struct stat64 *about, int flags),
        (base, path, about, flags))
ON_OPEN(statx, (int base, const char *path, int flags, unsigned mask, struct statx *about),
        (base, path, flags, mask, about))
ON_ENTRY(faccessat, (int base, const char *path, int how, int flags), (base, path, how, flags))
ON_ENTRY(fchmodat, (int base, const char *path, mode_t mode, int flags), (base, path, mode, flags))
ON_ENTRY(unlinkat, (int base, const char *path, int flags), (base, path, flags))
ON_ENTRY(mkdirat, (int base, const char *path, mode_t mode), (base, path, mode))
ON_ENTRY(renameat, (int from, const char *old, int base, const char *path),
         (from, old, base, path))
ON_ENTRY(renameat2, (int from, const char *old, int base, const char *path, unsigned flags),
         (from, old, base, path, flags))
ON_ENTRY(linkat, (int from, const char *old, int base, const char *path, int flags),
         (from, old, base, path, flags))
