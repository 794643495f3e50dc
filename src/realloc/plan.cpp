#include "realloc/plan.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/assert.h"

namespace dovetail::realloc {
namespace {

/// As many senders as are worth cutting a bundle for; a node's receivers may be more.
constexpr std::int64_t max_senders = 8;

/// Of so many parts of what a device receives, one is a large share.
constexpr std::int64_t parts_received = 64;

/// A device that has a share, and how the share came to it.
struct Carrier {
  int device = 0;
  int hops_inside = 0;
  int hops_between = 0;
};

/// The devices of a node that a bundle concerns.
struct NodePlaces {
  int node = 0;
  std::vector<int> holders;
  std::vector<int> lacking;
};

/// Bytes so far, of one device.
struct Load {
  std::int64_t sent_inside = 0;
  std::int64_t sent_between = 0;
  std::int64_t received_between = 0;
};

/// Chooses senders and receivers, bundle by bundle, and keeps the loads.
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
      // In two steps, as elements * share might leave 63 bits.
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

  /// Routes every share once more, now that the loads of all others are known.
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

  /// What rounds make smaller, the first before the others: the most that a device sends and the most that one receives
  /// between nodes, the greater of the two first, and the most that one sends inside.
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

  /// How many shares the bundle is cut into: for several senders, none large; a multiple of the most receivers on a
  /// node, so that each gets as many from the network.
  std::int64_t shares_of(const Bundle& bundle) const {
    if (bundle.holders.size() == 1 && bundle.lacking.size() == 1) return 1;
    std::size_t receivers = 1;
    for (std::size_t i = 0; i < nodes_served_; ++i) receivers = std::max(receivers, places_[i].lacking.size());
    const auto each = static_cast<std::int64_t>(receivers);
    const std::int64_t bytes = bundle.elements * plan_.options.element_bytes;
    const std::int64_t wanted =
        std::max(std::min(max_senders, static_cast<std::int64_t>(bundle.holders.size())), bytes / large_share_);
    const std::int64_t most = std::max<std::int64_t>(bytes / plan_.options.min_share, 1);
    return std::clamp<std::int64_t>((wanted + each - 1) / each * each, 1, most);
  }

  /// What a device receives on average, cut into a few dozen parts: larger shares would not even out.
  static std::int64_t large_share_of(const Plan& plan) {
    double arriving = 0;  // times the devices it might leave 63 bits
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

  /// Brings the share to one of `lacking`, whose node does not have it. Returns who has it then.
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

  /// Brings the share from those of the node that have it (`inside_`) to all that lack it.
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
  std::vector<std::size_t> index_of_;  // [node] in places_ (no more nodes than devices)
  std::int64_t large_share_;           // bytes
  // Of the bundle at hand:
  std::vector<NodePlaces> places_;  // those that lack it first
  std::size_t nodes_served_ = 0;    // that lack it
  // Of the share at hand:
  std::size_t slot_ = 0;                                    // of the flow to fill in next
  std::int64_t bytes_ = 0;                                  // of the share
  std::int64_t message_ = 0;                                // of it that is passed on at a time
  std::vector<std::pair<std::int64_t, Carrier>> carriers_;  // heap: those that can send it to other nodes
  std::vector<Carrier> inside_;                             // those of the node at hand that have it
};

/// Bundles with the least choice of senders first, then the largest: what is small and free evens out what is not.
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

}  // namespace dovetail::realloc
