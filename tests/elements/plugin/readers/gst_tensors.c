/* What cudainfer.h reads of frames with GStreamer's own tensors: gst_tensors DETECTOR. */
#include <cudainfer.h>
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

static gfloat sums[3];

static void
has_a_tensor (GstBuffer * buffer, gboolean knows_place, gfloat * sum)
{
  CudaInferTensor tensor;
  GstMapInfo map;

  g_assert_true (cudainfer_tensor (buffer, 0, 0, &tensor));
  g_assert_cmpstr (tensor.name, ==, "detections");
  g_assert_cmpstr (tensor.type, ==, "float32");
  g_assert_true (tensor.n_dims == 3 && tensor.dims[0] == 1 && tensor.dims[1] == 6 && tensor.dims[2] == 84);
  g_assert_true (gst_buffer_map (tensor.data, &map, GST_MAP_READ));
  g_assert_cmpuint (map.size, ==, 6 * 84 * 4);
  *sum = 0;
  for (gsize i = 0; i < map.size / sizeof (gfloat); i++)
    *sum += ((gfloat *) map.data)[i];
  gst_buffer_unmap (tensor.data, &map);
  g_assert_true (knows_place == (tensor.scale_x != 1));
  g_assert_false (cudainfer_tensor (buffer, 0, 1, &tensor));
  g_assert_false (cudainfer_tensor (buffer, 1, 0, &tensor));
}

static void
has_ours (GstBuffer * buffer)
{
  CudaInferTensor tensor;

  has_a_tensor (buffer, TRUE, &sums[0]);
  g_assert_false (cudainfer_gst_tensor (buffer, 0, &tensor));
}

static void
has_theirs (GstBuffer * buffer)
{
  has_a_tensor (buffer, FALSE, &sums[1]);
}

static void
has_both (GstBuffer * buffer)
{
  CudaInferTensor ours, theirs;

  has_a_tensor (buffer, TRUE, &sums[2]);
  g_assert_true (cudainfer_tensor (buffer, 0, 0, &ours) && cudainfer_gst_tensor (buffer, 0, &theirs));
  /* One buffer: nothing is copied. */
  g_assert_true (ours.data == theirs.data);
}

int
main (int argc, char **argv)
{
  const gchar *line = "videotestsrc num-buffers=2 pattern=red ! fusedpreproc ! trtinfer model=%s tensors=%s ! fakesink name=out";

  gst_init (&argc, &argv);
  play (line, argv[1], "ours", has_ours);
  play (line, argv[1], "gst", has_theirs);
  play (line, argv[1], "both", has_both);
  g_assert_true (sums[0] > 0 && sums[0] == sums[1] && sums[0] == sums[2]);
  g_print ("as it must be\n");
  return 0;
}
