-- Which workers take which jobs, and when.

-- Null: every worker takes it. Otherwise those of this pool.
ALTER TABLE sheaf.job ADD COLUMN pool text COLLATE "C"
  CHECK (length(pool) BETWEEN 1 AND 64 AND pool !~ '[^0-9A-Za-z._-]');

ALTER TABLE sheaf.worker ADD COLUMN pools text[] COLLATE "C" NOT NULL DEFAULT '{}';

-- The only pool of workers that register with the token, and of jobs that are submitted with it. Null: they choose.
ALTER TABLE sheaf.token ADD COLUMN pool text COLLATE "C"
  CHECK (pool IS NULL OR length(pool) BETWEEN 1 AND 64 AND pool !~ '[^0-9A-Za-z._-]' AND role IN ('worker', 'submitter'));

-- A pool that has working hours. One without has no row, and is always open.
CREATE TABLE sheaf.pool (
  name text COLLATE "C" PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 64 AND name !~ '[^0-9A-Za-z._-]'),
  -- As they were given, for people.
  hours text NOT NULL,
  time_zone text NOT NULL CHECK (length(time_zone) BETWEEN 1 AND 64)
);

-- The same hours, by the day of the week on which each span begins: 1 is Monday. In minutes from the midnight at which
-- the day begins.
CREATE TABLE sheaf.pool_span (
  pool text COLLATE "C" NOT NULL REFERENCES sheaf.pool ON DELETE CASCADE,
  day integer NOT NULL CHECK (day BETWEEN 1 AND 7),
  opens integer NOT NULL CHECK (opens BETWEEN 0 AND 1439),
  closes integer NOT NULL CHECK (closes BETWEEN opens + 1 AND opens + 1440),
  PRIMARY KEY (pool, day, opens, closes)
);

-- What the workers that take the jobs of a pool were granted last at a priority, in virtual time, and when.
CREATE TABLE sheaf.pool_share (
  priority integer NOT NULL,
  pool text COLLATE "C" NOT NULL,
  start double precision NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (priority, pool)
) WITH (fillfactor = 50);

ALTER TABLE sheaf.event DROP CONSTRAINT event_kind_check;
ALTER TABLE sheaf.event ADD CONSTRAINT event_kind_check CHECK (kind IN (
  'jobSubmitted', 'jobPlanned', 'jobReplanned', 'jobRetried', 'jobPaused', 'jobResumed', 'jobPriorityChanged',
  'jobPoolChanged', 'jobEnded', 'jobDeleted', 'jobDoubted', 'taskGranted', 'taskDone', 'taskCompared', 'taskFailed',
  'workerConnected', 'workerDisconnected', 'workerPaused', 'workerResumed', 'workerHeld', 'workerReleased'));

CREATE FUNCTION sheaf.record_pool() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO sheaf.event (kind, job, name, owner, state, message)
  VALUES ('jobPoolChanged', NEW.id, NEW.name, NEW.owner, NEW.state, coalesce('pool ' || NEW.pool, 'no pool'));
  RETURN NULL;
END $$;

CREATE TRIGGER record_pool AFTER UPDATE ON sheaf.job
  FOR EACH ROW WHEN (NEW.purpose = 'render' AND NEW.pool IS DISTINCT FROM OLD.pool)
  EXECUTE FUNCTION sheaf.record_pool();
