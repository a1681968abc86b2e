-- Temporary tables are for keys that write: those with create on a schema, or with insert, update or delete on a table.
do $$
declare
  key text;
begin
  for key in
    select role_name
    from cartage.roles
    join pg_catalog.pg_roles on rolname = role_name
    where key_type = 'regular'
      and not exists (
        select from cartage.grants where grants.role_name = roles.role_name and permissions && '{insert,update,delete}')
      and not exists (
        select from pg_catalog.pg_namespace, pg_catalog.aclexplode(nspacl) acl
        where acl.grantee = pg_roles.oid and acl.privilege_type = 'CREATE')
  loop
    execute pg_catalog.format('revoke temporary on database %I from %I', pg_catalog.current_database(), key);
  end loop;
end
$$;
