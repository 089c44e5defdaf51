"""From a decision to files: the contract of a report, the redaction of secrets, and the places where files may be written.

A *report* is a plug-in that renders a decision with its *links* into a *document*. ``redact`` hides secrets in values before a
report escapes or cuts them. ``deliver`` finds the report and the place for each output, and writes the documents.
"""
