-- A task that may be at fault is isolated, and a task has the memory that it needs.
--
-- A task process that reaches the limit of its memory, or that is killed from outside, is an end of an attempt of its
-- own. After two attempts that may be its own doing a task is isolated: of all such tasks one runs at a time.

-- The statements below may rewrite every task of a large farm.
SET LOCAL statement_timeout = 0;

LOCK TABLE sheaf.job, sheaf.task, sheaf.attempt, sheaf.worker;

ALTER TABLE sheaf.attempt
  DROP CONSTRAINT attempt_ended_as_check,
  ADD CONSTRAINT attempt_ended_as_check CHECK (
    ended_as IN ('released', 'media', 'document', 'crashed', 'hung', 'exhausted', 'killed'));

ALTER TABLE sheaf.task
  -- The bytes that its process needs at most, as the plan estimates it.
  ADD COLUMN memory bigint NOT NULL DEFAULT 0 CHECK (memory >= 0),
  ADD COLUMN is_isolated boolean NOT NULL DEFAULT false;
ALTER TABLE sheaf.task
  ALTER COLUMN memory DROP DEFAULT,
  ALTER COLUMN is_isolated DROP DEFAULT;

ALTER TABLE sheaf.job
  -- The most that one of its tasks needs.
  ADD COLUMN memory bigint NOT NULL DEFAULT 0 CHECK (memory >= 0);

-- The order of claims within a job.
DROP INDEX sheaf.task_ready;
CREATE INDEX task_ready ON sheaf.task (job, cost DESC, ordinal) WHERE state = 'ready' AND NOT is_isolated;
-- Few at a time.
CREATE INDEX task_isolated ON sheaf.task (job, cost DESC, ordinal) WHERE state = 'ready' AND is_isolated;

ALTER TABLE sheaf.worker
  -- The bytes that each of its tasks may use. A worker that is listed here connects again, and says how many.
  ADD COLUMN memory bigint NOT NULL DEFAULT 9223372036854775807 CHECK (memory >= 0);
ALTER TABLE sheaf.worker ALTER COLUMN memory DROP DEFAULT;
