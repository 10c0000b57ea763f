-- The sound of a long film is several tasks, of which each mixes and encodes a part.
DROP INDEX sheaf.task_audio;
CREATE INDEX task_audio ON sheaf.task (job, ordinal) WHERE kind = 'audio';
COMMENT ON COLUMN sheaf.lease.video_cost IS 'The cost of a video or an audio task, by which a slow one is known.';

CREATE OR REPLACE FUNCTION sheaf.is_sound(job sheaf.job) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
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
    AND job.work_done BETWEEN 0 AND job.work AND job.audios_done BETWEEN 0 AND job.audios
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
