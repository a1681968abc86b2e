import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { keysClient, tablesOf } from '../../support/keys/keys-client.ts'
import { eventually } from '../../support/service/setup.ts'
import { openConsole } from '../support/open-console.ts'
import { cells, editor, run } from '../support/sql-page.ts'

// Anna shares a view that records the role that read it. Bert, of the same organization, uses the console.

async function members(t: TestContext) {
  const opened = await openConsole(t)
  const { name: organization, owner: anna } = await opened.createOrganization()
  const bert = await opened.createUser({ organization })
  await anna.sql(`create table noted (who text);
    create function note() returns int language plpgsql as $$ begin insert into "${anna.username}".noted values (current_user); return 1; end $$;
    create table plain as select 1 as id, 'harbour' as name, ST_SetSRID(ST_MakePoint(1, 2), 4326) as the_geom;
    create view trap as select id, the_geom, "${anna.username}".note() as noted from plain`)
  await anna.sql(`grant usage on schema "${anna.username}" to public;
    grant insert on noted to public; grant select on plain, trap to "${bert.account.masterRole}"`)
  const notes = async () => (await anna.sql('select who from noted')).rows.map(({ who }) => who)
  return {
    ...opened,
    anna,
    bert,
    notes,
    at: (...parts: string[]) => `/tables/${[anna.username, ...parts].join('/')}`,
  }
}

const askedFirst = (page: Page) => page.getByText('belongs to another user.')

test("the page of another member's table shows columns, and reads rows only on request", async (t) => {
  const { page, goTo, signInAt, bert, notes, at } = await members(t)
  await signInAt(at('trap'), bert)
  await page.getByRole('rowheader', { name: 'the_geom', exact: true }).waitFor()
  for (const view of ['preview', 'map']) {
    await goTo(at('trap', view))
    await askedFirst(page).waitFor()
  }
  await page.keyboard.press('Control+k')
  await page.keyboard.type('trap')
  await page.getByRole('option').first().waitFor()
  await page.keyboard.press('Escape')
  assert.deepEqual(await notes(), [])

  await goTo(at('trap', 'preview'))
  await page.getByRole('button', { name: 'Show rows with the Master key' }).click()
  await eventually(async () => assert.equal((await cells(page)).length, 1))
  assert.deepEqual(await notes(), [bert.account.masterRole])
})

test('a key that can read only this table is created once, and the SQL page can use it', async (t) => {
  const { page, goTo, signInAt, anna, bert, notes, at } = await members(t)
  await signInAt(at('plain', 'preview'), bert)
  await page.getByRole('button', { name: 'Show rows with a key for this table only' }).click()
  await eventually(async () => assert.equal((await cells(page))[0]?.[1], 'harbour'))
  await goTo(at('plain', 'preview'))
  await page.getByRole('button', { name: 'Show rows with a key for this table only' }).click()
  await eventually(async () => assert.equal((await cells(page)).length, 1))
  const name = `reads only ${anna.username}.plain`
  const { body } = await keysClient(bert).list()
  const made = (body.result as { name: string; type: string }[]).filter(({ type }) => type === 'regular')
  assert.deepEqual(
    made.map((key) => key.name),
    [name],
  )
  assert.deepEqual(tablesOf((await keysClient(bert).read(name)).body), {
    [`${anna.username}.plain`]: 'select',
  })

  await page.getByRole('button', { name: 'Write SQL' }).click()
  await page.getByRole('menuitem', { name: 'SELECT with a key for this table only' }).click()
  // The key is announced before the editor has the statement.
  await eventually(async () => assert.match(await editor(page).innerText(), /plain/))
  await page.getByText(name).first().waitFor()
  await run(page, 'select current_user::text as who')
  await eventually(async () => assert.match((await cells(page))[0]?.[0] ?? '', /_k/))

  // A key cannot be granted a view that calls functions of its owner.
  await goTo(at('trap', 'preview'))
  await page.getByRole('button', { name: 'Show rows with a key for this table only' }).click()
  await page.getByText('No key can get access to this').waitFor()
  assert.deepEqual(await notes(), [])
})
