"""Reads answers made elsewhere, which anybody may have written.

A `RecordingFile` has the rows of one file. A `RecordingFormat` recognises the rows of its format, and turns them into
`RecordedAnswer`s. Each answer names its planned call by an id, or by a `RecordedQuestion`. `load_recordings` opens the files,
chooses the format of each, and returns `Recordings`: the answers, and the mistakes in the files.

`fields` parses what formats share: texts, numbers, usage and tool calls. `messages` parses the messages of a conversation into
turns. If an unknown part might be a tool call, it is a mistake, or `calls_unknown` says why calls may be missing.
"""
