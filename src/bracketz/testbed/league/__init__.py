"""The league: tools that estimate a log evidence, judged by a truth that nobody has to believe.

A *problem* (``problems/``, one file each) says how data are simulated, so a sandwich knows its
evidence from both sides (``truth``). A *tool* (``tools/``, one file each) runs in an environment of
its own (``environments``), in a process of its own with limits (``process``), by a script that
knows nothing of bracketz (``worker``). What comes of it, failures too, is a row of a store
(``store``, ``run``). ``measures`` compares rows with truths, ``report`` writes pages.
"""
