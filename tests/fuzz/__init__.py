"""A fuzzer: files, answers, edits and commands as nobody should send them are refused well, or taken in whole."""
