import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { pythonWith } from './support/clients/python-packages.ts'
import { runJavascript } from './support/clients/run-javascript.ts'
import { setup } from './support/service/setup.ts'

const pages = [
  'README.md',
  'docs/keys.md',
  ...['tutorial', 'recipes', 'sql', 'dashboards', 'files', 'copy', 'jobs', 'schedules'].map(
    (name) => `docs/guide/${name}.md`,
  ),
]

for (const page of pages) {
  test(`the examples of ${page} run as pasted, one after another`, async (t) => {
    const { user } = await setup(t, { worker: true })
    const folder = await mkdtemp(join(tmpdir(), 'docs-'))
    // An error answer ends the block.
    await writeFile(join(folder, '.curlrc'), 'fail\nsilent\nshow-error\n')
    const env = { ...process.env, CURL_HOME: folder, HOME: folder, BASE: user.base, KEY: user.masterToken }
    const blocks = examplesOf(await readFile(new URL(`../${page}`, import.meta.url), 'utf8'))
    const shell = blocks.filter(({ language }) => language === 'sh').map(({ code }) => code)
    assert.ok(shell.length > 0)
    await run('bash', ['-euo', 'pipefail', '-c', shell.filter(canRun).join('\n')], { cwd: folder, env })
    for (const { code } of blocks.filter(({ language }) => language === 'python')) {
      const { program, missing, ...python } = await pythonWith(packagesOf(code))
      await t.test(
        `in Python with ${packagesOf(code)}${missing ? ` [NOT RUN: ${missing}]` : ''}`,
        async (t) => {
          if (missing !== undefined) return t.skip(missing)
          const path = { PYTHONPATH: 'folder' in python ? python.folder : '' }
          await run(program!, ['-c', code], { cwd: folder, env: { ...env, ...path } })
        },
      )
    }
    const javascript = blocks.filter(({ language }) => language === 'js').map(({ code }) => code)
    if (javascript.length > 0) await runJavascript(javascript.join('\n'), { cwd: folder, env })
  })
}

test("the examples of one page do not interfere with another page's", async () => {
  const made = await Promise.all(
    [...pages, 'docs/guide/client.md'].map(async (page) => {
      const markdown = await readFile(new URL(`../${page}`, import.meta.url), 'utf8')
      const text = [...markdown.matchAll(/^```(?:sh|js|python)\n([\s\S]*?)^```$/gm)]
        .map(([, code]) => code)
        .join('\n')
      const tables = [...text.matchAll(/create table (?:if not exists )?(\w+)/gi)]
      const keys = [...text.matchAll(/"?name"?: ?["']([\w-]+)["'],\s*"?grants/g)]
      return [...new Set([...tables, ...keys].map(([, name]) => name!))]
    }),
  )
  const all = made.flat()
  assert.ok(all.includes('reader') && all.includes('volcanoes'))
  assert.deepEqual(
    all.filter((name, at) => all.indexOf(name) !== at),
    [],
  )
})

type Example = Readonly<{ language: string; code: string }>

function examplesOf(markdown: string): readonly Example[] {
  return [...markdown.matchAll(/^```(sh|python|js)\n([\s\S]*?)^```$/gm)].map(([, language, code]) => ({
    language: language!,
    code: code!,
  }))
}

/** The packages it imports, and those that a comment says to install for them. */
function packagesOf(code: string): readonly string[] {
  const imported = [...code.matchAll(/^(?:import|from) (.*?)(?: import .*)?$/gm)].flatMap(([, names]) =>
    names!.split(', ').map((name) => name.split('.')[0]!),
  )
  const told = /^# pip install (.*)$/m.exec(code)?.[1]?.split(' ') ?? []
  return [...new Set([...imported, ...told])]
}

/** Not every machine has GDAL. */
const canRun = (code: string) => !code.includes('ogr2ogr') || hasGdal
const hasGdal = spawnSync('ogr2ogr', ['--version']).status === 0

async function run(
  program: string,
  args: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv },
) {
  await promisify(execFile)(program, args, options).catch((error) => {
    assert.fail(`${error.stdout}\n${error.stderr}`)
  })
}
