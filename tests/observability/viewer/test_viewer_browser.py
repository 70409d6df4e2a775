"""The page in a real browser: from a value to the place that it comes from, through the steps, along a run that goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.observability.viewer import recordings
from tests.observability.viewer.browser import Watched, serving

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def switch_url(switch_file: Path) -> Iterator[str]:
    with serving(switch_file) as url:
        yield url


@pytest.fixture
def page(switch_url: str, watched: Watched) -> Page:
    opened = watched.open(switch_url)
    expect(opened.locator("#said a").first).to_be_visible()  # the answer comes with the first look at its turn
    return opened


def script(name: str) -> str:
    """A function to run in the page."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def value(page: Page, text: str) -> None:
    link = page.locator("#said a.v", has_text=text).first
    link.click()
    try:
        expect(page.locator("#said a.chosen", has_text=text)).to_be_visible(timeout=2_000)
    except AssertionError:  # on a busy machine the page may be drawn anew between the pointer's down and up
        link.click()


def test_a_value_leads_to_the_very_place_in_the_result(page: Page) -> None:
    value(page, "46904")
    place = page.locator(".detail mark.place")
    expect(place).to_have_text("46904")
    expect(place).to_be_in_viewport()
    expect(place).to_be_focused()
    expect(page.locator(".detail .origin")).to_contain_text("ports")
    expect(page.locator(".detail .origin code.path")).to_have_text("$[40].errors")
    line = page.locator(".detail .j-line", has=page.locator("mark.place")).last
    expect(line).to_contain_text('"errors"')
    page.get_by_role("button", name="Show the call").click()
    expect(page.locator(".row.selected")).to_contain_text("ports")
    expect(page.locator(".detail h2")).to_contain_text("ports")
    expect(page.locator(".detail .grounds")).to_contain_text("46904")


def test_each_value_says_what_became_of_it(page: Page) -> None:
    for text, kind in (
        ("46904", "v-supported"),
        ("11,088", "v-derived"),
        ("INC-20931", "v-given"),
        ("99417", "v-unsupported"),
        ("Quillon Brackwater", "v-weak"),
    ):
        expect(page.locator(f"#said a.v.{kind}", has_text=text).first).to_be_visible()
    value(page, "11,088")
    expect(page.locator(".detail .facts")).to_contain_text("11088 = sum of $[*].errors where state = down")
    expect(page.locator(".detail mark.place")).to_have_text(["3318", "7770"])
    value(page, "99417")
    expect(page.locator(".detail")).to_contain_text("It is in no result, and nobody said it.")
    expect(page.locator(".detail")).to_contain_text("Where it was looked for (2 calls)")


def test_what_the_person_said_is_shown_where_they_said_it(page: Page) -> None:
    value(page, "INC-20931")
    expect(page.locator(".detail .pill")).to_contain_text("given")
    expect(page.locator(".detail .origin")).to_contain_text("what the person said")
    expect(page.locator(".detail mark.place")).to_have_text("INC-20931")


def test_a_step_shows_its_request_as_it_was_served_and_who_added_what(page: Page) -> None:
    page.locator(".row.k-model").nth(1).click()
    request = page.locator(".part-request")
    expect(request).to_contain_text("hashes to its receipt")
    expect(request.locator(".piece")).to_have_text("agent instructions.0 You are a network engineer.", use_inner_text=False)
    expect(request.locator(".message.m-tool")).to_have_count(2)
    expect(request.locator(".message.m-user")).to_have_count(0)
    request.get_by_role("button", name="1 message as in the call before").click()
    expect(request.locator(".message.m-user")).to_contain_text("What is wrong with SW-12? The ticket is INC-20931.")
    request.locator(".toolset details", has_text="vendor").locator("summary").click()
    expect(request.locator(".toolset")).to_contain_text("Who made a switch.")
    expect(page.locator(".part-reply")).to_contain_text("ports 3 and 7 of SW-12 are down.")


