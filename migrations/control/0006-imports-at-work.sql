-- The claim of the worker that has files or processes of an import open. A cancel is answered when it is null again.
alter table cartage.imports add column at_work uuid;
