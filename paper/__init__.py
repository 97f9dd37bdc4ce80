"""The paper's experiments, each one a name of `python -m paper`, with the controls that the paper lacks.

A figure's file has its grid and its plot; figures of one form share a file. `grid` says what a run is,
`reproduce` has the runs done, `collect` turns runs into tables, and the figures and the verdict are made from
the tables alone.
"""
