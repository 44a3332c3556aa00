// The generator's distributions, with fixed seeds.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <numeric>

#include "tutti/models/science/hep/events.h"
#include "tutti/models/science/hep/generate.h"
#include "tutti/models/science/hep/metric.h"
#include "tutti/models/science/hep/shower.h"
#include "tutti/train/data/h5.h"

namespace tutti::models::hep {
namespace {

FourVector sum_of(const std::vector<FourVector>& all) {
  return std::accumulate(all.begin(), all.end(), FourVector{});
}

void expect_near(const FourVector& a, const FourVector& b, double tolerance) {
  EXPECT_NEAR(a.x, b.x, tolerance);
  EXPECT_NEAR(a.y, b.y, tolerance);
  EXPECT_NEAR(a.z, b.z, tolerance);
  EXPECT_NEAR(a.e, b.e, tolerance);
}

TEST(HepHardProcess, DecaysConserveMomentumAndFillTheDalitzPlane) {
  Random random(1);
  double mean = 0;
  const int n = 4000;
  for (int i = 0; i < n; ++i) {
    const auto bodies = three_body_decay(850, 0, random);
    expect_near(sum_of(bodies), {0, 0, 0, 850}, 1e-9);
    for (const FourVector& body : bodies) EXPECT_NEAR(body.mass2(), 0, 1e-6);
    mean += (bodies[0] + bodies[1]).mass2() / n;
  }
  // Flat in the plane of three massless bodies: each pair has a third of M^2 on average.
  EXPECT_NEAR(mean / (850 * 850), 1.0 / 3, 0.02);
  const auto heavy = three_body_decay(1400, 850, random);
  EXPECT_NEAR(heavy[2].mass(), 850, 1e-6);
}

TEST(HepHardProcess, TenQuarksFromTwoGluinos) {
  Random random(2);
  const HardEvent event = make_signal(random);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(event.systems[static_cast<std::size_t>(i)].size(), 5u);
    FourVector gluino;
    for (const Parton& quark : event.systems[static_cast<std::size_t>(i)])
      gluino = gluino + quark.momentum;
    EXPECT_NEAR(gluino.mass(), 1400, 1e-3);
  }
}

TEST(HepHardProcess, WeightsUndoTheFlatterSpectrum) {
  Random random(3);
  double weights = 0, soft = 0;
  const int n = 20000;
  for (int i = 0; i < n; ++i) {
    const HardEvent event = make_background(slices()[0], random);
    EXPECT_GE(event.scale, 400);
    EXPECT_LE(event.scale, 800);
    weights += event.weight;
    if (event.scale < 500) soft += event.weight;
  }
  EXPECT_NEAR(weights / n, 1, 0.03);
  EXPECT_NEAR(soft / weights, 0.705, 0.02);  // integral of pt^-5.5 (1 - 2 pt/13000)^8
}

TEST(HepShower, KeepsTheSumAndMakesGluonsWiderThanQuarks) {
  Random random(4);
  double partons[2] = {0, 0};
  for (int i = 0; i < 300; ++i) {
    for (int gluon = 0; gluon < 2; ++gluon) {
      const System system = {{from_pt_eta_phi(600, 0.5, 1), gluon == 1},
                             {from_pt_eta_phi(600, -0.3, 1 + M_PI), gluon == 1}};
      const auto out = shower(system, random);
      expect_near(sum_of(out), system[0].momentum + system[1].momentum, 1e-5);
      partons[gluon] += double(out.size()) / 300;
    }
  }
  EXPECT_GT(partons[0], 5);
  EXPECT_GT(partons[1], 1.4 * partons[0]);  // towards C_A / C_F = 9/4
  EXPECT_NEAR(strong_coupling(91.2 * 91.2), 0.134, 0.002);
  EXPECT_EQ(strong_coupling(0.01), 0.35);
}

// Measured by the experiments at LEP in decays of Z bosons: 20.8 charged hadrons.
TEST(HepShower, ZBosonsDecayToAsManyHadronsAsMeasured) {
  Random random(8);
  const double half = 91.2 / 2;
  double charged = 0;
  const int n = 400;
  for (int i = 0; i < n; ++i) {
    std::vector<Particle> particles;
    for (const FourVector& parton :
         shower({{{0, half, 0, half}, false}, {{0, -half, 0, half}, false}}, random))
      hadronise(parton, particles, random);
    charged += double(std::ranges::count(particles, Particle::Kind::kCharged, &Particle::kind)) / n;
  }
  EXPECT_NEAR(charged, 20.8, 1);
}

TEST(HepHardProcess, InitialRadiationIsSoft) {
  Random random(9);
  double all = 0, hard = 0;
  const int n = 1000;
  for (int i = 0; i < n; ++i) {
    const HardEvent event = make_signal(random);
    for (std::size_t s = 2; s < event.systems.size(); ++s) {
      const double pt = event.systems[s].at(0).momentum.pt();
      EXPECT_GE(pt, 20);
      EXPECT_LE(pt, 700);
      all += 1.0 / n;
      hard += (pt > 200) / double(n);
    }
  }
  // The integral of alpha_s and of the parton luminosity, over 5 units of rapidity.
  EXPECT_NEAR(all, 2.55, 0.2);
  EXPECT_NEAR(hard, 0.33, 0.08);
}

TEST(HepDetector, HadronsCarryThePartonAndTowersMostOfThem) {
  Random random(5);
  double charged = 0, energy = 0, towers = 0, all = 0;
  for (int i = 0; i < 300; ++i) {
    std::vector<Particle> particles;
    hadronise(from_pt_eta_phi(50, 0.2, 1), particles, random);
    for (const Particle& particle : particles) {
      energy += particle.momentum.e;
      charged += particle.kind == Particle::Kind::kCharged;
      all += 1;
    }
    for (const Tower& tower : detect(particles, random).towers) towers += tower.energy;
  }
  EXPECT_NEAR(energy, 300 * from_pt_eta_phi(50, 0.2, 1).e, 1e-6);
  EXPECT_NEAR(charged / all, 0.62, 0.03);
  EXPECT_NEAR(towers / energy, 0.9, 0.05);
}

TEST(HepDetector, ImageHasEveryDepositInItsPixel) {
  Readout readout;
  readout.towers = {
      {0.01, 0.01, 5, false}, {0.01, 0.01, 2, true}, {2.6, 0, 100, false}, {-2.49, -3.1, 3, true}};
  readout.tracks = {from_pt_eta_phi(1, 0.01, 0.01)};
  const std::vector<float> image = detector_image(readout, 8);
  const std::size_t centre = 4 * 8 + 4;
  EXPECT_EQ(image[centre], 7);
  EXPECT_EQ(image[64 + centre], 2);
  EXPECT_EQ(image[128 + centre], 1);
  EXPECT_EQ(image[0], 3);
  EXPECT_EQ(std::accumulate(image.begin(), image.begin() + 64, 0.f), 10);
}

TEST(HepJets, CutsAreThoseOfTheSearch) {
  std::vector<Jet> jets = {{500, 0, 0, 300}, {400, 1, 1, 250}, {300, 0, 2, 200}, {250, 0, 3, 100}};
  EXPECT_TRUE(select(jets).passes_sr4);
  EXPECT_FALSE(select(jets).passes_sr5);
  jets[3].mass = 10;  // 760: enough for five jets only
  EXPECT_FALSE(select(jets).passes_cuts());
  jets.push_back({210, 0, -1, 500});
  EXPECT_TRUE(select(jets).passes_sr5);
  EXPECT_EQ(select(jets).mass_sum, 760);
  jets[1].eta = 1.5;
  EXPECT_FALSE(select(jets).passes_cuts());
  jets[0].pt = 430;
  EXPECT_FALSE(select(jets).passes_baseline);
  EXPECT_FALSE(select({}).passes_baseline);
}

TEST(HepJets, TwoTowersFarApartAreTwoJets) {
  const std::vector<Tower> towers = {
      {0, 0, 300, false}, {0.3, 0.1, 200, false}, {1, 3, 400, false}, {0, 1.5, 100, false}};
  const auto jets = large_jets(towers);
  ASSERT_EQ(jets.size(), 2u);
  EXPECT_GT(jets[0].pt, 500);
  EXPECT_GT(jets[0].mass, 50);
}

// Signal passes often and has heavy jets; background the more, the harder it is.
TEST(HepEvent, EfficienciesAreThoseOfTheRecipe) {
  Random random(6);
  auto efficiency = [&](const Slice* slice, int tries, double& mass) {
    int passed = 0;
    mass = 0;
    for (int i = 0; i < tries; ++i)
      if (const auto event = collide(slice, 0, random)) {
        ++passed;
        mass += event->selection.mass_sum;
      }
    mass /= std::max(1, passed);
    return double(passed) / tries;
  };
  double signal_mass, soft_mass, hard_mass;
  EXPECT_NEAR(efficiency(nullptr, 150, signal_mass), 0.86, 0.12);
  const double soft = efficiency(&slices()[0], 600, soft_mass),
               hard = efficiency(&slices()[3], 200, hard_mass);
  EXPECT_LT(soft, 0.1);
  EXPECT_NEAR(hard, 0.32, 0.1);
  EXPECT_NEAR(signal_mass, 620, 80);
  EXPECT_LT(soft_mass, hard_mass);
  EXPECT_LT(hard_mass, signal_mass + 100);
}

TEST(HepGenerate, FilesDoNotDependOnTheNumberOfRanks) {
  std::string form = std::filesystem::temp_directory_path() / "hep-XXXXXX";
  const std::filesystem::path folder = mkdtemp(form.data());
  DataPlan plan{1, {16, 2, {0, 0, 1, 1, 0}}, {16, 1, {0, 0, 0, 0, 1}}, 3,
                1, {16, 1, {0, 0, 0, 0, 2}}};
  generate(folder / "one", plan, 0, 1);
  for (int rank = 0; rank < 3; ++rank) generate(folder / "three", plan, rank, 3);
  for (const char* name : {"train-000.h5", "test-000.h5", "val-3-000.h5"}) {
    const train::H5File one(folder / "one" / name, train::H5File::Mode::kRead);
    const train::H5File three(folder / "three" / name, train::H5File::Mode::kRead);
    const auto shape = one.shape("data");
    ASSERT_EQ(shape, three.shape("data"));
    std::vector<float> a(static_cast<std::size_t>(shape[0] * 768)), b = a;
    one.read("data", 0, shape[0], a);
    three.read("data", 0, shape[0], b);
    EXPECT_EQ(a, b);
    EXPECT_GT(*std::max_element(a.begin(), a.end()), 10);
  }
  const DataPlan small = data_plan(1000, 2000, 600, 64);
  EXPECT_EQ(small.files, 4);
  EXPECT_EQ(small.train.signal, 125);
  EXPECT_EQ(small.val_files, 2);
  EXPECT_EQ(small.val.signal, 60);
  EXPECT_EQ(data_plan(1000, 2000, 0, 64).val_files, 0);
  std::filesystem::remove_all(folder);
}

TEST(HepMetric, VerdictByHand) {
  // Two signal events above, one background between, cuts keep one signal and one of four background.
  const std::vector<Scored> events = {{0.9f, 1, true, true},   {0.8f, 1, true, false},
                                      {0.5f, 1, false, true},  {0.4f, 1, false, false},
                                      {0.3f, 1, false, false}, {0.2f, 1, true, false},
                                      {0.1f, 1, false, false}, {0.15f, 1, true, false}};
  const Verdict verdict = compare_with_cuts(events);
  EXPECT_DOUBLE_EQ(verdict.false_rate, 0.25);
  EXPECT_DOUBLE_EQ(verdict.false_rate_error, 0.25);
  EXPECT_DOUBLE_EQ(verdict.cuts, 0.25);
  EXPECT_DOUBLE_EQ(verdict.network, 0.5);
  EXPECT_DOUBLE_EQ(verdict.ratio, 2);
  EXPECT_DOUBLE_EQ(verdict.area, 0.625);
  EXPECT_FALSE(plot::render_svg(roc_chart(events, verdict)).empty());
  EXPECT_FALSE(plot::render_svg(score_chart(events)).empty());
}

// No signal event of four above the background of the cuts: that is no exact zero.
TEST(HepMetric, NoneOfFewHasAnError) {
  std::vector<Scored> events = {{0.9f, 1, false, true}};
  for (int i = 0; i < 20; ++i) events.push_back({0.5f + 0.01f * float(i), 1, false, false});
  for (int i = 0; i < 4; ++i) events.push_back({0.1f, 1, true, i < 2});
  const Verdict verdict = compare_with_cuts(events);
  EXPECT_EQ(verdict.network, 0);
  EXPECT_NEAR(verdict.network_error, std::sqrt(0.25 * 0.75 / 4), 1e-9);
  EXPECT_NEAR(verdict.ratio_error, verdict.network_error / 0.5, 1e-9);
  // No background event passes the cuts: their false rate is known to one event, the heaviest.
  events[0] = {0.9f, 4, false, false};
  const Verdict clean = compare_with_cuts(events);
  EXPECT_EQ(clean.false_rate, 0);
  EXPECT_NEAR(clean.false_rate_error, 4.0 / 24, 1e-9);
}

// Files of the published benchmark, which do not have the variables of the jets.
TEST(HepEvents, PublishedKeysAreEnough) {
  std::string form = std::filesystem::temp_directory_path() / "hep-XXXXXX";
  const std::filesystem::path folder = mkdtemp(form.data());
  std::vector<float> images(2 * 3 * 8 * 8);
  images[0] = std::exp(5.f) - 1;                     // first event, all towers, corner
  images[64 + 9] = 2;                                // its electromagnetic ones, row 1, column 1
  images[3 * 64 + 2 * 64 + 63] = std::exp(1.f) - 1;  // second event, tracks, the other corner
  train::H5File file(folder / "train.h5", train::H5File::Mode::kCreate);
  file.append("data", std::vector<std::int64_t>{3, 8, 8}, images);
  file.append("label", {}, std::vector<float>{1, 0});
  file.append("weight", {}, std::vector<float>{0.5, 20});
  file.append("normweight", {}, std::vector<float>{1, 1});
  file.append("psr", {}, std::vector<float>{1, 0});
  file.close();
  EventFiles events(folder, "train");
  ASSERT_EQ(events.size(), 2);
  EXPECT_EQ(events.info(0).label, 1);
  EXPECT_EQ(events.info(1).weight, 20);
  EXPECT_EQ(events.info(0).passes_cuts, 1);
  EXPECT_EQ(events.info(1).passes_cuts, 0);
  std::vector<float> seen(images.size());
  events.read_images(std::vector<std::int64_t>{0, 1}, seen.data());
  EXPECT_FLOAT_EQ(seen[0], 1);  // log(1 + x) / 5
  EXPECT_FLOAT_EQ(seen[9 * 3 + 1], std::log(3.f) / 5);
  EXPECT_FLOAT_EQ(seen[3 * 64 + 63 * 3 + 2], 0.2f);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 0.f), std::ssize(seen) - 3);
  std::filesystem::remove_all(folder);
}

TEST(HepMetric, HeavyEventsCountMore) {
  const std::vector<Scored> events = {{0.9f, 1, true, true},
                                      {0.7f, 3, false, false},
                                      {0.5f, 1, true, false},
                                      {0.1f, 1, false, false}};
  const auto curve = roc(events);
  EXPECT_DOUBLE_EQ(true_rate_at(curve, 0.75), 1.0);
  EXPECT_DOUBLE_EQ(true_rate_at(curve, 0), 0.5);
  EXPECT_DOUBLE_EQ(compare_with_cuts({}).ratio, 0);
}

}  // namespace
}  // namespace tutti::models::hep
