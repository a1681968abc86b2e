import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setup, type TestUser } from '../support/service/setup.ts'

test('a member of an organization cannot lose its schema, whatever SQL it runs', async (t) => {
  const { createOrganization, createUser } = await setup(t)
  const { name: organization } = await createOrganization()
  const member = await createUser({ organization })
  const schema = `"${member.username}"`
  const { masterRole, publicRole } = member.account
  await ask(member, 'create table kept as select 1 as id')
  for (const loss of [
    `drop schema ${schema} cascade`,
    `do $$ begin execute 'drop schema ${schema} cascade'; end $$`,
    `begin; drop schema ${schema} cascade; create table elsewhere (id int); commit`,
    `alter schema ${schema} rename to other`,
    `alter schema ${schema} owner to "${publicRole}"`,
    `reassign owned by "${masterRole}" to "${publicRole}"`,
    `drop owned by "${masterRole}" cascade`,
  ]) {
    const { status, body } = await ask(member, loss)
    assert.equal(status, 403, `${loss}: ${body}`)
    assert.equal((await ask(member, 'select * from kept')).status, 200, loss)
  }
  const { body } = await ask(member, `drop schema ${schema} cascade`)
  assert.match(body, /belongs to its account/)
})

test('a member who revoked its own rights on its schema can grant them to itself again', async (t) => {
  const { createOrganization, createUser } = await setup(t)
  const { name: organization } = await createOrganization()
  const member = await createUser({ organization })
  const schema = `"${member.username}"`
  const { masterRole } = member.account
  assert.equal((await ask(member, `revoke all on schema ${schema} from "${masterRole}"`)).status, 200)
  assert.equal((await ask(member, `grant all on schema ${schema} to "${masterRole}"`)).status, 200)
  assert.equal((await ask(member, 'create table made (id int)')).status, 200)
})

test('a plain user can drop and rename the schemas it created', async (t) => {
  const { user } = await setup(t)
  for (const text of ['create schema s', 'alter schema s rename to z', 'drop schema z cascade'])
    assert.equal((await ask(user, text)).status, 200, text)
  assert.equal((await ask(user, 'drop schema public cascade')).status, 403)
})

async function ask(user: TestUser, q: string) {
  const body = new URLSearchParams({ q, api_key: user.masterToken })
  const response = await fetch(`${user.base}/api/v2/sql`, { method: 'POST', body })
  return { status: response.status, body: await response.text() }
}
