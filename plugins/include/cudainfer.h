/* What cudainfer's elements have found in a frame, for programs in C and C++.
 *
 * Everything is inline and reads GStreamer's own metadata: link with gstreamer-video-1.0, and with nothing of cudainfer. Strings,
 * structures and buffers belong to the frame: copy or reference what is kept longer. Coordinates are frame pixels, continuous:
 * pixel i has its centre at i + 0.5. docs/embedding.md has a program.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#pragma once

#include <string.h>

#include <gst/gst.h>
#include <gst/video/video.h>

G_BEGIN_DECLS

/* Dimensions of a tensor that are read. */
#define CUDAINFER_MAX_DIMS 8

/* An object in a frame. */
typedef struct
{
  gint id;                      /* number in this frame, from 0 */
  const gchar *label;           /* the class's name; "" if there is none */
  gdouble x, y, w, h;           /* the detector's box; if none has found it, its region in whole pixels */
  gdouble angle;                /* by how much the box is rotated about its centre: radians, clockwise on the screen */

  gboolean is_detected;         /* whether a detector has found it; else the next two are 0 */
  gdouble confidence;           /* 0 to 1 */
  guint label_id;               /* number of the label among the model's */

  gboolean is_tracked;          /* whether a tracker follows it; else the next seven are 0 */
  guint64 track_id;             /* identity, unique in the stream, from 1 */
  gboolean is_lost;             /* whether it is expected here and was not detected */
  guint age, hits;              /* frames since it was first seen; detections so far */
  gdouble velocity_x, velocity_y;       /* of its centre, pixels per second */

  GstVideoRegionOfInterestMeta *region; /* its parameters have the rest */
} CudaInferObject;

/* A point of an object. */
typedef struct
{
  const gchar *name;
  gdouble x, y;
  gdouble score;                /* 0 to 1 where the model's maps are probabilities */
} CudaInferKeypoint;

/* A class of an object. */
typedef struct
{
  const gchar *label;
  guint label_id;
  gdouble confidence;
  const gchar *model, *output;  /* whose scores these are */
} CudaInferClass;

/* A vector that describes an object. */
typedef struct
{
  GstBuffer *data;              /* float32, little-endian */
  guint length;                 /* its numbers */
  gboolean is_normalized;       /* whether its length as a vector is 1 */
  const gchar *model, *output;
} CudaInferEmbedding;

/* A mask over the frame or a part of it. */
typedef struct
{
  const gchar *kind;            /* "classes": each byte is a class. "alpha": 0 to 255. "instance": 1 inside, 0 elsewhere */
  gint width, height;           /* samples in a row, and rows */
  GstBuffer *data;              /* one byte a sample, rows without padding */
  gdouble x, y, w, h;           /* what it covers; it may reach beyond the frame */
  gint object;                  /* "instance": the object's id; else -1 */
  gint background;              /* "classes": the number of the background; -1 if there is none */
} CudaInferMask;

/* A tensor between fusedpreproc and trtinfer, or behind trtinfer. */
typedef struct
{
  const gchar *name;            /* the model's; of GStreamer's own tensors, the identifier */
  const gchar *type;            /* "float32", "float16", "uint8", "int8", "int32", "int64" or "bool"; others of GStreamer's own tensors */
  guint n_dims;
  gint dims[CUDAINFER_MAX_DIMS];        /* outermost first */
  GstBuffer *data;              /* dense, row-major. On a GPU, mapping it for reading downloads it */
  /* From pixels of the network's input to the frame: frame = scale * tensor + offset. */
  gdouble scale_x, scale_y, offset_x, offset_y;
} CudaInferTensor;

/* The nth entry of a GstValueArray; NULL where there is none. */
static inline const GValue *
cudainfer_entry (const GstStructure * s, const gchar * field, guint nth)
{
  const GValue *array = s ? gst_structure_get_value (s, field) : NULL;

  if (!array || !GST_VALUE_HOLDS_ARRAY (array) || nth >= gst_value_array_get_size (array))
    return NULL;
  return gst_value_array_get_value (array, nth);
}

