"""Quantities: scalar functions of a row that are explained."""
