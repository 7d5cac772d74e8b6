"""Fitted models of any library as functions of rows."""
