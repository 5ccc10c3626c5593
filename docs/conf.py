"""The site: `make docs` builds it from the whole repository, so that links work there as they do here.

Pages are those that stand in git, notebooks with the outputs that they have there (`make
test-notebooks` runs them, this does not). What the models say is asked of the installed wheel
while pages are built: claims, parameters, commands, figures' titles. Nothing is fetched, now or
when a page is read; `check_site.py` holds every page to that.
"""

import sys
from importlib.metadata import version as installed
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "python/tools")]

project = "memscape"
author = "The memscape authors"
copyright = "The memscape authors, MIT or Apache-2.0"
version = release = installed("memscape")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "site_math",
    "site_tables",
    "site_explorer",
    "site_figures",
    "site_commands",
]

root_doc = "docs/index"
include_patterns = ["*.md", "docs/*.md", "docs/*.rst", "notebooks/*/*.ipynb"]
exclude_patterns = ["README.md", "CHANGELOG.*.md", "**/.*", "target", "crates", "data", "figures/*", "python"]
suppress_warnings = [
    "misc.highlighting_failure",  # formulas and listings of the papers are in no language
    "config.cache",
]

smartquotes = False

# Markdown.
nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

# Python's reference.
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
maximum_signature_line_length = 88
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_preprocess_types = False

# The look.
html_theme = "pydata_sphinx_theme"
html_title = f"memscape {release}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
templates_path = ["_templates"]
html_additional_pages = {"index": "to-docs.html"}
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_sidebars = {"docs/index": [], "docs/tutorial": [], "docs/gallery": []}
html_context = {"default_mode": "auto"}
html_theme_options = {
    "header_links_before_dropdown": 9,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "show_prev_next": False,
    "navigation_with_keys": False,
    "back_to_top_button": False,
}
copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = ">>> "
