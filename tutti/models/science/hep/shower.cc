#include "tutti/models/science/hep/shower.h"

#include <numbers>

namespace tutti::models::hep {
namespace {

using std::numbers::pi;
constexpr double kFlavours = 5;
constexpr double kLargestCoupling = 0.35;

struct Branch {
  double t = 0;  // virtuality, GeV^2; 0: does not split
  double z = 0;  // energy fraction of the first daughter
  bool to_quarks = false;
};

// Splitting functions, and simple upper bounds that can be sampled.
double p_quark(double z) {
  return kQuarkColour * (1 + z * z) / (1 - z);
}
double p_gluon(double z) {
  const double w = z * (1 - z);
  return kGluonColour * (1 - w) * (1 - w) / w;
}
double p_pair(double z) {
  return kFlavours / 2 * (z * z + (1 - z) * (1 - z));
}

// One trial of the gluon: radiates a gluon (p <= C_A / (z (1-z))) or becomes a pair (p <= n_f/2).
struct Bounds {
  Bounds(bool is_gluon_, double lowest) : is_gluon(is_gluon_), edge(lowest) {
    const double range = std::log((1 - edge) / edge);
    soft = is_gluon ? 2 * kGluonColour * range : 2 * kQuarkColour * range;
    pair = is_gluon ? kFlavours / 2 * (1 - 2 * edge) : 0;
  }
  double total() const { return soft + pair; }
  bool is_gluon;
  double edge, soft = 0, pair = 0;
};

// The veto algorithm: decreases t from `t_max` with an overestimated rate and accepts each step with the ratio of the
// true rate to it.
Branch evolve(bool is_gluon, double energy, double t_max, Random& random) {
  double t = t_max;
  const double edge = 1 / std::max(t_max, kShowerEnd + 1);  // z (1-z) t > 1 GeV^2
  const Bounds bounds(is_gluon, edge);
  const double rate = kLargestCoupling / (2 * pi) * bounds.total();
  if (rate <= 0) return {};
  for (;;) {
    t *= std::pow(1 - random.uniform(), 1 / rate);
    if (t < kShowerEnd) return {};
    const bool to_quarks = random.uniform() * bounds.total() < bounds.pair;
    const double u = random.uniform();
    double z, ratio;
    if (to_quarks) {
      z = edge + (1 - 2 * edge) * u;
      ratio = p_pair(z) / (kFlavours / 2);
    } else if (is_gluon) {  // sampled as 1/z + 1/(1-z)
      z = edge * std::pow((1 - edge) / edge, u);
      if (random.uniform() < 0.5) z = 1 - z;
      ratio = p_gluon(z) * z * (1 - z) / kGluonColour;
    } else {  // sampled as 1/(1-z)
      z = 1 - edge * std::pow((1 - edge) / edge, u);
      ratio = p_quark(z) * (1 - z) / (2 * kQuarkColour);
    }
    const double least = t < energy * energy ? (1 - std::sqrt(1 - t / (energy * energy))) / 2 : 0.5;
    const double scale = z * (1 - z) * t;
    if (z <= least || z >= 1 - least || scale <= 1) continue;
    if (random.uniform() < ratio * strong_coupling(scale) / kLargestCoupling)
      return {t, z, to_quarks};
  }
}

struct Node {
  FourVector momentum;
  bool is_gluon;
  Branch branch;
};

// Virtualities of both daughters; the larger one is evolved further until they fit into the parent's.
void choose_daughters(const Branch& parent, double energy, Node& first, Node& second,
                      Random& random) {
  const double energies[2] = {parent.z * energy, (1 - parent.z) * energy};
  Node* nodes[2] = {&first, &second};
  for (int i = 0; i < 2; ++i)
    nodes[i]->branch = evolve(nodes[i]->is_gluon, energies[i],
                              std::min(parent.t, energies[i] * energies[i]), random);
  while (std::sqrt(first.branch.t) + std::sqrt(second.branch.t) >= std::sqrt(parent.t)) {
    const int i = first.branch.t > second.branch.t ? 0 : 1;
    nodes[i]->branch = evolve(nodes[i]->is_gluon, energies[i], nodes[i]->branch.t, random);
  }
}

// Two daughters of masses ma, mb in the rest frame of the parent, at an angle that gives the first one the energy
// fraction z.
void place_daughters(const Node& parent, Node& first, Node& second, Random& random) {
  const double t = parent.branch.t, m = std::sqrt(t), ma = first.branch.t, mb = second.branch.t;
  const double ea = (t + ma - mb) / (2 * m), p = std::sqrt(std::max(0.0, ea * ea - ma));
  const double speed = parent.momentum.p() / parent.momentum.e;
  const double cosine = std::clamp((2 * parent.branch.z - 1) / std::max(speed, 1e-9), -1.0, 1.0);
  const double sine = std::sqrt(1 - cosine * cosine), angle = 2 * pi * random.uniform();
  // Axes: along the momentum, and two perpendicular to it.
  const double length = std::max(parent.momentum.p(), 1e-12);
  const double n[3] = {parent.momentum.x / length, parent.momentum.y / length,
                       parent.momentum.z / length};
  double a[3] = {-n[1], n[0], 0};
  const double across = std::hypot(a[0], a[1]);
  if (across < 1e-9) {
    a[0] = 1;
    a[1] = 0;
  } else {
    a[0] /= across;
    a[1] /= across;
  }
  const double b[3] = {n[1] * a[2] - n[2] * a[1], n[2] * a[0] - n[0] * a[2],
                       n[0] * a[1] - n[1] * a[0]};
  double d[3];
  for (int i = 0; i < 3; ++i)
    d[i] = p * (cosine * n[i] + sine * (std::cos(angle) * a[i] + std::sin(angle) * b[i]));
  first.momentum = boosted({d[0], d[1], d[2], ea}, parent.momentum);
  second.momentum = boosted({-d[0], -d[1], -d[2], m - ea}, parent.momentum);
}

void split(Node parent, std::vector<FourVector>& out, Random& random) {
  if (parent.branch.t == 0) {
    out.push_back(parent.momentum);
    return;
  }
  Node first{{}, parent.is_gluon && !parent.branch.to_quarks, {}};
  Node second{{}, !(parent.is_gluon && parent.branch.to_quarks), {}};
  choose_daughters(parent.branch, parent.momentum.e, first, second, random);
  place_daughters(parent, first, second, random);
  split(first, out, random);
  split(second, out, random);
}

// Factor of all momenta that conserves energy with the virtualities: sum sqrt(f^2 p^2 + t) = energy.
double reshuffling(const std::vector<Node>& nodes, double energy) {
  double low = 0, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    double sum = 0;
    for (const Node& node : nodes)
      sum += std::sqrt(middle * middle * node.momentum.p2() + node.branch.t);
    (sum > energy ? high : low) = middle;
  }
  return (low + high) / 2;
}

void shower_alone(const Parton& parton, std::vector<FourVector>& out, Random& random) {
  const double energy = parton.momentum.pt();  // the scale of its emission
  Node node{parton.momentum, parton.is_gluon,
            evolve(parton.is_gluon, energy, energy * energy / 4, random)};
  const double p = parton.momentum.p();
  const double shrink = std::sqrt(std::max(0.0, p * p - node.branch.t)) / p;
  node.momentum = {node.momentum.x * shrink, node.momentum.y * shrink, node.momentum.z * shrink, p};
  split(node, out, random);
}

}  // namespace

