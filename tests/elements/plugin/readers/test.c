/* What cudainfer.h reads of frames: test MASKS DETECTOR ATTRIBUTES. */
#include <cudainfer.h>
#include <math.h>
#include <string.h>

typedef void (*Check) (GstBuffer * buffer);

static guint frames;

static GstPadProbeReturn
on_frame (GstPad * pad, GstPadProbeInfo * info, gpointer check)
{
  frames++;
  ((Check) check) (GST_PAD_PROBE_INFO_BUFFER (info));
  return GST_PAD_PROBE_OK;
}

static void
play (const gchar * format, const gchar * model, const gchar * second, Check check)
{
  gchar *line = g_strdup_printf (format, model, second);
  GError *error = NULL;
  GstElement *pipeline = gst_parse_launch (line, &error);
  GstElement *out;
  GstPad *pad;
  GstBus *bus;
  GstMessage *message;

  g_assert_no_error (error);
  out = gst_bin_get_by_name (GST_BIN (pipeline), "out");
  pad = gst_element_get_static_pad (out, "sink");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, (gpointer) check, NULL);
  frames = 0;
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  bus = gst_element_get_bus (pipeline);
  message = gst_bus_timed_pop_filtered (bus, GST_CLOCK_TIME_NONE, (GstMessageType) (GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
    gst_message_parse_error (message, &error, NULL);
  g_assert_no_error (error);
  g_assert_cmpuint (frames, ==, 2);
  gst_message_unref (message);
  gst_object_unref (bus);
  gst_object_unref (pad);
  gst_object_unref (out);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  g_free (line);
}

static void
has_a_mask (GstBuffer * buffer)
{
  CudaInferMask mask;
  GstMapInfo map;

  g_assert_true (cudainfer_mask (buffer, 0, &mask));
  g_assert_cmpstr (mask.kind, ==, "classes");
  g_assert_true (mask.width == 24 && mask.height == 16 && mask.w == 24 && mask.h == 16 && mask.x == 0 && mask.y == 0);
  g_assert_true (mask.object == -1 && mask.background == -1);
  g_assert_true (gst_buffer_map (mask.data, &map, GST_MAP_READ));
  g_assert_cmpuint (map.size, ==, 24 * 16);
  g_assert_cmpuint (map.data[24 * 8 + 12], ==, 2);
  gst_buffer_unmap (mask.data, &map);
  g_assert_false (cudainfer_mask (buffer, 1, &mask));
}

static void
has_a_tensor (GstBuffer * buffer)
{
  CudaInferTensor tensor;
  CudaInferMask mask;

  g_assert_true (cudainfer_tensor (buffer, 0, 0, &tensor));
  g_assert_cmpstr (tensor.name, ==, "detections");
  g_assert_cmpstr (tensor.type, ==, "float32");
  g_assert_true (tensor.n_dims == 3 && tensor.dims[0] == 1 && tensor.dims[1] == 6 && tensor.dims[2] == 84);
  g_assert_cmpuint (gst_buffer_get_size (tensor.data), ==, 6 * 84 * 4);
  g_assert_true (tensor.scale_x > 0 && tensor.scale_y > 0);
  g_assert_false (cudainfer_tensor (buffer, 0, 1, &tensor));
  g_assert_false (cudainfer_tensor (buffer, 1, 0, &tensor));
  g_assert_false (cudainfer_mask (buffer, 0, &mask));
}

static void
has_tensors_of_regions (GstBuffer * buffer)
{
  CudaInferTensor tensor;
  guint regions = 0;

  while (cudainfer_tensor (buffer, regions, 0, &tensor))
    regions++;
  g_assert_cmpuint (regions, ==, 2);
}

static void
has_attributes (GstBuffer * buffer)
{
  CudaInferObject object;
  CudaInferClass found;
  CudaInferEmbedding embedding;
  CudaInferKeypoint point;
  gpointer state = NULL;
  guint objects = 0;

  while (cudainfer_next_object (buffer, &state, &object)) {
    GstMapInfo map;
    float values[2];

    g_assert_cmpint (object.id, ==, (gint) objects++);
    g_assert_true (object.is_detected && !object.is_tracked && object.confidence > 0.3 && object.w > 0 && object.h > 0);
    g_assert_cmpint (object.parent, ==, -1);
    g_assert_true (cudainfer_class (&object, 0, 0, &found));
    g_assert_cmpstr (found.label, ==, "red");
    g_assert_cmpstr (found.output, ==, "colour");
    g_assert_cmpstr (found.model, ==, "attributes");
    g_assert_true (found.confidence > 0.99 && found.label_id == 0);
    g_assert_true (cudainfer_class (&object, 1, 0, &found));
    g_assert_cmpstr (found.output, ==, "traits");
    g_assert_false (cudainfer_class (&object, 0, 100, &found));
    g_assert_false (cudainfer_class (&object, 2, 0, &found));
    g_assert_true (cudainfer_embedding (&object, 0, &embedding));
    g_assert_true (embedding.length == 2 && embedding.is_normalized);
    g_assert_true (gst_buffer_map (embedding.data, &map, GST_MAP_READ));
    memcpy (values, map.data, sizeof values);
    g_assert_true (fabs (values[0] * values[0] + values[1] * values[1] - 1) < 1e-5);
    gst_buffer_unmap (embedding.data, &map);
    g_assert_false (cudainfer_embedding (&object, 1, &embedding));
    g_assert_false (cudainfer_keypoint (&object, 0, &point));
  }
  g_assert_cmpuint (objects, >, 0);
}

static void
has_values (GstBuffer * buffer)
{
  CudaInferObject object;
  CudaInferClass found;
  CudaInferValue value;
  gpointer state = NULL;
  guint objects = 0;

  for (; cudainfer_next_object (buffer, &state, &object); objects++) {
    g_assert_true (cudainfer_class (&object, 0, 0, &found));
    g_assert_cmpstr (found.label, ==, "female");
    g_assert_cmpstr (found.output, ==, "gender");
    g_assert_true (cudainfer_value (&object, 0, 0, &value));
    g_assert_cmpstr (value.name, ==, "age");
    g_assert_cmpstr (value.model, ==, "people-named");
    g_assert_cmpstr (value.output, ==, "fc");
    g_assert_true (fabs (value.value - 1.5) < 1e-3);
    g_assert_false (cudainfer_value (&object, 0, 1, &value));
    g_assert_false (cudainfer_value (&object, 1, 0, &value));
  }
  g_assert_cmpuint (objects, >, 0);
}

/* Regions of other elements, some with parameters of our names and other fields, and what is only half there. */
static void
leaves_others_alone (void)
{
  GstBuffer *buffer = gst_buffer_new ();
  GstVideoRegionOfInterestMeta *region;
  CudaInferObject object;
  CudaInferKeypoint point;
  gpointer state = NULL;

  gst_buffer_add_video_region_of_interest_meta (buffer, "face", 1, 2, 3, 4);
  region = gst_buffer_add_video_region_of_interest_meta (buffer, "face", 1, 2, 3, 4);
  gst_video_region_of_interest_meta_add_param (region, gst_structure_new ("detection", "confidence", G_TYPE_STRING, "high", NULL));
  gst_video_region_of_interest_meta_add_param (region, gst_structure_new_empty ("tracking"));
  g_assert_false (cudainfer_next_object (buffer, &state, &object));
  region = gst_buffer_add_video_region_of_interest_meta (buffer, "person", 1, 2, 3, 4);
  region->id = 7;
  gst_video_region_of_interest_meta_add_param (region, gst_structure_new ("keypoints", "names", G_TYPE_STRING, "nose", NULL));
  gst_video_region_of_interest_meta_add_param (region, gst_structure_new ("tracking", "id", G_TYPE_UINT64, (guint64) 5,
          "age", G_TYPE_UINT, 1, "hits", G_TYPE_UINT, 2, "state", G_TYPE_STRING, "lost", "velocity-x", G_TYPE_DOUBLE, 1.5,
          "velocity-y", G_TYPE_DOUBLE, -0.5, NULL));
  gst_video_region_of_interest_meta_add_param (region, gst_structure_new ("parent", "id", G_TYPE_INT, 3, NULL));
  state = NULL;
  g_assert_true (cudainfer_next_object (buffer, &state, &object));
  g_assert_true (object.id == 7 && object.x == 1 && object.h == 4 && !object.is_detected && object.confidence == 0);
  g_assert_true (object.is_tracked && object.is_lost && object.track_id == 5 && object.velocity_y == -0.5);
  g_assert_cmpint (object.parent, ==, 3);
  g_assert_false (cudainfer_keypoint (&object, 0, &point));
  g_assert_false (cudainfer_next_object (buffer, &state, &object));
  gst_buffer_unref (buffer);
}

/* A point at 1, 2. */
static GstStructure *
points (const gchar * name)
{
  GstStructure *s = gst_structure_new_empty ("keypoints");
  const gchar *fields[] = { "x", "y", "score" };
  GValue list = G_VALUE_INIT, value = G_VALUE_INIT;
  guint i;

  g_value_init (&list, GST_TYPE_ARRAY);
  g_value_init (&value, G_TYPE_STRING);
  g_value_set_string (&value, name);
  gst_value_array_append_value (&list, &value);
  g_value_unset (&value);
  gst_structure_take_value (s, "names", &list);
  for (i = 0; i < 3; i++) {
    GValue numbers = G_VALUE_INIT, number = G_VALUE_INIT;

    g_value_init (&numbers, GST_TYPE_ARRAY);
    g_value_init (&number, G_TYPE_DOUBLE);
    g_value_set_double (&number, i + 1);
    gst_value_array_append_value (&numbers, &number);
    g_value_unset (&number);
    gst_structure_take_value (s, fields[i], &numbers);
  }
  return s;
}

static void
places_in_the_world_are_read (void)
{
  GstBuffer *buffer = gst_buffer_new ();
  GstVideoRegionOfInterestMeta *region = gst_buffer_add_video_region_of_interest_meta (buffer, "car", 0, 0, 8, 8);
  CudaInferObject object;
  CudaInferWorld world;
  gpointer state = NULL;

  gst_video_region_of_interest_meta_add_param (region, gst_structure_new ("world", "x", G_TYPE_DOUBLE, 1.5, "y", G_TYPE_DOUBLE, 20.0,
          "speed", G_TYPE_DOUBLE, 13.9, "speed-deviation", G_TYPE_DOUBLE, 0.25, "nearest", G_TYPE_INT, 3,
          "nearest-distance", G_TYPE_DOUBLE, 4.5, NULL));
  region = gst_buffer_add_video_region_of_interest_meta (buffer, "car", 0, 0, 8, 8);
  gst_video_region_of_interest_meta_add_param (region, gst_structure_new ("world", "x", G_TYPE_DOUBLE, 2.5, "y", G_TYPE_DOUBLE, 30.0,
          NULL));
  region = gst_buffer_add_video_region_of_interest_meta (buffer, "car", 0, 0, 8, 8);
  gst_video_region_of_interest_meta_add_param (region, points ("wheel"));
  g_assert_true (cudainfer_next_object (buffer, &state, &object) && cudainfer_world (&object, &world));
  g_assert_true (world.x == 1.5 && world.y == 20 && world.has_speed && world.speed == 13.9 && world.deviation == 0.25);
  g_assert_true (isnan (world.direction) && world.nearest == 3 && world.distance == 4.5);
  g_assert_true (cudainfer_next_object (buffer, &state, &object) && cudainfer_world (&object, &world));
  g_assert_true (world.y == 30 && !world.has_speed && world.speed == 0 && world.nearest == -1 && world.distance == 0);
  g_assert_true (cudainfer_next_object (buffer, &state, &object) && !cudainfer_world (&object, &world));
  gst_buffer_unref (buffer);
}

static void
identities_are_read (void)
{
  GstBuffer *buffer = gst_buffer_new ();
  GstVideoRegionOfInterestMeta *region = gst_buffer_add_video_region_of_interest_meta (buffer, "face", 0, 0, 8, 8);
  CudaInferObject object;
  CudaInferIdentity who;
  gpointer state = NULL;

  gst_video_region_of_interest_meta_add_param (region, gst_structure_new ("identity", "name", G_TYPE_STRING, "unknown-3",
          "score", G_TYPE_DOUBLE, 0.75, "unknown", G_TYPE_UINT64, (guint64) 3, "held", G_TYPE_BOOLEAN, TRUE, NULL));
  region = gst_buffer_add_video_region_of_interest_meta (buffer, "face", 0, 0, 8, 8);
  gst_video_region_of_interest_meta_add_param (region, gst_structure_new ("identity", "name", G_TYPE_STRING, "Ann",
          "score", G_TYPE_DOUBLE, 0.5, NULL));
  g_assert_true (cudainfer_next_object (buffer, &state, &object));
  g_assert_true (cudainfer_identity (&object, &who));
  g_assert_cmpstr (who.name, ==, "unknown-3");
  g_assert_true (who.score == 0.75 && who.unknown == 3 && who.held);
  g_assert_true (cudainfer_next_object (buffer, &state, &object));
  g_assert_true (cudainfer_identity (&object, &who));
  g_assert_cmpstr (who.name, ==, "Ann");
  g_assert_true (who.score == 0.5 && who.unknown == 0 && !who.held);
  object.region = NULL;
  g_assert_false (cudainfer_identity (&object, &who));
  gst_buffer_unref (buffer);
}

static void
the_last_models_points_count (void)
{
  GstBuffer *buffer = gst_buffer_new ();
  GstVideoRegionOfInterestMeta *region = gst_buffer_add_video_region_of_interest_meta (buffer, "hand", 0, 0, 8, 8);
  CudaInferObject object;
  CudaInferKeypoint point;
  gpointer state = NULL;

  gst_video_region_of_interest_meta_add_param (region, points ("wrist"));
  gst_video_region_of_interest_meta_add_param (region, points ("thumb"));
  gst_video_region_of_interest_meta_add_param (region, gst_structure_new_empty ("keypoints"));
  g_assert_true (cudainfer_next_object (buffer, &state, &object));
  g_assert_true (cudainfer_keypoint (&object, 0, &point));
  g_assert_cmpstr (point.name, ==, "thumb");
  g_assert_true (point.x == 1 && point.y == 2 && point.score == 3);
  g_assert_false (cudainfer_keypoint (&object, 1, &point));
  gst_buffer_unref (buffer);
}

#define HALVES "compositor name=mix background=black sink_1::xpos=12 ! video/x-raw,format=RGB,width=24,height=16 " \
  "! identity name=mixed videotestsrc num-buffers=2 pattern=red ! video/x-raw,format=RGB,width=12,height=16 ! mix.sink_0 " \
  "videotestsrc num-buffers=2 pattern=blue ! video/x-raw,format=RGB,width=12,height=16 ! mix.sink_1  mixed."
#define FEW "videotestsrc num-buffers=2 pattern=red ! fusedpreproc ! trtinfer model=%s"

int
main (int argc, char **argv)
{
  gst_init (&argc, &argv);
  leaves_others_alone ();
  identities_are_read ();
  the_last_models_points_count ();
  places_in_the_world_are_read ();
  play (HALVES " ! fusedpreproc ! trtinfer model=%s ! segmask ! fakesink name=out", argv[1], NULL, has_a_mask);
  play (FEW " ! fakesink name=out", argv[2], NULL, has_a_tensor);
  play (FEW " ! gpunms ! fusedpreproc roi=list regions=0,0,160,120;160,0,160,120 ! trtinfer model=%s ! fakesink name=out", argv[2],
      argv[3], has_tensors_of_regions);
  play (FEW " ! gpunms ! fusedpreproc roi=objects ! trtinfer model=%s ! classify output=colour ! classify output=traits ! embed "
      "! fakesink name=out", argv[2], argv[3], has_attributes);
  play (FEW " ! gpunms ! fusedpreproc roi=objects ! trtinfer model=%s ! classify ! fakesink name=out", argv[2], argv[4], has_values);
  g_print ("as it must be\n");
  return 0;
}
