-- Whether workers are believed: what is known of them beyond their connections, results that are compared before they
-- are used, and who has made each result.

-- By account: the name of workers, and the owner of their token. One of whom nothing is known has no row.
CREATE TABLE sheaf.standing (
  account text COLLATE "C" PRIMARY KEY CHECK (length(account) > 0),
  -- How many of its results another account's worker has made too, the same.
  confirmed bigint NOT NULL DEFAULT 0 CHECK (confirmed >= 0),
  -- Why its workers are granted nothing. Null: they are.
  hold text CHECK (hold IN ('paused', 'draining', 'quarantined')),
  -- For a person.
  reason text NOT NULL DEFAULT '',
  held_at timestamptz,
  -- How often it was quarantined: what it made before the last time is not believed any more.
  quarantines bigint NOT NULL DEFAULT 0 CHECK (quarantines >= 0),
  -- How often its results had to be removed, since they last were. 0: nothing is left of them, as far as they can be
  -- made again.
  taints bigint NOT NULL DEFAULT 0 CHECK (taints >= 0),
  CONSTRAINT standing_hold_is_whole CHECK ((hold IS NULL) = (held_at IS NULL) AND (hold IS NOT NULL OR reason = ''))
);

-- A result that is kept until another worker's is compared with it.
CREATE TABLE sheaf.compared (
  job bigint NOT NULL,
  ordinal integer NOT NULL,
  account text COLLATE "C" NOT NULL,
  -- In the order in which they came.
  number bigint GENERATED ALWAYS AS IDENTITY,
  epoch bigint NOT NULL CHECK (epoch > 0),
  worker text COLLATE "C" NOT NULL,
  result_digest text NOT NULL CHECK (length(result_digest) = 64 AND result_digest !~ '[^0-9a-f]'),
  result_size bigint NOT NULL CHECK (result_size >= 0),
  granted_at timestamptz NOT NULL,
  published_at timestamptz NOT NULL,
  -- From the grant to the result, in microseconds.
  took bigint NOT NULL CHECK (took >= 0),
  PRIMARY KEY (job, ordinal, account),
  FOREIGN KEY (job, ordinal) REFERENCES sheaf.task (job, ordinal) ON DELETE CASCADE
);
CREATE INDEX standing_quarantined ON sheaf.standing (account) WHERE hold = 'quarantined';
CREATE INDEX compared_account ON sheaf.compared (account);

ALTER TABLE sheaf.worker ADD COLUMN account text COLLATE "C";
UPDATE sheaf.worker SET account = name;
ALTER TABLE sheaf.worker ALTER COLUMN account SET NOT NULL;

-- The account of the worker that made the result. Null: there is none, or it is not known.
ALTER TABLE sheaf.task ADD COLUMN maker text COLLATE "C";

-- Why the output of a job that is done may be wrong, for a person.
ALTER TABLE sheaf.job ADD COLUMN doubt text CHECK (state = 'done' OR doubt IS NULL);

ALTER TABLE sheaf.event DROP CONSTRAINT event_kind_check;
ALTER TABLE sheaf.event ADD CONSTRAINT event_kind_check CHECK (kind IN (
  'jobSubmitted', 'jobPlanned', 'jobReplanned', 'jobRetried', 'jobPaused', 'jobResumed', 'jobPriorityChanged',
  'jobEnded', 'jobDeleted', 'jobDoubted', 'taskGranted', 'taskDone', 'taskCompared', 'taskFailed',
  'workerConnected', 'workerDisconnected', 'workerPaused', 'workerResumed', 'workerHeld', 'workerReleased'));

CREATE FUNCTION sheaf.record_standing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' AND NEW.hold IS NULL
    OR TG_OP = 'UPDATE' AND NEW.hold IS NOT DISTINCT FROM OLD.hold AND NEW.reason = OLD.reason
  THEN RETURN NULL; END IF;
  INSERT INTO sheaf.event (kind, name, message)
  VALUES (CASE WHEN NEW.hold IS NULL THEN 'workerReleased' ELSE 'workerHeld' END, NEW.account,
    NEW.hold || ': ' || NEW.reason);
  RETURN NULL;
END $$;

CREATE TRIGGER record_standing AFTER INSERT OR UPDATE ON sheaf.standing
  FOR EACH ROW EXECUTE FUNCTION sheaf.record_standing();

CREATE FUNCTION sheaf.record_compared() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO sheaf.event (kind, job, owner, ordinal, epoch, label, worker, worker_name, took, waited, fetched,
    rendered, uploaded)
  SELECT 'taskCompared', job.id, job.owner, NEW.ordinal, NEW.epoch, task.label, NEW.worker,
    coalesce((SELECT name FROM sheaf.worker WHERE id = NEW.worker), NEW.worker), NEW.took,
    usage.waited, usage.fetched, usage.rendered, usage.uploaded
  FROM sheaf.job JOIN sheaf.task ON task.job = job.number LEFT JOIN sheaf.usage
    ON usage.job = NEW.job AND usage.ordinal = NEW.ordinal AND usage.epoch = NEW.epoch
  WHERE job.number = NEW.job AND task.ordinal = NEW.ordinal;
  RETURN NULL;
END $$;

CREATE TRIGGER record_compared AFTER INSERT ON sheaf.compared
  FOR EACH ROW EXECUTE FUNCTION sheaf.record_compared();

CREATE FUNCTION sheaf.record_doubt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO sheaf.event (kind, job, name, owner, state, message)
  VALUES ('jobDoubted', NEW.id, NEW.name, NEW.owner, NEW.state, NEW.doubt);
  RETURN NULL;
END $$;

CREATE TRIGGER record_doubt AFTER UPDATE ON sheaf.job
  FOR EACH ROW WHEN (NEW.purpose = 'render' AND NEW.doubt IS DISTINCT FROM OLD.doubt AND NEW.doubt IS NOT NULL)
  EXECUTE FUNCTION sheaf.record_doubt();
