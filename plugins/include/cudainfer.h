/* What cudainfer's elements have found in a frame, for programs in C and C++.
 *
 * Everything is inline and reads GStreamer's own metadata: link with gstreamer-video-1.0, and with nothing of cudainfer. Strings,
 * structures and buffers belong to the frame: copy or reference what is kept longer. Coordinates are frame pixels, continuous:
 * pixel i has its centre at i + 0.5. docs/embedding.md has a program.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#pragma once

#include <dlfcn.h>
#include <math.h>
#include <string.h>

#include <gst/gst.h>
#include <gst/video/video.h>

G_BEGIN_DECLS

/* Dimensions of a tensor that are read. */
#define CUDAINFER_MAX_DIMS 8

/* Entries of a frame's analytics metadata that are read, and classes of an entry. */
#define CUDAINFER_MAX_ENTRIES 4096
#define CUDAINFER_MAX_CLASSES 100

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

  gint parent;                  /* id of the object in whose region a second model has found it; -1 if there is none */

  GstVideoRegionOfInterestMeta *region; /* its parameters have the rest; NULL if only analytics metadata describe the object */
  GstMeta *analytics;           /* if region is NULL: the frame's GstAnalyticsRelationMeta, and the number of the box in it */
  guint entry;
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
  gboolean held;                /* found in an earlier frame: the model has not looked at the object in this one */
} CudaInferClass;

/* A number that a model gives for an object, such as an age, in the model's unit. */
typedef struct
{
  const gchar *name;
  gdouble value;
  const gchar *model, *output;  /* where it comes from */
  gboolean held;                /* as of classes */
} CudaInferValue;

/* A vector that describes an object. */
typedef struct
{
  GstBuffer *data;              /* float32, little-endian */
  guint length;                 /* its numbers */
  gboolean is_normalized;       /* whether its length as a vector is 1 */
  const gchar *model, *output;
} CudaInferEmbedding;

/* Where an object is in the world, in metres, downstream of a zonecount that knows the ground. */
typedef struct
{
  gdouble x, y;                 /* where its box touches the ground */
  gboolean has_speed;           /* whether it is tracked and was seen twice; else the next two are 0 */
  gdouble speed, deviation;     /* metres per second; the speed's standard deviation */
  gdouble direction;            /* degrees from the x axis of the ground towards its y axis; NaN where it may as well stand */
  gint nearest;                 /* id of the nearest other object that has a place; -1 if there is none */
  gdouble distance;             /* how far that is; 0 if there is none */
} CudaInferWorld;

/* Whom an object was recognised as, by its embedding. */
typedef struct
{
  const gchar *name;            /* that of the gallery; of who is in none, "unknown-3" */
  gdouble score;                /* cosine similarity, -1 to 1 */
  guint64 unknown;              /* the number of who is in no gallery; else 0 */
  gboolean held;                /* of earlier frames: no embedding was made of the object in this one */
} CudaInferIdentity;

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

/* A tensor between fusedpreproc and trtinfer, or downstream of trtinfer. */
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

  for (entry = object->region ? object->region->params : NULL; entry; entry = entry->next) {
    const GstStructure *s = (const GstStructure *) entry->data;

    if (gst_structure_has_name (s, name) && nth-- == 0)
      return s;
  }
  return NULL;
}

