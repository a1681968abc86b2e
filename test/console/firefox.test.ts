import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setup } from '../support/service/setup.ts'
import { axeFindings } from './support/axe.ts'
import { keys, openFirefox } from './support/firefox.ts'
import { provideConsole } from './support/provide-console.ts'

test('people can sign in, run SQL, see rows and open every page in Firefox', async (t) => {
  await provideConsole()
  const { url, user } = await setup(t)
  const tab = await openFirefox(t)
  if (tab === undefined) return t.skip('there is no Firefox on this machine')
  await user.sql(
    `create table harbours as select 'Trieste' as name, postgis.st_setsrid(postgis.st_makepoint(13.77, 45.65), 4326) as the_geom`,
  )
  await tab.goTo(`${url}/console/`)
  await tab.waitFor(`document.querySelector('input[autocomplete=username]')`)
  await tab.evaluate(`document.querySelector('input[autocomplete=username]').focus()`)
  await tab.type(user.username)
  await tab.evaluate(`document.querySelector('input[autocomplete=current-password]').focus()`)
  await tab.type(user.masterToken)
  await tab.press(keys.enter)
  await tab.waitFor(`document.querySelector('nav[aria-label=Pages]')`)

  await tab.goTo(`${url}/console/sql`)
  const editor = `document.querySelector('.editor')?.shadowRoot?.querySelector('.cm-content')`
  await tab.waitFor(`Boolean(${editor})`)
  await tab.evaluate(`${editor}.focus()`)
  await tab.type('select name, the_geom from harbours')
  await tab.press(keys.control, keys.enter)
  await tab.waitFor(`document.querySelector('.grid-body [role=gridcell]')?.textContent.includes('Trieste')`)
  for (const width of [360, 1400]) {
    await tab.setWidth(width)
    assert.deepEqual(await axeFindings(tab.evaluate), [], `${width} px`)
    assert.ok(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${width} px`)
  }
  await tab.goTo(`${url}/console/tables/public/harbours/map`)
  // Without a graphics driver Firefox has no WebGL, and the page says so.
  await tab.waitFor(
    `document.querySelector('canvas') || document.body.textContent.includes('WebGL 2 is off')`,
  )
  for (const page of ['tables', 'upload', 'jobs', 'schedules', 'keys', 'maps', 'account', 'guide']) {
    await tab.goTo(`${url}/console/${page}`)
    await tab.waitFor(`document.querySelector('main h1, main h2')`)
  }
  assert.deepEqual(tab.problems(url), [])
})
