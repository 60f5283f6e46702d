"""A fuzzer: files, answers, questions and commands as nobody should send them; each is refused well or taken in whole."""
