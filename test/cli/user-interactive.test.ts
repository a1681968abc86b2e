import assert from 'node:assert/strict'
import { chmod, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { cartage, connection, inTerminal, shellLine } from '../support/http/call.ts'
import { eventually, setup } from '../support/service/setup.ts'

const withWorker = { worker: true }

test('the shell edits a statement, repeats it until Ctrl-C, and runs it as a job', async (t) => {
  const house = await setup(t, withWorker)
  const editor = await program('editor', `sed -i 's/one/two/; s/$/;/' "$1"`)
  const terminal = inTerminal(t, { ...connection(house), EDITOR: editor }, shellLine('sql'))
  const prompt = (sign: string) => `${house.user.username}${sign}> `
  const typing = async (keys: string, expected: RegExp | string) => {
    const before = terminal.shown().length
    terminal.type(keys)
    await eventually(() => {
      const shown = terminal.shown().slice(before)
      assert.ok(typeof expected === 'string' ? shown.includes(expected) : expected.test(shown), shown)
    }, 60_000)
  }
  await typing('', prompt('='))
  await typing("select 'one' as word\r", prompt('-'))
  await typing('\\e\r', / two\r\n1 row, [^\n]+\n.*=> /)
  await typing('\\watch 0.1\r', /( two\r\n1 row, [\s\S]*){3}/)
  await typing('\x03', /cancelled\r\n.*=> /)
  await typing('create table made as select 1 as id\r', prompt('-'))
  await typing('\\job\r', /job [0-9a-f-]{36}\r\n[\s\S]*✓ 1 {2}create table made as select 1 …[\s\S]*=> /)
  await typing('insert into made values (2);\r', prompt('='))
  await typing('\\job insert into made values (3)\r', /✓ 1 {2}insert into made values \(3\)[\s\S]*=> /)
  await typing('\\e made\r', '\\e takes no argument')
  await typing('\\constructor\r', 'unknown command \\constructor')
  terminal.type('\\q\r')
  assert.equal(await terminal.ended, 0)
  const { rows } = await house.user.sql('select id from made order by id')
  assert.deepEqual(rows, [{ id: 1 }, { id: 2 }, { id: 3 }])
})

test('statements run in the shell are in the history of the key, which a command lists', async (t) => {
  const house = await setup(t, withWorker)
  const me = connection(house)
  const terminal = inTerminal(t, me, shellLine('sql'))
  await eventually(() => assert.ok(terminal.shown().includes('=> ')), 60_000)
  terminal.type("select 'one'\r as word;\r")
  await eventually(() => assert.match(terminal.shown(), /1 row, /), 60_000)
  terminal.type('selekt;\r')
  await eventually(() => assert.match(terminal.shown(), /syntax error/), 60_000)
  terminal.type('\\q\r')
  assert.equal(await terminal.ended, 0)
  const { out } = await cartage(me, 'history')
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  assert.deepEqual(
    lines.map(({ key, outcome, statement }) => [key, outcome, statement]),
    [
      ['Master', 'failed 42601', 'selekt'],
      ['Master', 'done', "select 'one'\n as word"],
    ],
  )
  const found = await cartage(me, 'history', '--search', 'WORD', '--limit', '1', '--of', 'Master', '--json')
  assert.equal((JSON.parse(found.out) as unknown[]).length, 1)
  const shown = inTerminal(t, me, shellLine('history'), { columns: 160 })
  assert.equal(await shown.ended, 0)
  assert.match(shown.shown(), /done +│ +(NULL)? *│.*select 'one' as word/)
  assert.equal((await cartage(me, 'history', '--limit', '501')).code, 2)
  assert.equal((await cartage(me, 'history', '--of', 'none')).code, 1)
})

test('the shell lists every table by name', async (t) => {
  const house = await setup(t, withWorker)
  await house.user.sql(
    "do $$ begin for n in 100..220 loop execute format('create table t%s (id int)', n); end loop; end $$",
  )
  const terminal = inTerminal(t, connection(house), shellLine('sql'))
  const names = () => [...terminal.shown().matchAll(/^(t\d+) {2}private/gm)].map(([, name]) => name)
  await eventually(() => assert.ok(terminal.shown().includes('=> ')), 60_000)
  terminal.type('\\dt\r')
  const all = Array.from({ length: 121 }, (_, n) => `t${100 + n}`)
  await eventually(() => assert.deepEqual(names(), all), 60_000)
  terminal.type('\\q\r')
  assert.equal(await terminal.ended, 0)
})

test('rows taller than the terminal go through the pager, which may be left early', async (t) => {
  const house = await setup(t, withWorker)
  const pager = await program('pager', 'echo "paged $1"; head -n 4')
  const show = async (rows: number) => {
    const query = `select n from generate_series(1, ${rows}) n`
    const env = { ...connection(house), PAGER: `${pager} -S` }
    const terminal = inTerminal(t, env, shellLine('sql', query, '--no-progress', '--quiet'))
    assert.equal(await terminal.ended, 0)
    return terminal.shown()
  }
  assert.equal(await show(1), ' n\r\n──\r\n 1\r\n')
  assert.match(await show(100_000), /^paged -S\r\n +n\r\n─+\r\n +1\r\n +2\r\n$/)
})

test('open prints the address of the console, and opens it if there is a terminal', async (t) => {
  const house = await setup(t, withWorker)
  const me = connection(house)
  const address = `${house.url}/console/`
  assert.deepEqual(await cartage(me, 'open'), { code: 0, out: `${address}\n`, err: '' })
  const opener = await program('xdg-open', 'echo "$1" > "$0.opened"')
  const env = { ...me, PATH: `${join(opener, '..')}:${process.env.PATH}` }
  const terminal = inTerminal(t, env, shellLine('open'))
  assert.equal(await terminal.ended, 0)
  assert.equal(terminal.shown(), `${address}\r\n`)
  await eventually(async () => assert.equal(await readFile(`${opener}.opened`, 'utf8'), `${address}\n`))
})

/** Writes a shell script as a program in a folder of its own. */
async function program(name: string, lines: string): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'program-')), name)
  await writeFile(file, `#!/bin/sh\n${lines}\n`)
  await chmod(file, 0o755)
  return file
}
