import assert from 'node:assert/strict'
import { test } from 'node:test'
import { terminalLog } from '../../src/log/terminal-log.ts'
import { cartage, installation, inTerminal, shellLine } from '../support/http/call.ts'
import { eventually, setup } from '../support/service/setup.ts'

test('on a terminal the log is text without a line per request, and the addresses come last', async (t) => {
  const terminal = inTerminal(
    t,
    { ...installation(await setup(t, { isIsolated: true })), CARTAGE_PORT: '0', TERM: 'dumb' },
    shellLine('serve', '--no-worker'),
  )
  const url = await eventually(() => {
    const found = / {2}reference {5}(http:\S+)\/docs/.exec(terminal.shown())
    assert.ok(found, terminal.shown())
    return found[1]!
  }, 60_000)
  assert.match(terminal.shown(), /\d\d:\d\d:\d\d .*info .* ready url=http/)
  assert.equal((await fetch(`${url}/user/nobody/api/v2/sql?q=select+1`)).status, 404)
  terminal.type('\x03')
  await terminal.ended
  assert.match(terminal.shown(), /info .* stopped\r\n$/)
  assert.doesNotMatch(terminal.shown(), /"level"|request|nobody/)
})

test('without a terminal the log is JSON lines', async (t) => {
  const house = await setup(t)
  const taken = { ...installation(house), CARTAGE_PORT: new URL(house.url).port, CARTAGE_LOG_LEVEL: 'debug' }
  const { out } = await cartage(taken, 'serve', '--no-worker')
  for (const line of out.trim().split('\n').filter(Boolean)) JSON.parse(line)
})

test('an unknown CARTAGE_ variable is reported, with the one that may be meant', async () => {
  const { err } = await cartage({ CARTAGE_PROT: '9', CARTAGE_WHATEVER: 'x' }, '--help')
  assert.equal(err, 'warning: unknown variables, ignored: CARTAGE_PROT (CARTAGE_PORT?), CARTAGE_WHATEVER\n')
})

test('log messages cannot send control sequences to the terminal', () => {
  const shown: string[] = []
  const stream = { isTTY: false, write: (text: string) => shown.push(text) } as unknown as NodeJS.WriteStream
  const line = {
    level: 40,
    time: '2026-01-31T10:00:00.000Z',
    msg: 'odd',
    name: '\x1b[2J\x9b1m\r\n',
    err: { message: '\x07' },
  }
  terminalLog(stream, false).write(JSON.stringify(line))
  assert.deepEqual(shown, ['10:00:00 warn  odd name=\\u001b[2J?1m\\r\\n: \\u0007\n'])
})
