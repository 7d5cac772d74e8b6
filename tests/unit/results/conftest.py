"""Programs that tests run in a process of their own."""

collect_ignore = ["other_package.py"]
