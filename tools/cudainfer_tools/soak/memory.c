/* Loaded before a program (LD_PRELOAD): writes once a second how many bytes the allocator has given out and not got back, to the file that
   SOAK_MEMORY names. Resident memory is no measure of a leak: what the allocator keeps of what it got back goes up and down by
   megabytes. */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *write_each_second(void *path) {
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    while (file >= 0) {
        struct mallinfo2 counts = mallinfo2();
        char line[32];
        int length = snprintf(line, sizeof line, "%020zu\n", counts.uordblks + counts.hblkhd);
        if (pwrite(file, line, (size_t)length, 0) != length) break;
        sleep(1);
    }
    return NULL;
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("SOAK_MEMORY");
    pthread_t thread;
    if (!path) return;
    /* Programs that this one starts are not measured. */
    char *own = malloc(4096);
    if (!own || snprintf(own, 4096, "%s", path) >= 4096) return;
    unsetenv("SOAK_MEMORY");
    unsetenv("LD_PRELOAD");
    if (pthread_create(&thread, NULL, write_each_second, own) == 0) pthread_detach(thread);
}
