-- Attempts to plan a job, and when it began to be rendered.
--
-- A plan may end the process that makes it. An attempt is recorded before it begins and is renewed while it lasts; one that
-- runs out was lost with its coordinator, and is counted.

CREATE TABLE sheaf.planning (
  job bigint PRIMARY KEY REFERENCES sheaf.job (number) ON DELETE CASCADE,
  -- The coordinator whose attempt has not ended.
  planner text,
  until timestamptz NOT NULL,
  lost integer NOT NULL DEFAULT 0 CHECK (lost >= 0)
);

-- When the first task of the plan was granted, of those that are published. Null: none is.
ALTER TABLE sheaf.job ADD COLUMN rendering_since timestamptz;
