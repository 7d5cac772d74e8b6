"""Effects of several models: `several` has one feature's and those of many, `several_more` pairs and importances."""
