import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteUser } from '../../src/accounts/delete-user.ts'
import { randomName, setup } from '../support/service/setup.ts'

test('the access list of a large organization is compressed quickly when a member is created or deleted', async (t) => {
  const { admin, createOrganization, createUser, service } = await setup(t)
  const { name, owner } = await createOrganization()
  const { database } = owner.account
  const crowd = randomName('crowd')
  const forEach = (command: string) =>
    admin(
      `do $$ begin for number in 1..400 loop execute format('${command}', '${crowd}' || number); end loop; end $$`,
    )
  const compression = async () => {
    const text = 'select pg_column_compression(datacl) as method from pg_database where datname = $1'
    return (await admin(text, [database])).rows[0].method
  }
  await forEach(`create role %1$I; grant connect on database ${database} to %1$I`)
  // The organization and its database are deleted by then.
  t.after(() => forEach('drop role %1$I'))
  assert.equal(await compression(), 'pglz')
  const { username } = await createUser({ organization: name })
  assert.equal(await compression(), 'lz4')

  await admin(`revoke connect on database ${database} from "${crowd}1"`)
  assert.equal(await compression(), 'pglz')
  await deleteUser(service.services.installation, username)
  assert.equal(await compression(), 'lz4')
})
