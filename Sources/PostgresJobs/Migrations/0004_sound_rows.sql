-- The rules of a job's and of a task's row, which hold as before, in a function for each. PostgreSQL parses the stored
-- text of every CHECK constraint of a table again for each statement that changes a row of it, and a grant and a result
-- change three: the constraints took more time than all else that these statements do. A function is parsed once by each
-- connection.

CREATE FUNCTION sheaf.is_sound(job sheaf.job) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN length(job.id) BETWEEN 1 AND 64 AND job.id !~ '[^0-9a-z-]'
    AND length(job.submission) BETWEEN 1 AND 64
    AND job.purpose IN ('render', 'inspection')
    AND job.state IN ('probing', 'measuring', 'rendering', 'done', 'failed', 'cancelled')
    AND length(job.output_digest) = 64 AND job.output_digest !~ '[^0-9a-f]' AND job.output_size >= 0
    AND job.failure_reason IN ('document', 'task', 'farm') AND job.failure_task >= 0
    AND job.median_pace >= 0 AND job.memory >= 0
    AND job.probes_done BETWEEN 0 AND job.probes AND job.measures_done BETWEEN 0 AND job.measures
    AND job.videos_done BETWEEN 0 AND job.videos AND job.videos_cached BETWEEN 0 AND job.videos_done
    AND job.work_done BETWEEN 0 AND job.work AND job.audios BETWEEN 0 AND 1 AND job.audios_done BETWEEN 0 AND job.audios
    AND (job.state <> 'probing' OR job.build IS NULL AND job.measures = 0 AND job.videos = 0 AND job.audios = 0
      AND job.work = 0 AND job.median_pace IS NULL)
    AND (job.state <> 'measuring' OR job.measures > 0 AND job.videos = 0 AND job.audios = 0 AND job.work = 0
      AND job.median_pace IS NULL)
    AND (job.purpose <> 'inspection' OR job.state NOT IN ('measuring', 'rendering', 'done'))
    AND (job.build IS NOT NULL OR job.state NOT IN ('measuring', 'rendering', 'done'))
    AND (job.state = 'done') = (job.output_digest IS NOT NULL) AND (job.state = 'done') = (job.output_size IS NOT NULL)
    AND (job.state = 'done' OR NOT job.is_fetched)
    AND (job.state = 'failed') = (job.failure_reason IS NOT NULL)
    AND (job.state = 'failed') = (job.failure_message IS NOT NULL)
    AND (job.failure_task IS NOT NULL) = (job.failure_reason IS NOT DISTINCT FROM 'task')
    AND (job.failure_problems IS NULL OR job.failure_reason IS NOT DISTINCT FROM 'document')
    AND (job.state IN ('done', 'failed', 'cancelled')) = (job.ended_at IS NOT NULL);
END $$;

CREATE FUNCTION sheaf.is_sound(task sheaf.task) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN task.ordinal >= 0 AND task.kind IN ('probe', 'measure', 'video', 'audio', 'stitch')
    AND task.state IN ('waiting', 'ready', 'running', 'done', 'failed')
    AND length(task.fingerprint) = 64 AND task.fingerprint !~ '[^0-9a-f]'
    AND task.cost >= 0 AND task.cost < 'Infinity' AND task.work >= 0 AND task.memory >= 0 AND task.duration >= 0
    AND task.epoch >= 0 AND task.retried_at BETWEEN 0 AND task.epoch
    AND cardinality(task.input_digests) = cardinality(task.input_sizes)
    AND length(task.result_digest) = 64 AND task.result_digest !~ '[^0-9a-f]' AND task.result_size >= 0
    AND task.took >= 0 AND task.published_epoch BETWEEN 1 AND task.epoch
    AND (task.state NOT IN ('running', 'failed') OR task.epoch > 0)
    AND (task.state = 'done') = (task.result_digest IS NOT NULL)
    AND (task.state = 'done') = (task.result_size IS NOT NULL)
    AND (task.published_epoch IS NOT NULL) = (task.state = 'done' AND NOT task.is_cached)
    AND (NOT task.is_cached OR task.state = 'done')
    AND (task.took IS NULL OR task.published_epoch IS NOT NULL)
    AND (task.publisher IS NULL OR task.published_epoch IS NOT NULL);
END $$;

DO $$
DECLARE
  rule record;
BEGIN
  FOR rule IN SELECT conrelid::regclass AS relation, conname FROM pg_catalog.pg_constraint
    WHERE contype = 'c' AND conrelid IN ('sheaf.job'::regclass, 'sheaf.task'::regclass)
  LOOP
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', rule.relation, rule.conname);
  END LOOP;
END $$;

ALTER TABLE sheaf.job ADD CONSTRAINT job_is_sound CHECK (sheaf.is_sound(job));
ALTER TABLE sheaf.task ADD CONSTRAINT task_is_sound CHECK (sheaf.is_sound(task));
