import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { loadGrammar } from '../../src/sql/grammar.ts'
import { classifyJobItem } from '../../src/sql/job-statement.ts'
import { setup } from '../support/service/setup.ts'

before(loadGrammar)

const schema = `
  create table plain (id int primary key, mood text);
  create index plain_mood on plain (mood);
  create table parted (id int primary key) partition by range (id);
  create table part partition of parted for values from (0) to (10);
  create index parted_id on parted (id);
  create type mood as enum ('sad');
  create view seen as select * from plain;
  create materialized view kept as select * from plain;
  create procedure commits() language plpgsql as 'begin commit; end';
  create procedure stays() language plpgsql as 'begin perform 1; end'`

const refusedInTransaction = [
  'VACUUM',
  'VACUUM plain',
  'VACUUM (ANALYZE) plain',
  'CREATE INDEX CONCURRENTLY ON plain (mood)',
  'DROP INDEX CONCURRENTLY plain_mood',
  'REINDEX TABLE CONCURRENTLY plain',
  'REINDEX (CONCURRENTLY) INDEX plain_mood',
  'REINDEX (VERBOSE, CONCURRENTLY true) TABLE plain',
  'REINDEX SCHEMA public',
  'REINDEX DATABASE postgres',
  'REINDEX SYSTEM postgres',
  'ALTER TABLE parted DETACH PARTITION part CONCURRENTLY',
  'CLUSTER',
  'CREATE DATABASE another',
  'DROP DATABASE IF EXISTS another',
  'ALTER DATABASE another SET TABLESPACE pg_default',
  "CREATE TABLESPACE another LOCATION '/nowhere'",
  'DROP TABLESPACE another',
  "ALTER SYSTEM SET work_mem = '1MB'",
  'DISCARD ALL',
  "COMMIT PREPARED 'x'",
  "ROLLBACK PREPARED 'x'",
]

const endsTransaction = [
  'BEGIN',
  'START TRANSACTION',
  'COMMIT',
  'END',
  'ROLLBACK',
  'ABORT',
  'COMMIT AND CHAIN',
  "PREPARE TRANSACTION 'x'",
  'BEGIN; INSERT INTO plain VALUES (1); COMMIT',
  'SELECT 1; ROLLBACK; SELECT 2',
]

const refusedByCircumstance = [
  'CALL commits()',
  'DO $$ BEGIN COMMIT; END $$',
  'CLUSTER parted USING parted_pkey',
  'REINDEX TABLE parted',
  'REINDEX INDEX parted_id',
  'SET TRANSACTION ISOLATION LEVEL SERIALIZABLE',
  'SET transaction_isolation = serializable',
  'SET TRANSACTION DEFERRABLE',
  "CREATE SUBSCRIPTION s CONNECTION 'host=nowhere' PUBLICATION p",
]

const allowedByCircumstance = [
  'CALL stays()',
  'DO $$ BEGIN PERFORM 1; END $$',
  'CLUSTER plain USING plain_pkey',
  'REINDEX TABLE plain',
  'REINDEX INDEX plain_mood',
  'SET TRANSACTION ISOLATION LEVEL READ COMMITTED',
  'SET TRANSACTION READ ONLY',
  "CREATE SUBSCRIPTION s CONNECTION 'host=nowhere' PUBLICATION p WITH (connect = false)",
]

const transactional = [
  'SELECT 1',
  'INSERT INTO plain VALUES (1); UPDATE plain SET id = 2; DELETE FROM plain',
  'CREATE TABLE other AS SELECT * FROM plain',
  'SELECT * INTO other FROM plain',
  'CREATE INDEX ON plain (mood)',
  'DROP INDEX plain_mood',
  'ALTER TABLE parted DETACH PARTITION part',
  'ALTER TABLE plain ADD COLUMN x int',
  "ALTER TYPE mood ADD VALUE 'glad'",
  'ANALYZE plain',
  'TRUNCATE plain',
  'REFRESH MATERIALIZED VIEW kept',
  'DISCARD PLANS',
  'DISCARD TEMP',
  'CHECKPOINT',
  'LOCK TABLE plain',
  'SAVEPOINT a; INSERT INTO plain VALUES (1); ROLLBACK TO a; RELEASE a',
  'DECLARE c CURSOR FOR SELECT 1; FETCH ALL FROM c',
  "SET search_path = 'public'; SET LOCAL work_mem = '4MB'; RESET ALL",
  'SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE',
  'LISTEN news; NOTIFY news; UNLISTEN *',
  'CREATE SCHEMA s CREATE TABLE t (id int)',
  "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'select 1'",
  'EXPLAIN ANALYZE INSERT INTO plain VALUES (1)',
  'PREPARE p AS SELECT 1; EXECUTE p; DEALLOCATE p',
  'GRANT SELECT ON plain TO PUBLIC',
  "COMMENT ON TABLE plain IS 'VACUUM; COMMIT'",
]

test('a text is found transactional, not transactional, or unknown until it runs', () => {
  const expected = {
    'own-transaction': [...refusedInTransaction, ...endsTransaction],
    'may-commit': [...refusedByCircumstance, ...allowedByCircumstance],
    transactional,
    empty: ['', ' \n', ';;', '-- nothing', '/* at /* all */ */ ; -- .'],
    unparsable: ['SELEC 1', "SELECT 'open", 'SELECT 1\0; COMMIT'],
  } as const
  for (const [kind, texts] of Object.entries(expected)) {
    for (const text of texts) assert.equal(classifyJobItem(text), kind, text)
  }
})

test('PostgreSQL refuses non-transactional statements in a transaction, and no transactional one', async (t) => {
  const { admin, user } = await setup(t)
  const { database } = user.account
  await admin(schema, undefined, database)
  const sqlstateInTransaction = (text: string) =>
    admin(`BEGIN; SELECT pg_current_xact_id(); ${text}`, undefined, database).then(
      () => 'allowed',
      (error: { code?: string }) => error.code,
    )

  for (const text of refusedInTransaction) assert.equal(await sqlstateInTransaction(text), '25001', text)
  for (const text of refusedByCircumstance) {
    assert.ok(['25001', '2D000'].includes((await sqlstateInTransaction(text)) ?? ''), text)
  }
  for (const text of [...allowedByCircumstance, ...transactional]) {
    assert.equal(await sqlstateInTransaction(text), 'allowed', text)
  }
})
