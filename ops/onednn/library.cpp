#if defined(REPRISE_WITH_ONEDNN)

#include "ops/onednn/library.h"

#include <string>

#include "core/error.h"
#include "ops/onednn.h"

namespace reprise::onednn {

dnnl::engine& engine() {
  static dnnl::engine instance(dnnl::engine::kind::cpu, 0);
  return instance;
}

dnnl::stream& stream() {
  static thread_local dnnl::stream instance(engine());
  return instance;
}

void check(dnnl_status_t status, const char* what) {
  if (status != dnnl_success)
    fail(ErrorKind::device, "[onednn] expected {} to succeed, got status {}", what, static_cast<int>(status));
}

void execute(const dnnl::primitive& primitive, const dnnl_exec_arg_t* args, int count) {
  check(dnnl_primitive_execute(primitive.get(), stream().get(), count, args), "a primitive");
}

void Reorder::prepare(const dnnl::memory::desc& from_desc, const dnnl::memory::desc& to_desc, bool add) {
  dnnl::primitive_attr attr;
  if (add) {
    dnnl::post_ops ops;
    ops.append_sum(1.0f);
    attr.set_post_ops(ops);
  }
  primitive = dnnl::reorder(dnnl::reorder::primitive_desc(engine(), from_desc, engine(), to_desc, attr));
  from = dnnl::memory(from_desc, engine(), nullptr);
  to = dnnl::memory(to_desc, engine(), nullptr);
}

void Reorder::run(const void* source, void* target) {
  from.set_data_handle(const_cast<void*>(source));
  to.set_data_handle(target);
  dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}};
  execute(primitive, args, 2);
}

bool uses_avx512() {
  static const bool answer = [] {
    auto isa = dnnl::get_effective_cpu_isa();
    return isa == dnnl::cpu_isa::avx512_core || isa == dnnl::cpu_isa::avx512_core_vnni ||
           isa == dnnl::cpu_isa::avx512_core_bf16 || isa == dnnl::cpu_isa::avx512_core_amx;
  }();
  return answer;
}

const char* refusal() {
  static const char* const answer = uses_avx512() || dnnl::get_effective_cpu_isa() == dnnl::cpu_isa::avx2 ||
                                            dnnl::get_effective_cpu_isa() == dnnl::cpu_isa::avx2_vnni
                                        ? nullptr
                                        : "the processor has no AVX2";
  return answer;
}

const char* version() {
  static const std::string text = [] {
    const dnnl_version_t* v = dnnl_version();
    return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
  }();
  return text.c_str();
}

const char* isa_name() { return uses_avx512() ? "avx512_core" : refusal() ? "older than avx2" : "avx2"; }

bool is_amd() {
#if defined(__x86_64__)
  static const bool answer = __builtin_cpu_is("amd");
  return answer;
#else
  return false;
#endif
}

int sgemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
          const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc) {
  return dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void require_done(int status) { check(static_cast<dnnl_status_t>(status), "a matrix product"); }

}  // namespace reprise::onednn

#endif
