// Builds without oneDNN: every query says so, and no kernel may be called.
#if !defined(REPRISE_WITH_ONEDNN)

#include "core/error.h"
#include "ops/onednn.h"

namespace reprise::onednn {

const char* refusal() { return "this build is without oneDNN"; }
const char* version() { return "not built in"; }
const char* isa_name() { return "none"; }
bool uses_avx512() { return false; }
bool is_amd() { return false; }
const char* conv_refusal(const ConvGeometry&, ConvPass) { return refusal(); }
const char* conv_kernel_name(const ConvGeometry&, ConvPass) { return ""; }
std::int64_t conv_workspace(const ConvGeometry&, ConvPass) { return 0; }

namespace {
[[noreturn]] void absent() { fail(ErrorKind::internal, "[onednn] expected a build with oneDNN, got one without it"); }
}  // namespace

void prepare_conv(const ConvGeometry&, ConvPass, bool) { absent(); }

void conv_forward(const ConvGeometry&, const float*, const float*, const float*, float*, std::byte*) { absent(); }
void conv_backward_data(const ConvGeometry&, const float*, const float*, float*, bool, std::byte*) { absent(); }
void conv_backward_weights(const ConvGeometry&, const float*, const float*, float*, bool, std::byte*) { absent(); }
int sgemm(bool, bool, std::int64_t, std::int64_t, std::int64_t, float, const float*, std::int64_t, const float*,
          std::int64_t, float, float*, std::int64_t) {
  absent();
}
void require_done(int) {}

}  // namespace reprise::onednn

#endif
