"""Which block is extracted, and what its function is called: a table of functions that are over a limit."""

from __future__ import annotations

import textwrap
import time

import pytest

from coderefine.proposers.refactorings.blocks import Extraction, StatementBlock, examined
from coderefine.proposers.refactorings.extraction import extracted
from coderefine.proposers.refactorings.files import placed
from coderefine.proposers.refactorings.measures import COMPLEXITY
from coderefine.proposers.refactorings.model_names import name_for_now
from coderefine.proposers.refactorings.names import CUT, is_possible
from coderefine.proposers.refactorings.sequence import FAIR, shortened
from coderefine.proposers.refactorings.trees import Unit

NAMED = {
    "a name does not end in the middle of a clause": (
        """
        def deliver(self, rows, most):
            if rows is None or not self.known and most:
                return None

            # Report rows that cannot be sent.
            for row in rows:
                if not row:
                    log.warning("empty")
                elif len(row) > most:
                    log.warning("long")
            return self.sent(rows)
        """,
        "_report_rows(rows, most):",
    ),
    "what is looked up by its name has this name": (
        """
        def collect(self, node, found):
            if node is None or not self.known and found:
                return None

            for key in node.get("tags", ()):
                if key.startswith("x-"):
                    continue
                if key and key not in found:
                    found.append(key)
            return self.sorted(found)
        """,
        "_add_tags(node, found):",
    ),
    "a parameter that is changed and returned at once": (
        """
        def count(self, notes, tag, known):
            if notes is None or not self.known and tag:
                return None

            for note in notes:
                if tag and note.startswith(tag):
                    known += 1
                if not tag and note:
                    known += 1
            return known
        """,
        "_compute_known(notes, tag, known):",
    ),
    "a method that changes a text says nothing: its object does": (
        """
        def verify(conn, url, proof):
            if conn is None or not url and proof:
                return None

            if url.lower().startswith("https") and proof:
                if not proof.place:
                    return False
                return conn.proves(proof.place)
            return conn.proves("")
        """,
        "_verify_url(conn, url, proof):",
    ),
    "what is grouped says more than the grouping": (
        """
        def show(self, versions, most):
            if versions is None or not versions and most:
                return

            for key, group in groupby(versions, key=most):
                if key and self.full:
                    self.line(key)
                elif group:
                    self.line(most)
            self.close()
        """,
        "_show_versions(self, versions, most):",
    ),
    "the noun of the function is left out where that of the effect says enough": (
        """
        def take_frame(self, frame):
            if frame is None or not self.known and frame:
                return None

            if frame.opcode and self.opcode is None:
                self.opcode = frame.opcode
            elif self.opcode is None:
                raise ValueError(frame)
            return self.taken(frame)
        """,
        "_set_opcode(self, frame):",
    ),
    "what is looked up, or missing, is found": (
        """
        def read(self, path, most):
            if path is None or not self.known and most:
                return None

            try:
                part = self.parts[path]
            except KeyError as error:
                raise FileNotFoundError(path) from error
            if isinstance(part, str):
                part = part.encode()
            return part[:most]
        """,
        "_find_part(self, path):",
    ),
    "the comment above a branch says what the whole branch does": (
        """
        def render(self, rows, most):
            if rows is None or not rows and most:
                return None

            # Update the width if the window has a new size
            if self.automatic:
                old = self.width
                self.width = most.columns - len(rows)
                if self.width < old and most.known:
                    rows.append(" " * old)
                elif old:
                    rows.append(" ")
            return rows
        """,
        "_update_width(self, rows, most):",
    ),
    "several parameters are checked, and `__debug__` says nothing about them": (
        """
        def make(self, size, colour, kind):
            if kind is None or not self.kinds and colour:
                return None

            if __debug__:
                if self.kind and size != kind.size:
                    raise ValueError("size")
                if colour and self.grey:
                    raise ValueError("colour")
            return self.made(kind)
        """,
        "_check_arguments(self, size, colour, kind):",
    ),
    "a text that is extended is built, not chosen": (
        """
        def report(self, context, most):
            if context is None or not self.kinds and most:
                return None

            if self.parameter is None:
                message = self.message
            else:
                message = self.parameter.name
                if context.help:
                    message += f": {context.help}"
            return Report(message, most)
        """,
        "_build_message(self, context):",
    ),
    "a sign at the end of a text is appended": (
        """
        def write(file, out, end):
            if file is None or not file.open and out:
                return

            if end:
                if isinstance(out, str):
                    out += "\\n"
                else:
                    out += b"\\n"
            file.put(out)
        """,
        "_append_newline(out, end):",
    ),
    "what is inserted gives the name": (
        """
        def call(self, args, context, limits):
            if args is None or not self.known and args:
                return None

            for limit in limits:
                if limit and limit.open:
                    args.insert(0, limit)
                elif context:
                    args.insert(1, limit)
            return self.made(args)
        """,
        "_insert_limit(args, context, limits):",
    ),
    "a parameter that is checked and completed is resolved": (
        """
        def link(self, text, schemes):
            if text is None or not self.known and text:
                return None

            if schemes is None:
                schemes = self.policies["schemes"] or ()
            for scheme in schemes:
                if self.pattern.fullmatch(scheme) is None:
                    raise ValueError(scheme)
            return self.linked(text, schemes)
        """,
        "_resolve_schemes(self, schemes):",
    ),
    "a comment of which a name would keep only a part is not the name": (
        """
        def make(self, repo, path):
            if repo is None or not self.known and path:
                return None

            # Find out whether a module path is known.
            for module in repo.modules:
                if module.path == path.name:
                    if module.exists():
                        repo = module.repo
                    break
            return Diff(repo, path)
        """,
        "_find_repo(repo, path):",
    ),
    "what is taken away from a number does not extend it": (
        """
        def price(total, items, member, coupon):
            if items is None or not items and coupon:
                return None

            if member:
                total -= member.bonus
                if coupon and coupon.valid:
                    total -= coupon.value
                elif items[0].cheap or items[0].old:
                    total -= items[0].rebate

            for item in items:
                if item.odd:
                    coupon.log(item)
            return total
        """,
        "_adjust_total(total, items, member, coupon):",
    ),
    "what yields is an iterator, whatever else it does": (
        """
        def rows(self, table, most):
            if table is None or not table and most:
                return

            for line in table.lines:
                if line.is_empty and most:
                    yield None
                elif line.cells:
                    self.add_line(line)
                    yield line

            yield from table.notes
        """,
        "_iter_lines(self, most, line):",
    ),
    "a loop that adds to a text collects": (
        """
        def read(state, lines):
            first = lines[0] if state else None
            letter = ""
            for line in lines:
                if line is None:
                    break
                letter += line
                state.cursor += len(line)

            if first and letter or state.done:
                return letter
            return None
        """,
        "_collect_letter(state, lines):",
    ),
    "what only decides whether to leave is a check": (
        """
        def get_last(self, rows):
            for place, row in rows:
                if place and row:
                    self.last = row
                if (
                    row.key is not None
                    and place is not None
                    and self.known(place)
                    and self.known(row)
                ):
                    break
                self.found.append(place)
            return self.last
        """,
        "_check_row(self, place, row):",
    ),
    "a group of a match says what is there": (
        """
        def parse_value(self, text, known):
            found = self.pattern.match(text)
            if not found:
                return None
            if found.group("date"):
                parts = found.group("date").split("-")
                if len(parts) == 3:
                    return known.day(parts)
                if len(parts) == 2:
                    return known.month(parts)
                return known.year(parts)
            return text
        """,
        "_parse_date(known, found):",
    ),
    "a condition says what is there, and a comment counts up to its phrase's end": (
        """
        def group(tokens, most):
            if tokens is None or not tokens and most:
                return None

            # Limit the number of tokens to prevent attacks
            if most is not None and len(tokens) > most:
                raise ValueError(
                    tokens,
                    most,
                )

            return tokens
        """,
        "_limit_number_of_tokens(tokens, most):",
    ),
    "an abbreviation says nothing, but the conditions of a yes or no do": (
        """
        def imt(token, i, m, t):
            if token is None or not i and m:
                return False
            if i and isinstance(token, i):
                return True
            if t:
                if isinstance(t, list):
                    if any(token.ttype in ttype for ttype in t):
                        return True
                elif token.ttype in t:
                    return True
            return False
        """,
        "_check_ttype(token, t):",
    ),
    "what raises validates where the function does": (
        """
        def validate_options(options):
            case = options.get("case")
            if case not in (None, "upper") or case == "" and options:
                raise ValueError("case")

            margin = options.get("margin")
            if margin is not None:
                if margin < 10:
                    raise ValueError("margin")
                margin = margin + 1
            options["margin"] = margin
            return options
        """,
        "_validate_margin(options):",
    ),
    "the name of a special method says nothing": (
        """
        def __call__(self, host):
            if host is None or not self.most and host:
                return False

            parts = host.split(".")
            for part in parts:
                if not part or len(part) > 63:
                    return False
                if not part.isalnum():
                    return False
            return len(parts) > 1
        """,
        "_check_parts(parts):",
    ),
    "what returns the list that it made builds it": (
        """
        def rows(table, plain):
            if table is None or not table and plain:
                return []
            if plain:
                result = []
                for key, value in table.items():
                    if isinstance(value, dict):
                        for inner in value:
                            result.append((key, inner))
                    else:
                        result.append((key, value))
                return result
            return list(table)
        """,
        "_build_plain_rows(table):",
    ),
    "where one function makes the result in all cases, it gives the verb": (
        """
        def tokens(text, encoding):
            if text is None or not text and encoding:
                return []
            if isinstance(text, bytes):
                if encoding:
                    text = text.decode(encoding)
                else:
                    try:
                        text = text.decode("utf-8")
                    except UnicodeDecodeError:
                        text = text.decode("unicode-escape")
            return text.split()
        """,
        "_decode_text(text, encoding):",
    ),
    "the return of a result belongs to what computes it": (
        """
        def netloc(self, userpass):
            if userpass is None or not self.host and userpass:
                userpass = ""

            place = self.host
            if self.port and self.port != 80:
                place = (place or "") + str(self.port)

            if userpass or place:
                place = (userpass or "") + (place or "")

            return place
        """,
        "_compute_place(self, userpass):",
    ),
    "what also adds something does not only compute": (
        """
        def render(self, sb, xhtml, most):
            if xhtml is None or not most and xhtml:
                return sb

            name = self.tag
            if name[-1] == "_":
                name = name[:-1]
            for attribute in self.attributes:
                if attribute:
                    sb.append(attribute)

            if self.single:
                return sb
            sb.append(name)
            return sb
        """,
        "_render_attributes(self, sb):",
    ),
    "a type alone says nothing, but the tested variable does": (
        """
        def make_rotation(rotation, sizes):
            if rotation is None or not sizes and rotation:
                return None
            if isinstance(rotation, str):
                size = sizes.parse(rotation)
                if size is not None:
                    return sizes.rotate(size)
                if rotation in sizes:
                    return sizes[rotation]
                raise ValueError(rotation)
            return rotation
        """,
        "_make_str_rotation(rotation, sizes):",
    ),
    "the verb of the function describes all that it does with an item": (
        """
        def render_table(self, table, sb):
            if table is None or not table and sb:
                return sb

            for row in table.rows:
                sb.begin()
                if row.title:
                    sb.append(row.title)
                elif row.cells:
                    self.count += 1
                    sb.extend(row.cells)
            return sb
        """,
        "_render_row(self, sb, row):",
    ),
    "a comment that checks whether something is there names the check": (
        """
        def process(self, kind, value):
            if kind is None and value:
                return

            # Check if we get the end of a statement
            # (issue 809: not inside of blocks)
            # and remember it.
            if kind == ";" or value == ";":
                self.begun = False
                self.level = 0
            elif value and value.split():
                self.ended = True
        """,
        "_check_end_of_statement(self, kind, value):",
    ),
}


