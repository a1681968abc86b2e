import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { CartageError } from '../../../src/client/cartage-error.ts'
import { createAdminClient, createClient } from '../../../src/client/client.ts'
import { startWithReplica, toReplica } from '../../support/postgres/replica-world.ts'
import { admin as adminOf, newUser, startWithTwoHosts } from '../../support/postgres/two-hosts.ts'
import { newInstallation } from '../../support/service/installation.ts'
import { slowTable } from '../../support/service/moving.ts'
import { eventually, randomName, type Setup } from '../../support/service/setup.ts'
import { assertAccessible, assertAccessibleEverywhere } from '../support/axe.ts'
import { type OpenOptions, openConsole } from '../support/open-console.ts'

test('the operator creates a user whose key works, changes its limits, and deletes it by typing its name', async (t) => {
  const { page, goTo, url, ...opened } = await openAsOperator(t)
  const operator = adminClient(t, { url, ...opened })
  const username = randomName('made')
  const { name: plan } = await operator.plans.create({ name: randomName('plan') })
  await goTo('/operator/users/new')
  await page.getByLabel('Name').fill(username)
  await page.getByLabel('Quota').fill('much')
  await page.getByRole('button', { name: 'Create user' }).click()
  await page.getByText('“much” is not a size').waitFor()
  await page.getByLabel('Quota').fill('10 MB')
  await page.getByRole('button', { name: 'Create user' }).click()
  await page.getByRole('button', { name: `Copy: Master key of ${username}` }).click()
  const key = await page.evaluate(() => navigator.clipboard.readText())
  assert.equal((await fetch(`${url}/user/${username}/api/v2/sql?q=select+1&api_key=${key}`)).status, 200)

  await page.getByRole('link', { name: username }).click()
  assert.equal(await page.getByLabel('Quota').inputValue(), '10 MB')
  await page.getByLabel('Quota').fill('1.5 GB')
  await page.getByLabel('Maximum keys').fill('7')
  await page.getByLabel('Maximum schedules').fill('250')
  await page.getByLabel('Jobs at once').fill('3')
  await page.getByLabel('Plan').fill(plan)
  await page.getByLabel('sql').fill('1 in a while')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText("limits.rates.sql must be 'off'").waitFor()
  await page.getByLabel('sql').fill('500/60+20')
  await page.getByRole('button', { name: 'Save' }).click()
  await eventually(async () => {
    const { quota_in_bytes, api_key_quota, limits, ...user } = await operator.users.read(username)
    assert.deepEqual(
      [quota_in_bytes, api_key_quota, user.plan, limits],
      [1.5 * 1024 ** 3, 7, plan, { rates: { sql: '500/60+20' }, jobs_at_once: 3, schedules: 250 }],
    )
  })
  await assertAccessibleEverywhere(page)

  await page.getByRole('button', { name: 'Delete' }).click()
  const really = page.getByRole('button', { name: 'Delete user' })
  assert.ok(await really.isDisabled())
  await page.getByLabel(`Type ${username} to confirm`).fill(username)
  await really.click()
  await page.getByRole('heading', { name: 'Users' }).waitFor()
  await assert.rejects(operator.users.read(username), { status: 404 })
})

test('the operator suspends a user with a reason, and resumes it', async (t) => {
  const { page, goTo, user, ...opened } = await openAsOperator(t)
  const operator = adminClient(t, opened)
  await goTo(`/operator/users/${user.username}`)
  await page.getByRole('cell', { name: 'Default public' }).waitFor()
  await page.getByLabel('Reason').fill('The invoice is open')
  await page.getByRole('button', { name: 'Suspend user' }).click()
  await page.getByText('The invoice is open').waitFor()
  assert.equal((await operator.users.read(user.username)).suspended_reason, 'The invoice is open')
  await assertAccessibleEverywhere(page)
  await goTo('/operator/users')
  await page.getByRole('row', { name: user.username }).getByText('suspended').waitFor()
  await goTo(`/operator/users/${user.username}`)
  await page.getByRole('button', { name: 'Resume user' }).click()
  await page.getByRole('button', { name: 'Suspend user' }).waitFor()
  assert.equal((await operator.users.read(user.username)).suspended_at, null)
})

