#include "report/color_difference.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace dovetail::report {
namespace {

using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;

/// Transforms of linear RGB for each kind of color vision, at full severity (Machado, Oliveira, Fernandes 2009).
constexpr std::array<Matrix, 4> visions{
    {{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
     {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}},
     {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}},
     {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}}}};
constexpr Matrix rgb_to_xyz{{{0.4124, 0.3576, 0.1805}, {0.2126, 0.7152, 0.0722}, {0.0193, 0.1192, 0.9505}}};

Vector multiply(const Matrix& matrix, const Vector& vector) {
  Vector product{};
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t i = 0; i < 3; ++i) product[row] += matrix[row][i] * vector[i];
  }
  return product;
}

/// Returns the CIELAB coordinates of a color as seen with this vision.
Vector lab(Color color, const Matrix& vision) {
  Vector seen = multiply(vision, {linear(color.red), linear(color.green), linear(color.blue)});
  for (double& channel : seen) channel = std::clamp(channel, 0.0, 1.0);
  Vector root = multiply(rgb_to_xyz, seen);
  constexpr Vector white{0.95047, 1, 1.08883};
  for (std::size_t i = 0; i < 3; ++i) {
    const double ratio = root[i] / white[i];
    root[i] = ratio > 0.008856 ? std::cbrt(ratio) : 7.787 * ratio + 16.0 / 116;
  }
  return {116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])};
}

}  // namespace

double linear(std::uint8_t channel) {
  const double value = channel / 255.0;
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

double min_difference(Color a, Color b) {
  double least = 1000;
  for (const Matrix& vision : visions) {
    const Vector seen_a = lab(a, vision);
    const Vector seen_b = lab(b, vision);
    least = std::min(least, std::hypot(seen_a[0] - seen_b[0], seen_a[1] - seen_b[1], seen_a[2] - seen_b[2]));
  }
  return least;
}

}  // namespace dovetail::report
