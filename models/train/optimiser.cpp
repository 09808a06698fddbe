#include "models/train/optimiser.h"

namespace reprise {

Optimiser::Rule Optimiser::rule_of(const Config& config) {
  const std::string& name = config.get_string("train.optimiser");
  return name == "adamw" ? Rule::adamw : name == "lars" ? Rule::lars : Rule::sgd;
}

Optimiser::Optimiser(const Config& config, TrainableModel& model, Memory& memory)
    : rule_(rule_of(config)),
      momentum_(config.get_real("train.momentum")),
      weight_decay_(config.get_real("train.weight_decay")),
      trust_(config.get_real("train.trust")),
      clip_norm_(config.get_real("train.clip_norm")),
      average_keep_(model.average_keep()),
      nesterov_(config.get_bool("train.nesterov")) {
  if (rule_ == Rule::lars && nesterov_)
    throw config.error_at("train.nesterov",
                          "expected false with train.optimiser=lars, which has no such form, got true");
  if (rule_ == Rule::sgd && nesterov_ && momentum_ == 0) {
    throw config.error_at("train.nesterov", "expected a train.momentum above 0 for Nesterov's form");
  }
  adamw_options_.beta1 = config.get_real("train.beta1");
  adamw_options_.beta2 = config.get_real("train.beta2");
  adamw_options_.eps = config.get_real("train.epsilon");
  ParameterSet& set = model.parameters();
  auto state = set.allocate_like(memory, rule_ == Rule::adamw ? 2 : rule_ == Rule::lars || momentum_ > 0 ? 1 : 0);
  bool decay_all = config.get_bool("train.decay_norm_and_bias");
  for (std::size_t i = 0; i < set.parameters().size(); ++i) {
    const Parameter& parameter = *set.parameters()[i];
    OptimiserSlot& slot = slots_.emplace_back();
    slot.parameter = parameter.leaf;
    if (!state.empty()) slot.momentum = state[0][i];
    if (state.size() > 1) slot.second = state[1][i];
    slot.average = model.average_of(i);
    slot.decay = decay_all || parameter.is_matrix();
  }
}

void Optimiser::clear_gradients() {
  for (OptimiserSlot& slot : slots_) slot.parameter->clear_grad();
}

double Optimiser::step(std::int64_t step, double lr, std::int64_t micro_batches) {
  double scale = 1.0 / static_cast<double>(micro_batches), norm = 0;
  if (clip_norm_ > 0) {
    norm = gradient_norm(slots_) * scale;
    scale *= clip_scale(norm, clip_norm_);
  }
  if (rule_ == Rule::adamw) {
    AdamwOptions options = adamw_options_;
    options.lr = lr;
    options.weight_decay = weight_decay_;
    options.step = step;
    options.gradient_scale = scale;
    options.average_keep = average_keep_;
    adamw_step(slots_, options);
  } else if (rule_ == Rule::lars) {
    lars_step(slots_, {.lr = lr,
                       .momentum = momentum_,
                       .weight_decay = weight_decay_,
                       .trust = trust_,
                       .gradient_scale = scale,
                       .average_keep = average_keep_});
  } else {
    sgd_step(slots_, {.lr = lr,
                      .momentum = momentum_,
                      .weight_decay = weight_decay_,
                      .nesterov = nesterov_,
                      .gradient_scale = scale,
                      .average_keep = average_keep_});
  }
  return norm;
}

void Optimiser::list(std::vector<NamedTensor>& out) const {
  for (const OptimiserSlot& slot : slots_) {
    if (slot.momentum.defined()) out.push_back({"optimiser.momentum." + slot.parameter->name, slot.momentum});
    if (slot.second.defined()) out.push_back({"optimiser.second." + slot.parameter->name, slot.second});
  }
}

}  // namespace reprise
