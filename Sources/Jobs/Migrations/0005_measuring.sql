-- Jobs are measured.
--
-- A film with an average bit rate has a measure task for each segment. Its video tasks are planned when those are done, so
-- its job is planned twice: from `probing` to `measuring`, and from there to `rendering`. Jobs that are being rendered go
-- on as they were planned.

-- The statements below read every task of a large farm.
SET LOCAL statement_timeout = 0;

LOCK TABLE sheaf.job, sheaf.task;

DROP INDEX sheaf.job_active;
ALTER TABLE sheaf.job
  DROP CONSTRAINT job_state_check,
  DROP CONSTRAINT job_inspection_is_not_planned,
  DROP CONSTRAINT job_is_bound,
  DROP CONSTRAINT job_counts_check,
  DROP CONSTRAINT job_probing_is_not_planned,
  ADD COLUMN measures bigint NOT NULL DEFAULT 0,
  ADD COLUMN measures_done bigint NOT NULL DEFAULT 0,
  ADD CONSTRAINT job_state_check CHECK (
    state IN ('probing', 'measuring', 'rendering', 'done', 'failed', 'cancelled')),
  ADD CONSTRAINT job_inspection_is_not_planned CHECK (
    purpose <> 'inspection' OR state NOT IN ('measuring', 'rendering', 'done')),
  ADD CONSTRAINT job_is_bound CHECK (build IS NOT NULL OR state NOT IN ('measuring', 'rendering', 'done')),
  ADD CONSTRAINT job_counts_check CHECK (
    probes_done BETWEEN 0 AND probes AND measures_done BETWEEN 0 AND measures AND videos_done BETWEEN 0 AND videos
    AND videos_cached BETWEEN 0 AND videos_done AND work_done BETWEEN 0 AND work AND audios BETWEEN 0 AND 1
    AND audios_done BETWEEN 0 AND audios),
  ADD CONSTRAINT job_probing_is_not_planned CHECK (
    state <> 'probing'
    OR build IS NULL AND measures = 0 AND videos = 0 AND audios = 0 AND work = 0 AND median_pace IS NULL),
  ADD CONSTRAINT job_measuring_has_measures_alone CHECK (
    state <> 'measuring' OR measures > 0 AND videos = 0 AND audios = 0 AND work = 0 AND median_pace IS NULL);
CREATE INDEX job_active ON sheaf.job (priority DESC, number) WHERE state IN ('probing', 'measuring', 'rendering');

ALTER TABLE sheaf.task
  DROP CONSTRAINT task_kind_check,
  ADD CONSTRAINT task_kind_check CHECK (kind IN ('probe', 'measure', 'video', 'audio', 'stitch'));
