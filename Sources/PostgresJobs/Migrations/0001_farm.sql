-- The farm's jobs and what is known of its workers. CHECK constraints make states that mean nothing unstorable; who may
-- go from which state to which is in Sources/Jobs/Postgres. (They hold for every row of every UPDATE, so they are cheap:
-- a pattern with {64} in it costs more than all else that a heartbeat does.)

-- The farm's only clock. A function, so that a test can put its own in the place of this one.
CREATE FUNCTION sheaf.now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
  AS 'SELECT pg_catalog.now()';

CREATE TABLE sheaf.farm (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  -- When a coordinator last ended the leases that are past their time. Null before the first time.
  expired_at timestamptz,
  -- The identity of the content store. Null before a coordinator has recorded one.
  content_store text
);
INSERT INTO sheaf.farm DEFAULT VALUES;

-- Jobs ----------------------------------------------------------------------------------------------------------------

CREATE TABLE sheaf.job (
  -- In order of submission.
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 64 AND id !~ '[^0-9a-z-]'),
  -- Chosen by the client, for a submission that is repeated.
  submission text COLLATE "C" UNIQUE CHECK (length(submission) BETWEEN 1 AND 64),
  purpose text NOT NULL CHECK (purpose IN ('render', 'inspection')),
  name text NOT NULL,
  priority integer NOT NULL,
  state text NOT NULL DEFAULT 'probing'
    CHECK (state IN ('probing', 'measuring', 'rendering', 'done', 'failed', 'cancelled')),
  request bytea NOT NULL,
  -- The build of the workers that may take its tasks, from the first plan on. Probe tasks go to any build.
  build text COLLATE "C",
  output_digest text CHECK (length(output_digest) = 64 AND output_digest !~ '[^0-9a-f]'),
  output_size bigint CHECK (output_size >= 0),
  -- Whether a client has the output.
  is_fetched boolean NOT NULL DEFAULT false,
  failure_reason text CHECK (failure_reason IN ('document', 'task', 'farm')),
  -- For a person.
  failure_message text,
  -- The ordinal of the task that failed.
  failure_task integer CHECK (failure_task >= 0),
  -- The document's problems as the coordinator encodes them.
  failure_problems bytea,
  submitted_at timestamptz NOT NULL,
  -- When the first task of the plan was granted, of those that are published. Null: none is.
  rendering_since timestamptz,
  ended_at timestamptz,

  -- The counts of its tasks, so that a summary costs no look at them.
  probes bigint NOT NULL DEFAULT 0,
  probes_done bigint NOT NULL DEFAULT 0,
  measures bigint NOT NULL DEFAULT 0,
  measures_done bigint NOT NULL DEFAULT 0,
  videos bigint NOT NULL DEFAULT 0,
  videos_done bigint NOT NULL DEFAULT 0,
  -- Of those that are done: whose results were known when they were planned.
  videos_cached bigint NOT NULL DEFAULT 0,
  -- Of the video tasks.
  work bigint NOT NULL DEFAULT 0,
  work_done bigint NOT NULL DEFAULT 0,
  audios bigint NOT NULL DEFAULT 0,
  audios_done bigint NOT NULL DEFAULT 0,
  -- The median time of the rendered video tasks by their cost, in microseconds. Null where too few were rendered.
  median_pace double precision CHECK (median_pace >= 0),
  -- The most bytes that the process of one of its tasks needs.
  memory bigint NOT NULL DEFAULT 0 CHECK (memory >= 0),

  CONSTRAINT job_counts_check CHECK (
    probes_done BETWEEN 0 AND probes AND measures_done BETWEEN 0 AND measures AND videos_done BETWEEN 0 AND videos
    AND videos_cached BETWEEN 0 AND videos_done AND work_done BETWEEN 0 AND work AND audios BETWEEN 0 AND 1
    AND audios_done BETWEEN 0 AND audios),
  CONSTRAINT job_probing_is_not_planned CHECK (
    state <> 'probing'
    OR build IS NULL AND measures = 0 AND videos = 0 AND audios = 0 AND work = 0 AND median_pace IS NULL),
  CONSTRAINT job_measuring_has_measures_alone CHECK (
    state <> 'measuring' OR measures > 0 AND videos = 0 AND audios = 0 AND work = 0 AND median_pace IS NULL),
  CONSTRAINT job_inspection_is_not_planned CHECK (
    purpose <> 'inspection' OR state NOT IN ('measuring', 'rendering', 'done')),
  CONSTRAINT job_is_bound CHECK (build IS NOT NULL OR state NOT IN ('measuring', 'rendering', 'done')),
  CONSTRAINT job_done_has_output CHECK (
    (state = 'done') = (output_digest IS NOT NULL) AND (state = 'done') = (output_size IS NOT NULL)),
  CONSTRAINT job_fetched_is_done CHECK (state = 'done' OR NOT is_fetched),
  CONSTRAINT job_failed_has_reason CHECK (
    (state = 'failed') = (failure_reason IS NOT NULL) AND (state = 'failed') = (failure_message IS NOT NULL)),
  CONSTRAINT job_failure_names_its_task CHECK (
    (failure_task IS NOT NULL) = (failure_reason IS NOT DISTINCT FROM 'task')),
  CONSTRAINT job_problems_are_the_documents CHECK (
    failure_problems IS NULL OR failure_reason IS NOT DISTINCT FROM 'document'),
  CONSTRAINT job_ended_has_time CHECK ((state IN ('done', 'failed', 'cancelled')) = (ended_at IS NOT NULL))
