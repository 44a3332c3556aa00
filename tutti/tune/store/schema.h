// Tables of a study file.
#pragma once

namespace tutti::tune {

// Stored in the header of the file (PRAGMA application_id and user_version).
inline constexpr int kApplicationId = 0x54757474;  // "Tutt"
inline constexpr int kSchemaVersion = 1;

inline constexpr const char* kCreateTables = R"sql(
CREATE TABLE studies (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  directions TEXT NOT NULL,   -- JSON array of "minimize" and "maximize"
  settings TEXT NOT NULL,     -- JSON
  created REAL NOT NULL       -- Unix time in seconds
);
CREATE TABLE trials (
  study INTEGER NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  state INTEGER NOT NULL,     -- 0 running, 1 complete, 2 pruned, 3 failed, 4 waiting
  started REAL,
  ended REAL,
  PRIMARY KEY (study, number)
) WITHOUT ROWID;
CREATE TABLE results (        -- values of the objectives, and constraints
  study INTEGER NOT NULL,
  number INTEGER NOT NULL,
  kind TEXT NOT NULL,         -- "value" or "constraint"
  position INTEGER NOT NULL,
  value REAL NOT NULL,
  PRIMARY KEY (study, number, kind, position),
  FOREIGN KEY (study, number) REFERENCES trials (study, number) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE TABLE distributions (
  id INTEGER PRIMARY KEY,
  json TEXT NOT NULL UNIQUE
);
CREATE TABLE parameters (
  study INTEGER NOT NULL,
  number INTEGER NOT NULL,
  position INTEGER NOT NULL,  -- order in which they were drawn
  name TEXT NOT NULL,
  value REAL NOT NULL,        -- index of the choice if categorical
  distribution INTEGER NOT NULL REFERENCES distributions (id),
  PRIMARY KEY (study, number, position),
  FOREIGN KEY (study, number) REFERENCES trials (study, number) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE TABLE reports (
  study INTEGER NOT NULL,
  number INTEGER NOT NULL,
  step INTEGER NOT NULL,
  value REAL,                 -- NULL: not a number
  PRIMARY KEY (study, number, step),
  FOREIGN KEY (study, number) REFERENCES trials (study, number) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE TABLE attributes (
  study INTEGER NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
  number INTEGER NOT NULL,    -- -1: of the study
  is_system INTEGER NOT NULL,
  key TEXT NOT NULL,
  json TEXT NOT NULL,
  PRIMARY KEY (study, number, is_system, key)
) WITHOUT ROWID;
)sql";

}  // namespace tutti::tune