def test_steps_are_filtered_by_kind_and_by_words(page: Page) -> None:
    assert page.locator(".row").count() > 6
    page.get_by_role("button", name="Tools", exact=True).click()
    expect(page.locator(".row")).to_have_count(2)
    page.get_by_label("Filter steps").fill("vend")
    expect(page.locator(".row")).to_have_count(1)
    expect(page.locator("#steps small")).to_contain_text("1 of")
    page.get_by_label("Filter steps").fill("no such thing")
    expect(page.locator(".rows")).to_contain_text("No step fits.")
    page.get_by_label("Filter steps").fill("")
    page.get_by_role("button", name="Tools", exact=True).click()
    page.get_by_role("button", name="Problems", exact=True).click()
    expect(page.locator(".row")).to_have_count(1)
    expect(page.locator(".row")).to_contain_text("unsupported")


def test_search_finds_what_a_tool_said_and_leads_there(page: Page) -> None:
    page.get_by_label("Search in everything").fill("nordlicht in 2019")
    hit = page.locator(".hit", has_text="tool call: vendor")
    expect(hit.locator("mark").first).to_have_text("Nordlicht in 2019")
    hit.first.click()
    expect(page.locator(".row.selected")).to_contain_text("vendor")
    expect(page.locator(".detail .part-result")).to_contain_text("Nordlicht in 2019")