-- Each result changes the counts, and finds room for the new row in the page.
) WITH (fillfactor = 70);

-- The order in which claims look at jobs.
CREATE INDEX job_active ON sheaf.job (priority DESC, number) WHERE state IN ('probing', 'measuring', 'rendering');
-- The order in which jobs are listed.
CREATE INDEX job_listed ON sheaf.job (purpose, number);
-- The order in which jobs are deleted.
CREATE INDEX job_ended ON sheaf.job (ended_at, number) WHERE ended_at IS NOT NULL;

-- An attempt to plan a job. A plan may end the process that makes it, so an attempt is recorded before it begins and is
-- renewed while it lasts; one that runs out was lost with its coordinator, and is counted.
CREATE TABLE sheaf.planning (
  job bigint PRIMARY KEY REFERENCES sheaf.job (number) ON DELETE CASCADE,
  -- The coordinator whose attempt has not ended.
  planner text,
  until timestamptz NOT NULL,
  lost integer NOT NULL DEFAULT 0 CHECK (lost >= 0)
);

-- Tasks ---------------------------------------------------------------------------------------------------------------

CREATE TABLE sheaf.task (
  job bigint NOT NULL REFERENCES sheaf.job (number) ON DELETE CASCADE,
  ordinal integer NOT NULL CHECK (ordinal >= 0),
  kind text NOT NULL CHECK (kind IN ('probe', 'measure', 'video', 'audio', 'stitch')),
  state text NOT NULL CHECK (state IN ('waiting', 'ready', 'running', 'done', 'failed')),
  -- What the task makes, for people.
  label text NOT NULL,
  payload bytea NOT NULL,
  input_digests text[] NOT NULL,
  input_sizes bigint[] NOT NULL,
  fingerprint text NOT NULL CHECK (length(fingerprint) = 64 AND fingerprint !~ '[^0-9a-f]'),
  cost double precision NOT NULL CHECK (cost >= 0 AND cost < 'Infinity'),
  work bigint NOT NULL CHECK (work >= 0),
  -- The bytes that its process needs at most, as the plan estimates it.
  memory bigint NOT NULL CHECK (memory >= 0),
  -- Raised at each grant.
  epoch bigint NOT NULL DEFAULT 0 CHECK (epoch >= 0),
  -- Attempts up to this epoch are not counted.
  retried_at bigint NOT NULL DEFAULT 0,
  -- Not to be granted before.
  not_before timestamptz NOT NULL DEFAULT '-infinity',
  -- Whether it may be at fault, or its job: of all such tasks one runs at a time.
  is_isolated boolean NOT NULL,
  result_digest text CHECK (length(result_digest) = 64 AND result_digest !~ '[^0-9a-f]'),
  result_size bigint CHECK (result_size >= 0),
  -- Whether the result was known when the task was planned.
  is_cached boolean NOT NULL DEFAULT false,
  -- When done and rendered for this job: the epoch of the lease that published, and the time from its grant to its
  -- result, in microseconds.
  published_epoch bigint,
  took bigint CHECK (took >= 0),
  -- The worker that published the result, if it was recorded.
  publisher text COLLATE "C",
  PRIMARY KEY (job, ordinal),
  CONSTRAINT task_inputs_pair CHECK (cardinality(input_digests) = cardinality(input_sizes)),
  CONSTRAINT task_retried_at_check CHECK (retried_at BETWEEN 0 AND epoch),
  CONSTRAINT task_running_was_granted CHECK (state NOT IN ('running', 'failed') OR epoch > 0),
  CONSTRAINT task_done_has_result CHECK (
    (state = 'done') = (result_digest IS NOT NULL) AND (state = 'done') = (result_size IS NOT NULL)),
  CONSTRAINT task_done_was_published_or_cached CHECK (
    (published_epoch IS NOT NULL) = (state = 'done' AND NOT is_cached)),
  CONSTRAINT task_cached_is_done CHECK (NOT is_cached OR state = 'done'),
  CONSTRAINT task_published_was_granted CHECK (published_epoch BETWEEN 1 AND epoch),
  CONSTRAINT task_took_time_to_be_published CHECK (took IS NULL OR published_epoch IS NOT NULL),
  CONSTRAINT task_publisher_has_published CHECK (publisher IS NULL OR published_epoch IS NOT NULL)
) WITH (fillfactor = 80);