UNNAMED = {
    "a comment counts for one paragraph only": """
        def process(self, kind, value):
            if kind is None and value:
                return

            # Append the token to the current statement
            self.tokens.append(value)

            # Now the end
            if kind == ";" or value == ";":
                self.begun = False
                self.level = 0
            elif value and value.split():
                self.ended = True
        """,
    "the item of a loop says nothing about a block that does not read it": """
        def feed(self, text):
            for match in self.pattern.finditer(text):
                markup = self.markup(match)
                if markup is None or not self.open and markup:
                    continue

                if markup in self.tags:
                    self.tags.remove(markup)
                    self.closed.append(markup)
                elif markup:
                    self.tags.append(markup)
                    self.opened.append(markup)
        """,
    "several branches of a decision, which no name describes": """
        def parse_value(self, kind, rows):
            if kind == "text":
                return self.text
            elif kind == "number" and rows:
                return self.number
            # A list
            elif kind == "list":
                self.found += rows
                return self.found
            elif kind == "map":
                return dict(rows)
            else:
                return None
        """,
    "in a loop, other branches of a decision": """
        def render_table(self, table, text):
            for place, value in table.rows:
                if value is None:
                    text += "-"
                elif value.is_list and place:
                    text += self.render_list(value)
                elif value.is_map:
                    text += self.render_map(value)
                else:
                    text += str(value)
            return text
        """,
    "a part of a repetition: any other number of its steps would do": """
        def set_rows(self, options):
            if options.get("title"):
                self.rows.append(Title(options))
                self.rows.append(Line())
            if options.get("names"):
                self.rows.append(Names(options))
                self.rows.append(Line())
            if options.get("notes"):
                self.rows.append(Notes(options))
                self.rows.append(Line())
            if options.get("total"):
                self.rows.append(Total(options))
                self.rows.append(Line())
            return self
        """,
    "one of two steps of the same form: the other one stays": """
        def scale_image(self, width, height):
            style = ""
            if width and self.number(width):
                if width.isdigit():
                    self.attributes["width"] = width
                else:
                    style += "width:" + width + ";"

            if height and self.number(height):
                if height.isdigit():
                    self.attributes["height"] = height
                else:
                    style += "height:" + height + ";"

            return style
        """,
    "a text that only opens what the function closes": """
        def render_list(self, rows, title, footer):
            text = ""

            if title:
                text += "<h1>" + title + "</h1>"
            if footer or rows:
                text += "<ul>"
            else:
                text += "<ul class='empty'>"

            for row in rows:
                text += self.render_row(row)
            return text + "</ul>"
        """,
    "a branch of a special method, whose result has no name": """
        def __getitem__(self, index):
            if index is None or not self.size and index:
                return None

            if isinstance(index, slice):
                start, stop, step = index.indices(self.size)
                if step == 1:
                    return self.between(start, stop)
                if step == -1:
                    return self.back(stop, start)
                places = range(start, stop, step)
                return self.several(places)
            return self.found(index)
        """,
    "an action whose result is another thing": """
        def run(self, config, paths):
            if config is None or not self.known and paths:
                return None

            # Start the watcher
            limit = 0
            for path in paths:
                if path and path.exists():
                    self.watcher.start(path)
                    limit += 1
                elif config.strict:
                    limit -= 1

            return self.wait(limit, config)
        """,
    "a default, and a check of something else": """
        def pick(rows, first, last):
            if rows is None or not first and rows:
                return None

            if first < 0 or (last is not None and last < 0):
                raise ValueError("negative")
            if last is None:
                last = len(rows)

            return rows[first:last]
        """,
    "a text and a list are changed, and only one is a result": """
        def render(levels, s):
            if s is None or not levels and s:
                return ""

            while len(levels) > 1:
                s += levels.pop()
            if not s:
                return ""
            return "<" + s
        """,
}


