#include "device.h"

#include <gmodule.h>

/* The parts of <cuda.h> that are used here, so that this compiles without the CUDA toolkit. */
typedef unsigned long long CUdeviceptr;
typedef struct {
  size_t src_x, src_y;
  unsigned src_type;
  const void *src_host;
  CUdeviceptr src_device;
  void *src_array;
  size_t src_pitch, dst_x, dst_y;
  unsigned dst_type;
  void *dst_host;
  CUdeviceptr dst_device;
  void *dst_array;
  size_t dst_pitch, width, height;
} CUDA_MEMCPY2D;
enum { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9 };

static struct {
  int (*pointer_get_attribute) (void *data, int attribute, CUdeviceptr address);
  int (*primary_retain) (void **context, int device);
  int (*primary_release) (int device);
  int (*push) (void *context);
  int (*pop) (void **context);
  int (*copy_2d) (const CUDA_MEMCPY2D *copy);
} cuda;

struct _Device {
  CUdeviceptr address;
  int number;
};

static gpointer
load (gpointer unused)
{
  GModule *driver = g_module_open ("libcuda.so.1", G_MODULE_BIND_LOCAL);

  if (driver && g_module_symbol (driver, "cuPointerGetAttribute", (gpointer *) & cuda.pointer_get_attribute)
      && g_module_symbol (driver, "cuDevicePrimaryCtxRetain", (gpointer *) & cuda.primary_retain)
      && g_module_symbol (driver, "cuDevicePrimaryCtxRelease_v2", (gpointer *) & cuda.primary_release)
      && g_module_symbol (driver, "cuCtxPushCurrent_v2", (gpointer *) & cuda.push)
      && g_module_symbol (driver, "cuCtxPopCurrent_v2", (gpointer *) & cuda.pop)
      && g_module_symbol (driver, "cuMemcpy2D_v2", (gpointer *) & cuda.copy_2d))
    return &cuda;
  return NULL;
}

gboolean
device_has (GstMemory *memory)
{
  return gst_memory_is_type (memory, "CudaInferTensorMemory");
}

Device *
device_open (gpointer address)
{
  static GOnce once = G_ONCE_INIT;
  Device device = { (CUdeviceptr) (guintptr) address, 0 };
  void *context;

  /* cudainfer works in the primary context of the GPU. */
  if (!g_once (&once, load, NULL)
      || cuda.pointer_get_attribute (&device.number, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device.address)
      || cuda.primary_retain (&context, device.number))
    return NULL;
  if (cuda.push (context)) {
    cuda.primary_release (device.number);
    return NULL;
  }
  return g_memdup2 (&device, sizeof device);
}

gboolean
device_read (Device *device, gsize first, gsize pitch, gsize rows, gsize length, float *to)
{
  CUDA_MEMCPY2D copy = {
    .src_type = CU_MEMORYTYPE_DEVICE,.src_device = device->address + first * sizeof (float),
    .src_pitch = pitch * sizeof (float),
    .dst_type = CU_MEMORYTYPE_HOST,.dst_host = to,.dst_pitch = length * sizeof (float),
    .width = length * sizeof (float),.height = rows
  };
  /* Returns when the numbers are there. */
  return cuda.copy_2d (&copy) == 0;
}

void
device_close (Device *device)
{
  void *context;

  cuda.pop (&context);
  cuda.primary_release (device->number);
  g_free (device);
}
