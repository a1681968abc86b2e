import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { deflateRawSync } from 'node:zlib'
import { longestShared, packStatement, unpackStatement } from '../../../console/api/share.ts'

test('a long draft becomes a link and is restored completely', async () => {
  const text = `select '🙂${randomBytes(200_000).toString('hex')}'`
  assert.equal(await unpackStatement(`#s=${await packStatement(text)}`), text)
  const longest = 'x'.repeat(longestShared)
  assert.equal(await unpackStatement(`#s=${await packStatement(longest)}`), longest)
})

test('a small link that unpacks to too much is refused', async () => {
  const bomb = deflateRawSync(Buffer.alloc(50_000_000, 'x')).toString('base64url')
  assert.ok(bomb.length < 100_000)
  assert.equal(await unpackStatement(`#s=${bomb}`), undefined)
  assert.equal(await unpackStatement('#s=damaged'), undefined)
})
