"""How the clients' updates are merged: one file for each rule."""
