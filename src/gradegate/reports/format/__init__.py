"""How reports look: text is escaped for its format and fitted into its limit.

``escape`` makes texts visible and harmless for all formats. A *format* is a kind of escaped text with its templates: ``MARKDOWN``,
``PLAIN`` and ``HTML``. On top of them, ``page`` fits the Markdown page, ``console`` the lines of a terminal, ``agent_cases`` the
cases for coding agents, ``case_story`` one case, and ``charts`` the page for a browser.
"""
