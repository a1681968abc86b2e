import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog, LazyLog } from '../src/log/log.ts'

test('an error is logged by its message, never with its other members', () => {
  const lines: string[] = []
  const log = createLog('info', { write: (line) => void lines.push(line) })
  const cause = Object.assign(new Error('the reason'), { secretKey: 4711 })
  const error = Object.assign(new Error('lost', { cause }), {
    code: '57P01',
    client: { password: 'hush', secretKey: 4711 },
  })
  log.error({ err: error }, 'connection lost')
  const { err } = JSON.parse(lines[0]!)
  assert.deepEqual([err.message, err.code, err.cause.message], ['lost', '57P01', 'the reason'])
  assert.doesNotMatch(lines[0]!, /hush|4711/)
})

test('credentials are removed from log messages, wherever they are', () => {
  const lines: string[] = []
  const log = createLog('info', { write: (line) => void lines.push(line) })
  log.info(
    { token: 'hush', headers: { authorization: 'hush' }, a: { body: { api_key: 'hush', password: 'hush' } } },
    'x',
  )
  assert.doesNotMatch(lines[0]!, /hush/)
})

test('a log that is created when first used names its source, like any other', () => {
  const lines: string[] = []
  const log = createLog('info', { write: (line) => void lines.push(line) })
  let made = 0
  const whole = new LazyLog(log.level, () => {
    made += 1
    return log
  })
  const ofRequest = whole.child({ reqId: 'r1' })
  assert.equal(made, 0)
  ofRequest.child({ part: 'body' }).warn({ bytes: 7 }, 'too long')
  ofRequest.error('broken')
  ofRequest.debug('not asked for')
  const said = lines.map((line) => JSON.parse(line))
  assert.deepEqual(
    said.map(({ level, reqId, part, bytes, msg }) => [level, reqId, part, bytes, msg]),
    [
      [40, 'r1', 'body', 7, 'too long'],
      [50, 'r1', undefined, undefined, 'broken'],
    ],
  )
  assert.equal(made, 1)
})
