// Preloaded into a program, has it serve requests instead of running: each is served by a fork of it, whose libraries
// have been loaded already. As afl-fuzz does it.
//
//   usage: LD_PRELOAD=fork-server.so PROGRAM NAME
//
// NAME is that of an abstract socket. Standard input is a connection: the server writes a byte to it when it listens,
// and ends with it. A request is strings that end with a zero each: the files for the program's standard output and
// error, then its arguments from the zeroth. The answer is a byte: its exit code, or 128 and its signal.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition) ((condition) ? (void)0 : _exit(125))

typedef int Main(int, char **, char **);
static Main *program;

static int open_as(int target, const char *path, int flags) {
  int file = open(path, flags | O_CLOEXEC);
  return file >= 0 && dup2(file, target) == target;
}

static int answer(int connection) {
  static char request[1 << 20];
  static char *arguments[sizeof request / 2];
  size_t size = 0;
  for (ssize_t count; (count = read(connection, request + size, sizeof request - size)) != 0; size += (size_t)count) {
    CHECK(count > 0 && size + (size_t)count < sizeof request);
  }
  int count = 0;
  for (size_t at = 0; at < size; at += strlen(request + at) + 1) arguments[count++] = request + at;
  CHECK(count > 2);

  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    close(connection);
    CHECK(open_as(0, "/dev/null", O_RDONLY) && open_as(1, arguments[0], O_WRONLY) &&
          open_as(2, arguments[1], O_WRONLY));
    alarm(900);
    return program(count - 2, arguments + 2, environ);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  unsigned char code = (unsigned char)(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  CHECK(write(connection, &code, 1) == 1);
  _exit(0);
}

static int serve(int count, char **arguments, char **environment) {
  (void)environment;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  CHECK(count == 2 && strlen(arguments[1]) < sizeof address.sun_path);
  size_t length = strlen(arguments[1]);
  memcpy(address.sun_path + 1, arguments[1], length);
  // A pipe of the test's that this process had would never end.
  closefrom(3);
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
  CHECK(bind(listener, (struct sockaddr *)&address, size) == 0);
  CHECK(listen(listener, 128) == 0);
  signal(SIGCHLD, SIG_IGN);
  CHECK(write(0, "", 1) == 1);
  for (;;) {
    struct pollfd events[] = {{.fd = listener, .events = POLLIN}, {.fd = 0, .events = POLLIN}};
    CHECK(poll(events, 2, -1) > 0);
    if (events[1].revents) _exit(0);
    int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    CHECK(connection >= 0);
    if (fork() == 0) {
      signal(SIGCHLD, SIG_DFL);
      close(listener);
      return answer(connection);
    }
    close(connection);
  }
}

// Called by the program's first instructions, after the constructors of its libraries.
int __libc_start_main(Main *main, int count, char **arguments, void *init, void *fini, void *rtld_fini, void *stack) {
  int (*start)(Main *, int, char **, void *, void *, void *, void *) = dlsym(RTLD_NEXT, "__libc_start_main");
  program = main;
  return start(serve, count, arguments, init, fini, rtld_fini, stack);
}
