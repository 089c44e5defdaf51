"""The small languages inside a config: templates, JavaScript, patterns, JSON Schema and chat prompts.

``render`` fills in a template, here or in the sandboxed worker; ``TemplateNames`` are its variables. A ``TracedText`` is
escaped only where a value wrote it. A ``Script`` is
JavaScript of a config; ``call`` runs it in the worker and returns a ``ScriptResult``. A ``Formula`` computes a derived metric.
``parse_chat`` reads the messages of a prompt, ``find_objects`` the JSON in a reply. ``check_pattern`` and ``check_schema``
say what is wrong with a pattern or a schema, ``has_match`` and ``schema_problem`` apply them.
"""
