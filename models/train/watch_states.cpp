#include "models/train/watch_states.h"

namespace reprise {

void watch_states(Tape& tape, TrainableModel& model, const Optimiser& optimiser) {
  if (!tape.guard()) return;
  std::vector<NamedTensor> all = model.tensors();
  optimiser.list(all);
  for (const NamedTensor& named : all) tape.watch(named.tensor.storage_ref());
  for (Stream* stream : model.streams()) tape.watch(*stream);
}

}  // namespace reprise
