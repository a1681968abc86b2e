-- Imports: files that become tables. An import is a job whose definition has the member "isImport", so that it is queued, claimed,
-- fenced, settled and cleaned as one; what only an import has is here.

create table cartage.imports (
  user_id    integer not null,
  id         uuid not null,
  -- The key that made it, whose role runs it. A key that was deleted since has no role.
  key_id     integer not null,
  -- What the client asked for.
  source     json not null,
  options    json not null,
  -- The directory for files of imports that has its file; null: it has none.
  spool      uuid,
  -- Finer than the status of its job.
  phase      text not null default 'pending' check (phase in ('pending', 'uploading', 'unpacking', 'importing')),
  progress   json,
  -- Tables, warnings, error: written before the transaction commits, and true if it did.
  result     json,
  attempts   smallint not null default 0,
  primary key (user_id, id),
  foreign key (user_id, id) references cartage.jobs on delete cascade
) with (fillfactor = 70);
