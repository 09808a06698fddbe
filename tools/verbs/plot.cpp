// `reprise plot`: pictures of a run, or of several one over the other, from what they wrote to metrics.jsonl.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

#include "core/error.h"
#include "core/text.h"
#include "data/atomic_file.h"
#include "data/text_file.h"
#include "models/run/metrics_log.h"
#include "models/run/progress.h"
#include "models/run/run_folder.h"
#include "tools/chart/chart.h"
#include "tools/cli/verb.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlotHelp =
    R"(Draws what the run in the folder RUN wrote to its metrics.jsonl, as one SVG picture that any browser shows: loss,
accuracy (of models that predict labels), nearest-neighbour accuracy (with eval.knn_every), learning rate, peak memory,
with the budget where there was one, and images per second, against the step. It works while the run is going on.
Several runs are drawn in one picture, a colour each.

The picture is RUN/plot.svg unless -o says otherwise; `-o -` writes it to the standard output. The same metrics give the
same bytes.

Examples:
  reprise plot runs/cifar100_dense_queue
  reprise plot runs/retain runs/region -o compare.svg)";

struct PlotOptions {
  std::vector<std::string> runs;
  std::string output;
};

/// What one panel shows.
struct Quantity {
  const char* key;  // in metrics.jsonl
  const char* title;
  chart::Unit unit;
  bool zero;  // the axis begins at 0
  double height;
};

constexpr Quantity kQuantities[] = {
    {"loss", "Loss", chart::Unit::number, false, 190},
    {"accuracy", "Training accuracy", chart::Unit::percent, true, 150},
    {"knn", "Nearest-neighbour accuracy", chart::Unit::percent, true, 150},
    {"lr", "Learning rate", chart::Unit::number, true, 90},
    {"peak_bytes", "Peak memory", chart::Unit::bytes, true, 130},
    {"images_per_second", "Images per second", chart::Unit::number, true, 110},
    {"examples_per_second", "Examples per second", chart::Unit::number, true, 110},
};

struct PlottedRun {
  std::string name;
  std::vector<Json> lines;
  std::optional<Config> config;  // nothing when it cannot be read, for instance that of a model this program lacks
};

PlottedRun read_plotted_run(const std::string& folder, const std::string& name) {
  fs::path path = fs::path(folder) / "metrics.jsonl";
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    fail(ErrorKind::user, "[plot] expected the folder of a run, got {}: {}", folder,
         fs::exists(folder, error) ? "it is no folder"
                                   : "it does not exist. `reprise train` names its folder when it begins");
  }
  if (!fs::is_regular_file(path, error)) {
    fail(ErrorKind::user, "[plot] expected the folder of a run, got {}: there is no metrics.jsonl in it", folder);
  }
  PlottedRun run;
  run.name = name;
  run.lines = read_metrics(path, "plot");
  if (run.lines.empty()) {
    fail(ErrorKind::user,
         "[plot] expected a line of metrics in {}, got none yet. A run writes one every train.log_every steps",
         path.string());
  }
  try {
    run.config = RunFolder::read_config(folder);
  } catch (const Error&) {
    // The metrics can be drawn without it; the picture then says less.
  }
  return run;
}

double value_of(const Json& line, const char* key) {
  auto found = line.find(key);
  bool number = found != line.end() && found->is_number();
  return number ? found->get<double>() : std::numeric_limits<double>::quiet_NaN();  // null: the loss was not finite
}

using Lines = std::vector<const Json*>;

/// The lines that speak of a quantity. One of another kind (a measurement between two others) is no gap in it.
Lines lines_with(const PlottedRun& run, const char* key) {
  Lines lines;
  for (const Json& line : run.lines) {
    if (line.contains(key)) lines.push_back(&line);
  }
  return lines;
}

/// Of a long run, several lines make a point: the mean, over a shade from the least to the largest.
std::size_t lines_a_point(const Lines& lines) {
  constexpr std::size_t kPoints = 300;
  return (lines.size() + kPoints - 1) / kPoints;
}

/// The point of the lines from `at` on; whether it has a value.
bool add_point(chart::Series& series, const Lines& lines, std::size_t at, const char* key) {
  double sum = 0, low = HUGE_VAL, high = -HUGE_VAL;
  std::size_t end = std::min(at + lines_a_point(lines), lines.size()), count = 0;
  for (std::size_t i = at; i < end; ++i) {
    double value = value_of(*lines[i], key);
    if (!std::isfinite(value)) continue;
    sum += value;
    low = std::min(low, value);
    high = std::max(high, value);
    ++count;
  }
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  series.x.push_back(value_of(*lines[end - 1], "step"));
  series.y.push_back(count > 0 ? sum / static_cast<double>(count) : kNone);
  series.low.push_back(count > 0 ? low : kNone);
  series.high.push_back(count > 0 ? high : kNone);
  return count > 0;
}

