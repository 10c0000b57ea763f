-- Workers number their connections, and a job has the counts of its tasks.
--
-- A lease belongs to the latest connection of its worker that has renewed it, and goes on when that connection is closed.
-- What a job's summary shows is in the job's own row, so that it costs no look at its tasks. A job is bound to a build
-- when it is planned, and probe tasks go to any build. Jobs that are being rendered go on.

-- The statements below may rewrite every task of a large farm, and the connection's settings are for small statements.
SET LOCAL statement_timeout = 0;
SET LOCAL enable_seqscan = on;
SET LOCAL enable_bitmapscan = on;
SET LOCAL enable_hashjoin = on;

-- A coordinator of an earlier version may still run. What it would change between two statements below would be lost.
LOCK TABLE sheaf.job, sheaf.task, sheaf.worker, sheaf.lease, sheaf.attempt;

-- The farm ------------------------------------------------------------------------------------------------------------

CREATE TABLE sheaf.farm (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  -- When a coordinator last ended the leases that are past their time. Null before the first time.
  expired_at timestamptz,
  -- The identity of the content store. Null before a coordinator has recorded one.
  content_store text
);
INSERT INTO sheaf.farm DEFAULT VALUES;

-- Workers and builds --------------------------------------------------------------------------------------------------

ALTER TABLE sheaf.worker
  ALTER COLUMN session TYPE bigint USING 0,
  ADD CONSTRAINT worker_session_check CHECK (session >= 0),
  -- Why it takes no tasks for now, for a person; empty if it takes some.
  ADD COLUMN paused text NOT NULL DEFAULT '',
  -- Whether the session's connection is closed. The row stays for some time, for the worker's name.
  ADD COLUMN has_left boolean NOT NULL DEFAULT false,
  SET (fillfactor = 50);
ALTER TABLE sheaf.worker ALTER COLUMN paused DROP DEFAULT;

CREATE TABLE sheaf.build (
  build text COLLATE "C" PRIMARY KEY,
  -- When a worker of it was last registered.
  last_seen timestamptz NOT NULL
) WITH (fillfactor = 50);
-- After this update the workers of a job's build have some time to connect before the job is bound anew.
INSERT INTO sheaf.build SELECT DISTINCT build, sheaf.now() FROM sheaf.job WHERE state = 'rendering';

-- Leases --------------------------------------------------------------------------------------------------------------

ALTER TABLE sheaf.lease
  -- The latest connection of its worker that was granted or renewed it.
  ALTER COLUMN session TYPE bigint USING 0,
  ADD CONSTRAINT lease_session_check CHECK (session >= 0),
  -- Whether that connection is closed.
  ADD COLUMN is_away boolean NOT NULL DEFAULT false,
  -- What the worker last reported as its movement, which rises in each session.
  ADD COLUMN moved bigint NOT NULL DEFAULT 0,
  -- Of a video task: its cost and its work, so that what is slow and what is done are known without the task's row.
  ADD COLUMN video_cost double precision,
  ADD COLUMN video_work bigint NOT NULL DEFAULT 0 CHECK (video_work >= 0);
UPDATE sheaf.lease SET video_cost = task.cost, video_work = task.work
  FROM sheaf.task WHERE (task.job, task.ordinal) = (lease.job, lease.ordinal) AND task.kind = 'video';
ALTER TABLE sheaf.lease
  ALTER COLUMN is_away DROP DEFAULT,
  ALTER COLUMN moved DROP DEFAULT,
  ALTER COLUMN video_work DROP DEFAULT,
  ADD CONSTRAINT lease_of_a_video_has_cost CHECK (video_cost IS NOT NULL OR video_work = 0);

-- The candidates for a backup lease are found by their jobs.
DROP INDEX sheaf.lease_first;

-- Tasks ---------------------------------------------------------------------------------------------------------------

ALTER TABLE sheaf.task
  -- What the task makes, for people.
  ADD COLUMN label text NOT NULL DEFAULT '',
  -- Attempts up to this epoch are not counted.
  ADD COLUMN retried_at bigint NOT NULL DEFAULT 0,
  -- The worker that published the result, if it was recorded.
  ADD COLUMN publisher text COLLATE "C",
  ADD CONSTRAINT task_retried_at_check CHECK (retried_at BETWEEN 0 AND epoch),
  ADD CONSTRAINT task_publisher_has_published CHECK (publisher IS NULL OR published_epoch IS NOT NULL);
