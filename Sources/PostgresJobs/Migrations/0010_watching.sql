-- Until when somebody watches the job's film while it renders, so that its tasks are granted in the film's order. Null:
-- nobody has.
ALTER TABLE sheaf.job ADD COLUMN watched_until timestamptz;
