"""A page that shows rankings to a person: one HTML file that asks nothing of the network."""
