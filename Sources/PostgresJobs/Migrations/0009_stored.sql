-- How many bytes of the content store the jobs of an owner may name. Null: any number.
ALTER TABLE sheaf.owner ADD COLUMN most_stored bigint CHECK (most_stored >= 0);
