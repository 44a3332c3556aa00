#include "tutti/models/science/hep/jets.h"

#include <fastjet/ClusterSequence.hh>
#include <fastjet/tools/Filter.hh>

namespace tutti::models::hep {
namespace {

// Compensates the tenth of the energy that thresholds, noise and trimming remove.
constexpr double kCalibration = 1.11;
constexpr double kRadius = 1.0, kLeastPt = 200, kLargestEta = 2.0, kLeadingPt = 440;

// Keeps FastJet from printing its banner on standard output.
bool quiet_banner() {
  fastjet::ClusterSequence::set_fastjet_banner_stream(nullptr);
  return true;
}

const fastjet::JetDefinition& anti_kt() {
  static const bool is_quiet = quiet_banner();
  static const fastjet::JetDefinition definition(fastjet::antikt_algorithm, kRadius);
  return is_quiet ? definition : definition;
}

const fastjet::Filter& trimmer() {
  static const fastjet::Filter filter(fastjet::JetDefinition(fastjet::kt_algorithm, 0.2),
                                      fastjet::SelectorPtFractionMin(0.05));
  return filter;
}

}  // namespace

std::vector<Jet> large_jets(std::span<const Tower> towers) {
  std::vector<fastjet::PseudoJet> inputs;
  for (const Tower& tower : towers) {
    const FourVector v = from_pt_eta_phi(tower.energy / std::cosh(tower.eta), tower.eta, tower.phi);
    inputs.emplace_back(v.x, v.y, v.z, v.e);
  }
  const fastjet::ClusterSequence sequence(inputs, anti_kt());
  std::vector<Jet> jets;
  for (const fastjet::PseudoJet& jet : sequence.inclusive_jets(kLeastPt / kCalibration)) {
    const fastjet::PseudoJet trimmed = kCalibration * trimmer()(jet);
    if (trimmed.pt() > kLeastPt && std::abs(trimmed.eta()) < kLargestEta)
      jets.push_back({trimmed.pt(), trimmed.eta(), trimmed.phi_std(), std::max(0.0, trimmed.m())});
  }
  std::sort(jets.begin(), jets.end(), [](const Jet& a, const Jet& b) { return a.pt > b.pt; });
  return jets;
}

Selection select(std::span<const Jet> jets) {
  Selection selection;
  selection.jets = static_cast<int>(jets.size());
  if (jets.empty()) return selection;
  selection.leading_pt = jets[0].pt;
  for (std::size_t i = 0; i < jets.size() && i < 4; ++i) selection.mass_sum += jets[i].mass;
  if (jets.size() > 1) selection.delta_eta = std::abs(jets[0].eta - jets[1].eta);
  selection.passes_baseline = jets.size() >= 3 && selection.leading_pt > kLeadingPt;
  const bool is_central = selection.passes_baseline && selection.delta_eta < 1.4;
  selection.passes_sr4 = is_central && jets.size() >= 4 && selection.mass_sum > 800;
  selection.passes_sr5 = is_central && jets.size() >= 5 && selection.mass_sum > 600;
  return selection;
}

bool may_pass_baseline(std::span<const FourVector> partons) {
  constexpr double kMargin = 0.75;  // the pt of a jet is rarely a quarter above that of its partons
  std::vector<fastjet::PseudoJet> inputs;
  for (const FourVector& v : partons) inputs.emplace_back(v.x, v.y, v.z, v.e);
  const fastjet::ClusterSequence sequence(inputs, anti_kt());
  const auto jets = fastjet::sorted_by_pt(sequence.inclusive_jets(kMargin * kLeastPt));
  return jets.size() >= 3 && jets[0].pt() > kMargin * kLeadingPt;
}

}  // namespace tutti::models::hep