std::optional<chart::Panel> panel_of(const std::vector<PlottedRun>& runs, const Quantity& quantity, bool name_runs) {
  chart::Panel panel;
  panel.title = quantity.title;
  panel.x.unit = chart::Unit::count;
  panel.x.zero = true;
  panel.y.unit = quantity.unit;
  panel.y.zero = quantity.zero;
  panel.height = quantity.height;
  bool any = false;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    chart::Series series;
    series.slot = static_cast<int>(i);
    if (name_runs) series.name = runs[i].name;
    Lines lines = lines_with(runs[i], quantity.key);
    for (std::size_t at = 0; at < lines.size(); at += lines_a_point(lines)) {
      any = add_point(series, lines, at, quantity.key) || any;
    }
    panel.series.push_back(std::move(series));
  }
  if (!any) return std::nullopt;
  return panel;
}

/// The budgets that the runs had, each once.
void add_budgets(chart::Panel& panel, const std::vector<PlottedRun>& runs) {
  std::vector<std::int64_t> seen;
  for (const PlottedRun& run : runs) {
    std::int64_t budget = run.config ? run.config->get_bytes("memory.budget").value_or(0) : 0;
    if (budget == 0 || std::find(seen.begin(), seen.end(), budget) != seen.end()) continue;
    seen.push_back(budget);
    panel.rules.push_back({chart::Along::y, static_cast<double>(budget), "budget, " + short_bytes(budget)});
  }
}

std::string describe(const PlottedRun& run) {
  std::string text = counted(run.lines.back()["step"].get<std::int64_t>(), "step");
  if (!run.config) return text;
  return fmt::format("{}, recompute.method {}, {}", run.config->get_string("model.type"),
                     run.config->get_string("recompute.method"), text);
}

chart::Chart picture_of(const std::vector<PlottedRun>& runs) {
  chart::Chart picture;
  bool several = runs.size() > 1;
  picture.title = several ? fmt::format("{} runs", runs.size()) : "Run " + runs[0].name;
  picture.width = 820;
  picture.legend = chart::LegendPlace::below;
  for (const PlottedRun& run : runs) {
    if (!picture.subtitle.empty()) picture.subtitle += "; ";
    picture.subtitle += several ? run.name + ": " + describe(run) : describe(run);
  }
  for (const Quantity& quantity : kQuantities) {
    std::optional<chart::Panel> panel = panel_of(runs, quantity, several && picture.panels.empty());
    if (!panel) continue;
    if (quantity.unit == chart::Unit::bytes) add_budgets(*panel, runs);
    picture.panels.push_back(std::move(*panel));
  }
  if (picture.panels.empty()) {
    fail(ErrorKind::user, "[plot] the metrics of {} hold none of the values that are drawn (loss, accuracy, lr, ...)",
         runs[0].name);
  }
  picture.panels.back().x.label = "step";
  auto has_means = [](const PlottedRun& run) {
    return std::any_of(std::begin(kQuantities), std::end(kQuantities),
                       [&](const Quantity& quantity) { return lines_a_point(lines_with(run, quantity.key)) > 1; });
  };
  if (std::any_of(runs.begin(), runs.end(), has_means)) {
    picture.footnote = "Lines show means over several logged lines, shades the range from the least to the largest.";
  }
  return picture;
}

int plot(const PlotOptions& options) {
  if (options.runs.size() > 1 && options.output.empty()) {
    fail(ErrorKind::user, "[plot] expected -o FILE.svg with several runs, so that the picture has a place");
  }
  std::vector<fs::path> inputs;
  for (const std::string& run : options.runs) {
    for (const char* name : {"metrics.jsonl", "config.yaml"}) inputs.push_back(fs::path(run) / name);
  }
  check_output(options.output, "plot", inputs);
  chart::check_picture_name(options.output, "plot");
  std::vector<PlottedRun> runs;
  std::vector<std::string> names = names_of_runs(options.runs);
  for (std::size_t i = 0; i < names.size(); ++i) runs.push_back(read_plotted_run(options.runs[i], names[i]));
  std::string svg = chart::to_svg(picture_of(runs));
  fs::path path = options.output.empty() ? fs::path(options.runs[0]) / "plot.svg" : fs::path(options.output);
  write_output(path, svg);
  if (!is_standard_output(path)) std::printf("%s\n", path.c_str());
  return 0;
}

}  // namespace

Verb plot_verb() {
  return {
      "plot", "draw loss, accuracy, learning rate, memory and speed of a run", kPlotHelp,
      [](Command& app) -> VerbAction {
        auto options = std::make_shared<PlotOptions>();
        app.add_option("run", options->runs, "the folder of a run, or of several").option_text("RUN...").required();
        app.add_option("-o,--output", options->output, "where the picture goes (RUN/plot.svg)").option_text("FILE.svg");
        return [options] { return plot(*options); };
      }};
}

}  // namespace reprise
