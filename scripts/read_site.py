"""Read the built site as a person would: follow the clicks of the front page, and look at pages in
Chromium.

    python scripts/read_site.py                 # site/: the clicks, and every page in a browser
    python scripts/read_site.py --shots DIR     # and screenshots: light, dark, maths, phone
    python scripts/read_site.py --site FOLDER

Exit code 1 and a list if a click leads nowhere, an answer is not there, a page logs an error or
asks for anything that is not a file of the site. Without a Chromium the second part is left out,
and says so.
"""

import argparse
import os
import posixpath
import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: What the last page of each question must say.
ANSWERS = {
    "Bayes factor": "log_bayes_factor",
    "cross": "Usually not",
    "cluster": "--scheduler",
    "estimator": "ThermodynamicIntegration",
    "certificate": "leave their distributions invariant",
}
SHOTS = {
    "front-light": ("index.html", 1280, 900, "light"),
    "front-dark": ("index.html", 1280, 900, "dark"),
    "maths-light": ("theory/path.html", 1280, 1400, "light"),
    "maths-dark": ("theory/certificate.html", 1280, 1400, "dark"),
    "tutorial-light": ("tutorials/numpyro.html", 1280, 1400, "light"),
    "api-light": ("reference/api/run.html", 1280, 1100, "light"),
    "cli-dark": ("reference/cli.html", 1280, 1100, "dark"),
    "phone-light": ("theory/certificate.html", 390, 844, "light"),
    "phone-dark": ("index.html", 390, 844, "dark"),
}
WIDER = "() => document.documentElement.scrollWidth > window.innerWidth + 1"


class Links(HTMLParser):
    """Targets and ids of a page; the front page's own table of questions is no click."""

    def __init__(self, page: str):
        super().__init__()
        self.folder, self.links, self.ids, self.table = posixpath.dirname(page), set(), set(), False

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids.add(given.get("id"))
        if tag == "table":
            self.table = True
        href = given.get("href")
        if tag == "a" and href and not self.table and ":" not in href:
            path, _, anchor = href.partition("#")
            target = posixpath.normpath(posixpath.join(self.folder, path)) if path else None
            self.links.add((target, anchor))

    def handle_endtag(self, tag):
        self.table = self.table and tag != "table"


def read(site: Path, page: str, table: bool) -> Links:
    """``table``: whether links inside tables count."""
    links = Links(page)
    text = (site / page).read_text(encoding="utf-8")
    links.feed(text.replace("<table", "<div").replace("</table", "</div") if table else text)
    return links


def questions() -> list[tuple[str, list[tuple[str, str]]]]:
    """(question, [(page, anchor), ...]) of docs/index.md."""
    found = []
    for line in (ROOT / "docs" / "index.md").read_text(encoding="utf-8").splitlines():
        clicks = re.findall(r"\]\(([^)#]+)\.md(?:#([^)]*))?\)", line)
        if line.startswith("| ") and "?" in line and clicks:
            found.append((line.split("|")[1].strip(), [(f"{p}.html", a) for p, a in clicks]))
    return found


def clicks_that_fail(site: Path) -> list[str]:
    """Sentences; empty if all is well."""
    wrong = []
    asked = questions()
    if len(asked) != len(ANSWERS):
        wrong.append(f"{len(asked)} questions on the front page, not {len(ANSWERS)}")
    for question, clicks in asked:
        here = "index.html"
        if len(clicks) > 3:
            wrong.append(f"{question} takes {len(clicks)} clicks")
        for page, anchor in clicks:
            # A page of one's own is reached by a link to the anchor, or to the page.
            ways = {(page, anchor), (page, "")} | ({(None, anchor)} if page == here else set())
            if not ways & read(site, here, table=here != "index.html").links:
                wrong.append(f"{question} {here} has no link to {page}#{anchor}")
            if anchor and anchor not in read(site, page, table=True).ids:
                wrong.append(f"{question} {page} has no #{anchor}")
            here = page
        phrase = next(answer for word, answer in ANSWERS.items() if word in question)
        text = re.sub(r"<[^>]+>", "", (site / here).read_text(encoding="utf-8"))
        if phrase not in text:
            wrong.append(f"{question} {here} does not say {phrase!r}")
    return wrong


