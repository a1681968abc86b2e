import { test } from 'node:test'
import pg from 'pg'
import { dropWhenSilent, socketOf } from '../../src/postgres/wire/drop-when-silent.ts'
import { setup } from '../support/setup.ts'

test('a question of the moment in which a connection has been idle for long has its time', async (t) => {
  const { keys } = await setup(t)
  const client = new pg.Client({ connectionString: keys.adminUrl })
  client.on('error', () => undefined)
  await client.connect()
  t.after(() => client.end())
  let isAsking = false
  dropWhenSilent(client, 60_000, () => isAsking)
  socketOf(client).emit('timeout')
  isAsking = true
  await client.query('select pg_sleep(0.2)')
})
