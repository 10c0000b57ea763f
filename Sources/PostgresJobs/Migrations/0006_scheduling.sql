-- Who goes first: what owners and jobs have had, and jobs that wait although they could go on.

-- An owner for whom something is set. The owner '' is whoever has the farm's own token, or none.
CREATE TABLE sheaf.owner (
  owner text COLLATE "C" PRIMARY KEY CHECK (length(owner) <= 64),
  weight double precision NOT NULL DEFAULT 1 CHECK (weight > 0 AND weight < 'Infinity'),
  -- How many of its tasks may run, and how many of its jobs may not have ended. Null: any number.
  most_running bigint CHECK (most_running >= 0),
  most_open bigint CHECK (most_open >= 0)
);

-- What an owner has had among those who have jobs of a priority, in virtual time: when what was granted last begins and
-- ends. The owner ' ' is that of inspections.
CREATE TABLE sheaf.owner_share (
  owner text COLLATE "C" NOT NULL,
  priority integer NOT NULL,
  start double precision NOT NULL,
  finish double precision NOT NULL,
  PRIMARY KEY (owner, priority)
) WITH (fillfactor = 50);

-- The same of a job among those of its owner. A table of its own, because a job's row is changed at a higher cost; and
-- without a reference to it, because a claim would wait for whoever plans or ends the job.
CREATE TABLE sheaf.share (
  job bigint PRIMARY KEY,
  start double precision NOT NULL,
  finish double precision NOT NULL
) WITH (fillfactor = 50);

CREATE FUNCTION sheaf.forget_share() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM sheaf.share WHERE job = OLD.number;
  RETURN NULL;
END $$;

CREATE TRIGGER forget_share AFTER DELETE ON sheaf.job FOR EACH ROW EXECUTE FUNCTION sheaf.forget_share();

ALTER TABLE sheaf.job
  -- Whether its tasks are not granted until somebody takes it up.
  ADD COLUMN is_paused boolean NOT NULL DEFAULT false,
  -- Its tasks are not granted before. Null: at any time.
  ADD COLUMN held_until timestamptz,
  -- The ids of jobs that are to be done before. One that does not exist, or not any more, holds nothing up.
  ADD COLUMN after text[] COLLATE "C" NOT NULL DEFAULT '{}';

ALTER TABLE sheaf.event DROP CONSTRAINT event_kind_check;
ALTER TABLE sheaf.event ADD CONSTRAINT event_kind_check CHECK (kind IN (
  'jobSubmitted', 'jobPlanned', 'jobReplanned', 'jobRetried', 'jobPaused', 'jobResumed', 'jobPriorityChanged',
  'jobEnded', 'jobDeleted', 'taskGranted', 'taskDone', 'taskFailed',
  'workerConnected', 'workerDisconnected', 'workerPaused', 'workerResumed'));

CREATE FUNCTION sheaf.record_steering() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.purpose <> 'render' THEN RETURN NULL; END IF;
  IF NEW.is_paused <> OLD.is_paused THEN
    INSERT INTO sheaf.event (kind, job, name, owner, state)
    VALUES (CASE WHEN NEW.is_paused THEN 'jobPaused' ELSE 'jobResumed' END, NEW.id, NEW.name, NEW.owner, NEW.state);
  END IF;
  IF NEW.priority <> OLD.priority THEN
    INSERT INTO sheaf.event (kind, job, name, owner, state, message)
    VALUES ('jobPriorityChanged', NEW.id, NEW.name, NEW.owner, NEW.state, 'priority ' || NEW.priority);
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER record_steering AFTER UPDATE ON sheaf.job
  FOR EACH ROW WHEN (OLD.is_paused <> NEW.is_paused OR OLD.priority <> NEW.priority)
  EXECUTE FUNCTION sheaf.record_steering();
