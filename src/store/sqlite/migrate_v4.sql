-- From schema 3 to 4. Purpose: workers that are told to drain, and the document of the fleet's health. Inputs: schema 3.
-- Result: none. Writes: columns of worker, table health.

ALTER TABLE worker ADD COLUMN drain_by TEXT NOT NULL DEFAULT '';  -- who told it to drain, and why
ALTER TABLE worker ADD COLUMN drain_reason TEXT NOT NULL DEFAULT '';

CREATE TABLE health (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  version INTEGER NOT NULL,
  document TEXT NOT NULL
) STRICT;
