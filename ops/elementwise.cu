// One instance of every elementwise functor and of the Philox draw on the CUDA side: a body that is no device code does
// not compile here.
#include "ops/elementwise.cuh"

namespace reprise::cuda {

namespace fn = functors;

#define REPRISE_MAP_1(F, T) template void map(const F&, std::int64_t, T*, const T*)
#define REPRISE_MAP_2(F, T) template void map(const F&, std::int64_t, T*, const T*, const T*)
#define REPRISE_MAP_3(F, T) template void map(const F&, std::int64_t, T*, const T*, const T*, const T*)
#define REPRISE_FLOATS(map, F) \
  map(F, float);               \
  map(F, double)

REPRISE_FLOATS(REPRISE_MAP_2, fn::Add);
REPRISE_FLOATS(REPRISE_MAP_2, fn::Sub);
REPRISE_FLOATS(REPRISE_MAP_2, fn::Mul);
REPRISE_FLOATS(REPRISE_MAP_2, fn::Div);
REPRISE_FLOATS(REPRISE_MAP_2, fn::Mod);
REPRISE_FLOATS(REPRISE_MAP_3, fn::DivGradB);
REPRISE_MAP_2(fn::Mod, std::int64_t);
REPRISE_MAP_2(fn::Wrapping<fn::Add>, std::int64_t);
REPRISE_MAP_2(fn::Wrapping<fn::Sub>, std::int64_t);
REPRISE_MAP_2(fn::Wrapping<fn::Mul>, std::int64_t);

REPRISE_FLOATS(REPRISE_MAP_2, fn::Less);
REPRISE_FLOATS(REPRISE_MAP_2, fn::LessEqual);
REPRISE_FLOATS(REPRISE_MAP_2, fn::Greater);
REPRISE_FLOATS(REPRISE_MAP_2, fn::GreaterEqual);
REPRISE_FLOATS(REPRISE_MAP_2, fn::Equal);
REPRISE_FLOATS(REPRISE_MAP_2, fn::NotEqual);

REPRISE_FLOATS(REPRISE_MAP_1, fn::Copy);
REPRISE_FLOATS(REPRISE_MAP_1, fn::Neg);
REPRISE_FLOATS(REPRISE_MAP_1, fn::Abs);
REPRISE_FLOATS(REPRISE_MAP_1, fn::Exp);
REPRISE_FLOATS(REPRISE_MAP_1, fn::Log);
REPRISE_FLOATS(REPRISE_MAP_1, fn::Sqrt);
REPRISE_FLOATS(REPRISE_MAP_1, fn::Sin);
REPRISE_FLOATS(REPRISE_MAP_1, fn::Cos);
REPRISE_FLOATS(REPRISE_MAP_1, fn::Tanh);
REPRISE_FLOATS(REPRISE_MAP_1, fn::Sigmoid);
REPRISE_FLOATS(REPRISE_MAP_1, fn::Relu);
REPRISE_FLOATS(REPRISE_MAP_1, fn::Gelu);
REPRISE_FLOATS(REPRISE_MAP_1, fn::Silu);
REPRISE_FLOATS(REPRISE_MAP_1, fn::Round);
REPRISE_FLOATS(REPRISE_MAP_1, fn::RoundBf16);
REPRISE_MAP_1(fn::Clamp<float>, float);
REPRISE_MAP_1(fn::Clamp<double>, double);
REPRISE_MAP_1(fn::Scale<float>, float);
REPRISE_MAP_1(fn::Scale<double>, double);
REPRISE_MAP_2(fn::Blend<float>, float);
REPRISE_MAP_2(fn::Blend<double>, double);

REPRISE_FLOATS(REPRISE_MAP_2, fn::AbsGrad);
REPRISE_FLOATS(REPRISE_MAP_2, fn::ExpGrad);
REPRISE_FLOATS(REPRISE_MAP_2, fn::LogGrad);
REPRISE_FLOATS(REPRISE_MAP_2, fn::SqrtGrad);
REPRISE_FLOATS(REPRISE_MAP_2, fn::SinGrad);
REPRISE_FLOATS(REPRISE_MAP_2, fn::CosGrad);
REPRISE_FLOATS(REPRISE_MAP_2, fn::TanhGrad);
REPRISE_FLOATS(REPRISE_MAP_2, fn::SigmoidGrad);
REPRISE_FLOATS(REPRISE_MAP_2, fn::ReluGrad);
REPRISE_FLOATS(REPRISE_MAP_2, fn::GeluGrad);
REPRISE_FLOATS(REPRISE_MAP_2, fn::SiluGrad);
REPRISE_MAP_2(fn::ClampGrad<float>, float);
REPRISE_MAP_2(fn::ClampGrad<double>, double);

REPRISE_FLOATS(REPRISE_MAP_3, fn::Where);
REPRISE_FLOATS(REPRISE_MAP_2, fn::WhereGradA);
REPRISE_FLOATS(REPRISE_MAP_2, fn::WhereGradB);

template void launch_for(std::int64_t, const UniformBody&, cudaStream_t);

}  // namespace reprise::cuda