@pytest.mark.parametrize("name", UNNAMED)
def test_nothing_is_extracted_that_has_no_honest_name(name: str) -> None:
    """A reader of 30 results refused `_choose_other_type`, and `_render_levels` for what also adds to a text."""
    unit = Unit(textwrap.dedent(UNNAMED[name]).lstrip("\n"))
    assert shortened(unit, {COMPLEXITY: unit.complexity - 2}) is None


def test_what_has_no_honest_name_is_extracted_where_a_model_names_it() -> None:
    unit = Unit(textwrap.dedent(UNNAMED["a text and a list are changed, and only one is a result"]).lstrip("\n"))
    assert shortened(unit, {COMPLEXITY: unit.complexity - 1}) is None
    draft = shortened(unit, {COMPLEXITY: unit.complexity - 1}, name=name_for_now)
    assert draft is not None
    assert draft.unit.complexity < unit.complexity


@pytest.mark.parametrize("name", NAMED)
def test_a_new_function_is_named_after_its_result(name: str) -> None:
    text, header = NAMED[name]
    unit = Unit(textwrap.dedent(text).lstrip("\n"))
    draft = shortened(unit, {COMPLEXITY: unit.complexity - 2}, standard=FAIR)
    assert draft is not None
    assert [one.text.partition("\n")[0].removeprefix("def ") for one in draft.added] == [header]


