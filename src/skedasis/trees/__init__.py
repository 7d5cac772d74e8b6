"""Tree ensembles, evaluated from their structure instead of by calling the model."""
