// A plan's transfers, one by one and in figures.
#include <algorithm>
#include <numeric>

#include "realloc/plan.h"

namespace dovetail::realloc {
namespace {

/// Adds the rectangles that flows fall into: one of each piece that they touch, as they are cut between rows.
void add_pieces(const Plan& plan, std::vector<DeviceTraffic>& traffic) {
  const Flow* share = nullptr;  // flows of the same share follow each other
  std::int64_t pieces = 0;
  for (const Flow& flow : plan.flows) {
    if (share == nullptr || share->bundle != flow.bundle || share->begin != flow.begin) {
      const Pattern& pattern = plan.patterns[plan.bundles[flow.bundle].pattern];
      pieces = place_of(pattern, flow.end - 1).piece - place_of(pattern, flow.begin).piece + 1;
      share = &flow;
    }
    traffic[flow.from.index()].pieces += pieces;
    traffic[flow.to.index()].pieces += pieces;
  }
}

/// Flows by their sender: those of device d are order[begins[d]] ... order[begins[d + 1] - 1].
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

/// Adds what one device sends another.
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
  const auto pieces = static_cast<std::int64_t>(pattern.pieces.size());
  for (std::int64_t element = flow.begin; element < flow.end;) {
    const StreamPlace place = place_of(pattern, element);
    const Piece& piece = pattern.pieces[static_cast<std::size_t>(place.piece % pieces)];
    const std::int64_t width = piece.slice.column_end - piece.slice.column_begin;
    Transfer transfer{bundle.first_tensors[static_cast<std::size_t>(place.piece / pieces)] + piece.tensor, piece.slice,
                      flow.from, flow.to};
    transfer.slice.row_begin += place.row;
    transfer.slice.row_end = std::min(piece.slice.row_end, transfer.slice.row_begin + (flow.end - element) / width);
    element += transfer.slice.elements();
    transfers.push_back(transfer);
  }
}

}  // namespace

std::vector<Transfer> transfers_of(const Plan& plan) {
  std::vector<Transfer> transfers;
  for (const Flow& flow : plan.flows) add_transfers(plan, flow, transfers);
  return transfers;
}

std::vector<DeviceTraffic> traffic_of(const Plan& plan) {
  const std::size_t devices = plan.node_of.size();
  std::vector<DeviceTraffic> traffic(devices);
  add_pieces(plan, traffic);
  const BySender sorted = sort_by_sender(plan);
  std::vector<std::int64_t> bytes_to(devices);  // from the sender at hand
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
  std::vector<std::int64_t> sent_by_node(traffic.size());  // no more nodes than devices
  std::vector<std::int64_t> received_by_node(traffic.size());
  std::int64_t pieces = 0;
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
    pieces += own.pieces;
  }
  summary.transfers = pieces / 2;
  return summary;
}

Summary summarize(const Plan& plan) { return summarize(plan, traffic_of(plan)); }

}  // namespace dovetail::realloc