/* The same where it is a string, a number or a structure; FALSE where it is none. */
static inline gboolean
cudainfer_entry_string (const GstStructure * s, const gchar * field, guint nth, const gchar ** to)
{
  const GValue *value = cudainfer_entry (s, field, nth);

  if (!value || !G_VALUE_HOLDS_STRING (value))
    return FALSE;
  *to = g_value_get_string (value);
  return TRUE;
}

static inline gboolean
cudainfer_entry_double (const GstStructure * s, const gchar * field, guint nth, gdouble * to)
{
  const GValue *value = cudainfer_entry (s, field, nth);

  if (!value || !G_VALUE_HOLDS_DOUBLE (value))
    return FALSE;
  *to = g_value_get_double (value);
  return TRUE;
}

static inline const GstStructure *
cudainfer_entry_structure (const GstStructure * s, const gchar * field, guint nth)
{
  const GValue *value = cudainfer_entry (s, field, nth);

  return value && GST_VALUE_HOLDS_STRUCTURE (value) ? gst_value_get_structure (value) : NULL;
}

/* A field's buffer, which the structure keeps; NULL where there is none. */
static inline GstBuffer *
cudainfer_buffer (const GstStructure * s, const gchar * field)
{
  const GValue *value = gst_structure_get_value (s, field);

  return value && GST_VALUE_HOLDS_BUFFER (value) ? gst_value_get_buffer (value) : NULL;
}

/* The structure of a buffer's GstCustomMeta; NULL where it has none of this name. */
static inline const GstStructure *
cudainfer_custom_meta (GstBuffer * buffer, const gchar * name)
{
  GstCustomMeta *meta = gst_meta_get_info (name) ? gst_buffer_get_custom_meta (buffer, name) : NULL;

  return meta ? gst_custom_meta_get_structure (meta) : NULL;
}

/* The nth parameter of this name of an object, counted from 0; NULL where there is none. */
static inline const GstStructure *
cudainfer_parameter (const CudaInferObject * object, const gchar * name, guint nth)
{
  GList *entry;

  for (entry = object->region->params; entry; entry = entry->next) {
    const GstStructure *s = (const GstStructure *) entry->data;

    if (gst_structure_has_name (s, name) && nth-- == 0)
      return s;
  }
  return NULL;
}

/* Goes on to the next object of a frame; FALSE behind the last one. `*state` is NULL in the beginning.
 * Regions of interest of other elements are left out. */
static inline gboolean
cudainfer_next_object (GstBuffer * buffer, gpointer * state, CudaInferObject * object)
{
  static const gchar *const rest[] = { "keypoints", "classification", "embedding", "zones" };
  GstMeta *meta;

  while ((meta = gst_buffer_iterate_meta_filtered (buffer, state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))) {
    CudaInferObject found;
    const GstStructure *s;
    const gchar *track;
    gboolean known;
    guint i;

    memset (&found, 0, sizeof found);
    found.region = (GstVideoRegionOfInterestMeta *) meta;
    found.id = found.region->id;
    found.label = found.region->roi_type ? g_quark_to_string (found.region->roi_type) : "";
    s = cudainfer_parameter (&found, "detection", 0);
    found.is_detected = s && gst_structure_get (s, "x", G_TYPE_DOUBLE, &found.x, "y", G_TYPE_DOUBLE, &found.y,
        "w", G_TYPE_DOUBLE, &found.w, "h", G_TYPE_DOUBLE, &found.h, "confidence", G_TYPE_DOUBLE, &found.confidence,
        "label-id", G_TYPE_UINT, &found.label_id, NULL);
    if (found.is_detected) {
      gst_structure_get_double (s, "angle", &found.angle);
    } else {
      found.x = found.region->x;
      found.y = found.region->y;
      found.w = found.region->w;
      found.h = found.region->h;
      found.confidence = 0;
      found.label_id = 0;
    }
    s = cudainfer_parameter (&found, "tracking", 0);
    track = s ? gst_structure_get_string (s, "state") : NULL;
    found.is_tracked = track && gst_structure_get (s, "id", G_TYPE_UINT64, &found.track_id, "age", G_TYPE_UINT, &found.age,
        "hits", G_TYPE_UINT, &found.hits, "velocity-x", G_TYPE_DOUBLE, &found.velocity_x,
        "velocity-y", G_TYPE_DOUBLE, &found.velocity_y, NULL);
    found.is_lost = found.is_tracked && g_str_equal (track, "lost");
    known = found.is_detected || found.is_tracked;
    for (i = 0; i < G_N_ELEMENTS (rest) && !known; i++)
      known = cudainfer_parameter (&found, rest[i], 0) != NULL;
    if (known) {
      *object = found;
      return TRUE;
    }
  }
  return FALSE;
}

