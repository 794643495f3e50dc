#include "realloc/plan.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/assert.h"

namespace dovetail::realloc {
namespace {

/// Maximum number of senders to split a bundle for. A node may have more receivers.
constexpr std::int64_t max_senders = 8;

/// A share is large if it exceeds this fraction (1 / N) of the bytes that a device receives.
constexpr std::int64_t parts_received = 64;

/// A device that has a share, and the number of hops of the share to it.
struct Carrier {
  int device = 0;
  int hops_inside = 0;
  int hops_between = 0;
};

/// The devices of a node that hold or need a bundle.
struct NodePlaces {
  int node = 0;
  std::vector<int> holders;
  std::vector<int> lacking;
};

/// Bytes of one device so far.
struct Load {
  std::int64_t sent_inside = 0;
  std::int64_t sent_between = 0;
  std::int64_t received_between = 0;
};

/// Chooses senders and receivers for each bundle, and tracks the loads.
class Router {
 public:
  explicit Router(Plan& plan)
      : plan_(plan),
        loads_(plan.node_of.size()),
        index_of_(plan.node_of.size(), none),
        large_share_(large_share_of(plan)) {}

  /// Cuts the bundle into shares and routes each.
  void route(std::size_t bundle) {
    gather_places(plan_.bundles[bundle]);
    const Bundle& moved = plan_.bundles[bundle];
    const Pattern& pattern = plan_.patterns[moved.pattern];
    const std::int64_t shares = shares_of(moved);
    std::int64_t begin = 0;
    for (std::int64_t share = 1; share <= shares; ++share) {
      // Divided first, because elements * share may exceed 63 bits.
      const std::int64_t ideal = moved.elements / shares * share + moved.elements % shares * share / shares;
      const std::int64_t end = share == shares ? moved.elements : row_start(pattern, ideal);
      if (end <= begin) continue;
      slot_ = plan_.flows.size();
      plan_.flows.resize(slot_ + moved.lacking.size(),
                         {.bundle = bundle, .begin = begin, .end = end, .from = {}, .to = {}});
      route_share(moved);
      begin = end;
    }
  }

  /// Routes every share again, given the loads of all others.
  void improve() {
    std::size_t bundle = plan_.bundles.size();
    for (std::size_t slot = 0; slot < plan_.flows.size();) {
      if (plan_.flows[slot].bundle != bundle) gather_places(plan_.bundles[bundle = plan_.flows[slot].bundle]);
      const std::size_t end = slot + plan_.bundles[bundle].lacking.size();
      for (std::size_t i = slot; i < end; ++i) add_load(plan_.flows[i], -1);
      slot_ = slot;
      route_share(plan_.bundles[bundle]);
      slot = end;
    }
  }

  /// Returns the maximum loads of any device, which rounds reduce in lexicographic order: the larger and the smaller of
  /// its bytes sent and received between nodes, then its bytes sent inside.
  std::array<std::int64_t, 3> worst() const {
    Load most;
    for (const Load& load : loads_) {
      most.sent_inside = std::max(most.sent_inside, load.sent_inside);
      most.sent_between = std::max(most.sent_between, load.sent_between);
      most.received_between = std::max(most.received_between, load.received_between);
    }
    const auto [less, more] = std::minmax(most.sent_between, most.received_between);
    return {more, less, most.sent_inside};
  }

 private:
  int node_of(int device) const { return plan_.node_of[static_cast<std::size_t>(device)]; }
  Load& load(int device) { return loads_[static_cast<std::size_t>(device)]; }

  void gather_places(const Bundle& bundle) {
    for (const NodePlaces& there : places_) index_of_[static_cast<std::size_t>(there.node)] = none;
    places_.clear();
    const auto place = [this](DeviceId device) -> NodePlaces& {
      std::size_t& index = index_of_[static_cast<std::size_t>(node_of(device.value))];
      if (index == none) {
        index = places_.size();
        places_.push_back({.node = node_of(device.value), .holders = {}, .lacking = {}});
      }
      return places_[index];
    };
    for (const DeviceId device : bundle.lacking) place(device).lacking.push_back(device.value);
    nodes_served_ = places_.size();
    for (const DeviceId device : bundle.holders) place(device).holders.push_back(device.value);
  }