test('the operator creates, changes and deletes a plan; the page of a user shows its usage', async (t) => {
  const { page, goTo, user, url, ...opened } = await openAsOperator(t)
  const operator = adminClient(t, { url, ...opened })
  const name = randomName('plan')
  await goTo('/operator/plans')
  await page.getByLabel('Name').fill(name)
  await page.getByRole('button', { name: 'Create plan' }).click()
  await page.getByLabel('Jobs at once').fill('many')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('“many” is not a whole number').waitFor()
  await page.getByLabel('Jobs at once').fill('3')
  await page.getByLabel('sql').fill('500/60')
  await page.getByRole('button', { name: 'Save' }).click()
  await eventually(async () =>
    assert.deepEqual((await operator.plans.read(name)).limits, { jobs_at_once: 3, rates: { sql: '500/60' } }),
  )
  await page.getByLabel('Jobs at once').fill('')
  await page.getByRole('button', { name: 'Save' }).click()
  await eventually(async () =>
    assert.deepEqual((await operator.plans.read(name)).limits, { rates: { sql: '500/60' } }),
  )
  await assertAccessibleEverywhere(page)
  await operator.users.change(user.username, { plan: name })
  const remove = async () => {
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByLabel(`Type ${name} to confirm`).fill(name)
    await page.getByRole('button', { name: 'Delete plan' }).click()
  }
  await remove()
  await page.getByText(`in use by ${user.username}`).waitFor()
  await operator.users.change(user.username, { plan: null })
  await remove()
  await page.getByRole('heading', { name: 'New plan' }).waitFor()
  await assert.rejects(operator.plans.read(name), { status: 404 })

  await goTo(`/operator/users/${user.username}`)
  const usage = page.getByRole('region', { name: 'Usage' })
  const saved = page.waitForEvent('download')
  await usage.getByRole('button', { name: 'Download CSV' }).click()
  assert.equal((await saved).suggestedFilename(), `usage-${user.username}.csv`)
})

test('the operator moves users between hosts, cancels a move, closes a host and drains it', async (t) => {
  const { service } = await startWithTwoHosts(t)
  const { page, goTo } = await openAsOperator(t, { servedAt: async () => service.url })
  const operator = adminOf(service)
  t.after(() => operator.close())
  const alice = await newUser(service, 'alice')
  t.after(() => alice.close())
  const from = (await operator.users.read('alice')).host!
  const to = from === 'local' ? 'second' : 'local'
  // Its copy is slow, so that the move can be cancelled.
  await alice.sql(slowTable)
  await goTo('/operator/users/alice')
  await page.getByText(`alice is on ${from}.`).waitFor()
  await page.getByRole('button', { name: 'Move alice' }).click()
  await page.getByText('The move has begun.').waitFor()
  await page.getByRole('link', { name: 'Hosts', exact: true }).click()
  await page.getByRole('button', { name: 'Cancel the move of alice' }).click()
  await page.getByRole('cell', { name: 'Cancelled by the operator' }).waitFor()
  assert.equal((await operator.users.read('alice')).host, from)
  await alice.sql('drop table t')
  await assertAccessibleEverywhere(page)

  await page.getByRole('checkbox', { name: `${to} takes users` }).click()
  await eventually(async () => {
    const closed = (await operator.hosts.list()).filter(({ accepts_users }) => !accepts_users)
    assert.deepEqual(
      closed.map(({ name }) => name),
      [to],
    )
  })
  const drain = async () => {
    await page.getByRole('button', { name: `Drain ${from}` }).click()
    await page.getByLabel(`Type ${from} to confirm`).fill(from)
    await page.getByRole('button', { name: 'Drain host' }).click()
  }
  await drain()
  await page.getByText('No other host that answers takes new users').waitFor()
  await page.getByRole('checkbox', { name: `${to} takes users` }).click()
  await eventually(async () => assert.ok((await operator.hosts.list()).every((host) => host.accepts_users)))
  await drain()
  await page.getByRole('row', { name: 'alice' }).getByRole('cell', { name: 'done', exact: true }).waitFor()
  assert.equal((await operator.users.read('alice')).host, to)
})

