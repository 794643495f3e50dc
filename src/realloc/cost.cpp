#include "realloc/cost.h"

#include <algorithm>
#include <cstddef>

namespace dovetail::realloc {
namespace {

double time_of(const cluster::Link& link, double bytes, double messages) {
  return messages * link.latency + (bytes + messages * link.half_size) / link.bandwidth;
}

/// Returns the seconds of a device's slowest link.
double slowest_link(const DeviceTraffic& traffic, const cluster::Links& links) {
  const auto seconds = [](const cluster::Link& link, std::int64_t bytes, std::int64_t messages) {
    return time_of(link, static_cast<double>(bytes), static_cast<double>(messages));
  };
  return std::max({seconds(links.inside, traffic.sent_inside, traffic.messages_sent_inside),
                   seconds(links.inside, traffic.received_inside, traffic.messages_received_inside),
                   seconds(links.between, traffic.sent_between, traffic.messages_sent_between),
                   seconds(links.between, traffic.received_between, traffic.messages_received_between)});
}

/// Returns the time until the first bucket of a share reaches its last link, for the share with the longest path.
double max_path_seconds(const Plan& plan, const cluster::Links& links) {
  double longest = 0;
  for (const Flow& flow : plan.flows) {
    if (flow.hops_inside + flow.hops_between == 0) continue;
    const auto bytes =
        static_cast<double>(std::min(plan.options.bucket, (flow.end - flow.begin) * plan.options.element_bytes));
    longest = std::max(longest, flow.hops_inside * cluster::send_seconds(links.inside, bytes) +
                                    flow.hops_between * cluster::send_seconds(links.between, bytes));
  }
  return longest;
}

/// Work that several devices share.
struct Shared {
  std::int64_t bytes = 0;
  int devices = 0;

  double each() const { return devices > 0 ? static_cast<double>(bytes) / devices : 0; }
};

/// Minimum work of a device on each of its links, in any plan.
struct Forced {
  std::int64_t arriving = 0;  ///< on either link
  std::int64_t received_inside = 0;
  std::int64_t received_between = 0;
  std::int64_t sent_inside = 0;
  std::int64_t sent_between = 0;
  bool may_enter = false;  ///< needs data that its node lacks
  bool may_leave = false;  ///< holds or needs data that only its node has
  bool may_send = false;   ///< holds or needs data that moves between nodes
};

/// The devices of a node that hold or need a bundle.
struct NodeDevices {
  std::vector<DeviceId> holders;
  std::vector<DeviceId> lacking;
};

/// Sums the unavoidable work of all bundles.
class BoundSums {
 public:
  explicit BoundSums(const Plan& plan) : plan_(plan), forced_(plan.node_of.size()), places_(plan.node_of.size()) {
    entering_.resize(plan.node_of.size());
    leaving_.resize(plan.node_of.size());
    for (const Bundle& bundle : plan.bundles) add(bundle);
    count_devices();
  }

  double seconds(const cluster::Links& links) const {
    const double both = links.inside.bandwidth + links.between.bandwidth;
    double bound = std::max(in_buckets(links.between, sending_.each()), in_buckets(links.between, receiving_.each()));
    for (const Forced& forced : forced_)
      bound = std::max({bound, static_cast<double>(forced.arriving) / both,
                        in_buckets(links.inside, forced.received_inside), in_buckets(links.inside, forced.sent_inside),
                        in_buckets(links.between, forced.received_between),
                        in_buckets(links.between, forced.sent_between)});
    for (const std::vector<Shared>* nodes : {&entering_, &leaving_})
      for (const Shared& node : *nodes) bound = std::max(bound, in_buckets(links.between, node.each()));
    return bound;
  }

  std::int64_t bytes_between() const { return receiving_.bytes; }

 private:
  std::size_t node_of(DeviceId device) const { return static_cast<std::size_t>(plan_.node_of[device.index()]); }
  Forced& forced(DeviceId device) { return forced_[device.index()]; }

  double in_buckets(const cluster::Link& link, double bytes) const {
    const auto bucket = static_cast<double>(plan_.options.bucket);
    return time_of(link, bytes, static_cast<double>(static_cast<std::int64_t>((bytes + bucket - 1) / bucket)));
  }
  double in_buckets(const cluster::Link& link, std::int64_t bytes) const {
    return in_buckets(link, static_cast<double>(bytes));
  }

