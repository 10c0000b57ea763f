-- Who may use the farm, who has used it, and whose each job is.

CREATE TABLE sheaf.token (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64 AND id !~ '[^0-9a-z_]'),
  -- Of its text, which only its owner has.
  digest text NOT NULL UNIQUE CHECK (length(digest) = 64 AND digest !~ '[^0-9a-f]'),
  role text NOT NULL CHECK (role IN ('viewer', 'submitter', 'operator', 'worker', 'metrics')),
  owner text COLLATE "C" NOT NULL CHECK (length(owner) BETWEEN 1 AND 64),
  description text NOT NULL,
  created_at timestamptz NOT NULL,
  -- Null: it does not expire.
  expires_at timestamptz,
  revoked_at timestamptz
);

CREATE TABLE sheaf.audit (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL,
  action text NOT NULL,
  -- Who: the role, and the owner and the id of the token. Those are null where it was the farm's own token, or none.
  role text NOT NULL,
  owner text COLLATE "C",
  token text COLLATE "C",
  -- Where from.
  address text NOT NULL,
  -- What it was done to. No reference: it stays in the audit when it is deleted.
  subject text COLLATE "C" NOT NULL,
  -- For a person.
  detail text NOT NULL,
  times bigint NOT NULL CHECK (times > 0)
);
CREATE INDEX audit_at ON sheaf.audit (at, number);

-- Null: it was submitted with the farm's own token, or without one.
ALTER TABLE sheaf.job ADD COLUMN owner text COLLATE "C";
CREATE INDEX job_owned ON sheaf.job (owner, purpose, number) WHERE owner IS NOT NULL;

-- Of its job.
ALTER TABLE sheaf.event ADD COLUMN owner text COLLATE "C";

CREATE OR REPLACE FUNCTION sheaf.record_job() RETURNS trigger LANGUAGE plpgsql AS $$
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
  INSERT INTO sheaf.event (kind, job, name, owner, state, took, tasks, cached, message, result_digest, result_size)
  VALUES (kind, job.id, job.name, job.owner, job.state,
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

CREATE OR REPLACE FUNCTION sheaf.record_grants() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO sheaf.event (kind, job, owner, ordinal, epoch, label, worker, worker_name)
  SELECT 'taskGranted', job.id, job.owner, granted.ordinal, granted.epoch, task.label, granted.worker,
    coalesce(worker.name, granted.worker)
  FROM granted JOIN sheaf.task ON (task.job, task.ordinal) = (granted.job, granted.ordinal)
    JOIN sheaf.job ON job.number = granted.job LEFT JOIN sheaf.worker ON worker.id = granted.worker;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION sheaf.record_result() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO sheaf.event (kind, job, owner, ordinal, epoch, label, worker, worker_name, took, waited, fetched,
    rendered, uploaded)
  SELECT 'taskDone', job.id, job.owner, NEW.ordinal, NEW.published_epoch, NEW.label, NEW.publisher,
    coalesce((SELECT name FROM sheaf.worker WHERE id = NEW.publisher), NEW.publisher), NEW.took,
    usage.waited, usage.fetched, usage.rendered, usage.uploaded
  FROM sheaf.job LEFT JOIN sheaf.usage
    ON usage.job = NEW.job AND usage.ordinal = NEW.ordinal AND usage.epoch = NEW.published_epoch
  WHERE job.number = NEW.job;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION sheaf.record_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO sheaf.event (kind, job, owner, ordinal, epoch, label, worker, worker_name, ended_as, took, message,
    waited, fetched, rendered, uploaded)
  SELECT 'taskFailed', job.id, job.owner, NEW.ordinal, NEW.epoch, task.label, NEW.worker,
    coalesce((SELECT name FROM sheaf.worker WHERE id = NEW.worker), NEW.worker), NEW.ended_as, NEW.ran, NEW.message,
    usage.waited, usage.fetched, usage.rendered, usage.uploaded
  FROM sheaf.job JOIN sheaf.task ON task.job = job.number LEFT JOIN sheaf.usage
    ON usage.job = NEW.job AND usage.ordinal = NEW.ordinal AND usage.epoch = NEW.epoch
  WHERE job.number = NEW.job AND task.ordinal = NEW.ordinal;
  RETURN NULL;
END $$;
