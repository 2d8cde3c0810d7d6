/* analytics LINE: what cudainfer.h reads of the objects of each frame that reaches the element `out`. */
#include <cudainfer.h>

static GstPadProbeReturn
on_frame (GstPad * pad, GstPadProbeInfo * info, gpointer unused)
{
  GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER (info);
  CudaInferObject object;
  gpointer state = NULL;

  while (cudainfer_next_object (buffer, &state, &object)) {
    CudaInferClass found;
    CudaInferKeypoint point;
    CudaInferEmbedding embedding;
    guint i, j;

    g_print ("%d %s %u at %.0f,%.0f %.0fx%.0f %.2f conf %.3f", object.id, object.label, object.label_id, object.x, object.y, object.w,
        object.h, object.angle, object.confidence);
    if (object.is_tracked)
      g_print (" track %" G_GUINT64_FORMAT "%s", object.track_id, object.is_lost ? " lost" : "");
    if (object.parent >= 0)
      g_print (" of %d", object.parent);
    for (i = 0; cudainfer_class (&object, i, 0, &found); i++)
      for (j = 0; cudainfer_class (&object, i, j, &found); j++)
        g_print (" %s %u %.3f", found.label, found.label_id, found.confidence);
    g_print ("\n");
    g_assert_false (!object.region && (cudainfer_keypoint (&object, 0, &point) || cudainfer_embedding (&object, 0, &embedding)));
  }
  g_print ("frame\n");
  return GST_PAD_PROBE_OK;
}

int
main (int argc, char **argv)
{
  GError *error = NULL;
  GstElement *pipeline, *out;
  GstMessage *message;
  GstBus *bus;
  GstPad *pad;

  gst_init (&argc, &argv);
  pipeline = gst_parse_launch (argv[1], &error);
  g_assert_no_error (error);
  out = gst_bin_get_by_name (GST_BIN (pipeline), "out");
  pad = gst_element_get_static_pad (out, "sink");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, NULL, NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  bus = gst_element_get_bus (pipeline);
  message = gst_bus_timed_pop_filtered (bus, GST_CLOCK_TIME_NONE, (GstMessageType) (GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR)
    gst_message_parse_error (message, &error, NULL);
  g_assert_no_error (error);
  gst_message_unref (message);
  gst_object_unref (bus);
  gst_object_unref (pad);
  gst_object_unref (out);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
  return 0;
}