  void add(const Bundle& bundle) {
    const std::int64_t bytes = bundle.elements * plan_.options.element_bytes;
    nodes_.clear();
    const auto place = [this](DeviceId device) -> NodeDevices& {
      NodeDevices& there = places_[node_of(device)];
      if (there.holders.empty() && there.lacking.empty()) nodes_.push_back(node_of(device));
      return there;
    };
    for (const DeviceId device : bundle.holders) place(device).holders.push_back(device);
    for (const DeviceId device : bundle.lacking) place(device).lacking.push_back(device);
    std::size_t holding_nodes = 0;
    bool crosses = false;
    for (const std::size_t node : nodes_) {
      if (!places_[node].holders.empty()) ++holding_nodes;
      crosses = crosses || places_[node].holders.empty();
      add_arrivals(node, bytes);
    }
    if (crosses) add_departures(bundle, bytes, holding_nodes == 1);
    for (const std::size_t node : nodes_) places_[node] = {};
  }

  /// Adds what the devices of a node receive, and what the node's only holder sends.
  void add_arrivals(std::size_t node, std::int64_t bytes) {
    const NodeDevices& there = places_[node];
    const bool is_there = !there.holders.empty();
    for (const DeviceId device : there.lacking) {
      forced(device).arriving += bytes;
      if (is_there) forced(device).received_inside += bytes;
      if (!is_there) forced(device).may_enter = true;
    }
    if (!is_there) {
      entering_[node].bytes += bytes;
      receiving_.bytes += bytes;
      if (there.lacking.size() == 1) forced(there.lacking.front()).received_between += bytes;
    }
    if (there.holders.size() == 1 && !there.lacking.empty()) forced(there.holders.front()).sent_inside += bytes;
  }

  /// Adds what leaves the only node that has a bundle, if another node lacks it.
  void add_departures(const Bundle& bundle, std::int64_t bytes, bool from_one_node) {
    for (const DeviceId device : bundle.holders) forced(device).may_send = true;
    for (const DeviceId device : bundle.lacking) forced(device).may_send = true;
    if (!from_one_node) return;
    const std::size_t node = node_of(bundle.holders.front());
    const NodeDevices& there = places_[node];
    leaving_[node].bytes += bytes;
    for (const DeviceId device : there.holders) forced(device).may_leave = true;
    for (const DeviceId device : there.lacking) forced(device).may_leave = true;
    if (there.holders.size() == 1 && there.lacking.empty()) forced(there.holders.front()).sent_between += bytes;
  }

  void count_devices() {
    sending_.bytes = receiving_.bytes;
    for (std::size_t device = 0; device < forced_.size(); ++device) {
      const auto node = static_cast<std::size_t>(plan_.node_of[device]);
      entering_[node].devices += forced_[device].may_enter ? 1 : 0;
      leaving_[node].devices += forced_[device].may_leave ? 1 : 0;
      receiving_.devices += forced_[device].may_enter ? 1 : 0;
      sending_.devices += forced_[device].may_send ? 1 : 0;
    }
  }

  const Plan& plan_;
  std::vector<Forced> forced_;       // [device]
  std::vector<Shared> entering_;     // [node] (there are at most as many nodes as devices)
  std::vector<Shared> leaving_;      // [node]
  Shared sending_;                   // between nodes, all devices
  Shared receiving_;                 // between nodes, all devices
  std::vector<NodeDevices> places_;  // [node] of the current bundle
  std::vector<std::size_t> nodes_;   // nodes that the current bundle concerns
};

}  // namespace

ReallocationSeconds reallocation_seconds(const Plan& plan, const std::vector<DeviceTraffic>& traffic,
                                         const cluster::Links& links, const Overhead& overhead) {
  ReallocationSeconds answer;
  for (const DeviceTraffic& own : traffic)
    answer.seconds = std::max(answer.seconds,
                              slowest_link(own, links) + static_cast<double>(own.blocks) * overhead.seconds_per_block);
  answer.seconds += max_path_seconds(plan, links);
  answer.lower_bound = BoundSums(plan).seconds(links);
  return answer;
}

ReallocationSeconds reallocation_seconds(const Plan& plan, const cluster::Links& links, const Overhead& overhead) {
  return reallocation_seconds(plan, traffic_of(plan), links, overhead);
}

std::int64_t min_bytes_between(const Plan& plan) { return BoundSums(plan).bytes_between(); }

}  // namespace dovetail::realloc
