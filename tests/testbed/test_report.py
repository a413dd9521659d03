"""The report in a real browser: no errors, no requests, a curve toggles, a tooltip shows what is in
the store."""

import dataclasses
import os
import shutil

import pandas as pd
import pytest
from small_experiment import SMALL

from bracketz.errors import InputError
from bracketz.papers import PAPERS
from bracketz.testbed import read_frames
from bracketz.testbed.analysis import measures
from bracketz.testbed.analysis.ledger import Explanation
from bracketz.testbed.report.output import write
from bracketz.testbed.report.tables import number
from bracketz.testbed.run.runner import run_experiment
from bracketz.testbed.spec.experiment import parse
from bracketz.testbed.store.store import Store


@pytest.fixture(scope="module")
def written(small_store, tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    return out, write(read_frames(small_store), out)


@pytest.fixture(scope="module")
def browser():
    chromium = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if chromium is None:
        pytest.skip("no Chromium on this machine; apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"] if os.geteuid() == 0 else []
        )
        yield opened
        opened.close()


@pytest.fixture
def page(browser, written):
    """The report, opened offline; every message and request it makes is kept."""
    out, _ = written
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    page = context.new_page()
    page.trouble = []
    page.on("console", lambda message: page.trouble.append(message.text))
    page.on("pageerror", lambda error: page.trouble.append(str(error)))
    page.on(
        "request", lambda r: page.trouble.append(r.url) if not r.url.startswith("file:") else None
    )
    page.goto((out / "report.html").as_uri())
    page.wait_for_selector("body[data-ready]", timeout=60_000)
    yield page
    context.close()
    assert page.trouble == []


@pytest.mark.slow
def test_every_part_is_written(written):
    out, files = written
    names = {os.path.relpath(file, out) for file in files}
    assert all(os.path.exists(file) for file in files)
    assert {"report.html", "truth.csv", "summary.csv", "headline.csv", "spec.toml"} <= names
    assert (
        sum(name.endswith(".pdf") for name in names) == 3
    )  # two for the first model, one for the second
    text = (out / "report.html").read_text()
    assert "{{" not in text.split("<script id=")[0] and text.count("<html") == 1


@pytest.mark.slow
def test_the_page_loads_without_errors_or_requests(page):
    assert page.locator(".chart .main-svg").count() > 0
    assert page.locator(".card").count() == 3


@pytest.mark.slow
def test_a_curve_toggles(page):
    shown = (
        "() => [...document.querySelectorAll('.chart')].flatMap(c => c.data)"
        ".filter(t => t.meta === 'ais').map(t => t.visible)"
    )
    assert set(page.evaluate(shown)) == {True}
    page.click(".chips button[data-curve='ais']")
    assert set(page.evaluate(shown)) == {False}
    assert page.get_attribute(".chips button[data-curve='ais']", "aria-pressed") == "false"
    page.click(".chips button[data-curve='ais']")
    assert set(page.evaluate(shown)) == {True}
    page.click("[data-curves='none']")
    assert page.locator(".chart .scatterlayer .trace").count() == 0


@pytest.mark.slow
def test_charts_are_whole_on_paper_and_come_back(page):
    """As the browser prints: its events, then a page as narrow as paper."""
    boxes = """() => [...document.querySelectorAll('.chart')].map(chart => {
        const box = (node) => node.getBoundingClientRect(), outer = box(chart);
        const pictures = [...chart.querySelectorAll('.main-svg')].map(box);
        const within = (b) => b.left >= outer.left - 1 && b.right <= outer.right + 1
            && b.bottom <= outer.bottom + 1;
        return {width: outer.width, wide: pictures.every(p => p.width > 0.95 * outer.width - 4),
                inside: [box(chart.querySelector('.xtitle')), ...pictures].every(within)};
    })"""
    before = page.evaluate(boxes)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 720, "height": 1000})
    printed = page.evaluate(boxes)
    assert printed and all(b["inside"] and b["wide"] and b["width"] < 400 for b in printed)
    assert page.locator(".chips").is_visible() and not page.locator(".switches").is_visible()
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    page.wait_for_function("() => !document.querySelector('.main-svg[viewBox]')")
    assert page.evaluate(boxes) == before


@pytest.mark.slow
def test_a_tooltip_shows_the_value_in_the_store(page, small_store):
    summary = measures.summary(read_frames(small_store))
    row = summary[(summary.problem == "clustering") & (summary.curve == "lw")].iloc[-1]
    with Store.read(small_store) as store:
        stored = [v for (v,) in store.rows("SELECT log_ml FROM trials WHERE task = ?", row.task)]
    page.click("[data-curves='none']")
    page.click(".chips button[data-curve='lw']")
    node = page.locator(".chart[data-problem='0'][data-kind='estimate']")
    node.scroll_into_view_if_needed()
    x, y = node.evaluate(
        """chart => {
            const trace = chart.data.find(t => t.meta === 'lw'), last = trace.x.length - 1;
            const {xaxis, yaxis} = chart._fullLayout, box = chart.getBoundingClientRect();
            return [box.left + xaxis._offset + xaxis.d2p(trace.x[last]),
                    box.top + yaxis._offset + yaxis.d2p(trace.y[last])];
        }"""
    )
    page.mouse.move(x - 3, y - 3)
    page.mouse.move(x, y)
    page.wait_for_selector(".hoverlayer .hovertext")
    tooltip = page.text_content(".hoverlayer .hovertext")
    assert f"mean {number(sum(stored) / len(stored))}" in tooltip and f"{row.rung}" in tooltip