  /// Returns the number of shares of the bundle. It is large enough for several senders and to avoid large shares, and
  /// a multiple of the maximum number of receivers on a node, so that each receives equally from the network.
  std::int64_t shares_of(const Bundle& bundle) const {
    if (bundle.holders.size() == 1 && bundle.lacking.size() == 1) return 1;
    std::size_t receivers = 1;
    for (std::size_t i = 0; i < nodes_served_; ++i) receivers = std::max(receivers, places_[i].lacking.size());
    const auto each = static_cast<std::int64_t>(receivers);
    const std::int64_t bytes = bundle.elements * plan_.options.element_bytes;
    const std::int64_t requested =
        std::max(std::min(max_senders, static_cast<std::int64_t>(bundle.holders.size())), bytes / large_share_);
    const std::int64_t most = std::max<std::int64_t>(bytes / plan_.options.min_share, 1);
    return std::clamp<std::int64_t>((requested + each - 1) / each * each, 1, most);
  }

  /// Returns the average bytes that a device receives, divided by parts_received. Larger shares would not balance.
  static std::int64_t large_share_of(const Plan& plan) {
    double arriving = 0;  // multiplied by the devices it might exceed 63 bits
    std::vector<bool> receives(plan.node_of.size());
    for (const Bundle& bundle : plan.bundles) {
      arriving += static_cast<double>(bundle.elements * plan.options.element_bytes) *
                  static_cast<double>(bundle.lacking.size());
      for (const DeviceId device : bundle.lacking) receives[device.index()] = true;
    }
    const auto receivers = std::max<std::int64_t>(1, std::count(receives.begin(), receives.end(), true));
    return 1 + static_cast<std::int64_t>(arriving / static_cast<double>(receivers * parts_received));
  }

  /// Fills in the flows from `slot_` on, one for each device that lacks the share.
  void route_share(const Bundle& bundle) {
    const Flow& share = plan_.flows[slot_];
    bytes_ = (share.end - share.begin) * plan_.options.element_bytes;
    message_ = std::min(bytes_, plan_.options.bucket);
    carriers_.clear();
    for (std::size_t i = 0; i < nodes_served_; ++i) {
      const NodePlaces& places = places_[i];
      inside_.clear();
      for (const int device : places.holders) inside_.push_back({device});
      if (inside_.empty()) inside_.push_back(enter(bundle, places.lacking));
      spread(places.lacking);
    }
  }

  /// Sends the share to one of `lacking`, whose node does not have it. Returns that device.
  Carrier enter(const Bundle& bundle, const std::vector<int>& lacking) {
    if (carriers_.empty())
      for (const DeviceId device : bundle.holders) add_carrier({device.value});
    const int entry = *std::min_element(lacking.begin(), lacking.end(), [this](int a, int b) {
      return load(a).received_between < load(b).received_between;
    });
    std::pop_heap(carriers_.begin(), carriers_.end(), is_worse);
    const Carrier sender = carriers_.back().second;
    carriers_.pop_back();
    send(sender, entry);
    const Carrier receiver{entry, sender.hops_inside, sender.hops_between + 1};
    add_carrier(sender);
    add_carrier(receiver);
    return receiver;
  }

  /// Sends the share from the devices of the node that have it (`inside_`) to all that lack it.
  void spread(const std::vector<int>& lacking) {
    const int entered = inside_.front().device;
    for (const int device : lacking) {
      if (device == entered) continue;
      const auto cost = [this](const Carrier& carrier) {
        return std::pair(load(carrier.device).sent_inside + carrier.hops_inside * message_, carrier.hops_inside);
      };
      const Carrier sender = *std::min_element(inside_.begin(), inside_.end(),
                                               [&](const Carrier& a, const Carrier& b) { return cost(a) < cost(b); });
      send(sender, device);
      inside_.push_back({device, sender.hops_inside + 1, sender.hops_between});
    }
  }

  void send(const Carrier& sender, int to) {
    Flow& flow = plan_.flows[slot_++];
    flow.from = DeviceId(sender.device);
    flow.to = DeviceId(to);
    flow.hops_inside = sender.hops_inside;
    flow.hops_between = sender.hops_between;
    add_load(flow, 1);
  }

  void add_load(const Flow& flow, int sign) {
    const std::int64_t bytes = sign * (flow.end - flow.begin) * plan_.options.element_bytes;
    if (node_of(flow.from.value) == node_of(flow.to.value)) {
      load(flow.from.value).sent_inside += bytes;
    } else {
      load(flow.from.value).sent_between += bytes;
      load(flow.to.value).received_between += bytes;
    }
  }

  void add_carrier(const Carrier& carrier) {
    carriers_.push_back({load(carrier.device).sent_between + carrier.hops_between * message_, carrier});
    std::push_heap(carriers_.begin(), carriers_.end(), is_worse);
  }