def test_a_new_function_is_not_confused_with_a_method_that_it_calls() -> None:
    """In mistune, `self._process_text(state, pos)` called `self.process_text(text, state)`."""
    unit = Unit("def parse(self, text):\n    self.process_text(text)\n")
    assert is_possible("_process_texts", unit)
    assert not is_possible("_process_text", unit)


@pytest.mark.parametrize(
    ("name", "last"),
    [
        pytest.param("the return of a result belongs to what computes it", "_compute_place(self, userpass)", id="made"),
        pytest.param(
            "a parameter that is changed and returned at once", "_compute_known(notes, tag, known)", id="kept"
        ),
    ],
)
def test_a_result_that_is_returned_at_once_is_returned_by_the_new_function(name: str, last: str) -> None:
    """In furl, it was `netloc = self._compute_netloc(userpass)`, and then `return netloc`."""
    unit = Unit(textwrap.dedent(NAMED[name][0]).lstrip("\n"))
    draft = shortened(unit, {COMPLEXITY: unit.complexity - 2})
    assert draft is not None
    assert draft.unit.text.endswith(f"    return {last}\n")


@pytest.mark.parametrize(("comment", "flaws"), [("Report rows that cannot be sent.", CUT), ("Report rows.", 0.0)])
def test_a_name_without_a_clause_that_it_needs_is_a_flaw(comment: str, flaws: float) -> None:
    """The new function was `_report_rows_cannot`, and of `Handle construction from strings` the end was lost."""
    text = textwrap.dedent(NAMED["a name does not end in the middle of a clause"][0]).lstrip("\n")
    unit = Unit(text.replace("Report rows that cannot be sent.", comment))
    draft = shortened(unit, {COMPLEXITY: unit.complexity - 2})
    assert draft is not None
    assert draft.flaws == flaws


