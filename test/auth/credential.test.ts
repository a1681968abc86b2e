import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readCredential } from '../../src/auth/credential.ts'

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
const read = (authorization?: string, query: Record<string, unknown> = {}, body?: unknown) =>
  readCredential({ authorization, query, body })

test('the Basic header counts first, then the query, then the body; only the first one present is checked', () => {
  assert.deepEqual(read(basic('alice:t1'), { api_key: 't2' }, { api_key: 't3' }), {
    kind: 'token',
    token: 't1',
    username: 'alice',
  })
  assert.deepEqual(read(undefined, { api_key: 't2' }, { api_key: 't3' }), { kind: 'token', token: 't2' })
  assert.deepEqual(read(undefined, { map_key: 't2' }), { kind: 'token', token: 't2' })
  assert.deepEqual(read(undefined, {}, { api_key: 't3' }), { kind: 'token', token: 't3' })
  assert.deepEqual(read('Basic !!', { api_key: 't2' }), { kind: 'malformed' })
})

test('an empty api_key counts as absent', () => {
  assert.deepEqual(read(undefined, { api_key: '' }, { api_key: 't3' }), { kind: 'token', token: 't3' })
  assert.deepEqual(read(undefined, { api_key: '' }), { kind: 'none' })
})

test('an empty Basic password and another scheme than Basic are a wrong credential', () => {
  for (const header of [
    basic('alice:'),
    basic('alice'),
    'Bearer abc',
    'Basic',
    'Basic ',
    'basic a',
    basic('alice:t').slice(0, -1),
    '',
  ]) {
    assert.deepEqual(read(header), { kind: 'malformed' }, header)
  }
})

test('a token may contain colons, a username may not', () => {
  assert.deepEqual(read(basic('alice:a:b')), { kind: 'token', token: 'a:b', username: 'alice' })
})

test('two api_keys, or one that is not a string, are a wrong credential', () => {
  assert.deepEqual(read(undefined, { api_key: ['a', 'b'] }), { kind: 'malformed' })
  for (const value of [1, null, {}, [], true])
    assert.deepEqual(read(undefined, {}, { api_key: value }), { kind: 'malformed' })
})

test('inherited members of a body are ignored', () => {
  assert.deepEqual(read(undefined, {}, Object.create({ api_key: 'inherited' })), { kind: 'none' })
  for (const body of [null, undefined, 'text', 5, ['api_key']])
    assert.deepEqual(read(undefined, {}, body), { kind: 'none' })
})
