"""What a run knows of its surroundings, and its config files, read into suites.

`context` builds the `Context` of a run. `load` finds the config files and reads each into a `SuiteFile`: a dialect
recognises the file as its `Source` and reads it into a `Suite`. Every part of a file is read through one `ConfigReader`,
which collects mistakes and notes. `keys` declares which keys may be written. `cases`, `prompts`, `providers` and `policy`
read what is written under them. `test_files` loads tests from files, with `csv_tests` and `goldens`; `code` loads code.
`key_mistakes` and `unknown_keys` say what is wrong with a key and what to write instead. `overrides` applies the options
of the command line to a suite. `schema` makes the JSON Schema for editors. `aegis` declares the payloads of Aegis's API.
"""