-- The order of claims within a job.
CREATE INDEX task_ready ON sheaf.task (job, cost DESC, ordinal) WHERE state = 'ready' AND NOT is_isolated;
-- Few at a time.
CREATE INDEX task_isolated ON sheaf.task (job, cost DESC, ordinal) WHERE state = 'ready' AND is_isolated;
-- The tasks of which a job's median pace is found: a large job may have few of them for a long time.
CREATE INDEX task_rendered ON sheaf.task (job) WHERE kind = 'video' AND took IS NOT NULL;
CREATE UNIQUE INDEX task_audio ON sheaf.task (job) WHERE kind = 'audio';
CREATE UNIQUE INDEX task_stitch ON sheaf.task (job) WHERE kind = 'stitch';

-- Leases and attempts -------------------------------------------------------------------------------------------------

CREATE TABLE sheaf.lease (
  job bigint NOT NULL,
  ordinal integer NOT NULL,
  epoch bigint NOT NULL CHECK (epoch > 0),
  worker text COLLATE "C" NOT NULL,
  -- The latest connection of its worker that was granted or renewed it.
  session bigint NOT NULL CHECK (session >= 0),
  -- Whether that connection is closed.
  is_away boolean NOT NULL,
  -- Whether another worker holds an earlier lease of the task.
  is_backup boolean NOT NULL,
  granted_at timestamptz NOT NULL,
  until timestamptz NOT NULL,
  -- The grant, or the last renewal that reported movement.
  moved_at timestamptz NOT NULL,
  -- What the worker last reported as its movement, which rises in each session.
  moved bigint NOT NULL,
  progress bigint NOT NULL CHECK (progress >= 0),
  -- Of a video task: its cost and its work, so that what is slow and what is done are known without the task's row.
  video_cost double precision,
  video_work bigint NOT NULL CHECK (video_work >= 0),
  PRIMARY KEY (job, ordinal, epoch),
  -- A task has at most two leases, one of which is a backup lease.
  CONSTRAINT lease_first_and_backup UNIQUE (job, ordinal, is_backup),
  -- The two leases of a task are never of one worker. Also finds a worker's leases.
  CONSTRAINT lease_once_a_worker UNIQUE (worker, job, ordinal),
  CONSTRAINT lease_of_a_video_has_cost CHECK (video_cost IS NOT NULL OR video_work = 0),
  FOREIGN KEY (job, ordinal) REFERENCES sheaf.task (job, ordinal) ON DELETE CASCADE
-- There is one row for each busy slot. A renewal changes no indexed column, and finds room for the new row in the page.
) WITH (fillfactor = 50);

-- The leases that ended without a result.
CREATE TABLE sheaf.attempt (
  job bigint NOT NULL,
  ordinal integer NOT NULL,
  epoch bigint NOT NULL CHECK (epoch > 0),
  -- In the order in which the attempts ended.
  number bigint GENERATED ALWAYS AS IDENTITY,
  worker text COLLATE "C" NOT NULL,
  ended_as text NOT NULL
    CHECK (ended_as IN ('released', 'media', 'document', 'crashed', 'hung', 'exhausted', 'killed')),
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

-- Workers and their builds --------------------------------------------------------------------------------------------

CREATE TABLE sheaf.worker (
  id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  -- The number of its latest connection.
  session bigint NOT NULL CHECK (session >= 0),
  slots integer NOT NULL CHECK (slots >= 0),
  -- The bytes that each of its tasks may use.
  memory bigint NOT NULL CHECK (memory >= 0),
  build text NOT NULL,
  -- The coordinator to which it is connected.
  coordinator text NOT NULL,
  -- Why it takes no tasks for now, for a person; empty if it takes some.
  paused text NOT NULL,
  -- Whether the session's connection is closed, or the worker was not registered again in time. The row stays for some
  -- time, for the worker's name.
  has_left boolean NOT NULL DEFAULT false,
  registered_at timestamptz NOT NULL,
  last_seen timestamptz NOT NULL
) WITH (fillfactor = 50);

-- Of the many workers that have left only the oldest are looked at. A registration changes no index.
CREATE INDEX worker_present ON sheaf.worker (id) WHERE NOT has_left;
CREATE INDEX worker_left ON sheaf.worker (last_seen) WHERE has_left;

CREATE TABLE sheaf.build (
  build text COLLATE "C" PRIMARY KEY,
  -- When a worker of it was last registered.
  last_seen timestamptz NOT NULL
) WITH (fillfactor = 50);