TYPED = """
def count(rows: list[str], known: dict[str, int]) -> int:
    total = 0
    if not rows or not known and rows:
        return total

    skipped: list[str] = []
    for row in rows:
        if row in known:
            total += 1
        elif row:
            skipped.append(row)

    return total + len(skipped)
"""


def test_a_new_function_is_annotated_and_documented_as_its_module_is() -> None:
    others = "".join(f'def _{name}():\n    """Return."""\n\n\n' for name in "abc")
    place = placed(others + TYPED.lstrip("\n"), "count", frozenset())
    assert not isinstance(place, str)
    draft = shortened(place.unit, {COMPLEXITY: place.unit.complexity - 2}, standard=FAIR)
    assert draft is not None
    (one,) = draft.added
    assert one.text.split("\n")[:4] == [
        "def _collect_total_and_skipped(",
        "    rows: list[str], known: dict[str, int], total: int",
        ") -> tuple[int, list[str]]:",
        '    """Collect total and skipped."""',
    ]


MERGED = """
def merge(self, curr, next):
    ctext, cnum, ntext, nnum = curr + next
    if next[1] == 100 or next[1] == 1000:
        lst = list(next)
        lst[0] = 'et' + lst[0]
        next = tuple(lst)

    if cnum == 1:
        if nnum < 10**6 or self.ordflag:
            return next
        ctext = 'en'

    if nnum > cnum:
        if nnum >= 10**6:
            ntext += 'er'
            ntext = ntext.strip()
        val = cnum * nnum
    else:
        if cnum > 100 and nnum < 100:
            ntext = 'og ' + ntext
            ntext = ntext.strip()
        if nnum < 10 < cnum < 100:
            ctext, ntext = ntext, ctext + 'og'
        if cnum >= 10**6:
            ctext += ' '
        val = cnum + nnum
    return ctext + ntext, val
"""


