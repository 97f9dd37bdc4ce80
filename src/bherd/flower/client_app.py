"""The ClientApp: Flower's entry point on a SuperNode."""

from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from bherd.flower.client import answer, client_config, identity_reply, load_shard
from bherd.flower.settings import read_node_config, read_run_config
from bherd.flower.store import default_folder

app = ClientApp()


@app.query()
def who(message: Message, context: Context) -> Message:
    """Say which client this node runs."""
    return identity_reply(message, read_node_config(context.node_config).client)


@app.train()
def train(message: Message, context: Context) -> Message:
    """Train on this node's samples and reply with what the method keeps."""
    config, rules = read_run_config(context.run_config)
    node = read_node_config(context.node_config)
    shard = load_shard(client_config(config, node.data_folder), node.client)
    return answer(message, shard, rules.wire, node.state_folder or default_folder())
