-- Of what a key was made with, only this is not in the catalogs of the tenant database.
alter table cartage.api_keys
  add column apis text[] not null default '{}',
  add column services text[] not null default '{}',
  add column has_table_metadata boolean not null default false;
update cartage.api_keys set
  apis = array(select jsonb_array_elements_text(jsonb_path_query(grants, '$[*] ? (@.type == "apis").apis'))),
  services = array(select jsonb_array_elements_text(jsonb_path_query(grants, '$[*] ? (@.type == "dataservices").services'))),
  has_table_metadata = jsonb_path_exists(grants, '$[*] ? (@.type == "database").table_metadata');
alter table cartage.api_keys drop column grants;

-- How many keys a user has is asked by every page of them and by every new one: it is known, not counted anew.
alter table cartage.users add column regular_keys integer not null default 0;
update cartage.users set regular_keys = (
  select count(*) from cartage.api_keys where user_id = users.id and type = 'regular');

create function cartage.count_regular_key() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    update cartage.users set regular_keys = regular_keys + 1 where id = new.user_id;
  else
    update cartage.users set regular_keys = regular_keys - 1 where id = old.user_id;
  end if;
  return null;
end
$$;
create trigger count_new_key after insert on cartage.api_keys
  for each row when (new.type = 'regular') execute function cartage.count_regular_key();
create trigger count_deleted_key after delete on cartage.api_keys
  for each row when (old.type = 'regular') execute function cartage.count_regular_key();
