import { readFileSync } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { buffer as readWhole } from 'node:stream/consumers'
import type { Page } from 'playwright-core'
import { createClient } from '../../src/client/client.ts'
import { Frame } from '../frame/frame.ts'
import { projectRoot } from '../frame/service.ts'
import { type Console, openConsole, signIn, write } from './console-page.ts'

// Takes the pictures of the docs from a running console with real data: node scripts/screenshots.mjs [sql upload jobs
// keys]
const shots: Readonly<Record<string, (page: Page, opened: Console) => Promise<unknown>>> = {
  sql: shootSql,
  upload: shootUpload,
  jobs: shootJobs,
  keys: shootKeys,
}

const wanted = process.argv.slice(2)
const folder = join(projectRoot, 'docs/images')
const largestBytes = 250_000
const frame = new Frame()
try {
  const opened = await openConsole(frame, 'demo', { drawsMaps: true })
  await loadCountries(opened)
  await mkdir(folder, { recursive: true })
  for (const [name, shoot] of Object.entries(shots)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    const page = await signIn(opened, { colorScheme: 'light' })
    await shoot(page, opened)
    await keepPicture(page, name)
    await page.context().close()
  }
} finally {
  await frame.close()
}

async function keepPicture(page: Page, name: string): Promise<void> {
  const path = join(folder, `console-${name}.png`)
  await page.screenshot({ path, animations: 'disabled', caret: 'hide' })
  const { size } = await stat(path)
  process.stdout.write(`docs/images/console-${name}.png  ${Math.round(size / 1000)} KB\n`)
  if (size > largestBytes) throw new Error(`${path} is larger than ${largestBytes / 1000} KB`)
}

/** The countries of the world, cut at 180°, with their areas, and a table of their centre points. */
async function loadCountries({ url: baseUrl, username, token }: Console): Promise<void> {
  const client = createClient({ baseUrl, username, token })
  await client.sql('create table atlas (name text, shape text)')
  const lines = (await readAtlas()).map(({ properties, geometry }) =>
    [properties.name, JSON.stringify(geometry)].map((text) => `"${text.replaceAll('"', '""')}"`).join(','),
  )
  await client.copyFrom('copy atlas from stdin csv', Buffer.from(`${lines.join('\n')}\n`))
  await client.sql(`
    create table countries as
      select name, round(st_area(shape::geography) / 1e6)::int as km2, shape as the_geom
      from (select name, st_makevalid(case when name in ('Russia', 'Fiji')
          then st_wrapx(st_makevalid(st_shiftlongitude(whole)), 180, -360) else whole end) as shape
        from (select name, st_setsrid(st_geomfromgeojson(shape), 4326) as whole from atlas) b) a;
    create table places as
      select name, km2, st_setsrid(st_pointonsurface(the_geom), 4326) as the_geom from countries;
    drop table atlas`)
  client.close()
}

type Country = Readonly<{ properties: Readonly<{ name: string }>; geometry: unknown }>

async function readAtlas(): Promise<readonly Country[]> {
  const { feature } = (await import('topojson-client' as string)) as {
    feature: (atlas: unknown, object: unknown) => { features: readonly Country[] }
  }
  const path = createRequire(import.meta.url).resolve('world-atlas/countries-110m.json')
  const atlas = JSON.parse(readFileSync(path, 'utf8'))
  return feature(atlas, atlas.objects.countries).features
}

async function shootSql(page: Page): Promise<void> {
  await write(
    page,
    `select name, km2, the_geom\nfrom countries\nwhere name <> 'Antarctica'\norder by km2 desc`,
  )
  await page.keyboard.press('Control+Enter')
  for (const _thrice of [1, 2, 3]) await page.getByLabel('Height of the editor').press('ArrowUp')
  await page.getByRole('tab', { name: 'Map' }).click()
  await page.getByText(/^\d+ shapes/).waitFor()
  await page.getByLabel('Colour by').selectOption('km2')
  await page.getByRole('list', { name: 'Legend' }).waitFor()
  await page.getByRole('button', { name: 'Zoom in' }).click()
  await drawn(page)
}

/** Waits for the frames after which a map has nothing more to draw. */
async function drawn(page: Page): Promise<void> {
  await page.waitForLoadState('networkidle')
  await page.evaluate(`new Promise((resolve) => {
    let left = 60
    const step = () => (left-- > 0 ? requestAnimationFrame(step) : resolve())
    step()
  })`)
}

async function shootUpload(page: Page, { url: baseUrl, username, token }: Console): Promise<void> {
  const client = createClient({ baseUrl, username, token })
  const csv = await client.copyTo(
    'copy (select name, km2, round(st_y(the_geom)::numeric, 3) as lat, round(st_x(the_geom)::numeric, 3) as lon from places) to stdout csv header',
  )
  const buffer = await readWhole(csv)
  client.close()
  await open(page, 'upload')
  await page
    .getByLabel('File', { exact: true })
    .setInputFiles({ name: 'centres.csv', mimeType: 'text/csv', buffer })
  await page.getByText(/ rows, all read/).waitFor()
}

async function shootJobs(page: Page): Promise<void> {
  await open(page, 'jobs/new')
  const statements = [
    'create table large as select * from countries where km2 > 1000000',
    "select CDB_CartodbfyTable('large')",
    'select pg_sleep(600)',
  ]
  for (const [at, text] of statements.entries()) {
    if (at > 0) await page.getByRole('button', { name: 'Add a statement' }).click()
    await page.getByLabel(`Statement ${at + 1}`, { exact: true }).fill(text)
  }
  await page.getByRole('button', { name: 'Start job' }).click()
  await page.locator('.items .badge', { hasText: 'done' }).nth(1).waitFor()
}

async function shootKeys(page: Page, { url: baseUrl, username, token }: Console): Promise<void> {
  const client = createClient({ baseUrl, username, token })
  const tables = [{ schema: 'public', name: 'places', permissions: ['select'] }] as const
  await client.keys.create({
    name: 'reader',
    grants: [
      { type: 'apis', apis: ['sql'] },
      { type: 'database', tables },
    ],
  })
  client.close()
  await open(page, 'keys/reader')
  await page.getByRole('region', { name: 'A request that works' }).waitFor()
}

async function open(page: Page, path: string): Promise<void> {
  await page.goto(new URL(`/console/${path}`, page.url()).href)
}
