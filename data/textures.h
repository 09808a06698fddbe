// The ten textures of the synthetic images, as functions from a pixel's place to a value in [-1, 1].
//
// They differ in direction and kind, not in scale alone, because a resized crop changes the scale by up to 2.2, the
// aspect by a third, and a flip turns one diagonal into the other. Plain arithmetic, so that the loops become vectors.
#pragma once

#include <cmath>
#include <cstdint>

#include "data/clamp.h"
#include "data/images.h"

namespace reprise::internal {

/// Period 1, from 1 at 0 to -1 at 0.5 in straight lines.
inline float triangle(float t) {
  const float u = t - std::floor(t);
  return 2.0f * std::fabs(2.0f * u - 1.0f) - 1.0f;
}

/// Close to cos(2 pi t), from a polynomial (a smooth step of the triangle wave).
inline float wave(float t) {
  const float v = triangle(t);
  return v * (1.5f - 0.5f * v * v);
}

inline float clamp_unit(float v) { return clamp_to(v, -1.0f, 1.0f); }

/// Angle of (x, y) in turns, within 2e-3; a minimax-like quadratic of min/max, unfolded over the octants.
inline float turns(float x, float y) {
  const float ax = std::fabs(x), ay = std::fabs(y);
  const float hi = larger(ax, ay), lo = smaller(ax, ay);
  const float q = lo / (hi + 1e-6f);
  float a = q * (0.1705f - 0.0455f * q);
  a = ay > ax ? 0.25f - a : a;
  a = x < 0.0f ? 0.5f - a : a;
  return y < 0.0f ? -a : a;
}

/// How one texture is placed in one picture.
struct TexturePose {
  float cos_turn, sin_turn;  // small turn about the picture's middle
  float scale;               // on the coordinates: below 1 makes the pattern larger
  float phase_x, phase_y;    // shift, in pixels
  float bend, bend_period, bend_phase;
  float centre_x, centre_y;  // of rings and spokes
  float cloud[5][3];         // five plane waves (frequency x and y, phase) of the cloud texture
};

struct Point {
  float x, y;
};

struct HorizontalStripes {
  static float at(const TexturePose&, Point p) { return wave(p.y / 5.0f); }
};
struct VerticalStripes {
  static float at(const TexturePose&, Point p) { return wave(p.x / 5.0f); }
};
struct DiagonalStripes {
  static float at(const TexturePose&, Point p) { return wave((p.x + p.y) / 7.5f); }
};
struct Checks {
  static float at(const TexturePose&, Point p) { return clamp_unit(4.0f * wave(p.x / 9.0f) * wave(p.y / 9.0f)); }
};
struct Dots {
  static float at(const TexturePose&, Point p) {
    return clamp_unit(2.5f * (wave(p.x / 5.5f) + wave(p.y / 5.5f) - 0.7f));
  }
};
struct Rings {
  static float at(const TexturePose& t, Point p) {
    const float x = p.x - t.centre_x, y = p.y - t.centre_y;
    return wave(std::sqrt(x * x + y * y) / 5.0f);
  }
};
struct Spokes {
  static float at(const TexturePose& t, Point p) { return wave(9.0f * turns(p.x - t.centre_x, p.y - t.centre_y)); }
};
struct Zigzag {
  static float at(const TexturePose&, Point p) { return wave((p.y + 3.0f * triangle(p.x / 10.0f)) / 5.5f); }
};
struct Clouds {
  static float at(const TexturePose& t, Point p) {
    float sum = 0.0f;
    for (const auto& w : t.cloud) sum += wave(w[0] * p.x + w[1] * p.y + w[2]);
    return clamp_unit(1.2f * sum);
  }
};
struct Lattice {
  static float at(const TexturePose&, Point p) {
    const float line = larger(triangle(p.x / 6.5f), triangle(p.y / 6.5f));
    return clamp_unit(5.0f * (line - 0.45f));
  }
};

/// Fills `out` (kImagePixels floats, row-major) with the texture in its pose.
template <class Texture>
void paint(const TexturePose& t, float* out) {
  for (int row = 0; row < kImageSide; ++row) {
    const float y0 = static_cast<float>(row) - 15.5f;
    for (int column = 0; column < kImageSide; ++column) {
      const float x0 = static_cast<float>(column) - 15.5f;
      const float bend = t.bend * wave((x0 + y0) / t.bend_period + t.bend_phase);
      const float x = (t.cos_turn * x0 - t.sin_turn * y0 + bend) * t.scale;
      const float y = (t.sin_turn * x0 + t.cos_turn * y0 + bend) * t.scale;
      out[row * kImageSide + column] = Texture::at(t, {x + t.phase_x, y + t.phase_y});
    }
  }
}

using PaintTexture = void (*)(const TexturePose&, float*);
constexpr PaintTexture kPaintTexture[] = {paint<HorizontalStripes>,
                                          paint<VerticalStripes>,
                                          paint<DiagonalStripes>,
                                          paint<Checks>,
                                          paint<Dots>,
                                          paint<Rings>,
                                          paint<Spokes>,
                                          paint<Zigzag>,
                                          paint<Clouds>,
                                          paint<Lattice>};
constexpr const char* kTextureNames[] = {"horizontal", "vertical", "diagonal", "checks", "dots",
                                         "rings",      "spokes",   "zigzag",   "clouds", "lattice"};

}  // namespace reprise::internal