  static bool is_worse(const std::pair<std::int64_t, Carrier>& a, const std::pair<std::int64_t, Carrier>& b) {
    return std::tuple(a.first, a.second.hops_between, a.second.device) >
           std::tuple(b.first, b.second.hops_between, b.second.device);
  }

  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  Plan& plan_;
  std::vector<Load> loads_;            // [device]
  std::vector<std::size_t> index_of_;  // [node] index in places_ (there are at most as many nodes as devices)
  std::int64_t large_share_;           // bytes
  // State of the current bundle:
  std::vector<NodePlaces> places_;  // nodes that need it first
  std::size_t nodes_served_ = 0;    // number of nodes that need it
  // State of the current share:
  std::size_t slot_ = 0;                                    // next flow to fill in
  std::int64_t bytes_ = 0;                                  // size of the share
  std::int64_t message_ = 0;                                // part of it that is forwarded at a time
  std::vector<std::pair<std::int64_t, Carrier>> carriers_;  // heap of devices that can send it to other nodes
  std::vector<Carrier> inside_;                             // devices of the current node that have it
};

/// Returns the order in which bundles are routed: fewest possible senders first, then by descending size, so that small
/// and flexible bundles balance the loads.
std::vector<std::size_t> routing_order(const std::vector<Bundle>& bundles) {
  std::vector<std::size_t> order(bundles.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Bundle& first = bundles[a];
    const Bundle& second = bundles[b];
    return first.holders.size() != second.holders.size() ? first.holders.size() < second.holders.size()
                                                         : first.elements > second.elements;
  });
  return order;
}

std::vector<int> nodes_of_devices(const cluster::Cluster& cluster) {
  std::vector<int> nodes;
  int node = 0;
  for (const cluster::NodeGroup& group : cluster.groups)
    for (int i = 0; i < group.nodes; ++i, ++node)
      nodes.insert(nodes.end(), static_cast<std::size_t>(group.devices_per_node), node);
  return nodes;
}

/// Counts the rectangles of each flow: one for each block that it touches, because flows are cut between rows.
void count_blocks(const Plan& plan, std::vector<DeviceTraffic>& traffic) {
  const Flow* share = nullptr;  // flows of the same share are consecutive
  std::int64_t blocks = 0;
  for (const Flow& flow : plan.flows) {
    if (share == nullptr || share->bundle != flow.bundle || share->begin != flow.begin) {
      const Pattern& pattern = plan.patterns[plan.bundles[flow.bundle].pattern];
      blocks = place_of(pattern, flow.end - 1).block - place_of(pattern, flow.begin).block + 1;
      share = &flow;
    }
    traffic[flow.from.index()].blocks += blocks;
    traffic[flow.to.index()].blocks += blocks;
  }
}

/// Flows by sender: those of device d are order[begins[d]] ... order[begins[d + 1] - 1].
struct BySender {
  std::vector<std::size_t> begins;
  std::vector<std::size_t> order;
};

BySender sort_by_sender(const Plan& plan) {
  BySender sorted;
  sorted.begins.assign(plan.node_of.size() + 1, 0);
  for (const Flow& flow : plan.flows) ++sorted.begins[flow.from.index() + 1];
  std::partial_sum(sorted.begins.begin(), sorted.begins.end(), sorted.begins.begin());
  std::vector<std::size_t> next = sorted.begins;
  sorted.order.resize(plan.flows.size());
  for (std::size_t i = 0; i < plan.flows.size(); ++i) sorted.order[next[plan.flows[i].from.index()]++] = i;
  return sorted;
}

/// Adds the traffic from one device to another.
void add_pair(const Plan& plan, std::size_t from, std::size_t to, std::int64_t bytes,
              std::vector<DeviceTraffic>& traffic, std::vector<std::int64_t>& max_message) {
  const std::int64_t messages = (bytes + plan.options.bucket - 1) / plan.options.bucket;
  const std::int64_t largest = std::min(bytes, plan.options.bucket);
  DeviceTraffic& sender = traffic[from];
  DeviceTraffic& receiver = traffic[to];
  const bool inside = plan.node_of[from] == plan.node_of[to];
  (inside ? sender.sent_inside : sender.sent_between) += bytes;
  (inside ? sender.messages_sent_inside : sender.messages_sent_between) += messages;
  (inside ? receiver.received_inside : receiver.received_between) += bytes;
  (inside ? receiver.messages_received_inside : receiver.messages_received_between) += messages;
  sender.staging = std::max(sender.staging, largest);
  max_message[to] = std::max(max_message[to], largest);
}

void add_transfers(const Plan& plan, const Flow& flow, std::vector<Transfer>& transfers) {
  const Bundle& bundle = plan.bundles[flow.bundle];
  const Pattern& pattern = plan.patterns[bundle.pattern];
  const auto blocks = static_cast<std::int64_t>(pattern.blocks.size());
  for (std::int64_t element = flow.begin; element < flow.end;) {
    const StreamPlace place = place_of(pattern, element);
    const TensorBlock& block = pattern.blocks[static_cast<std::size_t>(place.block % blocks)];
    const std::int64_t width = block.slice.column_end - block.slice.column_begin;
    Transfer transfer{bundle.first_tensors[static_cast<std::size_t>(place.block / blocks)] + block.tensor, block.slice,
                      flow.from, flow.to};
    transfer.slice.row_begin += place.row;
    transfer.slice.row_end = std::min(block.slice.row_end, transfer.slice.row_begin + (flow.end - element) / width);
    element += transfer.slice.elements();
    transfers.push_back(transfer);
  }
}

}  // namespace

