"""The check of retired words finds them where they are, and only there."""

from __future__ import annotations

import ast

from tools import words


def written(root, **files):
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def test_names_are_found_where_they_are_defined(tmp_path):
    code = "class Tape:\n    kept: int\n\ndef f(told, other):\n    freedom = 1\n    return told\n"
    root = written(tmp_path, **{"src__a.py": code, "src__walked.py": ""})
    found = words.faults(root)
    assert [line.split(" is retired")[0] for line in found] == [
        "src/a.py:1: 'Tape'",
        "src/a.py:4: 'told'",
        "src/walked.py:1: 'walked'",
    ]


def test_phrases_are_found_in_code_and_pages_but_not_in_the_changelog(tmp_path):
    text = "It was given in vain.\n"
    root = written(
        tmp_path, **{"src__a.py": f'"""{text}"""\n', "docs__b.md": text, "CHANGELOG.md": text}
    )
    assert [line.split(":")[0] for line in words.faults(root)] == ["docs/b.md", "src/a.py"]


def test_parameters_of_docstrings_exist(tmp_path):
    code = '''
def f(x, *rest):
    """Do.

    Parameters
    ----------
    x, y : float
        With z : inside.
    *rest : float

    Returns
    -------
    w : float
    """
'''
    assert list(words.undefined(ast.parse(code))) == [("f", "y", 2)]
    root = written(tmp_path, **{"src__a.py": code})
    assert len(words.faults(root)) == 1
