-- From schema 4 to 5. Purpose: documents by name, of which the fleet's health is one. Inputs: schema 4. Result: none. Writes: table
-- document; table health goes.

-- What the engine keeps under compare-and-set of the version; what the texts say is its own affair.
CREATE TABLE document (
  name TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  text TEXT NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO document (name, version, text) SELECT 'health', version, document FROM health;

DROP TABLE health;