test('the operator creates an organization; one with members cannot be deleted, and the page says why', async (t) => {
  const { page, goTo, createUser, ...opened } = await openAsOperator(t)
  const operator = adminClient(t, opened)
  const [name, owner] = [randomName('org'), randomName('owner')]
  await goTo('/operator/organizations')
  await page.getByLabel('Name').fill(name)
  await page.getByLabel('Owner', { exact: true }).fill(owner)
  await page.getByRole('button', { name: 'Create organization' }).click()
  await page.getByText(`${name} was created.`).waitFor()
  const member = await createUser({ organization: name })
  const remove = async () => {
    await page.getByRole('button', { name: `Delete ${name}` }).click()
    await page.getByLabel(`Type ${name} to confirm`).fill(name)
    await page.getByRole('button', { name: 'Delete organization' }).click()
  }
  await remove()
  await page.getByText(/still has members/).waitFor()
  await assertAccessibleEverywhere(page)
  await operator.users.delete(member.username)
  await remove()
  await page.getByRole('cell', { name, exact: true }).waitFor({ state: 'detached' })
  await assert.rejects(operator.organizations.read(name), { status: 404 })
})

test('the operator removes a replica of a host, and adds it by its address', async (t) => {
  const { service, user, proxy, pair } = await startWithReplica(t)
  const { page, goTo } = await openAsOperator(t, { servedAt: async () => service.url })
  await goTo('/operator/hosts')
  const row = page.getByRole('row', { name: /^second / })
  await row.getByText('east (').waitFor()
  await row.getByRole('button', { name: 'Remove east' }).click()
  await page.getByLabel('Type east to confirm').fill('east')
  await page.getByRole('button', { name: 'Remove replica' }).click()
  await row.getByText('east (').waitFor({ state: 'detached' })
  assert.equal((await user.sql('select 1', toReplica)).age, null)

  const address = page.getByLabel('Address of the replica')
  await page.getByLabel('Of host').selectOption('second')
  await page.getByLabel('Name of the replica').fill('west')
  await address.fill(pair.primaryUrl)
  await page.getByRole('button', { name: 'Add replica' }).click()
  await page.getByRole('alert').getByText('not a standby').waitFor()
  assert.equal(await address.getAttribute('type'), 'password')
  await assertAccessibleEverywhere(page)
  await address.fill(proxy.url)
  await page.getByRole('button', { name: 'Add replica' }).click()
  await row.getByText('west (').waitFor()
  assert.equal(await address.inputValue(), '')
  await eventually(async () => assert.notEqual((await user.sql('select 1', toReplica)).age, null), 30_000)
})

test('the overview shows failed checks first; hosts and doctor show the rest', async (t) => {
  const { page, goTo, admin, service } = await openAsOperator(t, { setup: { isIsolated: true } })
  const role = `${service.services.config.namespace}_u999_k1`
  await admin(`create role ${role}`)
  t.after(() => admin(`drop role ${role}`))
  await goTo('/operator')
  await page.getByText('ready', { exact: true }).waitFor()
  await page.getByText(`Belonging to no account: ${role}`).waitFor()
  const statuses = await page.locator('tbody .badge').allInnerTexts()
  assert.ok(statuses.length > 0 && !statuses.includes('ok'), String(statuses))
  assert.deepEqual(statuses, [...statuses].sort())
  await assertAccessibleEverywhere(page)
  await page.getByRole('link', { name: /^\d+ checks$/ }).click()
  await page.getByRole('cell', { name: 'host local: PostGIS' }).waitFor()
  await assertAccessible(page)
  await page.getByRole('link', { name: 'hosts' }).click()
  await page.getByRole('cell', { name: 'yes', exact: true }).waitFor()
  await assertAccessible(page)
})

test('the audit log is filtered and read back to its oldest record; hostile names stay text', async (t) => {
  const { page, goTo, user, service } = await openAsOperator(t)
  const { control } = service.services.databases
  await control.query(
    `insert into cartage.audit (actor, action, account, subject, details)
     select '<img src=x onerror=alert(1)>', 'key.created', $1, '<b>key</b> ' || n, '{"n": "</td><script>"}'
     from generate_series(1, 60) n`,
    [user.username],
  )
  await goTo('/operator/audit')
  await page.getByLabel('User or organization').fill(user.username)
  await page.getByRole('button', { name: 'Show' }).click()
  await page.getByRole('cell', { name: '<b>key</b> 60' }).waitFor()
  assert.equal(await page.locator('tbody tr').count(), 50)
  await page.getByRole('button', { name: 'Older' }).click()
  await page.getByText('No older records.').waitFor()
  assert.equal(await page.locator('tbody tr').count(), 61)
  await page.getByLabel('Action').selectOption('user.created')
  await eventually(async () => assert.equal(await page.locator('tbody tr').count(), 1))
  await assertAccessibleEverywhere(page)
})

