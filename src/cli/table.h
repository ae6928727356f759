// Tables: aligned and cut to the width for people, tab-separated for programs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output.h"

namespace drover::cli {

enum class Fit : std::uint8_t {
  kWhole,    // never cut: ids and the like, which people copy
  kElastic,  // gives way when the table is too wide, and goes when that does not help
  kRest,    // takes what the others leave, elastic ones give it a little, and goes if there is nothing; the last column
  kSpare,   // only where the others have room enough
  kHidden,  // for programs only
};

struct Column {
  std::string_view title;
  Fit fit = Fit::kWhole;
};

struct Cell {
  Cell(std::string text) : shown(text), plain(std::move(text)) {}  // NOLINT(google-explicit-constructor)
  Cell(std::string text, Paint with) : shown(text), plain(std::move(text)), paint(with) {}
  Cell(std::string for_people, std::string for_programs)
      : shown(std::move(for_people)), plain(std::move(for_programs)) {}

  std::string shown;
  std::string plain;
  Paint paint = Paint::kNone;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<Cell> row);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  // With a header where a person reads; without, and with all columns, where a program does.
  [[nodiscard]] std::string render(const Look& look) const;
  // With a header and all columns, nothing cut, whoever reads.
  [[nodiscard]] std::string render_wide(const Look& look) const;

 private:
  [[nodiscard]] std::vector<std::size_t> wanted_widths() const;
  void drop_spare(std::vector<std::size_t>& widths, std::size_t total) const;
  [[nodiscard]] bool give_way(std::vector<std::size_t>& widths, std::size_t total) const;
  [[nodiscard]] std::vector<std::size_t> fitted_widths(std::size_t total) const;
  [[nodiscard]] std::string render_aligned(const std::vector<std::size_t>& widths, const Look& look) const;
  [[nodiscard]] std::string render_tsv() const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace drover::cli
