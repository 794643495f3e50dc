// What part of a machine's published figures software reaches, and what it costs beside them: the constants that
// calibration fits.
#pragma once

#include <string>

#include "cluster/collective.h"

namespace dovetail::cost {

/// One set belongs to a GPU type, an engine and its version, and a site (docs/facts.md#whom-constants-belong-to): never
/// to a model or a run. The defaults are what is assumed of software that nobody has measured.
struct Efficiency {
  std::string name = "assumed";

  double error =
      0.25;  ///< mean relative error of iterations that it was not fitted to; assumed where none were measured

  double matrix_products = 0.45;  ///< fraction of the peak FLOP/s, in training and inference
  double expert_products = 0.25;  ///< the same of routed experts, whose matrices are small
  double layer_launch = 0;  ///< seconds that a forward through a layer takes at least: kernels launched one by one
  double expert_launch =
      1e-3;            ///< seconds on top for a layer with experts: routing, sorting tokens, waiting for their counts
  double slot = 1e-3;  ///< seconds of each pass of a micro-batch through a stage, beside its layers
  double exposed_gradients = 0.5;  ///< fraction of the gradients' collectives that no computation hides

  double memory_bandwidth = 0.7;  ///< fraction of the published, in decoding and in the optimizer
  double decode_products = 0.5;   ///< fraction of the peak FLOP/s, in decoding
  double decode_layer =
      2e-5;  ///< seconds of a layer and decode step beside its traffic and products: many small kernels
  double decode_launch =
      0;  ///< seconds of launching a layer's own kernels in a decode step: about 7e-4 without CUDA graphs
  double decode_reduce =
      0;  ///< seconds of launching one of its all-reduces, each rank for itself: about 1e-4 without CUDA graphs
  double decode_step = 1e-3;      ///< seconds of a decode step, once on each stage of a pipeline
  double decode_sequence = 1e-5;  ///< seconds of a decode step for each sequence of the batch: sampling, detokenizing

  cluster::CommunicationEfficiency links;
  double host_bandwidth = 0.4;  ///< fraction of the published, to and from host memory
  double refit_links = 0.5;     ///< fraction of the links' bandwidth that a refit reaches, tensor by tensor
  double refit_tensor = 2e-4;   ///< seconds of a refit for each tensor of the model, an expert's apart
  double refit = 3;             ///< seconds of each refit: waking up, allocating the cache, capturing graphs
  double task = 1;  ///< seconds of each task of training or inference: handing out its data and collecting its answers
  double iteration = 2;  ///< seconds of an iteration that belong to no task
};

}  // namespace dovetail::cost
