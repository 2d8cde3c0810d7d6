/* Tensors on the GPU, read through CUDA's driver, which is opened for the first of them: nothing is linked. */
#pragma once
#include <gst/gst.h>

/* As <gst/cuda/gstcuda.h> has it, which is not needed for this. */
#define GST_MAP_CUDA ((GstMapFlags) (GST_MAP_FLAG_LAST << 1))

typedef struct _Device Device;

/* Whether a tensor's memory is on the GPU. */
gboolean device_has (GstMemory *memory);

/* For reading a tensor of float32 at this address of the GPU; NULL if CUDA fails. */
Device *device_open (gpointer address);

/* Copies `rows` rows of `length` numbers from the number `first` on; each row begins `pitch` numbers after the previous one. */
gboolean device_read (Device *device, gsize first, gsize pitch, gsize rows, gsize length, float *to);

void device_close (Device *device);
