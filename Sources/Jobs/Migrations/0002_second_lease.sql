-- A slow picture's second lease (DESIGN 4), its twin: the same work on another worker. Whichever publishes first wins;
-- where the first lease is lost the twin takes its place, and the epochs change places with them, so that both stay
-- known and none is granted again.

ALTER TABLE sheaf.task
  -- When leased: the grant of the first lease.
  ADD COLUMN granted_at timestamptz,
  -- When done and rendered for this job: from the grant of the lease that published to its result, in microseconds.
  ADD COLUMN took bigint CHECK (took >= 0),
  ADD COLUMN twin_worker text COLLATE "C",
  -- The twin's, or the last epoch that is not the first lease's; zero if there never was a twin.
  ADD COLUMN twin_epoch bigint NOT NULL DEFAULT 0 CHECK (twin_epoch >= 0),
  ADD COLUMN twin_until timestamptz,
  ADD COLUMN twin_moved_at timestamptz,
  ADD COLUMN twin_granted_at timestamptz,
  ADD COLUMN twin_progress bigint NOT NULL DEFAULT 0 CHECK (twin_progress >= 0);

-- Nobody wrote down when these were granted; they can only seem younger than they are.
UPDATE sheaf.task SET granted_at = moved_at WHERE state = 'leased';

ALTER TABLE sheaf.task
  ADD CONSTRAINT task_leased_was_granted CHECK ((state = 'leased') = (granted_at IS NOT NULL)),
  ADD CONSTRAINT task_took_time_to_be_rendered CHECK (took IS NULL OR (state = 'done' AND NOT is_cached)),
  ADD CONSTRAINT task_twin_is_whole CHECK (
    (twin_worker IS NULL) = (twin_until IS NULL) AND (twin_worker IS NULL) = (twin_moved_at IS NULL)
    AND (twin_worker IS NULL) = (twin_granted_at IS NULL)
    AND CASE WHEN twin_worker IS NULL THEN twin_progress = 0 ELSE twin_epoch > 0 END),
  ADD CONSTRAINT task_twin_is_another_workers CHECK (
    twin_worker IS NULL OR (state = 'leased' AND kind = 'picture' AND twin_worker <> worker)),
  ADD CONSTRAINT task_epochs_differ CHECK (epoch <> twin_epoch OR epoch = 0);

-- What may become a twin's, longest running first. A renewal changes none of it.
CREATE INDEX task_alone ON sheaf.task (granted_at)
  WHERE state = 'leased' AND kind = 'picture' AND twin_worker IS NULL;
CREATE INDEX task_twin ON sheaf.task (twin_worker, job, ordinal) WHERE twin_worker IS NOT NULL;
