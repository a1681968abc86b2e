import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { setup, type TestUser } from '../support/service/setup.ts'

/** Tests of carto-python itself, unchanged: CARTAGE_TEST_CARTO_PYTHON has a copy of its source and its dependencies. */
const source = process.env.CARTAGE_TEST_CARTO_PYTHON ?? ''
const missing = existsSync(join(source, 'tests/test_datasets.py'))
  ? undefined
  : 'CARTAGE_TEST_CARTO_PYTHON has no carto-python'

/** Cartage does not support sync tables, nor the licence and attributions of a dataset. */
const notForUs = [
  'test_create_and_modify_and_delete_dataset_as_sync_table',
  'test_create_and_modify_and_delete_dataset_from_file',
]

test(`carto-python passes its own tests of datasets and file imports${missing ? ` [NOT RUN: ${missing}]` : ''}`, {
  timeout: 600_000,
}, async (t) => {
  if (missing) return t.skip(missing)
  const { user, url } = await setup(t, { worker: true })
  const deselected = notForUs.flatMap((name) => ['--deselect', `tests/test_datasets.py::${name}`])
  const files = ['tests/test_datasets.py', 'tests/test_file_imports.py']
  const told = await runTests(t, settings(new URL(url).port, user), [...deselected, ...files])
  assert.match(told, /\b6 passed, 2 deselected\b/)
})

test(`carto-python passes its own tests of maps${missing ? ` [NOT RUN: ${missing}]` : ''}`, {
  timeout: 600_000,
}, async (t) => {
  if (missing) return t.skip(missing)
  const { user, url } = await setup(t)
  await user.sql(
    `create table tornados as select 1 as cartodb_id, st_setsrid(st_point(0, 0), 3857) as the_geom_webmercator; grant select on tornados to public`,
  )
  const told = await runTests(t, settings(`${new URL(url).port}/user/${user.username}`, user) + mapSettings, [
    'tests/test_maps.py',
  ])
  assert.match(told, /\b4 passed\b/)
})

/** Runs some of its tests with these settings and returns the output of pytest. */
async function runTests(t: TestContext, secret: string, tests: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'cartage-carto-python-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'secret.py'), secret)
  const options = ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', ...tests]
  const run = await promisify(execFile)('python3', options, {
    cwd: source,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      PYTHONDONTWRITEBYTECODE: '1',
      PYTHONPATH: [folder, source].join(delimiter),
    },
    timeout: 500_000,
  }).catch(({ message, stdout }: { message: string; stdout?: string }) =>
    assert.fail(`${message}\n${stdout}`),
  )
  return run.stdout
}

/**
 * Its settings file. The client wants the name of an organization or user before the host: any name leads to this
 * machine. The tests of maps have no path to the account, so `port` includes it.
 */
const settings = (port: string, { username, masterToken: token }: TestUser) => `
import socket
found = socket.getaddrinfo
socket.getaddrinfo = lambda host, *args, **kwargs: found("127.0.0.1" if host.endswith(".localhost") else host, *args, **kwargs)
PROTOCOL = "http"
HOST = "localhost:${port}"
ORGANIZATION = None
USERNAME = "${username}"
API_KEY = "${token}"
ONPREMISES = ONPREM_ORGANIZATION = ONPREM_USERNAME = ONPREM_API_KEY = ""
IMPORT_FILE = IMPORT_URL = "tests/test.csv"
`

/** As in its example. */
const mapSettings = `
NAMED_MAP_AUTH_TOKEN = "ugfhfdyt5re8treu"
LAYERS = [{"type": "cartodb", "options": {"cartocss_version": "2.1.1", "cartocss": "#layer { marker-fill: <%= color %>; }",
  "sql": "select * from tornados"}}]
NAMED_MAP_DEFINITION = {"version": "0.0.1", "name": "python_sdk_test_map",
  "auth": {"method": "token", "valid_tokens": [NAMED_MAP_AUTH_TOKEN]},
  "placeholders": {"color": {"type": "css_color", "default": "red"}},
  "layergroup": {"version": "1.0.1", "layers": LAYERS},
  "view": {"zoom": 4, "center": {"lng": 0, "lat": 0}, "bounds": {"west": -45, "south": -45, "east": 45, "north": 45}}}
NAMED_MAP_INSTANTIATION = {"color": "#ff0000"}
ANONYMOUS_MAP_DEFINITION = {"version": "1.0.1", "layers": [{"type": "http", "options": {
  "urlTemplate": "http://{s}.basemaps.cartocdn.com/dark_nolabels/{z}/{x}/{y}.png", "subdomains": ["a", "b", "c"]}}] + LAYERS}
`