def requests_elsewhere(site: Path) -> list[str]:
    """Scripts, styles, images and fonts that pages would fetch from another host."""
    fetched = re.compile(
        r"<(?:script|img|iframe|link rel=\"(?:stylesheet|preconnect)\")[^>]*https?:"
    )
    return [
        f"{page.relative_to(site)} fetches {found[0][:120]}"
        for page in sorted(site.rglob("*.html"))
        if (found := fetched.search(page.read_text(encoding="utf-8")))
    ]


def looked_at(site: Path, shots: Path | None) -> list[str] | None:
    """Every page in Chromium, offline; what went wrong. None where there is no Chromium."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    try:
        from playwright.sync_api import TimeoutError, sync_playwright
    except ImportError:
        return None
    if chromium is None:
        return None
    wrong: list[str] = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"] if os.geteuid() == 0 else []
        )

        def opened(width=1280, height=900, scheme="light"):
            context = browser.new_context(
                viewport={"width": width, "height": height}, offline=True, color_scheme=scheme
            )
            page = context.new_page()
            page.on("console", lambda m: wrong.append(f"{page.url}: {m.text}"))
            page.on("pageerror", lambda e: wrong.append(f"{page.url}: {e}"))
            page.on(
                "request",
                lambda r: (
                    None
                    if r.url.startswith(("file:", "blob:", "data:"))
                    else wrong.append(f"{page.url} asks for {r.url}")
                ),
            )
            return page

        page = opened()
        for file in sorted(set(site.rglob("*.html")) - {site / "404.html"}):  # made for a server
            page.goto(file.as_uri())
            broken = page.evaluate(
                "() => [...document.images].filter(i => i.complete && !i.naturalWidth).length"
            )
            if broken:
                wrong.append(f"{file.name}: {broken} broken images")
            for width in (390, 1280):
                page.set_viewport_size({"width": width, "height": 900})
                try:  # laying out again takes a moment
                    page.wait_for_function(f"() => !({WIDER})()", timeout=3000)
                except TimeoutError:
                    wrong.append(f"{file.name} is wider than a window of {width}")
        page.goto((site / "index.html").as_uri())
        page.fill(".md-search__input", "betting")
        page.wait_for_selector(".md-search-result__link", timeout=20_000)
        first = page.locator(".md-search-result__link").first.get_attribute("href")
        if not first:
            wrong.append("the search for betting finds nothing")
        for name, (place, width, height, scheme) in SHOTS.items():
            page = opened(width, height, scheme)
            page.goto((site / place).as_uri())
            page.wait_for_timeout(200)
            body = page.evaluate("() => document.body.getAttribute('data-md-color-scheme')")
            if body != {"light": "default", "dark": "slate"}[scheme]:
                wrong.append(f"{place} is {body} where the reader's setting is {scheme}")
            if page.evaluate(WIDER):
                wrong.append(f"{place} is wider than a screen of {width}")
            if place.startswith("theory/") and not page.locator("math").count():
                wrong.append(f"{place} shows no maths")
            if shots is not None:
                page.screenshot(path=shots / f"{name}.png")
            page.context.close()
        browser.close()
    return wrong


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    asked.add_argument("--site", type=Path, default=ROOT / "site")
    asked.add_argument("--shots", type=Path, help="Folder for screenshots.")
    options = asked.parse_args()
    if options.shots:
        options.shots.mkdir(parents=True, exist_ok=True)
    wrong = clicks_that_fail(options.site) + requests_elsewhere(options.site)
    seen = looked_at(options.site, options.shots)
    if seen is None:
        print("no Chromium (or no playwright): pages were not opened in a browser")
    wrong += seen or []
    pages = len(list(options.site.rglob("*.html")))
    print("\n".join(wrong) or f"{pages} pages, {len(questions())} questions: all well")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
