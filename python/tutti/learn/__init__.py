"""Learning from tables: linear models and trees."""
