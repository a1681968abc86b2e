-- The leases under which processes trust what they remember of accounts and keys.

-- Counts the changes of accounts, each when it is committed: whoever reads a number sees all changes up to it.
create sequence cartage.account_changes minvalue 0 start 0;
select nextval('cartage.account_changes');

-- One row for each process that may hold a lease. Logged, so that no crash of the server hides one that is still valid.
create table cartage.cache_leases (
  id        bigint generated always as identity primary key,
  -- The last change of which the process has confirmed that it no longer trusts what it knew before.
  confirmed bigint not null,
  -- Grows with every renewal: a row that stands still for the time of a lease belongs to nobody who trusts it.
  renewals  bigint not null default 0
) with (fillfactor = 50);
