"""The site in a real browser, from files: its picker by mouse and keyboard, its search, its themes.

Where a package brings axe-core, each kind of page is held to its rules, in both themes.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from resolver.compat.gpu_name import find_gpu
from resolver.dataclass import replace
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.render.site import ASSETS, site_files
from resolver.usecase.site_folder import write_folder
from tests.site.conftest import Written
from tests.site.test_hostile import hostile
from tests.support.browser import Page, browsing, find_chromium

CHROMIUM = find_chromium()
# With the live tests for their time: a browser that starts is most of it.
pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(
        CHROMIUM is None, reason="no Chromium here: install the Debian package chromium"
    ),
]
KINDS = (
    "index.html",
    "index.html#gpu=h100&python=3.10",
    "matrices.html",
    "matrix/xformers.html",
    "releases.html",
    "release/xformers-1.0.html",
    "release/torch-2.9.1.html",
    "sets.html",
    "sets/sglang.html",
    "gpus.html",
    "reasons.html",
    "reason/missing-symbol.html",
    "about.html",
    "search.html?q=torch",
)
ROOT = "document.documentElement"
# Packages that bring axe-core's script, the newest first.
AXES = ("axe_playwright_python", "axe_core_python")


def axe_script() -> str | None:
    """The text of axe-core; None where no package brings it."""
    for name in AXES:
        spec = importlib.util.find_spec(name)
        for place in (spec.submodule_search_locations or ()) if spec is not None else ():
            path = Path(place) / "axe.min.js"
            if path.exists():
                return path.read_text(encoding="utf-8")
    return None


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    assert CHROMIUM is not None
    with browsing(CHROMIUM, tmp_path_factory.mktemp("browser")) as browser:
        yield browser.page()


def visit(tab: Page, written: Written, name: str) -> None:
    path, mark, rest = name.partition("#")
    path, question, query = path.partition("?")
    tab.open(f"{(written.place / path).as_uri()}{question}{query}{mark}{rest}")
    if path == "index.html":
        tab.until("document.body.dataset.ready === 'yes'")
    if path == "search.html":
        tab.until("document.getElementById('count').textContent")


def said(tab: Page) -> str:
    text = tab.run("document.getElementById('said').textContent")
    assert isinstance(text, str)
    return text


def test_every_kind_of_page(tab: Page, written: Written) -> None:
    """No fault, no request but for files of the site, nothing wider than a phone; axe-core."""
    axe = axe_script()
    for name in KINDS:
        tab.look()
        visit(tab, written, name)
        assert tab.faults == [], name
        assert all(one.startswith(("file:", "data:")) for one in tab.requests), name
        if axe is not None:
            tab.run(axe)
            tab.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            assert violations(tab, "{}") == [], name
            tab.look(dark=True)
            assert violations(tab, "{ runOnly: ['color-contrast'] }") == [], name
        tab.look(width=360)
        assert tab.run(f"{ROOT}.scrollWidth <= {ROOT}.clientWidth"), name
    if axe is None:
        pytest.skip("no axe-core here: pip install axe-core-python")


def test_hostile_pages_stay_pages(tab: Page, written: Written, tmp_path: Path) -> None:
    write_folder(tmp_path / "site", site_files(hostile(written.site)))
    tab.look(width=360)
    names = sorted((tmp_path / "site" / "release").iterdir())
    for page in (
        *names,
        *(
            tmp_path / "site" / n
            for n in ("index.html", "sets.html", "releases.html", "matrix/xformers.html")
        ),
    ):
        tab.open(page.as_uri())
        if page.name == "index.html":
            tab.until("document.body.dataset.ready === 'yes'")
        assert tab.faults == [], page
        assert tab.run("document.images.length") == 0, page
        assert tab.run(f"{ROOT}.scrollWidth <= {ROOT}.clientWidth"), page


def violations(tab: Page, options: str) -> list[tuple[str, list[str]]]:
    """What axe-core finds: each rule with the first elements that break it."""
    found = tab.run(f"axe.run({options}).then((found) => JSON.stringify(found.violations))")
    return [(rule["id"], [n["html"] for n in rule["nodes"]][:3]) for rule in json.loads(found)]


def test_the_picker_by_mouse(tab: Page, written: Written) -> None:
    tab.look()
    visit(tab, written, "index.html")
    assert said(tab) == (
        "Solved: 2 packages. "
        "NVIDIA H100, sm_90, CUDA 13.0, Python 3.12, Linux x86_64 with glibc 2.35"
    )
    shown = tab.run("document.getElementById('answer').innerText")
    assert "2.9.1+cu130" in shown
    assert (
        "abilock resolve torch \\\n"
        "  --cuda 13.0 --arch sm90 --python 3.12 \\\n"
        "  --machine x86_64 --glibc 2.35\n"
        "abilock export --to uv -o requirements.txt\n"
        "uv pip sync --require-hashes requirements.txt"
    ) in shown
    tab.click("label[for='python-3.10']")
    tab.until("document.getElementById('said').textContent.startsWith('Unknown')")
    tab.click("#answer summary")
    assert "not-in-snapshot" in tab.run("document.getElementById('answer').innerText")
    assert "python=3.10" in tab.run("location.hash")
    tab.click("label[for='python-3.12']")
    tab.click("label[for='install-sglang']")
    tab.until("document.querySelector('#answer a[href^=sets]') !== null")
    shown = tab.run("document.getElementById('answer').innerText")
    assert "sglang 0.5.0 with CUDA 13.0" in shown
    tab.click("[data-gpu='h100']")
    assert (
        tab.run("document.querySelector('[data-gpu=h100]').getAttribute('aria-pressed')") == "true"
    )
    assert tab.faults == []


def test_a_gpu_of_one_machine_chooses_it(tab: Page, written: Written) -> None:
    for name in ("index.html#gpu=gb10", "index.html"):
        visit(tab, written, name)
        if name == "index.html":
            assert "Linux x86_64" in said(tab)
            tab.run("document.getElementById('gpu').select()")
            tab.run("document.getElementById('gpu').focus()")
            tab.write("dgx gb10")
            assert "No GPU" in said(tab)
            tab.run("document.getElementById('gpu').select()")
            tab.write("gb10")
        tab.until("document.getElementById('said').textContent.includes('Linux aarch64')")
    visit(tab, written, "index.html#gpu=gb10&machine=x86_64")
    assert said(tab).startswith("Not computed for this site. NVIDIA GB10, sm_121")


def test_the_picker_by_keyboard(tab: Page, written: Written) -> None:
    tab.look()
    visit(tab, written, "index.html")
    tab.press("Tab", 9)
    assert tab.run("document.activeElement.className") == "skip"
    tab.run("document.getElementById('gpu').focus()")
    tab.write("quantum 9000")
    tab.until("document.getElementById('gpu').getAttribute('aria-invalid') === 'true'")
    assert said(tab).startswith("No GPU of the database is called “quantum 9000”")
    assert tab.run("document.getElementById('answer').childElementCount") == 0
    tab.run("document.getElementById('gpu').select()")
    tab.write("nvidia h100-sxm")
    tab.until("document.getElementById('said').textContent.startsWith('Solved')")
    for _ in range(20):
        tab.press("Tab", 9)
        if tab.run("document.activeElement.name") == "machine":
            break
    tab.press("ArrowRight", 39)
    tab.until("document.getElementById('said').textContent.includes('Linux aarch64')")
    assert not said(tab).startswith("Solved")
    assert tab.faults == []


def test_what_was_not_computed_says_so(tab: Page, written: Written) -> None:
    visit(tab, written, "index.html#gpu=sm_90&machine=x86_64")
    tab.run(
        "abilock.load('torch').then((data) => { data.cells = {};"
        " document.getElementById('python-3.12').dispatchEvent("
        "new Event('change', { bubbles: true })); })"
    )
    tab.until("document.getElementById('said').textContent.startsWith('Not computed')")
    assert "abilock resolve torch" in tab.run("document.getElementById('answer').innerText")


def test_the_search(tab: Page, written: Written) -> None:
    visit(tab, written, "search.html?q=symint")
    assert tab.run("document.getElementById('count').textContent") == "1 found"
    shown = tab.run("document.getElementById('results').innerText")
    assert "c10::SymInt::sym_ne_slow_path" in shown
    assert "binds xformers 1.0" in shown
    tab.run("document.getElementById('query').focus()")
    tab.write(" zzz")
    tab.until("document.getElementById('count').textContent.startsWith('Nothing')")


def test_the_theme_is_kept(tab: Page, written: Written) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    tab.look(dark=False)
    visit(tab, written, "about.html")
    light = tab.run(background)
    tab.click("#theme")
    dark = tab.run(background)
    assert light != dark
    visit(tab, written, "gpus.html")
    assert tab.run(background) == dark
    tab.click("#theme")
    assert tab.run(background) == light
    tab.run("localStorage.clear()")
    tab.look(dark=True)
    visit(tab, written, "gpus.html")
    assert tab.run(background) == dark


def test_names_of_gpus_are_read_as_the_command_reads_them(
    tab: Page, written: Written, tmp_path: Path
) -> None:
    gpus = KnowledgeBase().facts.gpus
    picked = ("index.html", "data/axes.js", *ASSETS)
    site = replace(written.site, gpus=gpus)
    write_folder(tmp_path / "site", [f for f in site_files(site) if f[0] in picked])
    tab.open((tmp_path / "site" / "index.html").as_uri())
    tab.until("document.body.dataset.ready === 'yes'")
    known = [name for gpu in gpus for name in gpu.names]
    names = [
        *known,
        *(name.lower().replace(" ", "") for name in known[::3]),
        *(f"{name} Ti" for name in known[::9]),
        *(f"NVIDIA {name} 80GB HBM3" for name in known[::9]),
        *("rtx5090", "4080 super", "gtx1080ti", "NVIDIA-A100-SXM4", "RTX PRO6000", "h1000", ""),
    ]
    found = tab.run(f"({json.dumps(names)}).map((name) => abilock.findGpu(name)?.id ?? null)")
    wanted = [find_gpu(gpus, name) for name in names]
    assert found == [None if gpu is None else gpu.id for gpu in wanted]
