-- Leases and attempts become rows.
--
-- A task had a first lease and a second one in columns of its own, and the workers of its failures in an array. Now a
-- lease is a row of sheaf.lease, which a renewal changes without touching the task, and every lease that ended without
-- a result is a row of sheaf.attempt. States, kinds and columns get their present names. A job has its purpose and the
-- reason of its failure.
--
-- This version also changes the payloads of the tasks and the protocol of the workers. Workers of an earlier version
-- cannot connect any more, so none of them goes on with its tasks, and workers of this version cannot run the video,
-- audio and stitch tasks of an earlier one. So jobs that are being rendered are planned again.

-- The statements below may rewrite every task of a large farm.
SET LOCAL statement_timeout = 0;

-- A coordinator of an earlier version may still run. What it would change between two statements below would be lost.
LOCK TABLE sheaf.job, sheaf.task, sheaf.worker;

-- Jobs that have not ended --------------------------------------------------------------------------------------------

-- A job that is being rendered keeps only its probe tasks, which are done. The form of their results has not changed,
-- and the coordinator plans the job from them again.
DELETE FROM sheaf.task USING sheaf.job
  WHERE job.number = task.job AND job.state = 'rendering' AND task.kind <> 'describe';

-- The workers of this version run the probe tasks that are not done yet, and these get the present payload. The payload
-- of a task that is done, or whose job has ended, is not read again.
UPDATE sheaf.task SET payload = convert_to('{"probe":{}}', 'UTF8')
  FROM sheaf.job
  WHERE job.number = task.job AND job.ended_at IS NULL AND task.kind = 'describe' AND task.state <> 'done';

-- Leases --------------------------------------------------------------------------------------------------------------

CREATE TABLE sheaf.lease (
  job bigint NOT NULL,
  ordinal integer NOT NULL,
  epoch bigint NOT NULL CHECK (epoch > 0),
  worker text COLLATE "C" NOT NULL,
  -- The worker's connection at the time of the grant.
  session text COLLATE "C" NOT NULL,
  -- Whether another worker holds an earlier lease of the task.
  is_backup boolean NOT NULL,
  granted_at timestamptz NOT NULL,
  until timestamptz NOT NULL,
  -- The grant, or the last renewal that reported progress.
  moved_at timestamptz NOT NULL,
  progress bigint NOT NULL CHECK (progress >= 0),
  PRIMARY KEY (job, ordinal, epoch),
  -- A task has at most two leases, one of which is a backup lease.
  CONSTRAINT lease_first_and_backup UNIQUE (job, ordinal, is_backup),
  -- The two leases of a task are never of one worker. Also finds a worker's leases.
  CONSTRAINT lease_once_a_worker UNIQUE (worker, job, ordinal),
  FOREIGN KEY (job, ordinal) REFERENCES sheaf.task (job, ordinal) ON DELETE CASCADE
-- There is one row for each busy slot. A renewal changes no indexed column, and finds room for the new row in the page.
) WITH (fillfactor = 50);

-- The candidates for a backup lease.
CREATE INDEX lease_first ON sheaf.lease (granted_at) WHERE NOT is_backup;

-- No lease is taken over, because its worker cannot renew it. The tasks that are still running are probe tasks. They
-- become ready below, without an attempt, because nothing has failed.

-- Attempts ------------------------------------------------------------------------------------------------------------

CREATE TABLE sheaf.attempt (
  job bigint NOT NULL,
  ordinal integer NOT NULL,
  epoch bigint NOT NULL CHECK (epoch > 0),
  -- In the order in which the attempts ended.
  number bigint GENERATED ALWAYS AS IDENTITY,
  worker text COLLATE "C" NOT NULL,
  ended_as text NOT NULL CHECK (ended_as IN ('released', 'media', 'document', 'crashed', 'hung')),
  message text NOT NULL,
  -- Null where it is not known.
  ended_at timestamptz,
  -- From the grant to the end, in microseconds. Null where it is not known.
  ran bigint CHECK (ran >= 0),
  -- How the task process ended, where the worker reported it.
  exit_code integer,
  signal integer,
  cpu_milliseconds bigint CHECK (cpu_milliseconds >= 0),
  peak_bytes bigint CHECK (peak_bytes >= 0),
  log text,
  PRIMARY KEY (job, ordinal, epoch),
  CONSTRAINT attempt_process_is_whole CHECK (
    (exit_code IS NULL) = (signal IS NULL) AND (exit_code IS NULL) = (cpu_milliseconds IS NULL)
    AND (exit_code IS NULL) = (peak_bytes IS NULL) AND (exit_code IS NULL) = (log IS NULL)),
  FOREIGN KEY (job, ordinal) REFERENCES sheaf.task (job, ordinal) ON DELETE CASCADE
);

