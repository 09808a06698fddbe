// What the files of this folder share of oneDNN: engine, stream, checked calls, and copies between layouts. The folder
// is the only place that includes the library; the rest of the room comes through ops/onednn.h.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

namespace reprise::onednn {

dnnl::engine& engine();
/// Of the calling thread.
dnnl::stream& stream();
/// Errors (device): `what` did not succeed.
void check(dnnl_status_t status, const char* what);
void execute(const dnnl::primitive& primitive, const dnnl_exec_arg_t* args, int count);

/// A copy between the caller's layout and the library's; `add` adds to the target instead of overwriting it.
struct Reorder {
  dnnl::primitive primitive;
  dnnl::memory from, to;

  void prepare(const dnnl::memory::desc& from_desc, const dnnl::memory::desc& to_desc, bool add);
  void run(const void* source, void* target);
};

}  // namespace reprise::onednn
