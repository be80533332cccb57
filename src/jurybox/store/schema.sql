-- One run. A (rubric, judge) pair is a series: it has one configuration in a run file, so its figures have one signature.
-- Narrow rows are counted (judgments), wide ones are read one at a time (calls). Every tree costs a commit its pages, so
-- there are few: a judgment's key is its place, a call keeps its verdicts' reasons.

CREATE TABLE series (
    series INTEGER PRIMARY KEY,
    rubric TEXT NOT NULL,
    judge TEXT NOT NULL,
    samples INTEGER NOT NULL,
    expected INTEGER NOT NULL,     -- judgments that the run set out for
    version TEXT NOT NULL,         -- of jurybox
    address TEXT NOT NULL,         -- of the judge
    settings TEXT NOT NULL,        -- what must not change within the file, as JSON
    lacks TEXT NOT NULL DEFAULT '{}', -- what the server turned out not to have, each with its words, as JSON
    body TEXT NOT NULL,            -- the rubric itself, as JSON
    UNIQUE (rubric, judge)
);

CREATE TABLE sources (source INTEGER PRIMARY KEY, digest INTEGER NOT NULL UNIQUE, body TEXT NOT NULL);

CREATE TABLE items (
    item INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    system TEXT NOT NULL,
    summary TEXT NOT NULL,
    source INTEGER NOT NULL REFERENCES sources,
    metadata TEXT NOT NULL,
    UNIQUE (id, system)
);

CREATE TABLE ratings (
    item INTEGER NOT NULL REFERENCES items,
    rubric TEXT NOT NULL,
    rater TEXT NOT NULL,
    score REAL NOT NULL,
    PRIMARY KEY (item, rubric, rater)
) WITHOUT ROWID;

CREATE TABLE calls (
    call INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,      -- hash of model, parameters, prompt, sample
    prompt_digest BLOB NOT NULL,
    sample INTEGER NOT NULL,
    attempts INTEGER NOT NULL,     -- 0: nobody was asked
    error TEXT,                    -- why there is no reply
    text TEXT, reasoning TEXT, refusal TEXT, finish TEXT, model TEXT,
    tokens_in INTEGER, tokens_out INTEGER, tokens_cached INTEGER,
    seconds REAL, cost REAL, at REAL NOT NULL,
    scale TEXT,                    -- probability of each step of the scale, as JSON; from answers by digit
    reasons TEXT NOT NULL,         -- of the verdicts, by rubric, as JSON
    reused INTEGER NOT NULL,       -- 1: from the cache of earlier runs, nothing was paid
    shown TEXT                     -- what the judge was shown of the material where that was shortened, as JSON
);

CREATE TABLE attempts (            -- what came before the last try of a call, if anything did
    call INTEGER NOT NULL REFERENCES calls,
    attempt INTEGER NOT NULL,
    error TEXT,
    text TEXT, reasoning TEXT, refusal TEXT, finish TEXT, model TEXT,
    tokens_in INTEGER, tokens_out INTEGER, tokens_cached INTEGER,
    seconds REAL, scale TEXT
);
CREATE INDEX attempts_of_call ON attempts (call);

CREATE TABLE quotes (              -- passages that a judge quotes in its reason; field is NULL where the material lacks one
    call INTEGER NOT NULL REFERENCES calls,
    rubric TEXT NOT NULL,
    quote TEXT NOT NULL,
    field TEXT,
    entry INTEGER,                 -- of a field that is a list, from 0
    "start" INTEGER, "end" INTEGER,
    similarity REAL
);
CREATE INDEX quotes_of_call ON quotes (call);

CREATE TABLE judgments (
    item INTEGER NOT NULL REFERENCES items,
    series INTEGER NOT NULL REFERENCES series,
    sample INTEGER NOT NULL,
    call INTEGER NOT NULL REFERENCES calls,
    score REAL,
    status TEXT NOT NULL,
    PRIMARY KEY (item, series, sample),
    CHECK ((status = 'scored') = (score IS NOT NULL))
) WITHOUT ROWID;
