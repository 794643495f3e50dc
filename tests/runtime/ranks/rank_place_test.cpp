#include "runtime/ranks/rank_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace dovetail::runtime {
namespace {

Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

const Variables torchrun{{"RANK", "5"},          {"WORLD_SIZE", "8"},     {"LOCAL_RANK", "1"},
                         {"MASTER_ADDR", "one"}, {"MASTER_PORT", "1234"}, {"TORCHELASTIC_RESTART_COUNT", "2"}};
const Variables mpirun{{"OMPI_COMM_WORLD_RANK", "0"},
                       {"OMPI_COMM_WORLD_SIZE", "2"},
                       {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                       {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
const Variables srun{{"SLURM_PROCID", "3"},
                     {"SLURM_NTASKS", "4"},
                     {"SLURM_LOCALID", "1"},
                     {"SLURM_JOB_NODELIST", "node[003-010,12],login"}};

RankPlace place_of(const Variables& variables) {
  const auto place = find_rank_place(variables);
  EXPECT_TRUE(place.ok()) << place.error().message;
  EXPECT_TRUE(*place);
  return place->value_or(RankPlace());
}

std::string error_of(const Variables& variables) {
  const auto place = find_rank_place(variables);
  if (place.ok()) return "";
  EXPECT_EQ(place.error().failure, base::Failure::bad_input);
  return place.error().message;
}

TEST(RankPlace, IsAbsentWithoutALauncher) {
  const auto place = find_rank_place({{"HOME", "/"}, {"MASTER_ADDR", "one"}});
  ASSERT_TRUE(place.ok());
  EXPECT_FALSE(*place);
}

TEST(RankPlace, ReadsTorchrun) {
  EXPECT_EQ(place_of(torchrun), (RankPlace{.rank = 5,
                                           .ranks = 8,
                                           .local_rank = 1,
                                           .store_host = "one",
                                           .store_port = 1234,
                                           .holds_store = false,
                                           .attempt = 2}));
  EXPECT_TRUE(place_of(with(torchrun, "RANK", "0")).holds_store);
  const Variables first = with(torchrun, "RANK", "0");
  EXPECT_FALSE(place_of(with(first, "TORCHELASTIC_USE_AGENT_STORE", "True")).holds_store);
  EXPECT_TRUE(place_of(with(first, "TORCHELASTIC_USE_AGENT_STORE", "False")).holds_store);
}

TEST(RankPlace, ReadsMpirun) {
  EXPECT_EQ(place_of(mpirun), (RankPlace{.rank = 0,
                                         .ranks = 2,
                                         .local_rank = 0,
                                         .store_host = "127.0.0.1",
                                         .store_port = default_store_port,
                                         .holds_store = true,
                                         .attempt = 0}));
  EXPECT_EQ(place_of(with(mpirun, "MASTER_ADDR", "one")).store_host, "one");
  EXPECT_EQ(place_of(with(mpirun, "MASTER_PORT", "77")).store_port, 77);
}

TEST(RankPlace, ReadsSrun) {
  EXPECT_EQ(place_of(srun), (RankPlace{.rank = 3,
                                       .ranks = 4,
                                       .local_rank = 1,
                                       .store_host = "node003",
                                       .store_port = default_store_port,
                                       .holds_store = false,
                                       .attempt = 0}));
  EXPECT_EQ(place_of(with(srun, "SLURM_STEP_NODELIST", "a7")).store_host, "a7");
  EXPECT_EQ(place_of(with(srun, "MASTER_ADDR", "one")).store_host, "one");
}

TEST(RankPlace, JobsOnOneHostHaveDifferentPorts) {
  for (const auto& [variables, name] :
       {std::pair(mpirun, "PMIX_NAMESPACE"), std::pair(mpirun, "OMPI_MCA_ess_base_jobid"),
        std::pair(srun, "SLURM_JOB_ID")}) {
    const auto port_of = [&](const std::string& job) { return place_of(with(variables, name, job)).store_port; };
    EXPECT_EQ(port_of("1256521729"), port_of("1256521729"));
    EXPECT_NE(port_of("1256521729"), port_of("1256521730"));
    EXPECT_GE(port_of("7"), 20'000);
    EXPECT_LT(port_of("7"), 30'000);
    EXPECT_EQ(place_of(with(with(variables, name, "7"), "MASTER_PORT", "77")).store_port, 77);
  }
  const auto step = [](const std::string& number) {
    return place_of(with(with(srun, "SLURM_JOB_ID", "7"), "SLURM_STEP_ID", number)).store_port;
  };
  EXPECT_NE(step("0"), step("1"));
}

TEST(RankPlace, TheFirstLauncherTakesPrecedence) {
  Variables all = torchrun;
  all.insert(mpirun.begin(), mpirun.end());
  all.insert(srun.begin(), srun.end());
  EXPECT_EQ(place_of(all).rank, 5);
  EXPECT_EQ(place_of(without(all, "RANK")).ranks, 2);
}

TEST(RankPlace, AnInvalidVariableIsNamed) {
  using testing::HasSubstr;
  const std::vector<std::pair<Variables, std::string>> cases{
      {with(torchrun, "RANK", "8"), "RANK is `8`; it must be an integer from 0 to 7"},
      {with(torchrun, "RANK", "-1"), "RANK is `-1`; it must be an integer from 0 to 7"},
      {with(torchrun, "RANK", ""), "RANK is ``; it must be"},
      {with(torchrun, "WORLD_SIZE", "8x"), "WORLD_SIZE is `8x`; it must be"},
      {with(torchrun, "WORLD_SIZE", "0"), "WORLD_SIZE is `0`; it must be"},
      {without(torchrun, "WORLD_SIZE"), "WORLD_SIZE is missing; it must be"},
      {without(torchrun, "MASTER_ADDR"), "MASTER_ADDR is missing; MASTER_ADDR and MASTER_PORT must"},
      {without(torchrun, "MASTER_PORT"), "MASTER_PORT is missing; MASTER_ADDR and MASTER_PORT must"},
      {with(torchrun, "MASTER_PORT", "65536"), "MASTER_PORT is `65536`; it must be an integer from 1 to 65535"},
      {with(torchrun, "TORCHELASTIC_RESTART_COUNT", "?"), "TORCHELASTIC_RESTART_COUNT is `?`; it must be"},
      {with(torchrun, "TORCHELASTIC_USE_AGENT_STORE", "1"), "TORCHELASTIC_USE_AGENT_STORE is `1`; accepted: True"},
      {with(mpirun, "OMPI_COMM_WORLD_LOCAL_SIZE", "1"),
       "MASTER_ADDR is missing, but not all ranks are known to be on one host"},
      {without(srun, "SLURM_JOB_NODELIST"), "SLURM_JOB_NODELIST names no host; set it"},
  };
  for (const auto& [variables, message] : cases)
    EXPECT_THAT(error_of(variables), HasSubstr("the environment variable " + message));
}

TEST(FirstHost, ReadsSlurmLists) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"node1", "node1"},     {"node1,node2", "node1"},       {"node[003-010,12]", "node003"},
      {"node[7],x", "node7"}, {"rack[2,4]-gpu", "rack2-gpu"}, {"", ""},
      {"node[3", "node3"}};
  for (const auto& [list, host] : cases) EXPECT_EQ(first_host(list), host) << list;
}

}  // namespace
}  // namespace dovetail::runtime