def test_two_small_functions_are_found_where_one_large_enough_function_reads_badly() -> None:
    """The search ended with the first drafts within the limit, although none of them read well."""
    draft = shortened(Unit(MERGED.lstrip("\n"), "self", "", "Numbers"), {COMPLEXITY: 9})
    assert draft is not None
    assert [one.name for one in draft.added] == ["_adjust_ntext", "_adjust_next"]


def test_a_module_that_the_function_imports_is_no_argument_of_the_new_one() -> None:
    text = NAMED["a loop that adds to a text collects"][0].replace("letter += line", "letter += made(line)")
    inner = textwrap.dedent(text).lstrip("\n").replace("        state.cursor += len(line)\n", "")
    plain = shortened(Unit(inner), {COMPLEXITY: Unit(inner).complexity - 2})
    imported = inner.replace("    first =", "    from shop import made\n    first =")
    draft = shortened(Unit(imported), {COMPLEXITY: Unit(imported).complexity - 2})
    assert plain is not None
    assert plain.added[0].text.startswith("def _collect_letter(lines):")
    assert draft is None or not any("made" in one.text.partition("\n")[0] for one in draft.added)


def test_a_draft_is_not_looked_for_after_the_end_of_the_run() -> None:
    unit = Unit(TYPED.lstrip("\n"))
    assert shortened(unit, {COMPLEXITY: unit.complexity - 2}, ends=time.monotonic() + 60, standard=FAIR) is not None
    assert shortened(unit, {COMPLEXITY: unit.complexity - 2}, ends=time.monotonic(), standard=FAIR) is None


def test_lines_after_a_backslash_move_with_their_statement() -> None:
    loop = "    for x in a:\n        if x and \\\n                b:\n            log.append(x)\n"
    unit = Unit(f"def f(a, b, log):\n{loop}    return log\n")
    found = examined(StatementBlock(unit, unit.suites[1], 0, 1))
    assert isinstance(found, Extraction)
    new = "def _add(b, log, x):\n    if x and \\\n            b:\n        log.append(x)\n"
    assert extracted(found, "_add")[1].text == new


def test_a_function_of_the_old_function_is_no_argument_of_the_new_one() -> None:
    text = NAMED["a loop that adds to a text collects"][0]
    inner = textwrap.dedent(text).lstrip("\n").replace("letter += line", "letter += made(line)")
    inner = inner.replace("        state.cursor += len(line)\n", "")
    inner = inner.replace("    first =", "    def made(one):\n        return one\n\n    first =")
    draft = shortened(Unit(inner), {COMPLEXITY: Unit(inner).complexity - 2})
    assert draft is None or not any("made" in one.text.partition("\n")[0] for one in draft.added)