/* Goes on to the next object of a frame that has a region of interest. */
static inline gboolean
cudainfer_next_region (GstBuffer * buffer, gpointer * state, CudaInferObject * object)
{
  static const gchar *const rest[] = { "keypoints", "classification", "values", "embedding", "identity", "zones", "world" };
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
    s = cudainfer_parameter (&found, "parent", 0);
    if (!s || !gst_structure_get_int (s, "id", &found.parent))
      found.parent = -1;
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

/* GstAnalyticsMtd of GStreamer 1.24, whose header is not needed: an entry of a GstAnalyticsRelationMeta. */
typedef struct
{
  guint id;
  GstMeta *meta;
} CudaInferEntry;

/* What is called of libgstanalytics. The last function is of 1.26. */
typedef struct
{
  GType api;
  gsize detection, tracking, classification;
  gsize (*length) (GstMeta * meta);
  gsize (*type_of) (const CudaInferEntry * entry);
  gint (*relation) (GstMeta * meta, guint from, guint to);
  GQuark (*label) (const CudaInferEntry * entry);
  gboolean (*location) (const CudaInferEntry * entry, gint * x, gint * y, gint * w, gint * h, gfloat * confidence);
  gboolean (*track) (const CudaInferEntry * entry, guint64 * id, guint64 * first, guint64 * last, gboolean * is_lost);
  gsize (*classes) (const CudaInferEntry * entry);
  gfloat (*level) (const CudaInferEntry * entry, gsize nth);
  GQuark (*class_label) (const CudaInferEntry * entry, gsize nth);
  gboolean (*oriented) (const CudaInferEntry * entry, gint * x, gint * y, gint * w, gint * h, gfloat * angle, gfloat * confidence);
} CudaInferAnalytics;

static inline gboolean
cudainfer_symbol (void *library, const gchar * name, gpointer to)
{
  gchar symbol[64];
  void *found;

  g_snprintf (symbol, sizeof symbol, "gst_analytics_%s", name);
  found = dlsym (library, symbol);
  memcpy (to, &found, sizeof found);
  return found != NULL;
}

/* The library, if somebody in the process has used the metadata: else no frame has any. NULL where it lacks a function. */
static inline const CudaInferAnalytics *
cudainfer_analytics (void)
{
  static CudaInferAnalytics functions;
  static gsize state = 0;       /* 0: not looked up; 1: incomplete; 2: there */

  if (!g_atomic_pointer_get (&state) && g_type_from_name ("GstAnalyticsRelationMetaAPI")) {
    void *library = dlopen ("libgstanalytics-1.0.so.0", RTLD_LAZY | RTLD_NOLOAD);
    CudaInferAnalytics f;
    gsize (*types[3]) (void);
    GType (*api) (void);

    if (!library)
      return NULL;
    memset (&f, 0, sizeof f);
    if (cudainfer_symbol (library, "relation_meta_api_get_type", &api) && cudainfer_symbol (library, "od_mtd_get_mtd_type", &types[0])
        && cudainfer_symbol (library, "tracking_mtd_get_mtd_type", &types[1])
        && cudainfer_symbol (library, "cls_mtd_get_mtd_type", &types[2])
        && cudainfer_symbol (library, "relation_get_length", &f.length)
        && cudainfer_symbol (library, "mtd_get_mtd_type", &f.type_of)
        && cudainfer_symbol (library, "relation_meta_get_relation", &f.relation)
        && cudainfer_symbol (library, "od_mtd_get_obj_type", &f.label)
        && cudainfer_symbol (library, "od_mtd_get_location", &f.location)
        && cudainfer_symbol (library, "tracking_mtd_get_info", &f.track)
        && cudainfer_symbol (library, "cls_mtd_get_length", &f.classes)
        && cudainfer_symbol (library, "cls_mtd_get_level", &f.level)
        && cudainfer_symbol (library, "cls_mtd_get_quark", &f.class_label)) {
      cudainfer_symbol (library, "od_mtd_get_oriented_location", &f.oriented);
      f.api = api ();
      f.detection = types[0] ();
      f.tracking = types[1] ();
      f.classification = types[2] ();
    }
    if (g_once_init_enter (&state)) {
      functions = f;
      g_once_init_leave (&state, f.api ? 2 : 1);
    }
  }
  return functions.api ? &functions : NULL;
}

/* A box of analytics metadata; FALSE for other entries, and for boxes that cannot be. */
static inline gboolean
cudainfer_box (const CudaInferAnalytics * of, GstMeta * meta, guint number, CudaInferObject * object)
{
  CudaInferEntry entry = { number, meta };
  gint x, y, w, h;
  gfloat angle = 0, confidence;
  GQuark label;

  if (of->type_of (&entry) != of->detection
      || !(of->oriented ? of->oriented (&entry, &x, &y, &w, &h, &angle, &confidence)
          : of->location (&entry, &x, &y, &w, &h, &confidence)) || w < 0 || h < 0 || !isfinite (angle) || !isfinite (confidence))
    return FALSE;
  memset (object, 0, sizeof *object);
  object->parent = -1;
  label = of->label (&entry);
  object->label = label ? g_quark_to_string (label) : "";
  object->x = x;
  object->y = y;
  object->w = w;
  object->h = h;
  object->angle = angle;
  object->is_detected = TRUE;
  object->confidence = CLAMP (confidence, 0, 1);
  object->analytics = meta;
  object->entry = number;
  return TRUE;
}

/* Whether a box with analytics metadata is the same as another object's: regions have no negative coordinates, so one that is not
 * rotated is cut off there. */
static inline gboolean
cudainfer_is_same_box (const CudaInferObject * box, const CudaInferObject * other)
{
  const GstVideoRegionOfInterestMeta *r = other->region;
  gdouble left = MAX (box->x, 0), top = MAX (box->y, 0);

  if (strcmp (box->label, other->label) != 0 || (box->angle != 0) != (other->angle != 0))
    return FALSE;
  if (!r || box->angle != 0)
    return fabs (box->x - other->x) < 1 && fabs (box->y - other->y) < 1 && fabs (box->w - other->w) < 1 && fabs (box->h - other->h) < 1;
  return r->x == left && r->y == top && r->w == MAX (box->x + box->w - left, 0) && r->h == MAX (box->y + box->h - top, 0);
}

/* Whether a box is described by a region as well: of equal boxes, as many are as there are such regions. */
static inline gboolean
cudainfer_has_region (const CudaInferAnalytics * of, GstBuffer * buffer, const CudaInferObject * box)
{
  CudaInferObject other;
  gpointer state = NULL;
  guint equal = 0, i;

  while (cudainfer_next_region (buffer, &state, &other))
    equal += cudainfer_is_same_box (box, &other);
  for (i = 0; equal > 0 && i < box->entry; i++)
    equal -= cudainfer_box (of, box->analytics, i, &other) && cudainfer_is_same_box (box, &other);
  return equal > 0;
}

/* The id that the nth box without a region has as an object, from 0: those that no region has. */
static inline gint
cudainfer_free_id (GstBuffer * buffer, gint nth)
{
  gint id = nth, taken;

  for (;; id = nth + taken) {
    CudaInferObject region;
    gpointer state = NULL;

    for (taken = 0; cudainfer_next_region (buffer, &state, &region);)
      taken += region.id >= 0 && region.id <= id;
    if (id >= nth + taken)
      return id;
  }
}

/* The id that the object of this box has. */
static inline gint
cudainfer_box_id (const CudaInferAnalytics * of, GstBuffer * buffer, const CudaInferObject * box)
{
  CudaInferObject other;
  gpointer state = NULL;
  guint equal = 0, i;
  gint before = 0;

  for (i = 0; i < box->entry; i++) {
    if (!cudainfer_box (of, box->analytics, i, &other))
      continue;
    equal += cudainfer_is_same_box (box, &other);
    before += !cudainfer_has_region (of, buffer, &other);
  }
  while (cudainfer_next_region (buffer, &state, &other))
    if (cudainfer_is_same_box (box, &other) && equal-- == 0)
      return other.id;
  return cudainfer_free_id (buffer, before);
}

/* The id of the object that the one of a box is a part of; -1 if there is none. */
static inline gint
cudainfer_box_parent (const CudaInferAnalytics * of, GstBuffer * buffer, const CudaInferObject * box)
{
  const gint is_part_of = 1 << 1;       /* GST_ANALYTICS_REL_TYPE_IS_PART_OF */
  guint n = (guint) MIN (of->length (box->analytics), CUDAINFER_MAX_ENTRIES), i;
  CudaInferObject whole;

  for (i = 0; i < n; i++)
    if (i != box->entry && (of->relation (box->analytics, box->entry, i) & is_part_of)
        && cudainfer_box (of, box->analytics, i, &whole))
      return cudainfer_box_id (of, buffer, &whole);
  return -1;
}

/* The next entry from `number` on that is of this type and related to the box; the number of entries where there is none. */
static inline guint
cudainfer_related (const CudaInferAnalytics * of, const CudaInferObject * box, gsize type, guint number)
{
  guint n = (guint) MIN (of->length (box->analytics), CUDAINFER_MAX_ENTRIES);

  for (; number < n; number++) {
    CudaInferEntry entry = { number, box->analytics };

    if (of->type_of (&entry) == type && (of->relation (entry.meta, box->entry, number) || of->relation (entry.meta, number, box->entry)))
      break;
  }
  return number;
}

/* Goes on to the next object that only analytics metadata describe. `*state` is odd, so no address: it holds the next entry, and how
 * many such objects there were. */
static inline gboolean
cudainfer_next_box (GstBuffer * buffer, gpointer * state, CudaInferObject * object)
{
  const CudaInferAnalytics *of = cudainfer_analytics ();
  GstMeta *meta = of ? gst_buffer_get_meta (buffer, of->api) : NULL;
  gsize n = meta ? MIN (of->length (meta), CUDAINFER_MAX_ENTRIES) : 0, i = GPOINTER_TO_SIZE (*state) >> 1 & 0x1fff;
  gint before = (gint) (GPOINTER_TO_SIZE (*state) >> 14);

  for (; i < n; i++) {
    CudaInferEntry track = { 0, meta };
    guint64 first, last;
    const gchar *c;

    if (!cudainfer_box (of, meta, (guint) i, object) || cudainfer_has_region (of, buffer, object))
      continue;
    object->id = cudainfer_free_id (buffer, before);
    object->label_id = 0x811c9dc5;
    for (c = object->label; *c; c++)
      object->label_id = (object->label_id ^ (guint8) *c) * 0x01000193;
    object->label_id |= 1u << 31;
    object->parent = cudainfer_box_parent (of, buffer, object);
    track.id = cudainfer_related (of, object, of->tracking, 0);
    object->is_tracked = track.id < n && of->track (&track, &object->track_id, &first, &last, &object->is_lost);
    *state = GSIZE_TO_POINTER ((gsize) (before + 1) << 14 | (i + 1) << 1 | 1);
    return TRUE;
  }
  *state = NULL;
  return FALSE;
}

/* Goes on to the next object of a frame; FALSE after the last one. `*state` is NULL in the beginning.
 * Regions of interest of other elements are left out. Boxes that only analytics metadata describe come last. */
static inline gboolean
cudainfer_next_object (GstBuffer * buffer, gpointer * state, CudaInferObject * object)
{
  if (!(GPOINTER_TO_SIZE (*state) & 1) && cudainfer_next_region (buffer, state, object))
    return TRUE;
  return cudainfer_next_box (buffer, state, object);
}

/* The nth point of an object, of several models' points by the last model; FALSE after the last point. */
static inline gboolean
cudainfer_keypoint (const CudaInferObject * object, guint nth, CudaInferKeypoint * point)
{
  const GstStructure *s = NULL, *next;
  guint number;

  /* Those of a model that looked at the object by itself follow those of its detector. */
  for (number = 0; (next = cudainfer_parameter (object, "keypoints", number)); number++)
    if (gst_structure_has_field (next, "names"))
      s = next;
  return cudainfer_entry_string (s, "names", nth, &point->name) && cudainfer_entry_double (s, "x", nth, &point->x)
      && cudainfer_entry_double (s, "y", nth, &point->y) && cudainfer_entry_double (s, "score", nth, &point->score);
}

/* The same of an object that only analytics metadata describe, of whose classes the first CUDAINFER_MAX_CLASSES are read. */
static inline gboolean
cudainfer_box_class (const CudaInferObject * object, guint classifier, guint nth, CudaInferClass * found)
{
  const CudaInferAnalytics *of = cudainfer_analytics ();
  gfloat levels[CUDAINFER_MAX_CLASSES];
  guint number = 0, best = 0, i, n;
  CudaInferEntry entry = { 0, object->analytics };
  GQuark label;

  if (!of || !object->analytics)
    return FALSE;
  for (number = cudainfer_related (of, object, of->classification, 0); classifier > 0; classifier--)
    number = cudainfer_related (of, object, of->classification, number + 1);
  if (number >= MIN (of->length (object->analytics), CUDAINFER_MAX_ENTRIES))
    return FALSE;
  entry.id = number;
  n = (guint) MIN (of->classes (&entry), CUDAINFER_MAX_CLASSES);
  for (i = 0; i < n; i++)
    levels[i] = of->level (&entry, i);
  /* The best one is taken out `nth` times. */
  for (;; nth--) {
    for (best = n, i = 0; i < n; i++)
      if (isfinite (levels[i]) && (best == n || levels[i] > levels[best]))
        best = i;
    if (best == n)
      return FALSE;
    if (nth == 0)
      break;
    levels[best] = NAN;
  }
  label = of->class_label (&entry, best);
  found->label = label ? g_quark_to_string (label) : "";
  found->label_id = best;
  found->confidence = levels[best];
  found->model = found->output = NULL;
  found->held = FALSE;
  return TRUE;
}

/* The nth class that a classifier gives an object, the best first; FALSE after the last one. */
static inline gboolean
cudainfer_class (const CudaInferObject * object, guint classifier, guint nth, CudaInferClass * found)
{
  const GstStructure *s = cudainfer_parameter (object, "classification", classifier);
  const GValue *id = cudainfer_entry (s, "label-ids", nth);

  if (!object->region)
    return cudainfer_box_class (object, classifier, nth, found);
  if (!id || !G_VALUE_HOLDS_UINT (id) || !cudainfer_entry_string (s, "labels", nth, &found->label)
      || !cudainfer_entry_double (s, "confidence", nth, &found->confidence))
    return FALSE;
  found->label_id = g_value_get_uint (id);
  found->model = gst_structure_get_string (s, "model");
  found->output = gst_structure_get_string (s, "output");
  found->held = FALSE;
  gst_structure_get_boolean (s, "held", &found->held);
  return TRUE;
}

/* The nth value that an output of a model gives an object; FALSE after the last one. */
static inline gboolean
cudainfer_value (const CudaInferObject * object, guint output, guint nth, CudaInferValue * found)
{
  const GstStructure *s = cudainfer_parameter (object, "values", output);

  if (!cudainfer_entry_string (s, "names", nth, &found->name) || !cudainfer_entry_double (s, "values", nth, &found->value))
    return FALSE;
  found->model = gst_structure_get_string (s, "model");
  found->output = gst_structure_get_string (s, "output");
  found->held = FALSE;
  gst_structure_get_boolean (s, "held", &found->held);
  return TRUE;
}

/* The nth embedding of an object; FALSE after the last one. */
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

/* Where an object is in the world; FALSE where that is not known. */
static inline gboolean
cudainfer_world (const CudaInferObject * object, CudaInferWorld * world)
{
  const GstStructure *s = cudainfer_parameter (object, "world", 0);

  memset (world, 0, sizeof *world);
  if (!s || !gst_structure_get (s, "x", G_TYPE_DOUBLE, &world->x, "y", G_TYPE_DOUBLE, &world->y, NULL))
    return FALSE;
  world->has_speed = gst_structure_get (s, "speed", G_TYPE_DOUBLE, &world->speed,
      "speed-deviation", G_TYPE_DOUBLE, &world->deviation, NULL);
  if (!gst_structure_get_double (s, "speed-direction", &world->direction))
    world->direction = NAN;
  if (!gst_structure_get (s, "nearest", G_TYPE_INT, &world->nearest, "nearest-distance", G_TYPE_DOUBLE, &world->distance, NULL))
    world->nearest = -1;
  return TRUE;
}

/* Whom an object was recognised as; FALSE where it was not. */
static inline gboolean
cudainfer_identity (const CudaInferObject * object, CudaInferIdentity * identity)
{
  const GstStructure *s = cudainfer_parameter (object, "identity", 0);

  if (!s || !(identity->name = gst_structure_get_string (s, "name"))
      || !gst_structure_get_double (s, "score", &identity->score))
    return FALSE;
  identity->unknown = 0;
  gst_structure_get_uint64 (s, "unknown", &identity->unknown);
  identity->held = FALSE;
  gst_structure_get_boolean (s, "held", &identity->held);
  return TRUE;
}

/* The nth mask of a frame; FALSE after the last one. */
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

/* The nth of GStreamer's own tensors, which trtinfer writes with tensors=gst, and onnxinference; FALSE after the last one, and
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

/* The nth tensor of a frame, or of one of its regions with `fusedpreproc roi=…`; FALSE after the last one.
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
