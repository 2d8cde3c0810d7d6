// A profiler for tests: writes the ranges of nvtxRangePushA and nvtxRangePop to the file that RANGES names.
// NVTX opens what NVTX_INJECTION64_PATH names and calls InitializeInjectionNvtx2; the table's numbers are NVTX 3's.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct callbacks {
    size_t size;
    int (*functions)(int module, void (****table)(void), unsigned *count);
};

static FILE *ranges;

static int push(const char *name) {
    fprintf(ranges, "%d push %s\n", gettid(), name);
    return 0;
}

static int pop(void) {
    fprintf(ranges, "%d pop\n", gettid());
    return 0;
}

int InitializeInjectionNvtx2(const void *(*export_table)(unsigned)) {
    const struct callbacks *callbacks = export_table(1);
    void (***table)(void);
    unsigned count;

    ranges = fopen(getenv("RANGES"), "w");
    if (!ranges || !callbacks || !callbacks->functions(1, &table, &count) || count <= 11)
        return 0;
    setvbuf(ranges, NULL, _IOLBF, 0);
    *table[9] = (void (*)(void)) push;
    *table[11] = (void (*)(void)) pop;
    return 1;
}
