# Follows the code of docs/embedding.md.
def ask(bus, kind):
    element = Gst.ElementFactory.make("identity")
    assert bus.post(Gst.Message.new_need_context(element, kind))
    return element.get_context("gst.cuda.context") is not None


found = inference_context()
assert found is None or found.get_context_type() == "gst.cuda.context"
context = Gst.Context.new("gst.cuda.context", True)
bus = Gst.Bus()
bus.set_sync_handler(on_need_context, context)
assert ask(bus, "gst.cuda.context")
assert not ask(bus, "gst.gl.GLDisplay")
without = Gst.Bus()
without.set_sync_handler(on_need_context, None)
assert not ask(without, "gst.cuda.context")
print("as it must be")
