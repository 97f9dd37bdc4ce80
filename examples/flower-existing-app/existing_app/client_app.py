"""One client's round, with two lines of bherd."""

import torch
from flwr.app import Context, Message
from flwr.clientapp import ClientApp
from torch import nn

from bherd import Collector
from bherd.flower import weights_reply
from existing_app.task import make_model, samples_of

app = ClientApp()


@app.train()
def train(message: Message, context: Context) -> Message:
    settings = context.run_config
    x, y = samples_of(int(context.node_config["partition-id"]))
    model = make_model()
    model.load_state_dict(message.content["arrays"].to_torch_state_dict())
    lr, batch_size = float(settings["learning-rate"]), int(settings["batch-size"])
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    collector = Collector(model, optimizer, alpha=0.5)
    for first in range(0, len(x) - batch_size + 1, batch_size):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(
            model(x[first : first + batch_size]), y[first : first + batch_size]
        )
        loss.backward()
        optimizer.step()
    return weights_reply(message, collector, num_examples=len(x))