-- Of the attempts before this version the database has the workers of the counted ones, in order, and the message of
-- the last attempt, counted or not. The epochs are the highest ones, except for the one of a lease that is held or
-- that has published.
WITH old AS (
  SELECT job, ordinal, state, failed_on, error, greatest(epoch, twin_epoch) AS highest,
    CASE WHEN state = 'leased' OR state = 'done' AND NOT is_cached THEN epoch END AS other_epoch,
    cardinality(failed_on) AS counted,
    -- Whether the last attempt is the last of the counted ones.
    error IS NULL OR cardinality(failed_on) > 0 AND (
      error LIKE 'media: %' OR error LIKE 'worker % made no progress for too long'
      OR state = 'failed' AND error NOT LIKE 'document: %') AS last_is_counted
  FROM sheaf.task WHERE error IS NOT NULL OR cardinality(failed_on) > 0
), ended AS (
  SELECT old.job, old.ordinal, failure.place, failure.worker,
    CASE WHEN failure.place = counted AND last_is_counted AND error LIKE 'worker % made no progress for too long'
      THEN 'hung' ELSE 'media' END AS ended_as,
    CASE WHEN failure.place = counted AND last_is_counted THEN error END AS message
  FROM old CROSS JOIN LATERAL unnest(failed_on) WITH ORDINALITY AS failure (worker, place)
  UNION ALL
  SELECT job, ordinal, counted + 1,
    coalesce(substring(error from '^the (?:lease|connection) of worker (\S+) (?:ran out|closed)$'), 'unknown'),
    CASE state WHEN 'failed' THEN 'document' ELSE 'released' END, error
  FROM old WHERE NOT last_is_counted
), ranked AS (
  SELECT *, row_number() OVER (PARTITION BY job, ordinal ORDER BY place DESC) AS rank FROM ended
), free AS (
  SELECT job, ordinal, epoch, row_number() OVER (PARTITION BY job, ordinal ORDER BY epoch DESC) AS rank
  FROM old CROSS JOIN LATERAL generate_series(greatest(highest - counted - 2, 1), highest) AS series (epoch)
  WHERE epoch IS DISTINCT FROM other_epoch
)
INSERT INTO sheaf.attempt (job, ordinal, epoch, worker, ended_as, message)
  SELECT job, ordinal, free.epoch, ranked.worker, ranked.ended_as,
    coalesce(regexp_replace(ranked.message, '^(media|document): ', ''), 'the message was not recorded')
  FROM ranked JOIN free USING (job, ordinal, rank)
  ORDER BY job, ordinal, ranked.place;

-- Jobs ----------------------------------------------------------------------------------------------------------------

DROP INDEX sheaf.job_active;
ALTER TABLE sheaf.job
  DROP CONSTRAINT job_state_check,
  DROP CONSTRAINT job_is_bound,
  DROP CONSTRAINT job_failed_has_error,
  ADD COLUMN purpose text NOT NULL DEFAULT 'render',
  ADD COLUMN failure_reason text,
  -- For a person.
  ADD COLUMN failure_message text,
  -- The ordinal of the task that failed.
  ADD COLUMN failure_task integer CHECK (failure_task >= 0),
  -- The document's problems as the coordinator encodes them.
  ADD COLUMN failure_problems bytea;

-- A job's error was the text of its document's problems as JSON, or the message of the task that failed, or the
-- coordinator's own.
UPDATE sheaf.job SET
  failure_reason = CASE
    WHEN old.failed_task IS NOT NULL THEN 'task' WHEN old.has_problems THEN 'document' ELSE 'farm' END,
  failure_task = old.failed_task,
  failure_problems = CASE WHEN old.failed_task IS NULL AND old.has_problems THEN convert_to(error, 'UTF8') END,
  failure_message = CASE
    WHEN old.failed_task IS NULL AND old.has_problems THEN 'the document does not hold against its media'
    WHEN error ~ '^(describe|picture|sound|stitch) task \S+ failed for good \(' THEN
      CASE split_part(error, ' ', 1)
        WHEN 'describe' THEN 'probe' WHEN 'picture' THEN 'video' WHEN 'sound' THEN 'audio' ELSE 'stitch' END
        || regexp_replace(substring(error from ' .*$'), '\): media: ', '): ')
    ELSE regexp_replace(error, '^(media|document): ', '')
  END
FROM (
  SELECT number, error LIKE '[{"%' AND error LIKE '%}]' AS has_problems,
    (SELECT min(task.ordinal) FROM sheaf.task WHERE task.job = job.number AND task.state = 'failed') AS failed_task
  FROM sheaf.job WHERE state = 'failed'
) AS old
WHERE job.number = old.number;

UPDATE sheaf.job SET purpose = 'inspection' WHERE id LIKE 'inspect-%' AND state NOT IN ('rendering', 'done');
-- No worker of this version has the build that the job is bound to. Its next grant or its plan binds it again.
UPDATE sheaf.job SET state = 'probing', build = NULL WHERE state IN ('describing', 'rendering');

