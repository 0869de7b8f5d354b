/* Before libc: the call number N that concerns a path below a directory fails with an errno.

   fail_at(n, error, directory) begins to count, with n = 0 without failing any; calls() is how many
   there were. With a negative n all calls from -n on fail. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define FDS 4096

static long seen, wanted;
static int failure;
static char below[4096];
static unsigned char ours[FDS];

void fail_at(long n, int error, const char *directory) {
  seen = 0, wanted = n, failure = error;
  memset(ours, 0, sizeof ours);
  strncpy(below, directory, sizeof below - 1);
}

long calls(void) { return seen; }

static int fails(void) {
  seen++;
  if (wanted > 0 ? seen != wanted : wanted == 0 || seen < -wanted) return 0;
  errno = failure;
  return 1;
}

static int is_ours(int fd) { return fd >= 0 && fd < FDS && ours[fd]; }

static int concerns(int fd, const char *path) {
  if (!below[0]) return 0;
  if (path && path[0] == '/') return strncmp(path, below, strlen(below)) == 0;
  return is_ours(fd);
}

static int opened(int fd) {
  if (fd >= 0 && fd < FDS) ours[fd] = 1;
  return fd;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define ON_PATH(type, name, bad, arguments, fd, path, ...)          \
  type name arguments {                                             \
    if (concerns(fd, path) && fails()) return bad;                  \
    return REAL(name)(__VA_ARGS__);                                 \
  }

int open64(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = va_arg(list, mode_t);
  va_end(list);
  int mine = concerns(-1, path);
  if (mine && fails()) return -1;
  int fd = REAL(open64)(path, flags, mode);
  return mine ? opened(fd) : fd;
}

int openat64(int at, const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = va_arg(list, mode_t);
  va_end(list);
  int mine = concerns(at, path);
  if (mine && fails()) return -1;
  int fd = REAL(openat64)(at, path, flags, mode);
  return mine ? opened(fd) : fd;
}

/* TensorFlow's own writes. */
static FILE *stream_of(const char *path, const char *mode, FILE *(*real)(const char *, const char *)) {
  int mine = concerns(-1, path);
  if (mine && fails()) return NULL;
  FILE *stream = real(path, mode);
  if (mine && stream) opened(fileno(stream));
  return stream;
}

FILE *fopen(const char *path, const char *mode) { return stream_of(path, mode, REAL(fopen)); }
FILE *fopen64(const char *path, const char *mode) { return stream_of(path, mode, REAL(fopen64)); }

size_t fwrite(const void *from, size_t size, size_t n, FILE *to) {
  return is_ours(fileno(to)) && fails() ? 0 : REAL(fwrite)(from, size, n, to);
}

int fflush(FILE *stream) {
  return stream && is_ours(fileno(stream)) && fails() ? EOF : REAL(fflush)(stream);
}

int fclose(FILE *stream) {
  int fd = fileno(stream), mine = is_ours(fd), result = REAL(fclose)(stream);
  if (!mine) return result;
  ours[fd] = 0;
  return fails() ? EOF : result;
}

int close(int fd) {
  int mine = is_ours(fd), result = REAL(close)(fd);
  if (!mine) return result;
  ours[fd] = 0;
  return fails() ? -1 : result;
}

ON_PATH(ssize_t, read, -1, (int fd, void *to, size_t n), fd, NULL, fd, to, n)
ON_PATH(ssize_t, write, -1, (int fd, const void *from, size_t n), fd, NULL, fd, from, n)
ON_PATH(int, fsync, -1, (int fd), fd, NULL, fd)
ON_PATH(int, flock, -1, (int fd, int kind), fd, NULL, fd, kind)
ON_PATH(int, ftruncate64, -1, (int fd, off64_t n), fd, NULL, fd, n)
ON_PATH(int, fchmod, -1, (int fd, mode_t mode), fd, NULL, fd, mode)
ON_PATH(int, fstat64, -1, (int fd, struct stat64 *to), fd, NULL, fd, to)
ON_PATH(DIR *, fdopendir, NULL, (int fd), fd, NULL, fd)
ON_PATH(ssize_t, sendfile64, -1, (int to, int from, off64_t *at, size_t n), to, NULL, to, from, at, n)
ON_PATH(ssize_t, pread64, -1, (int fd, void *to, size_t n, off64_t at), fd, NULL, fd, to, n, at)
ON_PATH(int, chown, -1, (const char *path, uid_t uid, gid_t gid), -1, path, path, uid, gid)
ON_PATH(int, chmod, -1, (const char *path, mode_t mode), -1, path, path, mode)
ON_PATH(int, stat64, -1, (const char *path, struct stat64 *to), -1, path, path, to)
ON_PATH(int, lstat64, -1, (const char *path, struct stat64 *to), -1, path, path, to)
ON_PATH(int, fstatat64, -1, (int at, const char *path, struct stat64 *to, int flags), at, path, at, path, to, flags)
ON_PATH(DIR *, opendir, NULL, (const char *path), -1, path, path)
ON_PATH(int, mkdir, -1, (const char *path, mode_t mode), -1, path, path, mode)
ON_PATH(int, rmdir, -1, (const char *path), -1, path, path)
ON_PATH(int, unlink, -1, (const char *path), -1, path, path)
ON_PATH(int, unlinkat, -1, (int at, const char *path, int flags), at, path, at, path, flags)
ON_PATH(int, rename, -1, (const char *from, const char *to), -1, to, from, to)
ON_PATH(int, utimensat, -1, (int at, const char *path, const struct timespec *times, int flags), at, path, at, path, times, flags)
