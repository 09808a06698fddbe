#include "tools/bench/published_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <locale>
#include <sstream>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "data/text_file.h"

namespace reprise::bench {
namespace {

/// As the names of graphs and those of logs have it.
constexpr std::pair<const char*, const char*> kNets[] = {{"googlenet", "googlenet"},
                                                         {"mobilenet", "mobilenet_v2"},
                                                         {"resnet50", "resnet50"},
                                                         {"r50", "resnet50"},
                                                         {"unet", "un"},
                                                         {"vgg16", "vgg16"}};
/// What MONeT was allowed: operators in place, other convolutions, other ways to a gradient, new nodes.
constexpr std::pair<const char*, const char*> kModes[] = {{"i", "inplace_normal"},
                                                          {"ic", "inplace_conv_normal"},
                                                          {"icmn", "inplace_conv_multiway_newnode"},
                                                          {"im", "inplace_multiway"},
                                                          {"in", "inplace_newnode"}};

template <class Table>
const char* spelled(const Table& table, const std::string& word) {
  for (const auto& [there, here] : table) {
    if (word == there) return here;
  }
  return nullptr;
}

std::vector<std::string> parts_at(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

std::optional<double> whole_number_or_fraction(const std::string& text) {
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  double value = 0;
  if (!(in >> value) || in.peek() != std::istringstream::traits_type::eof() || !std::isfinite(value)) return {};
  return value;
}

/// The budget in what is left of a log's name: "07", "10.0", "05_5".
std::optional<double> budget_of_log(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ".") + word;
  return whole_number_or_fraction(text);
}

}  // namespace

std::optional<GraphAtBudget> graph_of_log(const std::string& log) {
  std::size_t slash = log.find('/');
  if (slash == std::string::npos) return std::nullopt;
  std::string name = log.substr(slash + 1);
  if (name.ends_with(".out")) name.resize(name.size() - 4);
  // The folder is PLANNER_NET_BATCH_24hr; some logs leave the batch out.
  std::vector<std::string> folder = parts_at(log.substr(0, slash), '_'), words = parts_at(name, '_');
  if (folder.size() != 4 || words.size() < 3 || words[0] != folder[0]) return std::nullopt;
  const char* net = spelled(kNets, words[1]);
  bool monet = words[0] == "monet";
  const char* mode = monet ? spelled(kModes, words[2]) : "normal";
  if (!net || !mode || (!monet && words[0] != "checkmate")) return std::nullopt;
  words.erase(words.begin(), words.begin() + (monet ? 3 : 2));
  for (const std::string& more : {folder[2], std::string("normal"), std::string("new"), std::string("noconv")}) {
    auto at = std::find(words.begin(), words.end(), more);
    if (at != words.end()) words.erase(at);
  }
  std::optional<double> budget = budget_of_log(words);
  if (!budget) return std::nullopt;
  return GraphAtBudget{fmt::format("{}_{}_{}_{}", folder[0], net, folder[2], mode), *budget};
}

std::map<GraphAtBudget, double> published_bounds(const std::filesystem::path& file) {
  std::map<GraphAtBudget, double> bounds;
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return bounds;
  std::size_t log = 0, bound = 0, columns = 0;
  int number = 0;
  read_lines(file, "bench", 1 << 16, [&](std::string& line, bool) {
    std::vector<std::string> cells = parts_at(line, ',');
    if (++number == 1) {
      auto column = [&](const char* name) {
        auto at = static_cast<std::size_t>(std::find(cells.begin(), cells.end(), name) - cells.begin());
        if (at == cells.size()) {
          fail(ErrorKind::user, "[bench] expected a column '{}' in the first line of {}, got none", name,
               file.string());
        }
        return at;
      };
      log = column("log"), bound = column("best_bound"), columns = std::max(log, bound) + 1;
      return;
    }
    if (cells.size() < columns || cells[bound].empty()) return;
    std::optional<GraphAtBudget> graph = graph_of_log(cells[log]);
    if (!graph) return;
    std::optional<double> value = whole_number_or_fraction(cells[bound]);
    if (!value) {
      fail(ErrorKind::user, "[bench] expected a number as best_bound in {}, line {}, got '{}'", file.string(), number,
           shown_part(cells[bound]));
    }
    auto at = bounds.emplace(*graph, *value).first;
    at->second = std::max(at->second, *value);
  });
  return bounds;
}

}  // namespace reprise::bench
