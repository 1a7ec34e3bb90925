// A library for LD_PRELOAD: the server's time of day is ahead by CLOCK_AHEAD_MS, or behind if that is negative. Its monotonic clock and its
// timers are unchanged. The system calls are made directly: redis-server asks for the time while its allocator starts, and libfaketime
// then recurses without end.
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long ahead_ms(void) {
  const char *text = getenv("CLOCK_AHEAD_MS");
  return text ? atol(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int failed = syscall(SYS_clock_gettime, clock, now);
  if (failed || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return failed;
  long long ns = now->tv_sec * 1000000000LL + now->tv_nsec + ahead_ms() * 1000000LL;
  now->tv_sec = ns / 1000000000LL;
  now->tv_nsec = ns % 1000000000LL;
  return 0;
}

int gettimeofday(struct timeval *now, void *zone) {
  (void)zone;
  struct timespec precise;
  int failed = clock_gettime(CLOCK_REALTIME, &precise);
  if (failed) return failed;
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *stored) {
  struct timespec precise;
  if (clock_gettime(CLOCK_REALTIME, &precise)) return -1;
  if (stored) *stored = precise.tv_sec;
  return precise.tv_sec;
}
