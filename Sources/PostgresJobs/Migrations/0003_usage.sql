-- What attempts took of their workers, when tasks were published, and what of the film they make.

ALTER TABLE sheaf.task
  -- How much of the film it makes, in microseconds: 0 if it renders no segment.
  ADD COLUMN duration bigint NOT NULL DEFAULT 0 CHECK (duration >= 0),
  -- Why the segment starts where it does, for a person; empty if it renders none.
  ADD COLUMN boundary text NOT NULL DEFAULT '',
  -- Of the result, if there is one. Null also where it is not known.
  ADD COLUMN published_at timestamptz;

-- What an attempt took, as its worker has measured it. None: it has not ended, or its worker did not say.
CREATE TABLE sheaf.usage (
  job bigint NOT NULL,
  ordinal integer NOT NULL,
  epoch bigint NOT NULL CHECK (epoch > 0),
  worker text COLLATE "C" NOT NULL,
  -- In microseconds: until a slot was free; for inputs; of the task process's work; for the result.
  waited bigint NOT NULL CHECK (waited >= 0),
  fetched bigint NOT NULL CHECK (fetched >= 0),
  rendered bigint NOT NULL CHECK (rendered >= 0),
  uploaded bigint NOT NULL CHECK (uploaded >= 0),
  -- User and system time of the task process, in microseconds.
  cpu bigint NOT NULL CHECK (cpu >= 0),
  peak_bytes bigint NOT NULL CHECK (peak_bytes >= 0),
  fetched_bytes bigint NOT NULL CHECK (fetched_bytes >= 0),
  uploaded_bytes bigint NOT NULL CHECK (uploaded_bytes >= 0),
  PRIMARY KEY (job, ordinal, epoch),
  FOREIGN KEY (job, ordinal) REFERENCES sheaf.task (job, ordinal) ON DELETE CASCADE
);

-- Of the attempt that ended. Null: its worker did not say.
ALTER TABLE sheaf.event ADD COLUMN waited bigint, ADD COLUMN fetched bigint, ADD COLUMN rendered bigint,
  ADD COLUMN uploaded bigint;

CREATE OR REPLACE FUNCTION sheaf.record_result() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO sheaf.event (kind, job, ordinal, epoch, label, worker, worker_name, took, waited, fetched, rendered,
    uploaded)
  SELECT 'taskDone', job.id, NEW.ordinal, NEW.published_epoch, NEW.label, NEW.publisher,
    coalesce((SELECT name FROM sheaf.worker WHERE id = NEW.publisher), NEW.publisher), NEW.took,
    usage.waited, usage.fetched, usage.rendered, usage.uploaded
  FROM sheaf.job LEFT JOIN sheaf.usage
    ON usage.job = NEW.job AND usage.ordinal = NEW.ordinal AND usage.epoch = NEW.published_epoch
  WHERE job.number = NEW.job;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION sheaf.record_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO sheaf.event (kind, job, ordinal, epoch, label, worker, worker_name, ended_as, took, message, waited,
    fetched, rendered, uploaded)
  SELECT 'taskFailed', job.id, NEW.ordinal, NEW.epoch, task.label, NEW.worker,
    coalesce((SELECT name FROM sheaf.worker WHERE id = NEW.worker), NEW.worker), NEW.ended_as, NEW.ran, NEW.message,
    usage.waited, usage.fetched, usage.rendered, usage.uploaded
  FROM sheaf.job JOIN sheaf.task ON task.job = job.number LEFT JOIN sheaf.usage
    ON usage.job = NEW.job AND usage.ordinal = NEW.ordinal AND usage.epoch = NEW.epoch
  WHERE job.number = NEW.job AND task.ordinal = NEW.ordinal;
  RETURN NULL;
END $$;
