"""What others pin together with a file that was not read."""

from __future__ import annotations

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from resolver.model.knowledge import DeclaredPair
from resolver.model.reason import Code, Grade
from resolver.solve.candidate import Bound
from tests.abi.columns import CLONE
from tests.evidence.world import LIBRARIES, World, facts, file, member, metadata, torch
from tests.support.fakes import make_knowledge

OTHER = file("kernel", "1.0+cu130", channel="sgl-project", url=None)
PAIR = DeclaredPair(
    id="kernel-1.0",
    project=canonicalize_name("kernel"),
    versions=SpecifierSet("==1.0"),
    torch=SpecifierSet("==2.9.1"),
    source="Requires-Dist of serve 3.0",
)
KNOWN = make_knowledge(libraries=LIBRARIES, pairs=(PAIR,))


def test_its_users_say_which_torch_an_unread_file_is_for() -> None:
    needs = World(known=KNOWN).evidence().needs(OTHER, metadata(OTHER))
    (bound,) = (need for need in needs if isinstance(need, Bound))
    assert bound.accepts(torch("2.9.1"))
    assert not bound.accepts(torch("2.10.0"))
    (reason,) = bound.explain(torch("2.10.0"))
    assert (reason.code, reason.grade) == (Code.MISSING_SYMBOL, Grade.DECLARED)
    assert reason.needs == "the torch it is pinned together with: torch ==2.9.1"
    assert reason.evidence == f"Requires-Dist of serve 3.0; {OTHER.filename} itself was not read"


def test_a_sibling_s_bytes_count_beside_them() -> None:
    read = file("kernel", "1.0")
    world = World(known=KNOWN, siblings={OTHER.filename: [read]})
    world.tell(facts(read, member("kernel/core.so", CLONE)))
    needs = world.evidence().needs(OTHER, metadata(OTHER))
    assert [str(need) for need in needs] == [
        "torch (torch ==2.9.1)",
        "torch (torch >=2.6 (or older))",
    ]


def test_a_file_that_was_read_speaks_for_itself() -> None:
    read = file("kernel", "1.0")
    world = World(known=KNOWN).tell(facts(read, member("kernel/core.so", CLONE)))
    (bound,) = world.evidence().needs(read, metadata(read))
    assert str(bound) == "torch (torch >=2.6 (or older))"
