"""Adapters that turn fitted models of any library into functions of rows."""