test('the activity shows what runs while the tab is visible, and the operator can stop it', async (t) => {
  const { page, goTo, user, url } = await openAsOperator(t, { setup: { worker: true } })
  const client = createClient({ baseUrl: url, username: user.username, token: user.masterToken })
  t.after(() => client.close())
  await page.clock.install()
  await goTo('/operator/activity')
  await page.getByText('No jobs are running.').waitFor()
  const { job_id } = await client.jobs.create(['select 1', 'select pg_sleep(600)'])
  await client.jobs.create('select 3')
  await page.getByRole('cell', { name: '2 of 2' }).waitFor()
  await page.getByRole('cell', { name: job_id }).waitFor()
  await page.getByRole('region', { name: 'Waiting users' }).getByText(user.username).waitFor()
  const answer = client.sql('select pg_sleep(601)').catch((error: CartageError) => error.code)
  await page.getByRole('cell', { name: 'select pg_sleep(601)' }).waitFor()
  await assertAccessibleEverywhere(page)
  await page.getByRole('button', { name: `Stop query of ${user.username}` }).click()
  assert.equal(await answer, 'statement-cancelled')
  await hide(page, true)
  // A request sent just before may still be running.
  await page.clock.runFor(3_000)
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  await client.jobs.cancel(job_id)
  await page.clock.runFor(10_000)
  assert.deepEqual(asked, [])
  await hide(page, false)
  await page.getByText('No jobs are waiting.').waitFor()
})

test('an operator page asks a user without the admin token for it', async (t) => {
  const { page, goTo, signIn, keys } = await openConsole(t)
  await signIn()
  await goTo('/operator/hosts')
  await page.getByText('This page needs the admin token.').waitFor()
  await page.getByLabel('Admin token').fill('wrong')
  await page.getByRole('button', { name: 'Sign in as operator' }).click()
  await page.getByText('Wrong admin token').waitFor()
  await assertAccessible(page)
  await page.getByLabel('Admin token').fill(keys.adminToken)
  await page.getByRole('button', { name: 'Sign in as operator' }).click()
  await page.getByRole('cell', { name: 'local', exact: true }).waitFor()
})

test('if the admin API is off, the sign-in as operator names the variable that turns it on', async (t) => {
  const { page, goTo, url } = await openConsole(t)
  const { start } = await newInstallation(t)
  const off = await start({ keys: { adminToken: '' } })
  await page.route(`${url}/admin/**`, async (route) => {
    const response = await fetch(route.request().url().replace(url, off.url))
    await route.fulfill({ status: response.status, body: await response.text() })
  })
  await goTo('/')
  await signInAsOperator(page, 'whatever it may be')
  await page.getByText('The admin API is off. Set CARTAGE_ADMIN_TOKEN to turn it on').waitFor()
})

async function openAsOperator(t: TestContext, options?: OpenOptions) {
  const opened = await openConsole(t, options)
  await opened.goTo('/')
  await signInAsOperator(opened.page, opened.keys.adminToken)
  await opened.page.getByRole('navigation', { name: 'Operator' }).waitFor()
  return opened
}

async function signInAsOperator(page: Page, token: string): Promise<void> {
  await page.getByRole('tab', { name: 'As operator' }).click()
  await page.getByLabel('Admin token').fill(token)
  await page.getByRole('button', { name: 'Sign in as operator' }).click()
}

function adminClient(t: TestContext, { url, keys }: Pick<Setup, 'url' | 'keys'>) {
  const client = createAdminClient({ baseUrl: url, token: keys.adminToken })
  t.after(() => client.close())
  return client
}

/** As if another tab were in front. The code is a string, so that the test compiler leaves it alone. */
async function hide(page: Page, isHidden: boolean): Promise<void> {
  const state = isHidden ? 'hidden' : 'visible'
  await page.evaluate(`
    Object.defineProperty(document, 'visibilityState', { configurable: true, value: '${state}' })
    document.dispatchEvent(new Event('visibilitychange'))
  `)
}