def test_everything_can_be_reached_from_the_keyboard(page: Page) -> None:
    page.keyboard.press("n")
    expect(page.locator("#said a.chosen")).to_have_attribute("href", "#value-0")
    page.keyboard.press("n")
    expect(page.locator("#said a.chosen")).to_have_attribute("href", "#value-1")
    page.keyboard.press("p")
    expect(page.locator("#said a.chosen")).to_have_attribute("href", "#value-0")
    page.keyboard.press("t")
    expect(page.get_by_role("listbox", name="Steps of the run")).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    selected = page.locator('[role="option"][aria-selected="true"]')
    expect(selected).to_contain_text("Model call 1")
    assert page.locator("#rows").get_attribute("aria-activedescendant") == selected.get_attribute("id")
    page.keyboard.press("Enter")
    expect(page.locator(".detail h2")).to_be_focused()
    page.keyboard.press("a")
    expect(page.locator("#said a").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#said a").first).to_have_class("v v-given chosen")
    page.keyboard.press("/")
    expect(page.get_by_label("Search in everything")).to_be_focused()
    page.keyboard.type("n")
    expect(page.get_by_label("Search in everything")).to_have_value("n")


def test_the_page_from_a_disk_shows_the_same_and_asks_nobody(switch_file: Path, tmp_path: Path, watched: Watched) -> None:
    from agentfp_viewer import write_page
    from agentfp_viewer.foreign import open_any

    recording = open_any(switch_file)
    write_page(recording, tmp_path / "run.html")
    recording.close()
    page = watched.open((tmp_path / "run.html").as_uri())
    value(page, "46904")
    expect(page.locator(".detail mark.place")).to_have_text("46904")
    page.locator(".row.k-model").nth(1).click()
    expect(page.locator(".part-request")).to_contain_text("hashes to its receipt")
    page.get_by_label("Search in everything").fill("nordlicht in 2019")
    expect(page.locator(".hit", has_text="tool call: vendor").first).to_be_visible()
    assert [url for url in watched.requests if not url.startswith(("file:", "data:"))] == []


def test_text_of_a_record_stays_text(tmp_path: Path, watched: Watched) -> None:
    file = recordings.hostile_run(tmp_path / f"x{'&<b>'}.jsonl")
    from agentfp_viewer import write_page
    from agentfp_viewer.foreign import open_any

    recording = open_any(file)
    write_page(recording, tmp_path / "page.html")
    recording.close()
    with serving(file) as url:
        for address in (url, (tmp_path / "page.html").as_uri()):
            page = watched.open(address)
            expect(page.locator("#said")).to_contain_text("</script><script>window.hacked=1</script>")
            for row in page.locator(".row").all():
                row.click()
                page.locator(".detail").evaluate("detail => detail.querySelectorAll('details').forEach((part) => { part.open = true })")
            for link in page.locator("#said a").all():
                link.click()
            page.keyboard.press("r")
            page.get_by_label("Search in everything").fill("<script>")
            expect(page.locator(".hit").first).to_be_visible()
            assert page.evaluate("window.hacked") is None
            assert page.locator("#app img, #app script, #app iframe").count() == 0


def test_the_policy_of_the_page_runs_no_other_script(page: Page) -> None:
    refused = page.evaluate(
        """async () => {
            const seen = [];
            document.addEventListener("securitypolicyviolation", (event) => seen.push(event.violatedDirective));
            const script = document.createElement("script");
            try { script.text = "window.hacked = 1"; } catch { seen.push("trusted types"); }
            document.body.append(script);
            const plain = document.createElement("div");
            try { plain.innerHTML = "<img src=x onerror='window.hacked = 1'>"; } catch { seen.push("trusted types"); }
            await new Promise((done) => setTimeout(done, 100));
            return [window.hacked ?? null, seen.length > 0];
        }"""
    )
    assert refused == [None, True]


@pytest.fixture
def expected_errors(watched: Watched) -> Iterator[None]:
    yield
    watched.errors = [text for text in watched.errors if "Trusted" not in text and "Content Security Policy" not in text]


test_the_policy_of_the_page_runs_no_other_script = pytest.mark.usefixtures("expected_errors")(
    test_the_policy_of_the_page_runs_no_other_script
)


def test_a_run_is_followed_as_it_goes_on(tmp_path: Path, watched: Watched) -> None:
    file = tmp_path / "live.jsonl"
    run = recordings.LiveRun(file, 3)
    try:
        while not file.exists() or b"tool.dispatched" not in file.read_bytes():
            pass
        with serving(file) as url:
            page = watched.open(url)
            expect(page.locator(".badge.live")).to_be_visible()
            expect(page.locator(".row.k-tool")).to_have_count(1)
            expect(page.locator(".answer")).to_contain_text("No answer yet.")
            run.let()
            expect(page.locator(".row.k-tool")).to_have_count(2)
            page.locator(".row.k-tool").first.click()
            expect(page.locator(".part-result")).to_contain_text("step 1 is done")
            run.let(2)
            run.join()
            expect(page.locator(".row.k-tool")).to_have_count(3)
            expect(page.locator(".top .badge")).to_contain_text("answered")
            expect(page.locator("#said")).to_contain_text("All done, code 33333")
            value(page, "33333")
            expect(page.locator(".detail mark.place")).to_have_text("33333")
            page.locator(".row.k-model").last.click()
            expect(page.locator(".part-request .receipt")).to_contain_text("hashes to its receipt")
    finally:
        run.let(9)
        run.join()


def test_a_run_of_a_thousand_steps_is_as_quick_as_a_short_one(tmp_path: Path, watched: Watched) -> None:
    file = recordings.long_run(tmp_path / "long.jsonl", 1_000)
    with serving(file) as url:
        page = watched.open(url)
        assert page.locator(".row").count() < 80, "only what is in sight is drawn"
        expect(page.locator("#steps small")).to_have_text("2,004")
        page.locator("#rows").focus()
        page.keyboard.press("End")
        expect(page.locator(".row.selected")).to_contain_text("Run answered")
        expect(page.locator(".row.selected")).to_be_in_viewport()
        page.locator("#rows").evaluate("list => { list.scrollTop = 30000 }")
        expect(page.locator("#row-1000")).to_be_visible()
        value(page, "3959500")
        expect(page.locator(".detail mark.place")).to_have_text("3959500")
        page.get_by_role("button", name="Show the call").click()
        expect(page.locator(".row.selected")).to_be_in_viewport()
        page.keyboard.press("t")
        page.keyboard.press("End")
        for _ in range(3):
            page.keyboard.press("ArrowUp")
        expect(page.locator(".part-request .fold")).to_contain_text("messages as in the call before")


def test_requests_on_the_page_are_those_that_the_kernel_rebuilds(tmp_path: Path, watched: Watched) -> None:
    from agentfp import Record
    from agentfp.testing import ScriptedModel
    from tests.core.editors import agent_of, editor, script_of

    edits: dict[int, list[tuple[Any, ...]]] = {
        1: [("piece", "k", "one"), ("late", "l", "only now")],
        2: [("ticket", 1, "short"), ("piece", "k", "two")],
        3: [("hide", 0)],
        4: [("restore", 0), ("ticket", 0, "T")],
        5: [("restore", 1)],
    }
    file = tmp_path / "edited.jsonl"
    agent = agent_of(ScriptedModel(script_of(6)), editor("a", edits), instructions="Be brief.")
    recordings.elsewhere(lambda: agent.run_sync("Go").record.save(file))
    record = Record.load(file)
    with serving(file) as url:
        page = watched.open(url)
        for call, row in enumerate(page.locator(".row.k-model").all(), 1):
            row.click()
            expect(page.locator(".detail h2")).to_contain_text(f"Model call {call}")
            fold = page.locator(".part-request .fold")
            if fold.count():
                fold.click()
            request = record.served_at(call)
            texts = page.locator(".part-request .message")
            expect(texts).to_have_count(len(request.messages))
            for at, message in enumerate(request.messages):
                shown = texts.nth(at)
                for line in filter(None, message.text.splitlines()):
                    expect(shown).to_contain_text(line)
                for made in message.tool_calls:
                    expect(shown).to_contain_text(made.name)
            pieces = page.locator(".part-request .piece pre").all_inner_texts()
            assert "\n\n".join(pieces) == request.system
            assert page.locator(".part-request .toolset > li > details").count() == len(request.tools)


def test_a_nested_run_is_opened_and_left_again(tmp_path: Path, watched: Watched) -> None:
    with serving(recordings.nested_run(tmp_path / "nested.jsonl")) as url:
        page = watched.open(url)
        page.locator(".row.k-tool").click()
        page.get_by_role("button", name="Open the nested run").first.click()
        expect(page.locator(".crumbs")).to_contain_text("The run")
        expect(page.locator("#said")).to_contain_text("Nordlicht made it in 2019.")
        expect(page.locator(".row.k-tool")).to_contain_text("vendor")
        page.get_by_role("button", name="The run", exact=True).click()
        expect(page.locator("#said")).to_contain_text("Nordlicht made SW-12 in 2019.")
        page.get_by_label("Search in everything").fill("made by nordlicht")
        page.locator(".hit", has_text="of another run in this file").first.click()
        expect(page.locator(".row.selected")).to_contain_text("vendor")


def test_a_run_that_waits_and_one_that_went_on(tmp_path: Path, watched: Watched) -> None:
    with serving(recordings.paused_run(tmp_path / "paused.jsonl")) as url:
        page = watched.open(url)
        expect(page.locator(".top .badge")).to_contain_text("waits for a person")
        expect(page.locator(".answer")).to_contain_text("The run waits for a person.")
        expect(page.locator(".answer .pending")).to_contain_text("May shut run?")
    with serving(recordings.resumed_run(tmp_path / "resumed.jsonl")) as url:
        page = watched.open(url)
        expect(page.locator(".row", has_text="shut approved by ann")).to_have_count(1)
        expect(page.locator("#said")).to_contain_text("Port 3 is shut.")
        page.locator(".row.k-tool").click()
        expect(page.locator(".detail .badge")).to_contain_text("success")


def test_a_run_without_a_judge_says_that_nothing_was_checked(tmp_path: Path, watched: Watched) -> None:
    with serving(recordings.unchecked_run(tmp_path / "plain.jsonl")) as url:
        page = watched.open(url)
        expect(page.locator(".answer")).to_contain_text("values not checked")
        expect(page.locator("#said a")).to_have_count(0)


def test_a_masked_copy_says_so(tmp_path: Path, watched: Watched) -> None:
    with serving(recordings.masked_run(tmp_path / "masked.jsonl")) as url:
        page = watched.open(url)
        expect(page.locator(".banner")).to_contain_text("masked by")
        page.locator(".row.k-model").first.click()
        expect(page.locator(".part-request")).to_contain_text("not checked")
        value(page, "46904")
        expect(page.locator(".detail mark.place")).to_have_text("46904")


def test_a_record_that_was_changed_is_shown_with_the_call_that_no_longer_fits(switch_file: Path, tmp_path: Path, watched: Watched) -> None:
    changed = tmp_path / "changed.jsonl"
    changed.write_text(switch_file.read_text(encoding="utf-8").replace("by Nordlicht in 2019", "by Nordlicht in 2018"), encoding="utf-8")
    with serving(changed) as url:
        page = watched.open(url)
        expect(page.locator(".banner")).to_contain_text("model call 2 does not hash to its receipt")


def test_a_file_that_is_torn_or_has_no_begin_is_shown_as_far_as_it_goes(switch_file: Path, tmp_path: Path, watched: Watched) -> None:
    lines = switch_file.read_bytes().splitlines(keepends=True)
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(b"".join(lines[1:6]) + b"not JSON\n" + b"".join(lines[6:-3]) + lines[-3][:50])
    with serving(torn) as url:
        page = watched.open(url)
        expect(page.locator(".banner summary")).to_contain_text("things to know about this file")
        told = page.locator(".banner").inner_text()
        assert "the begin of the file is missing" in told
        assert "line 6 is not JSON" in told
        assert "the last line is torn" in told
        expect(page.locator(".row.k-tool")).to_have_count(2)
        value(page, "46904")
        expect(page.locator(".detail mark.place")).to_have_text("46904")


def test_a_folder_lists_its_runs_and_opens_them(tmp_path: Path, switch_file: Path, watched: Watched) -> None:
    folder = tmp_path / "runs"
    (folder / "more").mkdir(parents=True)
    (folder / "more" / "switch.jsonl").write_bytes(switch_file.read_bytes())
    recordings.paused_run(folder / "paused.jsonl")
    (folder / "other.json").write_text(json.dumps({"a": 1}), encoding="utf-8")
    with serving(folder) as url:
        page = watched.open(url)
        rows = page.locator(".runs tbody tr")
        expect(rows).to_have_count(3)
        switch = rows.filter(has_text="What is wrong with SW-12? The ticket is INC-20931.")
        expect(switch).to_contain_text("answered")
        expect(switch).to_contain_text("unsupported")
        expect(rows.filter(has_text="Shut port 3")).to_contain_text("paused")
        page.get_by_label("Filter runs").fill("wrong")
        expect(rows).to_have_count(1)
        page.get_by_role("link", name="What is wrong with SW-12? The ticket is INC-20931.").click()
        expect(page.locator("#said a").first).to_be_visible()
        address = page.url
        page.get_by_role("button", name="Runs").click()
        expect(rows).to_have_count(3)
        again = watched.open(address)
        expect(again.locator("#said a").first).to_be_visible()
        page.get_by_role("link", name="other.json").click()
        expect(page.locator(".wrong")).to_contain_text("is no recording")
    watched.errors = [text for text in watched.errors if "422" not in text]


def test_transcripts_of_other_frameworks_are_judged_and_shown(watched: Watched) -> None:
    folder = Path(__file__).resolve().parents[3] / "examples" / "transcripts"
    with serving(folder / "anthropic.json") as url:
        page = watched.open(url)
        value(page, "1,149")
        expect(page.locator(".detail .pill")).to_contain_text("unsupported")
        value(page, "29")
        expect(page.locator(".detail mark.place")).to_contain_text("29")
        expect(page.locator(".timeline")).to_contain_text("no times recorded")
    with serving(folder / "openai-chat.jsonl") as url:
        page = watched.open(url)
        picker = page.get_by_label("Conversation")
        expect(picker.locator("option")).to_have_count(2)
        picker.select_option(index=1)
        value(page, "1,149")
        expect(page.locator(".detail .pill")).to_contain_text("unsupported")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_contrast_and_every_control_a_name(switch_url: str, watched: Watched, scheme: str) -> None:
    page = watched.open(switch_url)
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    for action in ("#said a.v:has-text('46904')", ".row.k-model >> nth=1", ".row.k-tool >> nth=0", ".row.k-check >> nth=0"):
        page.click(action)
        page.wait_for_timeout(100)
        assert page.evaluate(script("contrast.js")) == []
        assert page.evaluate(script("unnamed.js")) == []
