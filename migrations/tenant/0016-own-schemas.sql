-- The schema of an organization's member belongs to the member, who shares it by GRANT. It is made with the account, and a
-- member can make no other one: without it, the account would be of no use any more.
create function cartage.check_own_schemas() returns event_trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  lost text;
begin
  if cartodb.CDB_Username() is null then
    return;
  end if;
  select schema_name into lost
  from cartage.accounts
  where not exists (
    select from pg_namespace
    where nspname = schema_name and (schema_name = 'public' or pg_get_userbyid(nspowner) = master_role));
  if found then
    raise exception 'the schema "%" belongs to its account: it cannot be dropped, renamed or given away', lost
      using errcode = 'insufficient_privilege', hint = 'Drop what is in it.';
  end if;
end
$$;

create event trigger cartage_check_own_schemas on ddl_command_end
  when tag in ('DROP SCHEMA', 'ALTER SCHEMA', 'DROP EXTENSION')
  execute function cartage.check_own_schemas();