/* The nth point of an object; FALSE behind the last one. */
static inline gboolean
cudainfer_keypoint (const CudaInferObject * object, guint nth, CudaInferKeypoint * point)
{
  const GstStructure *s = cudainfer_parameter (object, "keypoints", 0);

  return cudainfer_entry_string (s, "names", nth, &point->name) && cudainfer_entry_double (s, "x", nth, &point->x)
      && cudainfer_entry_double (s, "y", nth, &point->y) && cudainfer_entry_double (s, "score", nth, &point->score);
}

/* The nth class that a classifier gives an object, the best first; FALSE behind the last one. */
static inline gboolean
cudainfer_class (const CudaInferObject * object, guint classifier, guint nth, CudaInferClass * found)
{
  const GstStructure *s = cudainfer_parameter (object, "classification", classifier);
  const GValue *id = cudainfer_entry (s, "label-ids", nth);

  if (!id || !G_VALUE_HOLDS_UINT (id) || !cudainfer_entry_string (s, "labels", nth, &found->label)
      || !cudainfer_entry_double (s, "confidence", nth, &found->confidence))
    return FALSE;
  found->label_id = g_value_get_uint (id);
  found->model = gst_structure_get_string (s, "model");
  found->output = gst_structure_get_string (s, "output");
  return TRUE;
}

/* The nth embedding of an object; FALSE behind the last one. */
static inline gboolean
cudainfer_embedding (const CudaInferObject * object, guint nth, CudaInferEmbedding * embedding)
{
  const GstStructure *s = cudainfer_parameter (object, "embedding", nth);

  if (!s || !(embedding->data = cudainfer_buffer (s, "data"))
      || !gst_structure_get (s, "length", G_TYPE_UINT, &embedding->length,
          "normalized", G_TYPE_BOOLEAN, &embedding->is_normalized, NULL))
    return FALSE;
  embedding->model = gst_structure_get_string (s, "model");
  embedding->output = gst_structure_get_string (s, "output");
  return TRUE;
}

/* The nth mask of a frame; FALSE behind the last one. */
static inline gboolean
cudainfer_mask (GstBuffer * buffer, guint nth, CudaInferMask * mask)
{
  const GstStructure *s = cudainfer_entry_structure (cudainfer_custom_meta (buffer, "GstCudaInferMaskMeta"), "masks", nth);

  if (!s || !(mask->data = cudainfer_buffer (s, "data")) || !(mask->kind = gst_structure_get_string (s, "kind"))
      || !gst_structure_get (s, "width", G_TYPE_INT, &mask->width, "height", G_TYPE_INT, &mask->height,
          "x", G_TYPE_DOUBLE, &mask->x, "y", G_TYPE_DOUBLE, &mask->y,
          "w", G_TYPE_DOUBLE, &mask->w, "h", G_TYPE_DOUBLE, &mask->h, NULL))
    return FALSE;
  mask->object = mask->background = -1;
  gst_structure_get_int (s, "object", &mask->object);
  gst_structure_get_int (s, "background", &mask->background);
  return TRUE;
}

