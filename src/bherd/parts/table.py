"""The table of parts: axis -> name -> 'module:class'. The only list; everything else is read from it."""

from typing import NamedTuple


class Axis(NamedTuple):
    """One question that a round asks."""

    question: str
    base: str
    """The contract that its parts extend."""
    default: str
    """What a method answers where nothing else is said."""
    parts: dict[str, str]


TABLE: dict[str, Axis] = {
    "participation": Axis(
        "who is asked",
        "bherd.participation.base:Participation",
        "uniform",
        {
            "uniform": "bherd.participation.uniform:Uniform",
            "shuffled": "bherd.participation.shuffled:ShuffledClients",
            "balanced": "bherd.participation.balanced:BalancedClients",
            "listed": "bherd.participation.listed:ListedClients",
        },
    ),
    "order": Axis(
        "what they visit, in which order",
        "bherd.orders.base:Order",
        "reshuffled",
        {
            "fixed": "bherd.orders.fixed:FixedOrder",
            "reshuffled": "bherd.orders.reshuffled:Reshuffled",
            "grab": "bherd.orders.grab:GrabOrder",
            "herded": "bherd.orders.herded:HerdedOrder",
        },
    ),
    "optimizer": Axis(
        "how they step",
        "bherd.optimizers.base:LocalOptimizer",
        "sgd",
        {"sgd": "bherd.optimizers.sgd:LocalSgd"},
    ),
    "correction": Axis(
        "what is added to their gradients",
        "bherd.corrections.base:Correction",
        "none",
        {
            "none": "bherd.corrections.none:NoCorrection",
            "control-variates": "bherd.corrections.control_variates:ControlVariates",
            "proximal": "bherd.corrections.proximal:Proximal",
            "dynamic": "bherd.corrections.dynamic:Dynamic",
        },
    ),
    "selector": Axis(
        "what they keep",
        "bherd.selectors.base:Selector",
        "everything",
        {
            "everything": "bherd.selectors.everything:Everything",
            "herding": "bherd.selectors.herding:Herding",
            "grab": "bherd.selectors.grab:Grab",
            "random": "bherd.selectors.random:RandomShare",
            "reversed": "bherd.selectors.reversed_herding:ReversedHerding",
            "largest": "bherd.selectors.norms:LargestNorms",
            "smallest": "bherd.selectors.norms:SmallestNorms",
            "nearest": "bherd.selectors.nearest:NearestToMean",
            "first": "bherd.selectors.first:FirstSteps",
            "matching": "bherd.selectors.matching:MatchingPursuit",
        },
    ),
    "transform": Axis(
        "what they send",
        "bherd.transforms.base:Transform",
        "none",
        {
            "none": "bherd.transforms.none:AsItIs",
            "clip": "bherd.transforms.clip:Clip",
            "gaussian": "bherd.transforms.gaussian:ClipAndNoise",
            "quantize": "bherd.transforms.quantize:Quantize",
            "top-k": "bherd.transforms.top_k:TopK",
            "sign-flip": "bherd.transforms.attacks:SignFlip",
            "noise-attack": "bherd.transforms.attacks:NoiseAttack",
            "scaled-attack": "bherd.transforms.attacks:ScaledAttack",
        },
    ),
    "aggregation": Axis(
        "how it is merged",
        "bherd.aggregations.base:Aggregation",
        "average",
        {
            "average": "bherd.aggregations.average:Average",
            "nova": "bherd.aggregations.nova:Nova",
            "median": "bherd.aggregations.median:Median",
            "trimmed": "bherd.aggregations.trimmed:TrimmedMean",
            "krum": "bherd.aggregations.krum:Krum",
            "geometric-median": "bherd.aggregations.geometric_median:GeometricMedian",
        },
    ),
    "server": Axis(
        "how the server moves",
        "bherd.servers.base:ServerOptimizer",
        "sgd",
        {
            "sgd": "bherd.servers.sgd:ServerSgd",
            "momentum": "bherd.servers.momentum:ServerMomentum",
            "adam": "bherd.servers.adam:ServerAdam",
            "yogi": "bherd.servers.yogi:ServerYogi",
            "adagrad": "bherd.servers.adagrad:ServerAdagrad",
            "extrapolation": "bherd.servers.extrapolation:Extrapolation",
        },
    ),
    "shipped": Axis(
        "which model is shipped",
        "bherd.shipped.base:Shipped",
        "last",
        {
            "last": "bherd.shipped.last:LastModel",
            "running-mean": "bherd.shipped.running_mean:RunningMean",
            "mean-of-last": "bherd.shipped.mean_of_last:MeanOfLast",
        },
    ),
}
AXES = tuple(TABLE)