BOUND = """
def render_table(self, table):
    if table is None or not table and self.full:
        return []

    parts = []
    put = parts.append
    for row in table.rows:
        put("<")
        if row.title:
            put(row.title)
        elif row.cells and self.full:
            put(self.joined(row.cells))
        put(">")
    return parts
"""


def test_a_bound_method_is_no_argument_of_the_new_function() -> None:
    """In hyperlink, it was `self._add_authority(scheme, authority, path, _add)`."""
    unit = Unit(BOUND.lstrip("\n"), "self", "", "Tables")
    draft = shortened(unit, {COMPLEXITY: unit.complexity - 2}, standard=FAIR)
    assert draft is not None
    assert not any("put" in one.text.partition("\n")[0].partition("(")[2] for one in draft.added)


STEPS = """
def visit_template(self, node):
    if node is None or not self.known and node:
        return

    # find all blocks
    for block in node.find_all(Block):
        if block.name in self.blocks:
            self.fail(f"block {block.name} defined twice", block.line)
        self.blocks[block.name] = block

    # find all imports and import them
    for one in node.find_all(Name):
        if one.name not in self.aliases:
            name = one.name
            self.aliases[name] = alias = self.identifier()
            if "." in name:
                module, inner = name.rsplit(".", 1)
                self.writeline(f"from {module} import {inner} as {alias}")
            else:
                self.writeline(f"import {name} as {alias}")

    # generate the root function
    self.writeline("def root():")
    self.indent()
"""


def test_a_comment_after_a_blank_line_begins_a_step() -> None:
    """In jinja2, two loops with a comment each became `_write_template_lines`; headings make such a block dearer."""
    unit = Unit(STEPS.lstrip("\n"), "self", "", "Compiler")
    body = unit.suites[0]
    assert [StatementBlock(unit, body, *between).headings for between in ((1, 2), (1, 3), (2, 4))] == [0, 1, 1]


@pytest.mark.parametrize("comment", ["#", "# ---", "# if", "# Find"])
def test_a_comment_without_words_is_no_name(comment: str) -> None:
    """`#` alone ended the drafts of a function with an internal error."""
    unit = Unit(STEPS.lstrip("\n").replace("# find all blocks", comment), "self", "", "Compiler")
    draft = shortened(unit, {COMPLEXITY: unit.complexity - 2}, standard=FAIR)
    assert draft is not None
    assert not any("find" in one.name and "block" in one.name for one in draft.added)


DIVIDED = """
def find_attribute(self, node, prefixes, methods, kinds, most):
    if node is None or not prefixes and methods:
        return None

    # the prefixes and the methods are refused early
    for prefix in prefixes:
        if prefix and node.attr.startswith(prefix):
            raise ValueError(prefix)
    if node.attr in methods and kinds or most:
        raise ValueError(node.attr)

    return self.found(node)
"""
CONSTANT = """
def list_times(start, stop, made):
    if made is None:
        return []
    kind = datetime.datetime
    if type(start) is not type(stop):
        raise TypeError("start and stop")
    if isinstance(start, str):
        raise TypeError("start")
    if isinstance(stop, str):
        raise TypeError("stop")

    return [kind(one) for one in made]
"""


@pytest.mark.parametrize(
    ("text", "divided"),
    [
        pytest.param(DIVIDED, "early\n    for", id="a-comment-that-also-describes-the-next-statement"),
        pytest.param(CONSTANT, "return kind\n", id="a-constant-that-the-new-function-would-return"),
    ],
)
def test_a_new_function_is_one_step(text: str, divided: str) -> None:
    """Read in simpleeval: a comment above two checks was moved with one; in croniter: a check returned a constant."""
    unit = Unit(text.lstrip("\n"))
    draft = shortened(unit, {COMPLEXITY: unit.complexity - 2}, name=name_for_now)
    added = draft.added if draft else ()
    assert not any(divided in one.text for one in added)