/* GstTensor and GstTensorMeta of GStreamer 1.26, whose header is not needed. The dimensions follow the tensor. */
typedef struct
{
  GQuark id;
  gint layout, data_type;
  GstBuffer *data;
  gint dims_order;
  gsize n_dims;
} CudaInferGstTensor;

typedef struct
{
  GstMeta meta;
  gsize n_tensors;
  CudaInferGstTensor **tensors;
} CudaInferGstTensorMeta;

/* The nth of GStreamer's own tensors, which trtinfer writes with tensors=gst, and onnxinference; FALSE behind the last one, and
 * for one that is not dense. They do not say where they are in the frame. */
static inline gboolean
cudainfer_gst_tensor (GstBuffer * buffer, guint nth, CudaInferTensor * tensor)
{
  static const gchar *types[] = { "int4", "int8", "int16", "int32", "int64", "uint4", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "bfloat16", "string", "bool"
  };
  /* 0 as long as nobody has used the meta: then no frame has one. */
  GType api = g_type_from_name ("GstTensorMetaAPI");
  CudaInferGstTensorMeta *meta = api ? (CudaInferGstTensorMeta *) gst_buffer_get_meta (buffer, api) : NULL;
  CudaInferGstTensor *found;
  gsize *dims;

  if (!meta || nth >= meta->n_tensors || !(found = meta->tensors[nth]) || !found->data || found->layout != 0
      || found->data_type < 0 || found->data_type >= (gint) G_N_ELEMENTS (types) || found->n_dims > CUDAINFER_MAX_DIMS)
    return FALSE;
  tensor->name = g_quark_to_string (found->id);
  if (!tensor->name)
    tensor->name = "";
  tensor->type = types[found->data_type];
  tensor->data = found->data;
  dims = (gsize *) (found + 1);
  for (tensor->n_dims = 0; tensor->n_dims < found->n_dims; tensor->n_dims++)
    tensor->dims[tensor->n_dims] = (gint) MIN (dims[tensor->n_dims], (gsize) G_MAXINT);
  tensor->scale_x = tensor->scale_y = 1;
  tensor->offset_x = tensor->offset_y = 0;
  return TRUE;
}

/* The nth tensor of a frame, or of one of its regions with `fusedpreproc roi=…`; FALSE behind the last one.
 * `region` counts from 0, and is 0 for the tensors of whole frames. Frames that have only GStreamer's own tensors give those. */
static inline gboolean
cudainfer_tensor (GstBuffer * buffer, guint region, guint nth, CudaInferTensor * tensor)
{
  const GstStructure *all = cudainfer_custom_meta (buffer, "GstCudaInferTensorMeta"), *s;
  const GValue *dims;

  if (all && gst_structure_has_field (all, "regions"))
    all = cudainfer_entry_structure (all, "regions", region);
  else if (region > 0)
    return FALSE;
  if (!all)
    return cudainfer_gst_tensor (buffer, nth, tensor);
  if (!(s = cudainfer_entry_structure (all, "tensors", nth)) || !(tensor->data = cudainfer_buffer (s, "data"))
      || !(tensor->name = gst_structure_get_string (s, "name")) || !(tensor->type = gst_structure_get_string (s, "type")))
    return FALSE;
  for (tensor->n_dims = 0; (dims = cudainfer_entry (s, "dims", tensor->n_dims)); tensor->n_dims++) {
    if (tensor->n_dims == CUDAINFER_MAX_DIMS || !G_VALUE_HOLDS_INT (dims))
      return FALSE;
    tensor->dims[tensor->n_dims] = g_value_get_int (dims);
  }
  return gst_structure_get (all, "scale-x", G_TYPE_DOUBLE, &tensor->scale_x, "scale-y", G_TYPE_DOUBLE, &tensor->scale_y,
      "offset-x", G_TYPE_DOUBLE, &tensor->offset_x, "offset-y", G_TYPE_DOUBLE, &tensor->offset_y, NULL);
}

G_END_DECLS
