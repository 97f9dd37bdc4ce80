"""bherd on Flower: any method as a strategy, any Flower client as a herding client.

Needs the extra `bherd[flower]`.
"""

from bherd.flower.nodes import FederationError
from bherd.flower.replies import Rejection
from bherd.flower.reply import sum_reply, weights_reply
from bherd.flower.settings import Rules
from bherd.flower.strategy import HerdStrategy

__all__ = ["FederationError", "HerdStrategy", "Rejection", "Rules", "sum_reply", "weights_reply"]
