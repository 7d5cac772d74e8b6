"""The plugin is imported by the tests alone, not to look for examples in it."""

collect_ignore = ["ends_plugin.py"]
