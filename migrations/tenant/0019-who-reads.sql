-- Names of the reader that views can ask for besides current_user: getpgusername() is an alias of it, SYSTEM_USER has the
-- name of the login, and functions of ours tell keys from their user. So of ours a view may call what depends on its
-- arguments alone.
create or replace function cartage.asks_who_reads(asked oid) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  with recursive read (relation) as (
    select asked
    union
    select used.refobjid
    from read
    join pg_class view on view.oid = relation and view.relkind = 'v'
    join pg_rewrite rule on rule.ev_class = relation
    join pg_depend used on used.classid = 'pg_rewrite'::regclass and used.objid = rule.oid
      and used.refclassid = 'pg_class'::regclass
  )
  select exists (
    select
    from read
    join pg_class class on class.oid = relation
    left join pg_rewrite rule on rule.ev_class = relation and class.relkind = 'v'
    where class.relrowsecurity
      -- CURRENT_ROLE, CURRENT_USER, USER, SESSION_USER and CURRENT_SCHEMA, which is one that the reader may use.
      or rule.ev_action::text ~ '\{SQLVALUEFUNCTION :op (9|10|11|12|14) '
      or exists (
        select
        from cartodb._CDB_Calls(rule.ev_action::text) call
        join pg_proc on pg_proc.oid = call
        join pg_namespace on pg_namespace.oid = pronamespace
        where nspname not in ('pg_catalog', 'postgis', 'cartodb')
          or nspname = 'cartodb' and provolatile <> 'i'
          or proname ~ '^has_.*_privilege$|^pg_stat_get_(activity|backend_userid)$'
          or proname = any ('{pg_has_role,row_security_active,current_setting,pg_show_all_settings,current_user,session_user,
            system_user,getpgusername,current_schema,current_schemas}')))
$$;

-- What keys were granted on such views goes.
select cartage.lower_tables();
