"""English words by which good and bad names are distinguished."""

import re

VERBS = frozenset(
    """add adjust align append apply assign attach build calculate call check choose clean clear close collect combine
    compare compile complete compose compress compute configure connect convert copy count create decode define delete
    detect determine discard display draw drop dump emit encode ensure escape evaluate execute expand export extend
    extract fetch fill filter find finish fix flush fold format generate get group handle import include increment
    indent init initialize insert install iter iterate join limit load log look make mark match measure merge
    move normalize open pad parse pop prepare print process push put quote raise read record register remove
    render replace report reset resolve restore reverse rotate round run save scan search select send setup
    shift show skip split start stop store strip swap sync tokenize trace track transform translate traverse trim
    truncate unescape unpack update use validate verify visit walk wrap write""".split()
)
GENERIC = frozenset(
    """a b c d e f g h i j k l m n o p q r s t u v w x y z res ret rv result results value val out output data tmp temp
    item obj args kwargs flag found done self cls other key it el elem arg ok cur""".split()
)
SKIPPED = frozenset("the a an all any each every this that these those its their our if we".split())
STOPPED = frozenset(
    """and or for of in on to with from by as is are so because when where but
    which into at not were was had have has be been it before after make sure only""".split()
)
PASSING = frozenset("enumerate len list reversed set sorted zip".split())


def split(name: str) -> list[str]:
    """Split a name in snake case or camel case into lower-case words."""
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return [word.lower() for word in split.split("_") if word]
