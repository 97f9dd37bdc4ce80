"""The paper's experiments, each one a name of `python -m paper`, with the controls that the paper lacks.

One small file a figure: its grid and its plot. `grid` says what a run is, `runner` runs them, `collect`
turns runs into tables, the figures and the verdict are made from the tables alone.
"""
