"""The server, unchanged: Flower's own FedAvg."""

import torch
from flwr.app import ArrayRecord, Context, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from torch import nn

from existing_app.task import make_model, samples_of

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    settings = context.run_config
    clients, model = int(settings["num-clients"]), make_model()
    x, y = samples_of(client=1000)

    @torch.no_grad()
    def evaluate(server_round: int, arrays: ArrayRecord) -> MetricRecord:
        model.load_state_dict(arrays.to_torch_state_dict())
        loss = float(nn.functional.cross_entropy(model(x), y))
        print(f"round {server_round}: test loss {loss:.4f}")
        return MetricRecord({"loss": loss})

    strategy = FedAvg(fraction_evaluate=0.0, min_train_nodes=clients, min_available_nodes=clients)
    strategy.start(
        grid,
        ArrayRecord(model.state_dict()),
        num_rounds=int(settings["num-server-rounds"]),
        evaluate_fn=evaluate,
    )
