-- What becomes of the load of a copyfrom upload, whatever happens to its process.
alter table cartage.uploads
  -- Of the transaction that loads the rows: host, backend and xid. Written before the first row is sent; PostgreSQL is asked by
  -- the xid what became of it. The answer is there before the transaction is committed.
  add column flight json,
  -- The error of the last try, as it was answered. Of an open upload only.
  add column refusal json,
  -- A DELETE has taken the lock to end the load.
  add column is_cancelled boolean not null default false;
