-- The journal of the farm, written by triggers in the transactions of what it records; and the webhooks, whose
-- deliveries are written with it.

CREATE TABLE sheaf.event (
  -- The transaction that recorded it. Events get their numbers before they are committed, so a reader that went on after
  -- the highest number would miss those that are committed later: it reads in the order of the transactions, and only
  -- those that are older than any that is under way.
  xact bigint NOT NULL DEFAULT pg_catalog.pg_current_xact_id()::text::bigint,
  number bigint GENERATED ALWAYS AS IDENTITY,
  at timestamptz NOT NULL DEFAULT sheaf.now(),
  kind text NOT NULL CHECK (kind IN (
    'jobSubmitted', 'jobPlanned', 'jobReplanned', 'jobRetried', 'jobEnded', 'jobDeleted',
    'taskGranted', 'taskDone', 'taskFailed',
    'workerConnected', 'workerDisconnected', 'workerPaused', 'workerResumed')),
  -- No references: what has happened stays in the journal when its job is deleted.
  job text COLLATE "C",
  -- The job's, or the worker's.
  name text,
  -- The job's after it.
  state text,
  ordinal integer,
  epoch bigint,
  label text,
  worker text COLLATE "C",
  worker_name text,
  ended_as text,
  -- From the grant, or from the submission, in microseconds.
  took bigint,
  -- The plan's.
  tasks bigint,
  cached bigint,
  -- For a person.
  message text,
  result_digest text,
  result_size bigint,
  PRIMARY KEY (xact, number)
);
CREATE UNIQUE INDEX event_number ON sheaf.event (number);

-- Up to where events were removed, but for those that a delivery is about.
ALTER TABLE sheaf.farm ADD COLUMN removed_xact bigint NOT NULL DEFAULT 0,
  ADD COLUMN removed_number bigint NOT NULL DEFAULT 0;

-- Jobs ----------------------------------------------------------------------------------------------------------------

CREATE TABLE sheaf.webhook (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64 AND id !~ '[^0-9a-z_]'),
  url text NOT NULL,
  description text NOT NULL,
  -- The types of message that it is sent. Empty: all.
  types text[] NOT NULL,
  secret bytea NOT NULL,
  -- The secret before, with which messages are signed too until its time.
  previous_secret bytea,
  previous_until timestamptz,
  -- Why it is sent nothing, for a person. Null: it is sent messages.
  disabled text,
  created_at timestamptz NOT NULL,
  CONSTRAINT webhook_previous_is_whole CHECK ((previous_secret IS NULL) = (previous_until IS NULL))
);

-- A message to a webhook.
CREATE TABLE sheaf.delivery (
  webhook text COLLATE "C" NOT NULL REFERENCES sheaf.webhook (id) ON DELETE CASCADE,
  event bigint NOT NULL REFERENCES sheaf.event (number),
  type text NOT NULL,
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
  -- Those that were begun.
  attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  -- Those of the schedule that were begun: it begins anew when the message is sent again.
  turn integer NOT NULL DEFAULT 0 CHECK (turn >= 0),
  -- Not to be attempted before. Also the end of the attempt that is under way, if its coordinator does not end it.
  due_at timestamptz NOT NULL,
  -- The last attempt.
  attempted_at timestamptz,
  -- The status of its reply.
  status integer,
  -- Why it failed, for a person.
  message text,
  PRIMARY KEY (webhook, event)
);
CREATE INDEX delivery_due ON sheaf.delivery (webhook, due_at, event) WHERE state = 'pending';
CREATE INDEX delivery_event ON sheaf.delivery (event);

CREATE FUNCTION sheaf.record_job() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  job sheaf.job;
  kind text;
  recorded bigint;
  message_type text;
BEGIN
  job := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
  IF job.purpose <> 'render' THEN RETURN NULL; END IF;
  kind := CASE
    WHEN TG_OP = 'DELETE' THEN 'jobDeleted'
    WHEN TG_OP = 'INSERT' THEN 'jobSubmitted'
    WHEN job.ended_at IS NOT NULL THEN 'jobEnded'
    WHEN job.state <> 'probing' THEN 'jobPlanned'
    WHEN OLD.ended_at IS NOT NULL THEN 'jobRetried'
    ELSE 'jobReplanned' END;
  INSERT INTO sheaf.event (kind, job, name, state, took, tasks, cached, message, result_digest, result_size)
  VALUES (kind, job.id, job.name, job.state,
    CASE kind WHEN 'jobEnded' THEN (extract(epoch FROM job.ended_at - job.submitted_at) * 1000000)::bigint END,
    CASE WHEN kind <> 'jobPlanned' THEN NULL WHEN job.state = 'measuring' THEN job.measures
      ELSE job.videos + job.audios + 1 END,
    CASE WHEN kind <> 'jobPlanned' THEN NULL WHEN job.state = 'measuring' THEN job.measures_done
      ELSE job.videos_done + job.audios_done END,
    CASE kind WHEN 'jobEnded' THEN job.failure_message END,
    CASE kind WHEN 'jobEnded' THEN job.output_digest END, CASE kind WHEN 'jobEnded' THEN job.output_size END)
  RETURNING number INTO recorded;
  message_type := CASE kind WHEN 'jobEnded' THEN 'job.' || job.state ELSE 'job.' || lower(substr(kind, 4)) END;
  INSERT INTO sheaf.delivery (webhook, event, type, due_at)
  SELECT id, recorded, message_type, sheaf.now() FROM sheaf.webhook
  WHERE disabled IS NULL AND (types = '{}' OR message_type = ANY (types));
  RETURN NULL;
