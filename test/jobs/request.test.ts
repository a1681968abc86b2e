import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AppError } from '../../src/errors.ts'
import { readJobUpdate, readNewJob } from '../../src/http/jobs/request.ts'
import { cases } from '../support/search/cases.ts'

const definition = readNewJob

const refusal = (body: unknown, read = readNewJob) => {
  try {
    read(body)
  } catch (error) {
    assert.ok(error instanceof AppError)
    return error.message
  }
  assert.fail('it is taken')
}

test('a query is a string, an array of strings and items, or an object with fallbacks', () => {
  assert.deepEqual(definition({ query: 'a' }), { form: 'string', items: [{ statement: 'a' }] })
  assert.deepEqual(definition({ query: ['a', { query: 'b', onerror: 'c', timeout: 50 }] }), {
    form: 'array',
    items: [{ statement: 'a' }, { statement: 'b', onerror: 'c', timeoutMs: 50 }],
  })
  assert.deepEqual(definition({ query: { query: ['a', { query: 'b', onsuccess: 'c' }], onerror: 'd' } }), {
    form: 'object',
    items: [{ statement: 'a' }, { statement: 'b', onsuccess: 'c' }],
    onerror: 'd',
  })
})

test('fallbacks beside the query make a job an object', () => {
  const expected = { form: 'object', items: [{ statement: 'a' }], onsuccess: 'b' }
  assert.deepEqual(definition({ query: 'a', onsuccess: 'b' }), expected)
  assert.deepEqual(definition({ query: ['a'], onsuccess: 'b' }), expected)
})

test('api_key and client are ignored in every body', () => {
  const extras = { api_key: 'secret', client: 'old' }
  assert.deepEqual(definition({ query: 'a', ...extras }), { form: 'string', items: [{ statement: 'a' }] })
  assert.equal(readJobUpdate({ query: 'a', ...extras }).form, 'string')
})

test('a job without a query is refused', () => {
  const empty = [undefined, null, '', '  \n', 0, 1, true, false, []]
  for (const query of empty) assert.equal(refusal({ query }), 'You must indicate a valid SQL')
  for (const body of [{}, { onerror: 'a' }, undefined, null, 'query', ['query'], 7]) {
    assert.equal(refusal(body), 'You must indicate a valid SQL')
  }
})

test('a refusal names the place of the error', () => {
  const refusals: [unknown, string][] = [
    [['a', ''], 'query[1] must be a non-empty string'],
    [['a', ' \t'], 'query[1] must be a non-empty string'],
    [[1], 'query[0] must be a string or an object'],
    [[null], 'query[0] must be a string or an object'],
    [[['a']], 'query[0] must be a string or an object'],
    [[{}], 'query[0].query must be a non-empty string'],
    [[{ query: ['a'] }], 'query[0].query must be a non-empty string'],
    [[{ query: 'a', onerror: '' }], 'query[0].onerror must be a non-empty string'],
    [[{ query: 'a', onsuccess: null }], 'query[0].onsuccess must be a non-empty string'],
    [[{ query: 'a', onSuccess: 'b' }], 'query[0] has an unknown member: onSuccess'],
    [[{ query: 'a', job_id: 'b' }], 'query[0] has an unknown member: job_id'],
    [{ query: 'a' }, 'query.query must be a non-empty array'],
    [{ query: [] }, 'query.query must be a non-empty array'],
    [{}, 'query.query must be a non-empty array'],
    [{ query: ['a', 2] }, 'query.query[1] must be a string or an object'],
    [{ query: ['a'], onerror: ['b'] }, 'query.onerror must be a non-empty string'],
    [{ query: ['a'], fallback: 'b' }, 'query has an unknown member: fallback'],
    ['a\ud800', 'query must be valid Unicode'],
    [['\udc00 a'], 'query[0] must be valid Unicode'],
  ]
  for (const [query, message] of refusals) assert.equal(refusal({ query }), message)
  assert.equal(refusal({ query: 'a', onsuccess: 5 }), 'onsuccess must be a non-empty string')
  assert.match(refusal({ query: { query: ['a'] }, onsuccess: 'b' }), /must be inside query/)
})

test('an unknown member in the body of a job is named in the error', () => {
  for (const body of [{ query: 'a', onfailure: 'b' }, { onfailure: 'b' }]) {
    assert.equal(refusal(body), 'The body has an unknown member: onfailure')
    assert.equal(refusal(body, readJobUpdate), 'The body has an unknown member: onfailure')
  }
  assert.equal(refusal({ qury: 'a' }), 'The body has an unknown member: qury')
})

test('a timeout is a positive integer in milliseconds', () => {
  for (const timeout of [0, -1, 1.5, '5', null, true, 1e300, Number.NaN]) {
    assert.equal(
      refusal({ query: [{ query: 'a', timeout }] }),
      'query[0].timeout must be a positive integer, in milliseconds',
    )
  }
})

test('text in every script is accepted', () => {
  assert.equal(definition({ query: "SELECT '日本 😀 ß'" }).items[0]?.statement, "SELECT '日本 😀 ß'")
})

test('the body may have 16384 characters as JSON, not one more', () => {
  const bodyOf = (characters: number) => ({ query: 'x'.repeat(characters - '{"query":""}'.length) })
  assert.equal(definition(bodyOf(16_384)).form, 'string')
  assert.equal(
    refusal(bodyOf(16_385)),
    'The query is too large: 16385 characters. The maximum allowed size is 16384 (16 KB).',
  )
})

test('a body of nothing but brackets is refused', () => {
  const depth = 200_000
  assert.match(
    refusal(JSON.parse(`{"query":${'['.repeat(depth)}${']'.repeat(depth)}}`)),
    /too deeply|too large/,
  )
})

test('members named like those of Object.prototype are harmless', () => {
  for (const name of ['__proto__', 'constructor', 'toString']) {
    const body = JSON.parse(`{"query":"a","${name}":{"onerror":"b","query":"c"}}`)
    assert.equal(refusal(body), `The body has an unknown member: ${name}`)
  }
  assert.match(refusal(JSON.parse('{"query":[{"query":"a","__proto__":{}}]}')), /unknown member: __proto__/)
  assert.equal(refusal(Object.create({ query: 'a' })), 'You must indicate a valid SQL')
})

test('any JSON gives either a job or a refusal', () => {
  const member = fc.constantFrom('query', 'onsuccess', 'onerror', 'timeout', 'x')
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { depthSize: 'small' },
      fc.jsonValue(),
      fc.constant('SELECT 1'),
      tie('object'),
      fc.array(tie('any')),
    ),
    object: fc.dictionary(member, tie('any')),
  }))
  fc.assert(
    fc.property(value.any, (body) => {
      try {
        for (const { statement } of readNewJob(body).items) assert.ok(statement.trim() !== '')
      } catch (error) {
        assert.ok(error instanceof AppError && error.message.length > 0)
      }
    }),
    { numRuns: cases(200) },
  )
})

test('an update may hold a query in any form and nothing else', () => {
  assert.equal(readJobUpdate({ query: ['a', 'b'] }).items.length, 2)
  assert.equal(readJobUpdate({ query: 'a', onerror: 'b' }).onerror, 'b')
  const readOnly = { query: 'a', status: 'done', job_id: 'x' }
  assert.equal(refusal(readOnly, readJobUpdate), 'Only query can be changed, not status, job_id')
  assert.equal(refusal({}, readJobUpdate), 'You must indicate a valid SQL')
})
