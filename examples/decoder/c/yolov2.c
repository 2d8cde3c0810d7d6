/* A decoder that cudainfer does not have, as an element in C: `yolov2c` finds objects in the outputs of YOLOv2 networks.
 *
 *   cc -shared -fPIC -O2 -o libgstyolov2c.so yolov2.c device.c \
 *      $(pkg-config --cflags --libs gstreamer-base-1.0 gstreamer-video-1.0 gmodule-2.0) -lm
 *   gst-launch-1.0 ... ! fusedpreproc ! trtinfer model=tinyyolov2.onnx ! yolov2c ! tracker ! inferoverlay ! ...
 *
 * docs/your-own-decoder.md explains it. */
#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <math.h>
#include <string.h>

#include "device.h"

#define FEATURE "meta:CudaInferTensor"
#define ANCHORS 5
#define CLASSES 20
#define CHANNELS (5 + CLASSES)  /* of an anchor: tx, ty, tw, th, to, and the classes' */
#define CONFIDENCE 0.3
#define IOU 0.45

/* Widths and heights in cells. */
static const double anchors[ANCHORS][2] = {
  {1.08, 1.19}, {3.42, 4.41}, {6.63, 11.38}, {9.42, 5.11}, {16.62, 10.52}
};

static const char *labels[CLASSES] = {
  "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog", "horse",
  "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor"
};

typedef struct {
  double left, top, right, bottom, confidence;
  guint label;
} Box;

struct _Yolov2 {
  GstBaseTransform parent;
  int width, height;            /* of the frames */
};

/* In CUDA memory or in system memory, which must be named beside another feature. */
static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK, GST_PAD_ALWAYS,
    GST_STATIC_CAPS ("video/x-raw(memory:CUDAMemory, " FEATURE "); video/x-raw(memory:SystemMemory, " FEATURE ")"));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS,
    GST_STATIC_CAPS ("video/x-raw(memory:CUDAMemory); video/x-raw"));