double strong_coupling(double q2) {
  constexpr double kBeta = (33 - 2 * kFlavours) / (12 * pi), kLambda2 = 0.04;
  const double logarithm = std::log(q2 / kLambda2);
  return logarithm <= 0 ? kLargestCoupling : std::min(kLargestCoupling, 1 / (kBeta * logarithm));
}

std::vector<FourVector> shower(const System& system, Random& random) {
  std::vector<FourVector> out;
  if (system.size() == 1) {
    shower_alone(system[0], out, random);
    return out;
  }
  FourVector sum;
  for (const Parton& parton : system) sum = sum + parton.momentum;
  const double mass = sum.mass();
  std::vector<Node> nodes;
  double masses;
  do {
    nodes.clear();
    masses = 0;
    for (const Parton& parton : system) {
      const FourVector momentum = at_rest_of(parton.momentum, sum);
      const double t_max = std::min(momentum.e * momentum.e, mass * mass / 4);
      nodes.push_back(
          {momentum, parton.is_gluon, evolve(parton.is_gluon, momentum.e, t_max, random)});
      masses += std::sqrt(nodes.back().branch.t);
    }
  } while (masses >= mass);
  const double factor = reshuffling(nodes, mass);
  for (Node& node : nodes) {
    FourVector v{node.momentum.x * factor, node.momentum.y * factor, node.momentum.z * factor, 0};
    v.e = std::sqrt(v.p2() + node.branch.t);
    node.momentum = boosted(v, sum);
    split(node, out, random);
  }
  return out;
}

}  // namespace tutti::models::hep
