#include "tools/memory_picture/memory_picture.h"

#include <fmt/ranges.h>

#include "core/text.h"

namespace reprise {

namespace {

std::string both(std::int64_t bytes) { return fmt::format("{} bytes ({})", bytes, short_bytes(bytes)); }

}  // namespace

std::string MemoryPicture::difference() const {
  if (!measured) return "";
  if (exact) return first_difference(predicted, *measured);
  if (measured->peak <= predicted.peak) return "";
  return fmt::format("the measured peak of {} is above the bound of {}", both(measured->peak), both(predicted.peak));
}

std::string memory_text(const MemoryPicture& picture) {
  const StepTimeline& predicted = picture.predicted;
  std::string text = fmt::format(
      "Memory over the step: {} of the live bytes, from {} to a peak of {}\n",
      counted(static_cast<std::int64_t>(predicted.events.size()), "change"),
      short_bytes(predicted.events.empty() ? predicted.peak
                                           : predicted.events.front().live - predicted.events.front().delta),
      both(predicted.peak));
  if (picture.plan && picture.plan->predicted_peak != predicted.peak) {
    text += fmt::format("The plan's peak of {} is that of a later step, whose regions of state lie otherwise.\n",
                        both(picture.plan->predicted_peak));
  }
  text += "Binding (within 1 % of the peak):";
  for (const std::string& row : predicted.binding_rows())
    text += (row == predicted.binding_rows().front() ? " " : "; ") + row;
  text += "\n";
  if (!picture.measured) return text;
  std::string difference = picture.difference();
  text += fmt::format("Measured on a real step: peak {}\n", both(picture.measured->peak));
  if (!difference.empty()) return text + "The prediction is WRONG: " + difference + "\n";
  if (picture.exact) return text + "Predicted and measured are equal, event by event.\n";
  return text + fmt::format("Sizes depend on data: the prediction is an upper bound, {} above what was measured.\n",
                            short_bytes(predicted.peak - picture.measured->peak));
}

Json memory_json(const MemoryPicture& picture) {
  Json json{{"predicted_peak_bytes", picture.predicted.peak}};
  json["binding"] = picture.predicted.binding_rows();
  if (picture.measured) {
    json["measured_peak_bytes"] = picture.measured->peak;
    json["equal"] = picture.exact && picture.difference().empty();
    json["difference"] = picture.difference();
  }
  json["predicted"] = timeline_json(picture.predicted);
  // What is equal is not written twice.
  if (picture.measured && !(picture.exact && picture.difference().empty()))
    json["measured"] = timeline_json(*picture.measured);
  return json;
}

}  // namespace reprise
