"""The server: a bherd method as a Flower strategy, evaluated on the server after every round."""

from flwr.app import ArrayRecord, Context, MetricRecord
from flwr.serverapp import Grid, ServerApp

from bherd.flower import HerdStrategy
from quickstart.task import make_model, test

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run the rounds."""
    settings = context.run_config
    model = make_model()
    strategy = HerdStrategy(
        model,
        str(settings["method"]),
        clients=int(settings["num-clients"]),
        local_lr=float(settings["learning-rate"]),
    )

    def evaluate(server_round: int, arrays: ArrayRecord) -> MetricRecord:
        model.load_state_dict(arrays.to_torch_state_dict())
        loss, accuracy = test(model)
        print(f"round {server_round}: test loss {loss:.4f}, accuracy {accuracy:.2%}")
        return MetricRecord({"loss": loss, "accuracy": accuracy})

    strategy.start(
        grid,
        ArrayRecord(model.state_dict()),
        num_rounds=int(settings["num-server-rounds"]),
        evaluate_fn=evaluate,
    )