ALTER TABLE sheaf.job
  DROP COLUMN error,
  ALTER COLUMN state SET DEFAULT 'probing',
  ALTER COLUMN purpose DROP DEFAULT,
  ADD CONSTRAINT job_state_check CHECK (state IN ('probing', 'rendering', 'done', 'failed', 'cancelled')),
  ADD CONSTRAINT job_purpose_check CHECK (purpose IN ('render', 'inspection')),
  ADD CONSTRAINT job_inspection_is_not_planned CHECK (purpose <> 'inspection' OR state NOT IN ('rendering', 'done')),
  ADD CONSTRAINT job_is_bound CHECK (build IS NOT NULL OR state NOT IN ('rendering', 'done')),
  ADD CONSTRAINT job_failed_has_reason CHECK (
    (state = 'failed') = (failure_reason IS NOT NULL) AND (state = 'failed') = (failure_message IS NOT NULL)),
  ADD CONSTRAINT job_failure_reason_check CHECK (failure_reason IN ('document', 'task', 'farm')),
  ADD CONSTRAINT job_failure_names_its_task CHECK (
    (failure_task IS NOT NULL) = (failure_reason IS NOT DISTINCT FROM 'task')),
  ADD CONSTRAINT job_problems_are_the_documents CHECK (
    failure_problems IS NULL OR failure_reason IS NOT DISTINCT FROM 'document');

-- The order in which claims look at jobs.
CREATE INDEX job_active ON sheaf.job (priority DESC, number) WHERE state IN ('probing', 'rendering');
-- The order in which jobs are listed.
CREATE INDEX job_listed ON sheaf.job (purpose, number);

-- Tasks ---------------------------------------------------------------------------------------------------------------

DROP INDEX sheaf.task_leased, sheaf.task_alone, sheaf.task_twin, sheaf.task_sound;
ALTER TABLE sheaf.task
  DROP CONSTRAINT task_kind_check,
  DROP CONSTRAINT task_state_check,
  DROP CONSTRAINT task_leased_has_lease,
  DROP CONSTRAINT task_done_was_granted_or_cached,
  DROP CONSTRAINT task_moves_while_leased,
  DROP CONSTRAINT task_failed_has_error,
  DROP CONSTRAINT task_leased_was_granted,
  DROP CONSTRAINT task_took_time_to_be_rendered,
  DROP CONSTRAINT task_twin_is_whole,
  DROP CONSTRAINT task_twin_is_another_workers,
  DROP CONSTRAINT task_epochs_differ,
  -- When done and rendered for this job: the epoch of the lease that published.
  ADD COLUMN published_epoch bigint;

UPDATE sheaf.task SET
  kind = CASE kind WHEN 'describe' THEN 'probe' WHEN 'picture' THEN 'video' WHEN 'sound' THEN 'audio' ELSE kind END,
  state = CASE state WHEN 'leased' THEN 'ready' ELSE state END,
  published_epoch = CASE WHEN state = 'done' AND NOT is_cached THEN epoch END,
  epoch = greatest(epoch, twin_epoch);

ALTER TABLE sheaf.task RENAME COLUMN rests_until TO not_before;
ALTER TABLE sheaf.task
  DROP COLUMN worker,
  DROP COLUMN leased_until,
  DROP COLUMN moved_at,
  DROP COLUMN granted_at,
  DROP COLUMN progress,
  DROP COLUMN failed_on,
  DROP COLUMN error,
  DROP COLUMN twin_worker,
  DROP COLUMN twin_epoch,
  DROP COLUMN twin_until,
  DROP COLUMN twin_moved_at,
  DROP COLUMN twin_granted_at,
  DROP COLUMN twin_progress,
  ADD CONSTRAINT task_kind_check CHECK (kind IN ('probe', 'video', 'audio', 'stitch')),
  ADD CONSTRAINT task_state_check CHECK (state IN ('waiting', 'ready', 'running', 'done', 'failed')),
  ADD CONSTRAINT task_running_was_granted CHECK (state NOT IN ('running', 'failed') OR epoch > 0),
  ADD CONSTRAINT task_done_was_published_or_cached CHECK (
    (published_epoch IS NOT NULL) = (state = 'done' AND NOT is_cached)),
  ADD CONSTRAINT task_published_was_granted CHECK (published_epoch BETWEEN 1 AND epoch),
  ADD CONSTRAINT task_took_time_to_be_published CHECK (took IS NULL OR published_epoch IS NOT NULL);

CREATE UNIQUE INDEX task_audio ON sheaf.task (job) WHERE kind = 'audio';

-- Workers -------------------------------------------------------------------------------------------------------------

-- No worker of an earlier version connects again. A plan binds its job to the build of a worker that is listed here, so
-- none of these may stay.
DELETE FROM sheaf.worker;
ALTER TABLE sheaf.worker RENAME COLUMN first_noted TO registered_at;
ALTER TABLE sheaf.worker RENAME COLUMN last_noted TO last_seen;
ALTER TABLE sheaf.worker ADD COLUMN session text COLLATE "C" NOT NULL;
