-- The audit record of keys, and records that are shipped.

-- The day (UTC) whose first use is in the audit record.
alter table cartage.key_uses add column audited_on date;

-- Records to be written to a file, if the configuration names one. A process takes them out after it has written them, so each is
-- written at least once. No foreign key: the refusal to truncate the record stays its own.
create table cartage.audit_outbox (
  id bigint primary key
);

create function cartage.ship_audit() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    insert into cartage.audit_outbox values (new.id);
  else
    delete from cartage.audit_outbox where id = old.id;
  end if;
  return null;
end
$$;
create trigger ship_audit after insert or delete on cartage.audit for each row execute function cartage.ship_audit();
