-- The control database of 0.1.0: the user alice, the organization acme with its owner olga and its member max, two regular keys, a
-- job that is done and one that waits.
insert into cartage.server_secret values
  (1, '\xc20d0ef4f5ddc151be6646f28748a65340887c6589febefbfcdb0413d0822018', null);

insert into cartage.account_names values ('alice'), ('acme'), ('olga'), ('max');
insert into cartage.databases (host_id, name, migrated_to) values
  (1, 'cartage_u1', '0009-removal'),
  (1, 'cartage_o1', '0009-removal');
insert into cartage.organizations (name, database_id, state) values ('acme', 2, 'active');
insert into cartage.users
  (username, organization_id, org_role, database_id, schema_name, master_role, public_role, quota_in_bytes, state)
values
  ('alice', null, null, 1, 'public', 'cartage_u1', 'cartage_u1_public', 104857600, 'active'),
  ('olga', 1, 'owner', 2, 'olga', 'cartage_u2', 'cartage_u2_public', 0, 'active'),
  ('max', 1, 'member', 2, 'max', 'cartage_u3', 'cartage_u3_public', 0, 'active');

insert into cartage.api_keys (user_id, name, type, role_name, token_hash, token_encrypted, apis) values
  (1, 'Master', 'master', 'cartage_u1',
   '\xd51e8553d71fb8f88416d9e9bbc7fd60a22f09ca883dd64a98fc10be73877bc9',
   '\x707a8d42b721101624e7f6552227f613d9eb57a26999adcf704856b9ab0278686465049de8da361a6cb48a26bbfc45755d84341f632740c31af5fa9df97b25028136c1b7b813ed30e1803229ea8e842b948cb34038ed2b', '{}'),
  (1, 'Default public', 'default', 'cartage_u1_public',
   '\xe6c668b464e7077b352d29c6aa2531eae3694447f3def49aa9c21a32efaba57e',
   '\x4e52896be9e0938b3d841c441eae58ec6a70dd1d3ea467dfe102d5062851d21ca90ec57834bf25a5f183', '{}'),
  (2, 'Master', 'master', 'cartage_u2',
   '\x7cee8431afbed2dc22179aa696bfe2ba6fb2ac511aebf794d5376d6feec751f6',
   '\x0baadf0b2ad394aa1bf097a2668b25edc6fdc45819ae254264f0fa2e29ba7a2467dcdbdd038e17be47c6efa37e1f3ba04b23bc1c36a584b7bf3a90dc7b8dfc0d03226701afe559c8a662ebdec56613dc5c7ded4b7fa995', '{}'),
  (2, 'Default public', 'default', 'cartage_u2_public',
   '\xe6c668b464e7077b352d29c6aa2531eae3694447f3def49aa9c21a32efaba57e',
   '\x61a7bd672370d70e333f8f7f51adaab5fa63d9c179201362a2bd5e2e8c0ae7679ea37952b50fdf20869a', '{}'),
  (3, 'Master', 'master', 'cartage_u3',
   '\xb0713c66d7fa1f49b626c5384532290f66e1036cf16fff9a27140ee5c3487ec3',
   '\x7256063ea4e75289d5b757bc825785b0425a9cc590473b78c0b67a8400c3668a7285bac4e5b2a178c2774b10c47be6cce5d829c856703a3ba786e4412e8c066f179e15920c8c72fd1ed7efd71da9d632d0b151beec7959', '{}'),
  (3, 'Default public', 'default', 'cartage_u3_public',
   '\xe6c668b464e7077b352d29c6aa2531eae3694447f3def49aa9c21a32efaba57e',
   '\x81ace9d09739983679905b36419fa538da117a0dcea499333f8393976aead8d154eb5c5d4b24c28e4047', '{}'),
  (1, 'reader', 'regular', 'cartage_u1_k7',
   '\x32ae048d92a861322b0f6f04935557542bfa1ecf647d2950f3349e8786139ba2',
   '\x01bd70ac52642a2d9a31dc903f098f5eeb4a113de1c4d3a31bfa3bee1ebba4d3fcffdfe57f2f2c1d606b402f6c22848a213116a3dea5a3871e641a4b9b0eb8225936e950323045198507060a11848459dddd3af1e9e47a', '{sql}'),
  (3, 'writer', 'regular', 'cartage_u3_k8',
   '\x074172b85ae6c1232b7948c7277c72a6ad50fb2f341e22b21c6da95e1ab95922',
   '\xdccc9015e5f00ed31d24daa325c42f9e53e57ae9330db149ff94ee53634cf9995ed715176413146c92fcfe70acfb742d7e7d65705a8f328ba8b43f361f58fb53b89e0a032c7f3dc1434815c07678ce2a0929927e1c74fa', '{sql}');

insert into cartage.audit (actor, action, account, details) values
  ('operator', 'user.created', 'alice', '{"organization": null, "quota_in_bytes": 104857600}');

insert into cartage.jobs
  (user_id, id, host_id, status, definition, progress, revision, write_id, created_at, updated_at, finished_at)
values
  (1, '710fadf6-fa23-4df0-be69-14011000cb9f', 1, 'done',
   '{"form":"array","items":[{"statement":"create table made_by_job as select 7 as a"},{"statement":"select 1"}]}',
   '{"items":[{"status":"done","startedAt":"2026-11-17T13:27:23.561Z","endedAt":"2026-11-17T13:27:23.705Z"},{"status":"done","startedAt":"2026-11-17T13:27:23.705Z","endedAt":"2026-11-17T13:27:23.730Z"}]}',
   4, 'd5cd4d5a-82dc-4e38-bc4f-42972a8125a7', now() - interval '1 minute', now(), now()),
  (3, 'd3d4ddd7-d1a2-4cb7-89ab-7718f63954dd', 1, 'pending',
   '{"form":"array","items":[{"statement":"insert into notes (text) values (''by the job'')"}]}',
   null, 0, null, now(), now(), null);
insert into cartage.job_queues values (1, 1, 0, 0, now()), (3, 1, 1, 0, '-infinity');
