"""The explain page in a real browser: Debian's chromium, without a window.

`apt-get install chromium chromium-driver` brings what the tests need beside the test extra.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from langchain_safe_retrievers import SafeEnsembleRetriever
from langchain_safe_retrievers.explaining.explain import explain
from langchain_safe_retrievers.testing import FakeLeg

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="chromium and chromedriver are not on this machine"
)
HOSTILE = (
    "</script></title><script>window.ran = 1</script><img src=x onerror='window.ran = 1'>"
    '<svg onload=\'window.ran = 1\'></svg>" onmouseover="window.ran = 1" \u2028\u202e\x00'
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start a browser that reaches no network."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--window-size=1240,1400",
        "--proxy-server=127.0.0.1:9",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def explained(text: str = "c") -> Any:
    """Explain three documents that rank c, b, a; the second leg ranks b before c, and lacks a."""
    first = [Document(page_content="a", metadata={"lang": "en"}), Document(page_content="b")]
    second = [
        Document(page_content="b", metadata={"page": 2}),
        Document(page_content=text, metadata={"lang": "de", text: text}),
    ]
    third = [Document(page_content=text, metadata={"lang": "fr", text: 1})]
    legs = [FakeLeg(documents=each) for each in (first, second, third)]
    retriever = SafeEnsembleRetriever(
        retrievers=legs, leg_names=["one", "two", "three"], weights=[0.1, 0.2, 0.7]
    )
    return explain(retriever, "which letter?")


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Any:
    """Return a function that opens a page from disk; no page may complain or be complained of."""

    def open_it(page: str) -> Any:
        path = tmp_path / "page.html"
        path.write_text(page, encoding="utf-8")
        browser.get_log("browser")
        browser.get(path.as_uri())
        return browser

    yield open_it
    assert browser.get_log("browser") == []


def rows(browser: Any) -> list[str]:
    return [
        each.text for each in browser.find_elements(By.CSS_SELECTOR, "table.sortable summary bdi")
    ]


def head(browser: Any, name: str) -> Any:
    (button,) = [
        each
        for each in browser.find_elements(By.CSS_SELECTOR, "th button")
        if each.text.startswith(name)
    ]
    return button


def test_a_page_opens_from_disk_and_loads_nothing(open_page: Any) -> None:
    browser = open_page(explained().to_html())

    assert browser.title == "Why is this document here? which letter?"
    assert rows(browser) == ["c", "b", "a"]
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.execute_script("return document.fonts.size") == 0


@pytest.mark.parametrize("by_keyboard", [False, True], ids=["by mouse", "by keyboard"])
def test_the_table_sorts_both_ways_and_says_so(open_page: Any, by_keyboard: bool) -> None:
    browser = open_page(explained().to_html())

    def press(name: str) -> str | None:
        button = head(browser, name)
        button.send_keys(Keys.ENTER) if by_keyboard else button.click()
        return button.find_element(By.XPATH, "..").get_attribute("aria-sort")

    assert (press("document"), rows(browser)) == ("ascending", ["a", "b", "c"])
    assert (press("document"), rows(browser)) == ("descending", ["c", "b", "a"])
    assert (press("two"), rows(browser)) == ("ascending", ["b", "c", "a"])  # a is not in it: last
    assert (press("score"), rows(browser)) == ("descending", ["c", "b", "a"])
    assert [
        each.get_attribute("aria-sort")
        for each in browser.find_elements(By.CSS_SELECTOR, "th[aria-sort]")
    ].count("none") == 6


def test_what_a_document_holds_does_not_run(open_page: Any) -> None:
    browser = open_page(explained(HOSTILE).to_html())
    browser.find_element(By.CSS_SELECTOR, "#d0 summary").click()
    for place in ("g.document a", "#d0 .chip", "#d0 .text", "h1"):
        target = browser.find_element(By.CSS_SELECTOR, place)
        ActionChains(browser, duration=0).move_to_element(target).perform()

    assert browser.execute_script("return window.ran") is None
    assert len(browser.find_elements(By.CSS_SELECTOR, "script")) == 1
    assert browser.find_elements(By.CSS_SELECTOR, "img") == []
    shown = browser.find_element(By.CSS_SELECTOR, "#d0 .text").text
    assert shown.startswith("</script></title><script>window.ran = 1</script>")


def test_a_script_that_got_in_all_the_same_would_be_stopped(browser: Any, tmp_path: Path) -> None:
    page = explained().to_html().replace("<h1>", "<script>window.ran = 1</script><h1>")
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    browser.get((tmp_path / "page.html").as_uri())

    assert browser.execute_script("return window.ran") is None
    assert any("Content Security Policy" in each["message"] for each in browser.get_log("browser"))


def test_a_row_opens_by_keyboard_and_shows_where_each_value_came_from(open_page: Any) -> None:
    browser = open_page(explained().to_html())

    browser.find_element(By.CSS_SELECTOR, "#d0 summary").send_keys(Keys.ENTER)

    cells = [
        each.text
        for each in browser.find_elements(By.CSS_SELECTOR, "#d0 details tr:first-child td")
    ]
    assert cells == ["lang", "'de'", "two #2", "'fr'\nthree #1"]


def test_a_name_in_the_picture_leads_to_its_row_and_opens_it(open_page: Any) -> None:
    browser = open_page(explained().to_html())

    browser.find_element(By.CSS_SELECTOR, 'a[href="#d1"]').send_keys(Keys.ENTER)

    assert browser.find_element(By.CSS_SELECTOR, "#d1 details").get_attribute("open") is not None
    focused = browser.switch_to.active_element
    assert (focused.tag_name, focused.text) == ("summary", "b")


def test_pointing_at_a_document_dims_the_others(open_page: Any) -> None:
    browser = open_page(explained().to_html())
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]},
    )
    documents = browser.find_elements(By.CSS_SELECTOR, "g.document")

    ActionChains(browser, duration=0).move_to_element(
        documents[1].find_element(By.CSS_SELECTOR, "a")
    ).perform()

    opacity = [float(each.value_of_css_property("opacity")) for each in documents]
    assert opacity[1] == 1
    assert max(opacity[0], opacity[2]) < 0.2


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(open_page: Any, scheme: str) -> None:
    browser = open_page(explained().to_html())
    emulated = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", emulated)

    for name in ("ink", "soft", "accent", "warn", "bad"):
        assert contrast(color(browser, name), color(browser, "card")) >= 4.5, name
        assert contrast(color(browser, name), color(browser, "paper")) >= 4.5, name
    for leg in range(8):  # graphics
        assert contrast(color(browser, f"leg-{leg}"), color(browser, "card")) >= 3, leg


def color(browser: Any, name: str) -> str:
    script = "return getComputedStyle(document.documentElement).getPropertyValue(arguments[0])"
    return str(browser.execute_script(script, f"--{name}")).strip()


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of WCAG 2: (L1 + 0.05) / (L2 + 0.05)."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(color: str) -> float:
    """Return the relative luminance of `#rrggbb`, as WCAG 2 defines it."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_a_notebooks_frame_shows_the_page(open_page: Any) -> None:
    browser = open_page(f"<!doctype html>{explained()._repr_html_()}")

    browser.switch_to.frame(browser.find_element(By.CSS_SELECTOR, "iframe"))
    head(browser, "document").click()

    assert rows(browser) == ["a", "b", "c"]
    browser.switch_to.default_content()


def test_a_small_screen_scrolls_tables_and_not_the_page(open_page: Any) -> None:
    browser = open_page(explained().to_html())
    metrics = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    width = browser.execute_script("return document.documentElement.scrollWidth")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert width <= 390
