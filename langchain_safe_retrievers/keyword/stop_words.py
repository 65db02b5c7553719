"""English words too common to search by, those that questions are made of among them."""

from __future__ import annotations

_ENGLISH = """
    a an the this that these those
    i me my mine myself we us our ours ourselves you your yours yourself yourselves
    he him his himself she her hers herself it its itself they them their theirs themselves
    who whom whose which what when where why how
    am is are was were be been being has have had having do does did doing done
    can could may might must shall should will would
    and but or nor if because as until while than then so though although
    of at by for with about against between into through during before after above below
    to from up down in out on off over under again further once
    here there all any both each few more most other some such no not only own same too very
    just now
    s t d ll m re ve don didn doesn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn
"""
ENGLISH = tuple(_ENGLISH.split())