Plan plan_reallocation(const cluster::Cluster& cluster, const Side& source, const Side& destination,
                       const PlanOptions& options) {
  DOVETAIL_ASSERT(options.element_bytes >= 1 && options.bucket >= 1 && options.min_share >= 1 && options.rounds >= 0);
  Plan plan;
  plan.options = options;
  plan.node_of = nodes_of_devices(cluster);
  Bundles moved = bundles_of(source, destination, options.trained_only);
  plan.patterns = std::move(moved.patterns);
  plan.bundles = std::move(moved.bundles);
  Router router(plan);
  for (const std::size_t bundle : routing_order(plan.bundles)) router.route(bundle);
  for (int round = 0; round < options.rounds; ++round) {
    const auto worst = router.worst();
    std::vector<Flow> before = plan.flows;
    router.improve();
    if (router.worst() < worst) continue;
    plan.flows = std::move(before);
    break;
  }
  return plan;
}

std::vector<Transfer> transfers_of(const Plan& plan) {
  std::vector<Transfer> transfers;
  for (const Flow& flow : plan.flows) add_transfers(plan, flow, transfers);
  return transfers;
}

std::vector<DeviceTraffic> traffic_of(const Plan& plan) {
  const std::size_t devices = plan.node_of.size();
  std::vector<DeviceTraffic> traffic(devices);
  count_blocks(plan, traffic);
  const BySender sorted = sort_by_sender(plan);
  std::vector<std::int64_t> bytes_to(devices);  // from the current sender
  std::vector<std::int64_t> max_message(devices);
  std::vector<std::size_t> receivers;
  for (std::size_t from = 0; from < devices; ++from) {
    receivers.clear();
    for (std::size_t i = sorted.begins[from]; i < sorted.begins[from + 1]; ++i) {
      const Flow& flow = plan.flows[sorted.order[i]];
      const std::size_t to = flow.to.index();
      if (bytes_to[to] == 0) receivers.push_back(to);
      bytes_to[to] += (flow.end - flow.begin) * plan.options.element_bytes;
    }
    for (const std::size_t to : receivers) {
      add_pair(plan, from, to, bytes_to[to], traffic, max_message);
      bytes_to[to] = 0;
    }
  }
  for (std::size_t device = 0; device < devices; ++device) traffic[device].staging += max_message[device];
  return traffic;
}

Summary summarize(const Plan& plan, const std::vector<DeviceTraffic>& traffic) {
  Summary summary;
  std::vector<std::int64_t> sent_by_node(traffic.size());  // there are at most as many nodes as devices
  std::vector<std::int64_t> received_by_node(traffic.size());
  std::int64_t blocks = 0;
  for (std::size_t device = 0; device < traffic.size(); ++device) {
    const DeviceTraffic& own = traffic[device];
    const auto node = static_cast<std::size_t>(plan.node_of[device]);
    summary.bytes += own.sent();
    summary.bytes_between += own.sent_between;
    summary.max_sent = std::max(summary.max_sent, own.sent());
    summary.max_received = std::max(summary.max_received, own.received());
    summary.max_sent_by_node = std::max(summary.max_sent_by_node, sent_by_node[node] += own.sent_between);
    summary.max_received_by_node =
        std::max(summary.max_received_by_node, received_by_node[node] += own.received_between);
    summary.messages += own.messages_sent_inside + own.messages_sent_between;
    summary.transient = std::max(summary.transient, own.received() + own.staging);
    blocks += own.blocks;
  }
  summary.transfers = blocks / 2;
  return summary;
}

Summary summarize(const Plan& plan) { return summarize(plan, traffic_of(plan)); }

}  // namespace dovetail::realloc