@pytest.mark.slow
def test_phone_and_dark(browser, written):
    out, _ = written
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, color_scheme="dark", offline=True
    )
    page = context.new_page()
    page.goto((out / "report.html").as_uri())
    page.wait_for_selector("body[data-ready]", timeout=60_000)
    assert (
        page.evaluate("document.documentElement.scrollWidth") == 390
    )  # nothing sticks out sideways
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, dark.strip("rgb()").split(","))) < 120
    assert (
        page.evaluate("document.querySelector('.chart')._fullLayout.paper_bgcolor").lower()
        == "#111418"
    )
    context.close()


@pytest.mark.slow
def test_claims_are_filtered_and_explained(browser, small_store, tmp_path, without_figures):
    """Buttons count what they show; the reason stands beside its claim, with its numbers."""
    paper = PAPERS["grosse2015"]
    told = Explanation(
        "Because of -5.", "a command", pd.DataFrame({"setting": ["a"], "nats": [-5.0]})
    )
    why = dataclasses.replace(paper, explanations=lambda: {"clustering-lw-low": told})
    write(dataclasses.replace(read_frames(small_store), paper=why), tmp_path / "out")
    page = browser.new_page(offline=True)
    page.goto((tmp_path / "out" / "report.html").as_uri())
    page.wait_for_selector("body[data-ready]", timeout=60_000)
    rows = page.locator("#ledger tr[data-verdict]")
    about_seconds = sum(claim.about_seconds for claim in paper.claims)
    assert rows.count() == len(paper.claims) and about_seconds == 9
    buttons = page.locator("#ledger [data-state]").all()
    assert len(buttons) >= 3
    for button in buttons:
        button.click()
        state, count = button.get_attribute("data-state"), int(button.inner_text().split()[-1])
        shown = page.locator("#ledger table").first.locator("tr[data-verdict]:visible")
        assert shown.count() == count and button.get_attribute("aria-pressed") == "true"
        assert not state or {r.get_attribute("data-verdict") for r in shown.all()} == {state}
    page.click("#ledger [data-state='']")
    reason = page.locator("#ledger details.why")
    assert reason.count() == 1 and "Because of −5." in reason.text_content()
    assert "−5.0" in reason.locator("td").text_content() and "a command" in reason.text_content()
    widths = "(f => [f.scrollWidth, f.clientWidth])(document.querySelector('#ledger .scroll'))"
    whole, seen = page.evaluate(widths)
    assert whole <= seen + 1  # the column of our numbers is not cut off
    page.close()


@pytest.mark.slow
def test_without_an_accepted_truth_nothing_is_judged(
    browser, small_store, tmp_path, without_figures
):
    copy = tmp_path / "r.db"
    copy.write_bytes(small_store.read_bytes())
    with Store.open(copy) as store:
        run_experiment(
            parse(SMALL.replace("distributions = 300", "distributions = 300\nagree_within = 1e-9")),
            store,
        )
    write(read_frames(copy), tmp_path / "out")
    page = browser.new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((tmp_path / "out" / "report.html").as_uri())
    page.wait_for_selector("body[data-ready]", timeout=60_000)
    assert errors == [] and page.locator("text=not accepted").count() == 3
    assert page.evaluate("document.querySelector(\".chart[data-kind='error']\").data.length") == 0
    page.close()


def test_hostile_names_stay_text(tmp_path, without_figures):
    """Nothing a spec or a message holds becomes markup, and nothing is filled in twice."""
    spec = SMALL.split("[[estimators]]")[0] + '[[estimators]]\nestimator = "lw"\nladder = [64]\n'
    spec += "# </script><script>alert(1)</script> {{data}} <img src=x onerror=alert(1)>\n"
    with Store.open(tmp_path / "r.db", create=True) as store:
        run_experiment(parse(spec), store)
    write(read_frames(tmp_path / "r.db"), tmp_path / "out")
    text = (tmp_path / "out" / "report.html").read_text()
    assert "<script>alert" not in text and "<img" not in text and "{{data}}" in text


def test_a_report_does_not_overwrite_what_is_not_its_own(small_store, tmp_path, without_figures):
    frames = read_frames(small_store)
    (tmp_path / "spec.toml").write_text("mine")
    with pytest.raises(InputError, match=r"spec\.toml exists and was not written by bracketz"):
        write(frames, tmp_path)
    assert os.listdir(tmp_path) == ["spec.toml"] and (tmp_path / "spec.toml").read_text() == "mine"
    (tmp_path / "notes.txt").write_text("mine")
    for force in (True, False):  # what it wrote once it may write again
        write(frames, tmp_path, force=force)
    assert (tmp_path / "spec.toml").read_text() != "mine"
    assert (tmp_path / "notes.txt").read_text() == "mine"
