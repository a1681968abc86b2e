import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { setup } from '../support/service/setup.ts'

/**
 * Tests of carto-python itself, unchanged: a copy of its source, with the packages that it needs, is in
 * CARTAGE_TEST_CARTO_PYTHON.
 */
const source = process.env.CARTAGE_TEST_CARTO_PYTHON ?? ''
const missing = existsSync(join(source, 'tests/test_datasets.py'))
  ? undefined
  : 'CARTAGE_TEST_CARTO_PYTHON has no carto-python'

/** Tables that are fetched again and again are not for Cartage; nor are the licence and attributions of a dataset. */
const notForUs = [
  'test_create_and_modify_and_delete_dataset_as_sync_table',
  'test_create_and_modify_and_delete_dataset_from_file',
]

test(`carto-python passes its own tests of datasets and file imports${missing ? ` [NOT RUN: ${missing}]` : ''}`, {
  timeout: 600_000,
}, async (t) => {
  if (missing) return t.skip(missing)
  const { user, url } = await setup(t, { worker: true })
  const folder = await mkdtemp(join(tmpdir(), 'cartage-carto-python-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'secret.py'), settings(new URL(url).port, user.username, user.masterToken))
  const deselected = notForUs.flatMap((name) => ['--deselect', `tests/test_datasets.py::${name}`])
  const files = ['tests/test_datasets.py', 'tests/test_file_imports.py']
  const options = ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', ...deselected, ...files]
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
  assert.match(run.stdout, /\b6 passed, 2 deselected\b/)
})

/** Its file of settings. The client wants the name of an organization before the host: any name is this machine. */
const settings = (port: string, username: string, token: string) => `
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
