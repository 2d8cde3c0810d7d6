/* Follows the code of docs/embedding.md. */
static void
ask (GstBus * bus, const gchar * type, gboolean wanted)
{
  GstElement *element = gst_element_factory_make ("identity", NULL);
  GstContext *context;

  g_assert_true (gst_bus_post (bus, gst_message_new_need_context (GST_OBJECT (element), type)));
  context = gst_element_get_context (element, "gst.cuda.context");
  g_assert_true ((context != NULL) == wanted);
  if (context)
    gst_context_unref (context);
  gst_object_unref (element);
}

int
main (int argc, char **argv)
{
  GstContext *found, *context;
  GstBus *bus;

  gst_init (&argc, &argv);
  found = inference_context ();
  if (found) {
    g_assert_true (gst_context_has_context_type (found, "gst.cuda.context"));
    gst_context_unref (found);
  }
  context = gst_context_new ("gst.cuda.context", TRUE);
  bus = gst_bus_new ();
  gst_bus_set_sync_handler (bus, on_need_context, context, NULL);
  ask (bus, "gst.cuda.context", TRUE);
  ask (bus, "gst.gl.GLDisplay", FALSE);
  gst_bus_set_sync_handler (bus, NULL, NULL, NULL);
  gst_bus_set_sync_handler (bus, on_need_context, NULL, NULL);
  ask (bus, "gst.cuda.context", FALSE);
  gst_object_unref (bus);
  gst_context_unref (context);
  g_print ("as it must be\n");
  return 0;
}
