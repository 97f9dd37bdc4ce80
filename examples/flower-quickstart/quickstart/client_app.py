"""One client's round: train, herd, send."""

import torch
from flwr.app import Context, Message
from flwr.clientapp import ClientApp
from torch import nn

from bherd import Collector, methods
from bherd.flower import sum_reply
from bherd.flower.client_app import who
from quickstart.task import make_model, samples_of

app = ClientApp()
app.query()(who)  # tells the server which client sits on this node


@app.train()
def train(message: Message, context: Context) -> Message:
    """Local SGD over this client's samples; the reply holds the sum of the steps that were kept."""
    settings, client = context.run_config, int(context.node_config["partition-id"])
    x, y = samples_of(client, int(settings["num-clients"]), str(settings["partition"]))
    model = make_model()
    model.load_state_dict(message.content["arrays"].to_torch_state_dict())
    optimizer = torch.optim.SGD(model.parameters(), lr=float(settings["learning-rate"]))
    method = methods.named(str(settings["method"]))
    collector = Collector(model, optimizer, selector=method.selector, seed=client)
    batch_size, losses = int(settings["batch-size"]), []
    for first in range(0, len(x) - batch_size + 1, batch_size):
        rows = slice(first, first + batch_size)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    mean_loss = sum(losses) / len(losses)
    return sum_reply(message, collector, client=client, num_examples=len(x), loss=mean_loss)
