-- What the farm owes and to whom. CHECK constraints make states that mean nothing unstorable; who may go from which
-- state to which is in Sources/Jobs/Postgres. (They hold for every row of every UPDATE, so they are cheap: a pattern
-- with {64} in it costs more than all else that a heartbeat does.)

-- The farm's only clock. A function, so that a test can put its own in the place of this one.
CREATE FUNCTION sheaf.now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
  AS 'SELECT pg_catalog.now()';

CREATE TABLE sheaf.job (
  -- In order of submission.
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 64 AND id !~ '[^0-9a-z-]'),
  name text NOT NULL,
  priority integer NOT NULL,
  state text NOT NULL DEFAULT 'describing'
    CHECK (state IN ('describing', 'rendering', 'done', 'failed', 'cancelled')),
  request bytea NOT NULL,
  -- The build of the workers that may take its tasks, from its first grant or its plan on.
  build text COLLATE "C",
  output_digest text CHECK (length(output_digest) = 64 AND output_digest !~ '[^0-9a-f]'),
  output_size bigint CHECK (output_size >= 0),
  error text,
  submitted_at timestamptz NOT NULL,
  ended_at timestamptz,
  CONSTRAINT job_is_bound CHECK (build IS NOT NULL OR state NOT IN ('rendering', 'done')),
  CONSTRAINT job_done_has_output CHECK (
    (state = 'done') = (output_digest IS NOT NULL) AND (state = 'done') = (output_size IS NOT NULL)),
  CONSTRAINT job_failed_has_error CHECK ((state = 'failed') = (error IS NOT NULL)),
  CONSTRAINT job_ended_has_time CHECK ((state IN ('done', 'failed', 'cancelled')) = (ended_at IS NOT NULL))
);

-- The order in which claims look at jobs.
CREATE INDEX job_active ON sheaf.job (priority DESC, number) WHERE state IN ('describing', 'rendering');

CREATE TABLE sheaf.task (
  job bigint NOT NULL REFERENCES sheaf.job (number) ON DELETE CASCADE,
  ordinal integer NOT NULL CHECK (ordinal >= 0),
  kind text NOT NULL CHECK (kind IN ('describe', 'picture', 'sound', 'stitch')),
  state text NOT NULL CHECK (state IN ('waiting', 'ready', 'leased', 'done', 'failed')),
  payload bytea NOT NULL,
  input_digests text[] NOT NULL,
  input_sizes bigint[] NOT NULL,
  fingerprint text NOT NULL CHECK (length(fingerprint) = 64 AND fingerprint !~ '[^0-9a-f]'),
  cost double precision NOT NULL CHECK (cost >= 0 AND cost < 'Infinity'),
  work bigint NOT NULL CHECK (work >= 0),
  -- Raised at each grant.
  epoch bigint NOT NULL DEFAULT 0 CHECK (epoch >= 0),
  worker text COLLATE "C",
  leased_until timestamptz,
  -- The grant, or the last renewal that told of progress.
  moved_at timestamptz,
  progress bigint NOT NULL DEFAULT 0 CHECK (progress >= 0),
  -- Charged failures, by the workers that had them.
  failed_on text[] COLLATE "C" NOT NULL DEFAULT '{}',
  -- Not to be granted before.
  rests_until timestamptz NOT NULL DEFAULT '-infinity',
  result_digest text CHECK (length(result_digest) = 64 AND result_digest !~ '[^0-9a-f]'),
  result_size bigint CHECK (result_size >= 0),
  is_cached boolean NOT NULL DEFAULT false,
  error text,
  PRIMARY KEY (job, ordinal),
  CONSTRAINT task_inputs_pair CHECK (cardinality(input_digests) = cardinality(input_sizes)),
  CONSTRAINT task_leased_has_lease CHECK (
    (state = 'leased') = (worker IS NOT NULL) AND (state = 'leased') = (leased_until IS NOT NULL)
    AND (state = 'leased') = (moved_at IS NOT NULL) AND (state <> 'leased' OR epoch > 0)),
  CONSTRAINT task_done_has_result CHECK (
    (state = 'done') = (result_digest IS NOT NULL) AND (state = 'done') = (result_size IS NOT NULL)),
  CONSTRAINT task_done_was_granted_or_cached CHECK (state <> 'done' OR is_cached OR epoch > 0),
  CONSTRAINT task_cached_is_done CHECK (NOT is_cached OR state = 'done'),
  CONSTRAINT task_moves_while_leased CHECK (progress = 0 OR state IN ('leased', 'done')),
  CONSTRAINT task_failed_has_error CHECK (state <> 'failed' OR error IS NOT NULL)
) WITH (fillfactor = 80);

-- The order of claims within a job.
CREATE INDEX task_ready ON sheaf.task (job, cost DESC, ordinal) WHERE state = 'ready';
-- As many rows as the farm has busy slots. The times are not in it, so that a renewal touches no index.
CREATE INDEX task_leased ON sheaf.task (worker, job, ordinal) WHERE state = 'leased';
-- Whether a job's stitch, or its plan, still waits for something.
CREATE INDEX task_unfinished ON sheaf.task (job) WHERE state <> 'done' AND kind <> 'stitch';
CREATE UNIQUE INDEX task_stitch ON sheaf.task (job) WHERE kind = 'stitch';
CREATE UNIQUE INDEX task_sound ON sheaf.task (job) WHERE kind = 'sound';

CREATE TABLE sheaf.worker (
  id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  slots integer NOT NULL CHECK (slots >= 0),
  build text NOT NULL,
  coordinator text NOT NULL,
  first_noted timestamptz NOT NULL,
  last_noted timestamptz NOT NULL
);
