"""How the server turns the clients' reports into its step."""

from bherd.servers.average import average
from bherd.servers.nova import nova

__all__ = ["average", "nova"]