G_DECLARE_FINAL_TYPE (Yolov2, yolov2, EXAMPLE, YOLOV2, GstBaseTransform)
G_DEFINE_TYPE (Yolov2, yolov2, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE (yolov2c, "yolov2c", GST_RANK_NONE, yolov2_get_type ())

/* Caps: downstream of this element, the same frames have no tensors any more. */

static gboolean
is_no_tensor_field (GQuark field, GValue *value, gpointer user_data)
{
  return !g_str_has_prefix (g_quark_to_string (field), "tensor-");
}

static gboolean
change_feature (GstCapsFeatures *features, GstStructure *structure, gpointer direction)
{
  gst_structure_filter_and_map_in_place (structure, is_no_tensor_field, NULL);
  gst_caps_features_remove (features, FEATURE);
  if (GPOINTER_TO_INT (direction) == GST_PAD_SRC)
    gst_caps_features_add (features, FEATURE);
  return TRUE;
}

static GstCaps *
transform_caps (GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  GstCaps *other = gst_caps_copy (caps), *filtered;

  gst_caps_map_in_place (other, change_feature, GINT_TO_POINTER (direction));
  if (!filter)
    return other;
  filtered = gst_caps_intersect_full (filter, other, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref (other);
  return filtered;
}

/* Posts an ERROR that begins with the decoder's name, or that of its kind if it has none. Names may have any bytes, and messages must be
   UTF-8: applications may read nothing of others. */
static void
fail (Yolov2 *self, const char *wrong)
{
  GstElementFactory *factory = gst_element_get_factory (GST_ELEMENT (self));
  const char *name = GST_OBJECT_NAME (self);
  char *readable;

  if (!name || !*name)
    name = factory ? GST_OBJECT_NAME (factory) : G_OBJECT_TYPE_NAME (self);
  readable = g_utf8_make_valid (name, -1);
  GST_ELEMENT_ERROR (self, STREAM, DECODE, ("%s: %s", readable, wrong), (NULL));
  g_free (readable);
}

/* A model that this decoder cannot read is refused here, before its first frame. */
static gboolean
set_caps (GstBaseTransform *base, GstCaps *incaps, GstCaps *outcaps)
{
  Yolov2 *self = EXAMPLE_YOLOV2 (base);
  const GstStructure *caps = gst_caps_get_structure (incaps, 0);
  const GValue *outputs = gst_structure_get_value (caps, "tensor-outputs");
  const char *output = NULL;

  if (gst_structure_has_field (caps, "tensor-roi")) {
    fail (self, "the tensors are those of regions, and this decoder reads those of frames");
    return FALSE;
  }
  if (outputs && gst_value_array_get_size (outputs) == 1)
    output = g_value_get_string (gst_value_array_get_value (outputs, 0));
  if (!output || !strstr (output, ":float32:1x125x")) {
    char *found = output ? g_strdup_printf ("the output '%s'", output) : g_strdup ("no output, or several");
    char *wrong = g_strdup_printf ("the model has %s, but YOLOv2 has one of float32:1x125xHxW", found);

    fail (self, wrong);
    g_free (wrong);
    g_free (found);
    return FALSE;
  }
  return gst_structure_get_int (caps, "width", &self->width) && gst_structure_get_int (caps, "height", &self->height);
}

/* The numbers of YOLOv2 (Redmon and Farhadi, "YOLO9000: Better, Faster, Stronger", 2017). */

static double
sigmoid (double x)
{
  return 1 / (1 + exp (-x));
}

/* The box of an anchor in a cell, in cells; `values` are its channels. */
static Box
decode (const float *values, guint anchor, guint x, guint y)
{
  double most = values[5], sum = 0;
  double cx = x + sigmoid (values[0]), cy = y + sigmoid (values[1]);
  double w = anchors[anchor][0] * exp (values[2]), h = anchors[anchor][1] * exp (values[3]);
  Box box = { cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2, 0, 0 };

  for (guint i = 0; i < CLASSES; i++) {
    if (values[5 + i] > most) {
      most = values[5 + i];
      box.label = i;
    }
  }
  for (guint i = 0; i < CLASSES; i++)
    sum += exp (values[5 + i] - most);
  box.confidence = sigmoid (values[4]) / sum;
  return box;
}

static gint
by_confidence (gconstpointer a, gconstpointer b)
{
  double difference = ((const Box *) b)->confidence - ((const Box *) a)->confidence;
  return (difference > 0) - (difference < 0);
}

static double
iou (const Box *a, const Box *b)
{
  double w = MIN (a->right, b->right) - MAX (a->left, b->left), h = MIN (a->bottom, b->bottom) - MAX (a->top, b->top);
  double inside = MAX (w, 0) * MAX (h, 0);
  return inside / ((a->right - a->left) * (a->bottom - a->top) + (b->right - b->left) * (b->bottom - b->top) - inside);
}

/* What tracker, inferoverlay and inferpublish read: a region with the parameter `detection`. */
static void
put (GstBuffer *buffer, const Box *box)
{
  guint x = round (box->left), y = round (box->top);
  guint number = gst_buffer_get_n_meta (buffer, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE);
  GstVideoRegionOfInterestMeta *roi = gst_buffer_add_video_region_of_interest_meta (buffer, labels[box->label],
      x, y, (guint) round (box->right) - x, (guint) round (box->bottom) - y);

  roi->id = number;
  gst_video_region_of_interest_meta_add_param (roi, gst_structure_new ("detection",
          "x", G_TYPE_DOUBLE, box->left, "y", G_TYPE_DOUBLE, box->top,
          "w", G_TYPE_DOUBLE, box->right - box->left, "h", G_TYPE_DOUBLE, box->bottom - box->top,
          "confidence", G_TYPE_DOUBLE, box->confidence, "label-id", G_TYPE_UINT, box->label, NULL));
}

/* The grid of a network: `[1, ANCHORS * CHANNELS, rows, columns]` of float32, on the host or on the GPU. */
typedef struct {
  const float *host;            /* NULL: on the GPU */
  Device *device;
  guint rows, columns;
} Grid;

/* `count` channels from `channel` on, of the cells from `cell` on: `cells` of each. */
static gboolean
read_values (const Grid *grid, guint channel, guint count, guint cell, guint cells, float *values)
{
  guint all = grid->rows * grid->columns;

  if (!grid->host)
    return device_read (grid->device, channel * all + cell, all, count, cells, values);
  for (guint i = 0; i < count; i++)
    memcpy (values + i * cells, grid->host + (channel + i) * all + cell, cells * sizeof (float));
  return TRUE;
}

/* Adds the boxes of a grid, in cells. */
static gboolean
find (const Grid *grid, GArray *boxes)
{
  guint cells = grid->rows * grid->columns;
  float *objectness = g_new (float, cells), values[CHANNELS];
  gboolean read = TRUE;

  for (guint anchor = 0; read && anchor < ANCHORS; anchor++) {
    read = read_values (grid, anchor * CHANNELS + 4, 1, 0, cells, objectness);
    for (guint cell = 0; read && cell < cells; cell++) {
      /* Most cells are empty, and nothing else is read of them. */
      if (sigmoid (objectness[cell]) < CONFIDENCE)
        continue;
      read = read_values (grid, anchor * CHANNELS, CHANNELS, cell, 1, values);
      Box box = decode (values, anchor, cell % grid->columns, cell / grid->columns);
      /* What is not a finite number is left out. */
      if (read && box.confidence >= CONFIDENCE && isfinite (box.left + box.top + box.right + box.bottom))
        g_array_append_val (boxes, box);
    }
  }
  g_free (objectness);
  return read;
}

/* Finds the objects of a frame. Returns NULL, or what is wrong. */
static const char *
find_objects (Yolov2 *self, GstBuffer *buffer, const GstStructure *meta)
{
  const GValue *tensors = gst_structure_get_value (meta, "tensors"), *dims;
  const GstStructure *tensor;
  GstBuffer *data;
  GstMemory *memory;
  GstMapInfo map;
  Grid grid = { 0 };
  GArray *boxes;
  double scale[2], offset[2];
  int input[2];
  gboolean read;

  if (!tensors || gst_value_array_get_size (tensors) != 1)
    return "a frame came without its tensor";
  tensor = gst_value_get_structure (gst_value_array_get_value (tensors, 0));
  dims = gst_structure_get_value (tensor, "dims");
  if (!dims || gst_value_array_get_size (dims) != 4)
    return "the tensor has not four dimensions";
  grid.rows = g_value_get_int (gst_value_array_get_value (dims, 2));
  grid.columns = g_value_get_int (gst_value_array_get_value (dims, 3));
  if (!gst_structure_get (meta, "scale-x", G_TYPE_DOUBLE, &scale[0], "scale-y", G_TYPE_DOUBLE, &scale[1],
          "offset-x", G_TYPE_DOUBLE, &offset[0], "offset-y", G_TYPE_DOUBLE, &offset[1],
          "input-width", G_TYPE_INT, &input[0], "input-height", G_TYPE_INT, &input[1], NULL))
    return "a frame came without the tensor's place";
  data = gst_value_get_buffer (gst_structure_get_value (tensor, "data"));
  memory = gst_buffer_peek_memory (data, 0);

  if (device_has (memory)) {
    if (!gst_memory_map (memory, &map, GST_MAP_READ | GST_MAP_CUDA))
      return "the tensor on the GPU cannot be mapped";
    grid.device = device_open (map.data);
  } else {
    if (!gst_memory_map (memory, &map, GST_MAP_READ))
      return "the tensor cannot be mapped";
    grid.host = (const float *) map.data;
  }
  boxes = g_array_new (FALSE, FALSE, sizeof (Box));
  read = map.size >= ANCHORS * CHANNELS * grid.rows * grid.columns * sizeof (float)
      && (grid.host || grid.device) && find (&grid, boxes);
  /* No copy may still read the tensor: its memory is used again. */
  if (grid.device)
    device_close (grid.device);
  gst_memory_unmap (memory, &map);

  /* From cells to pixels of the tensor, and from these to the frame's. */
  scale[0] *= (double) input[0] / grid.columns;
  scale[1] *= (double) input[1] / grid.rows;
  g_array_sort (boxes, by_confidence);
  for (guint i = 0; i < boxes->len; i++) {
    const Box *box = &g_array_index (boxes, Box, i);
    for (guint k = boxes->len - 1; k > i; k--) {
      const Box *weaker = &g_array_index (boxes, Box, k);
      if (weaker->label == box->label && iou (box, weaker) > IOU)
        g_array_remove_index (boxes, k);
    }
    Box in_frame = *box;
    in_frame.left = CLAMP (scale[0] * box->left + offset[0], 0, self->width);
    in_frame.right = CLAMP (scale[0] * box->right + offset[0], 0, self->width);
    in_frame.top = CLAMP (scale[1] * box->top + offset[1], 0, self->height);
    in_frame.bottom = CLAMP (scale[1] * box->bottom + offset[1], 0, self->height);
    put (buffer, &in_frame);
  }
  g_array_unref (boxes);
  return read ? NULL : "the tensor cannot be read";
}

static GstFlowReturn
transform_ip (GstBaseTransform *base, GstBuffer *buffer)
{
  GstCustomMeta *meta = gst_buffer_get_custom_meta (buffer, "GstCudaInferTensorMeta");
  const char *wrong = "a frame came without tensors";

  if (meta) {
    wrong = find_objects (EXAMPLE_YOLOV2 (base), buffer, gst_custom_meta_get_structure (meta));
    gst_buffer_remove_meta (buffer, (GstMeta *) meta);
  }
  if (wrong) {
    fail (EXAMPLE_YOLOV2 (base), wrong);
    return GST_FLOW_ERROR;
  }
  return GST_FLOW_OK;
}

static void
yolov2_class_init (Yolov2Class *class)
{
  GstElementClass *element = GST_ELEMENT_CLASS (class);
  GstBaseTransformClass *base = GST_BASE_TRANSFORM_CLASS (class);

  gst_element_class_set_static_metadata (element, "YOLOv2 decoder", "Filter/Analyzer/Video",
      "Finds objects in the outputs of YOLOv2 networks", "You");
  gst_element_class_add_static_pad_template (element, &sink_template);
  gst_element_class_add_static_pad_template (element, &src_template);
  base->transform_caps = transform_caps;
  base->set_caps = set_caps;
  base->transform_ip = transform_ip;
}

static void
yolov2_init (Yolov2 *self)
{
}

static gboolean
plugin_init (GstPlugin *plugin)
{
  return GST_ELEMENT_REGISTER (yolov2c, plugin);
}

#define PACKAGE "yolov2c"
GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, yolov2c, "A decoder of YOLOv2", plugin_init, "1.0",
    "MIT/X11", PACKAGE, "https://example.org/yolov2c")