END $$;

CREATE TRIGGER record_submission AFTER INSERT OR DELETE ON sheaf.job
  FOR EACH ROW EXECUTE FUNCTION sheaf.record_job();
CREATE TRIGGER record_state AFTER UPDATE ON sheaf.job
  FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION sheaf.record_job();

-- Tasks ---------------------------------------------------------------------------------------------------------------

-- One statement for all grants of a claim.
CREATE FUNCTION sheaf.record_grants() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO sheaf.event (kind, job, ordinal, epoch, label, worker, worker_name)
  SELECT 'taskGranted', job.id, granted.ordinal, granted.epoch, task.label, granted.worker,
    coalesce(worker.name, granted.worker)
  FROM granted JOIN sheaf.task ON (task.job, task.ordinal) = (granted.job, granted.ordinal)
    JOIN sheaf.job ON job.number = granted.job LEFT JOIN sheaf.worker ON worker.id = granted.worker;
  RETURN NULL;
END $$;

CREATE TRIGGER record_grants AFTER INSERT ON sheaf.lease
  REFERENCING NEW TABLE AS granted FOR EACH STATEMENT EXECUTE FUNCTION sheaf.record_grants();

CREATE FUNCTION sheaf.record_result() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO sheaf.event (kind, job, ordinal, epoch, label, worker, worker_name, took)
  SELECT 'taskDone', job.id, NEW.ordinal, NEW.published_epoch, NEW.label, NEW.publisher,
    coalesce((SELECT name FROM sheaf.worker WHERE id = NEW.publisher), NEW.publisher), NEW.took
  FROM sheaf.job WHERE number = NEW.job;
  RETURN NULL;
END $$;

CREATE TRIGGER record_result AFTER UPDATE ON sheaf.task
  FOR EACH ROW WHEN (OLD.published_epoch IS NULL AND NEW.published_epoch IS NOT NULL)
  EXECUTE FUNCTION sheaf.record_result();

CREATE FUNCTION sheaf.record_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO sheaf.event (kind, job, ordinal, epoch, label, worker, worker_name, ended_as, took, message)
  SELECT 'taskFailed', job.id, NEW.ordinal, NEW.epoch, task.label, NEW.worker,
    coalesce((SELECT name FROM sheaf.worker WHERE id = NEW.worker), NEW.worker), NEW.ended_as, NEW.ran, NEW.message
  FROM sheaf.job JOIN sheaf.task ON task.job = job.number
  WHERE job.number = NEW.job AND task.ordinal = NEW.ordinal;
  RETURN NULL;
END $$;

CREATE TRIGGER record_attempt AFTER INSERT ON sheaf.attempt
  FOR EACH ROW EXECUTE FUNCTION sheaf.record_attempt();

-- Workers -------------------------------------------------------------------------------------------------------------

CREATE FUNCTION sheaf.record_worker() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' OR NEW.registered_at <> OLD.registered_at THEN
    INSERT INTO sheaf.event (kind, worker, name) VALUES ('workerConnected', NEW.id, NEW.name);
  ELSIF NEW.has_left AND NOT OLD.has_left THEN
    INSERT INTO sheaf.event (kind, worker, name) VALUES ('workerDisconnected', NEW.id, NEW.name);
  END IF;
  IF TG_OP = 'INSERT' AND NEW.paused <> '' OR TG_OP = 'UPDATE' AND NEW.paused <> OLD.paused THEN
    INSERT INTO sheaf.event (kind, worker, name, message)
    VALUES (CASE NEW.paused WHEN '' THEN 'workerResumed' ELSE 'workerPaused' END, NEW.id, NEW.name,
      nullif(NEW.paused, ''));
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER record_new_worker AFTER INSERT ON sheaf.worker
  FOR EACH ROW EXECUTE FUNCTION sheaf.record_worker();
-- Not the heartbeats.
CREATE TRIGGER record_worker AFTER UPDATE ON sheaf.worker
  FOR EACH ROW
  WHEN (OLD.registered_at <> NEW.registered_at OR NEW.has_left AND NOT OLD.has_left OR OLD.paused <> NEW.paused)
  EXECUTE FUNCTION sheaf.record_worker();