ALTER TABLE sheaf.task ALTER COLUMN label DROP DEFAULT;

-- The counts of the job's row are instead of it.
DROP INDEX sheaf.task_unfinished;

-- Jobs ----------------------------------------------------------------------------------------------------------------

ALTER TABLE sheaf.job
  -- Chosen by the client, for a submission that is repeated.
  ADD COLUMN submission text COLLATE "C" UNIQUE CHECK (length(submission) BETWEEN 1 AND 64),
  -- Whether a client has the output.
  ADD COLUMN is_fetched boolean NOT NULL DEFAULT false,
  ADD COLUMN probes bigint NOT NULL DEFAULT 0,
  ADD COLUMN probes_done bigint NOT NULL DEFAULT 0,
  ADD COLUMN videos bigint NOT NULL DEFAULT 0,
  ADD COLUMN videos_done bigint NOT NULL DEFAULT 0,
  -- Of those that are done: whose results were known when they were planned.
  ADD COLUMN videos_cached bigint NOT NULL DEFAULT 0,
  -- Of the video tasks.
  ADD COLUMN work bigint NOT NULL DEFAULT 0,
  ADD COLUMN work_done bigint NOT NULL DEFAULT 0,
  ADD COLUMN audios bigint NOT NULL DEFAULT 0,
  ADD COLUMN audios_done bigint NOT NULL DEFAULT 0,
  -- The median time of the rendered video tasks by their cost, in microseconds. Null where too few were rendered.
  ADD COLUMN median_pace double precision CHECK (median_pace >= 0),
  -- Each result changes the counts, and finds room for the new row in the page.
  SET (fillfactor = 70);

UPDATE sheaf.job SET build = NULL WHERE state = 'probing';
UPDATE sheaf.job SET probes = counted.probes, probes_done = counted.probes_done, videos = counted.videos,
  videos_done = counted.videos_done, videos_cached = counted.videos_cached, work = counted.work,
  work_done = counted.work_done, audios = counted.audios, audios_done = counted.audios_done,
  median_pace = CASE WHEN rendered >= 3 THEN counted.median_pace END
FROM (
  SELECT task.job,
    count(*) FILTER (WHERE kind = 'probe') AS probes,
    count(*) FILTER (WHERE kind = 'probe' AND state = 'done') AS probes_done,
    count(*) FILTER (WHERE kind = 'video') AS videos,
    count(*) FILTER (WHERE kind = 'video' AND state = 'done') AS videos_done,
    count(*) FILTER (WHERE kind = 'video' AND is_cached) AS videos_cached,
    coalesce(sum(work) FILTER (WHERE kind = 'video'), 0) AS work,
    coalesce(sum(work) FILTER (WHERE kind = 'video' AND state = 'done'), 0) AS work_done,
    count(*) FILTER (WHERE kind = 'audio') AS audios,
    count(*) FILTER (WHERE kind = 'audio' AND state = 'done') AS audios_done,
    count(*) FILTER (WHERE kind = 'video' AND took IS NOT NULL AND cost BETWEEN 1e-9 AND 1e18) AS rendered,
    percentile_disc(0.5) WITHIN GROUP (ORDER BY took / cost)
      FILTER (WHERE kind = 'video' AND took IS NOT NULL AND cost BETWEEN 1e-9 AND 1e18) AS median_pace
  FROM sheaf.task GROUP BY task.job
) AS counted
WHERE job.number = counted.job;

ALTER TABLE sheaf.job
  ADD CONSTRAINT job_counts_check CHECK (
    probes_done BETWEEN 0 AND probes AND videos_done BETWEEN 0 AND videos AND videos_cached BETWEEN 0 AND videos_done
    AND work_done BETWEEN 0 AND work AND audios BETWEEN 0 AND 1 AND audios_done BETWEEN 0 AND audios),
  ADD CONSTRAINT job_probing_is_not_planned CHECK (
    state <> 'probing' OR build IS NULL AND videos = 0 AND audios = 0 AND work = 0 AND median_pace IS NULL),
  ADD CONSTRAINT job_fetched_is_done CHECK (state = 'done' OR NOT is_fetched);

-- The order in which jobs are deleted.
CREATE INDEX job_ended ON sheaf.job (ended_at, number) WHERE ended_at IS NOT NULL;
